/* The word of a spec or a policy at which parsing ended, and the names that could stand there.
 *
 * SPDX-License-Identifier: MIT */
#include "program/hint.h"
#include "exchange/policy.h"
#include "program/nearest.h"

#include <crumb.h>
#include <stdbool.h>
#include <string.h>

static struct nearest word_at(const char *text)
{
	return (struct nearest){.word = text, .length = strcspn(text, ":,=;| ")};
}

static bool is(const struct nearest *word, const char *name)
{
	return strlen(name) == word->length && !memcmp(name, word->word, word->length);
}

static struct nearest value_of(const crumb_key_info *key, const char *text)
{
	struct nearest word = word_at(text);
	for (size_t i = 0; key->choices && key->choices[i]; i++)
		nearest_try(&word, key->choices[i]);
	return word;
}

/* keys: the text after the ':'. */
static struct nearest key_or_value_of(const crumb_codec_info *codec, const char *keys, const char *bad)
{
	for (const char *c = keys; c < bad; c++)
		if (*c == ',')
			keys = c + 1;
	struct nearest word = word_at(keys);
	for (size_t k = 0; k < codec->keys; k++) {
		if (is(&word, codec->key[k].name) && bad > keys + word.length)
			return value_of(&codec->key[k], keys + word.length + 1);
		nearest_try(&word, codec->key[k].name);
	}
	return word;
}

void hint_spec(const char *spec, const char *bad)
{
	struct nearest word = word_at(spec);
	const crumb_codec_info *codec;
	for (size_t i = 0; (codec = crumb_list(i)); i++) {
		if (is(&word, codec->name) && bad > spec + word.length) {
			word = key_or_value_of(codec, spec + word.length + 1, bad);
			break;
		}
		nearest_try(&word, codec->name);
	}
	nearest_say(&word, "");
}

void hint_policy(const char *text, const char *bad)
{
	const char *rule = bad;
	while (rule > text && !strchr(";| ", rule[-1]))
		rule--;
	const char *const spec = rule + strcspn(rule, ":=;| ");
	if (*spec != '=' || bad > spec) {
		hint_spec(*spec == '=' ? spec + 1 : rule, bad);
		return;
	}
	while (bad > rule && bad[-1] != ',')
		bad--;
	struct nearest word = word_at(bad);
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		nearest_try(&word, crumb_kind_name(kind));
	nearest_say(&word, "");
}
