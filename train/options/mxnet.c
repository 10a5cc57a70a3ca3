/* One JSON object, or Python dict, of a few known keys.
 *
 * SPDX-License-Identifier: MIT */
#include "train/options/mxnet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *type, *codec;
	bool threshold;
} types[] = {{"none", "raw", false}, {"1bit", "onebit", true}, {"2bit", "twobit", true}};

enum { TYPES = sizeof types / sizeof *types };

static void skip_blanks(const char **at) { *at += strspn(*at, " \t\r\n"); }

static bool take(const char **at, char c)
{
	skip_blanks(at);
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* Parses a string without escapes, in quotes of either kind; leaves *at if there is none. */
static bool take_string(const char **at, const char **text, size_t *length)
{
	skip_blanks(at);
	const char *end = **at == '"' || **at == '\'' ? strchr(*at + 1, **at) : NULL;
	if (!end)
		return false;
	*text = *at + 1;
	*length = (size_t)(end - *text);
	*at = end + 1;
	return true;
}

static bool equals(const char *text, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(text, name, length) == 0;
}

struct params {
	int type; /* TYPES: not given yet */
	const char *threshold;
	size_t length;
};

static bool take_type(const char **at, struct params *params)
{
	const char *begin, *text;
	size_t length;
	skip_blanks(at);
	begin = *at;
	if (!take_string(at, &text, &length))
		return false;
	for (params->type = 0; params->type < TYPES; params->type++)
		if (equals(text, length, types[params->type].type))
			return true;
	*at = begin;
	return false;
}

static bool take_threshold(const char **at, struct params *params)
{
	skip_blanks(at);
	const char *begin = *at;
	if (take_string(at, &params->threshold, &params->length)) {
		if (equals(params->threshold, params->length, "auto"))
			return true;
		*at = begin;
		return false;
	}
	params->threshold = begin;
	params->length = strspn(begin, "+-.0123456789eE");
	*at += params->length;
	return params->length > 0 && params->length <= MXNET_SPEC_MAX / 2;
}

static bool take_pair(const char **at, struct params *params)
{
	const char *begin, *key;
	size_t length;
	skip_blanks(at);
	begin = *at;
	if (!take_string(at, &key, &length))
		return false;
	const bool type = equals(key, length, "type"), threshold = equals(key, length, "threshold");
	if (!type && !threshold) {
		*at = begin;
		return false;
	}
	if (!take(at, ':'))
		return false;
	return type ? take_type(at, params) : take_threshold(at, params);
}

int mxnet_spec(const char *json, char spec[MXNET_SPEC_MAX], const char **bad)
{
	struct params params = {.type = TYPES};
	const char *at = json;
	bool good = take(&at, '{');
	do
		good = good && take_pair(&at, &params);
	while (good && take(&at, ','));
	good = good && take(&at, '}');
	skip_blanks(&at);
	*bad = at;
	if (!good || *at || params.type == TYPES)
		return -1;
	*bad = params.threshold;
	if (params.threshold && !types[params.type].threshold)
		return -1;
	if (params.threshold)
		snprintf(spec, MXNET_SPEC_MAX, "%s:threshold=%.*s", types[params.type].codec,
		         (int)params.length, params.threshold);
	else
		snprintf(spec, MXNET_SPEC_MAX, "%s", types[params.type].codec);
	return 0;
}
