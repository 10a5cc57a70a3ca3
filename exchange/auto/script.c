/* Scripts from text.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"

enum { TEXT = 4096 };

static const char automatic[] = "auto";

bool crumb_script_meant(const char *text)
{
	const size_t length = sizeof automatic - 1;

	return strncmp(text, automatic, length) == 0 && (!text[length] || text[length] == '|');
}

/* Copies the word at *at, which ends before a blank, a '|' or the end; moves *at past it and its blank.
 * Returns false if it is too long. */
static bool take_word(const char **at, char *word, size_t cap)
{
	const size_t length = strcspn(*at, " |");

	if (length >= cap)
		return false;
	snprintf(word, cap, "%.*s", (int)length, *at);
	*at += length + ((*at)[length] == ' ');
	return true;
}

static int parse_policy(struct policy *policy, const char *word, const char *at, const char **bad)
{
	const char *wrong = word;
	const int error = crumb_policy_parse(policy, word, &wrong);

	*bad = error ? at + (wrong - word) : *bad;
	return error;
}

static int parse_entry(struct crumb_scripted *entry, const char **at, const char **bad)
{
	char word[TEXT], *end;

	*bad = *at;
	if (**at < '0' || **at > '9')
		return CRUMB_ESPEC;
	entry->step = strtoull(*at, &end, 10);
	*at = *bad = end;
	if (*end != ' ')
		return CRUMB_ESPEC;
	*bad = ++*at;
	if (!take_word(at, word, sizeof word))
		return CRUMB_ESPEC;
	if (!(entry->plan = crumb_plan_find(word)) || !entry->plan->mean)
		return CRUMB_ESPEC;
	*bad = *at;
	if (!take_word(at, word, sizeof word))
		return CRUMB_ESPEC;
	entry->exact = strcmp(word, "exact") == 0;
	if (!entry->exact && parse_policy(&entry->down, word, *bad, bad))
		return CRUMB_ESPEC;
	*bad = *at;
	if (!take_word(at, word, sizeof word))
		return CRUMB_ESPEC;
	return parse_policy(&entry->up, word, *bad, bad);
}

int crumb_script_parse(struct crumb_script *script, const char *text, const char **bad)
{
	const char *at = text + sizeof automatic - 1;

	*script = (struct crumb_script){.measures = !*at};
	while (*at == '|') {
		struct crumb_scripted *entry = &script->entry[script->count];
		const char *begin = ++at;
		*bad = begin;
		if (script->count == CRUMB_SCRIPT_MOST || parse_entry(entry, &at, bad))
			return CRUMB_ESPEC;
		*bad = begin;
		if (script->count++ > 0 && entry->step <= entry[-1].step)
			return CRUMB_ESPEC;
	}
	*bad = at;
	return *at ? CRUMB_ESPEC : 0;
}
