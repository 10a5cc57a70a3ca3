/* Codecs as text, and what makes a codec valid.
 *
 * SPDX-License-Identifier: MIT */
#include "base/float_env.h"
#include "codec/codec.h"
#include "isa.h"
#include "decimal.h"
#include <string.h>

const struct codec *crumb_codec_find(uint32_t id)
{
	const struct codec *const *codecs = crumb_isa_now()->codecs;
	for (uint32_t i = 0; codecs[i]; i++)
		if (codecs[i]->info->id == id)
			return codecs[i];
	return NULL;
}

/* Returns the name of a value; NULL if it is a number. */
static const char *name_of(const crumb_key_info *key, float x)
{
	for (size_t i = 0; key->choices && key->choices[i]; i++)
		if (x == (float)i)
			return key->choices[i];
	return NULL;
}

static bool in_range(const crumb_key_info *key, float x)
{
	if (name_of(key, x))
		return true;
	if (!(x >= key->min && x <= key->max))
		return false;
	return key->step == 0 || x == key->step * (float)(uint32_t)(x / key->step);
}

const struct codec *crumb_codec_valid(const crumb_codec *codec)
{
	const struct codec *c = codec ? crumb_codec_find(codec->id) : NULL;
	if (!c || codec->reserved)
		return NULL;
	for (size_t k = 0; k < CRUMB_MAX_KEYS; k++)
		if (k < c->info->keys ? !in_range(&c->info->key[k], codec->value[k]) : codec->value[k] != 0)
			return NULL;
	return !c->accepts || c->accepts(codec) ? c : NULL;
}

void crumb_codec_mend(crumb_codec *codec)
{
	const crumb_codec_info *info = crumb_codec_find(codec->id)->info;
	for (size_t k = 0; k < info->keys; k++)
		if (!in_range(&info->key[k], codec->value[k]))
			codec->value[k] = info->key[k].default_value;
}

const crumb_codec_info *crumb_list(size_t i)
{
	const struct codec *const *codecs = crumb_isa_now()->codecs;
	for (size_t k = 0; codecs[k]; k++)
		if (k == i)
			return codecs[k]->info;
	return NULL;
}

const crumb_codec_info *crumb_codec_info_of(const crumb_codec *codec)
{
	DEFAULT_FLOATS;
	const struct codec *c = crumb_codec_valid(codec);
	return c ? c->info : NULL;
}

/* ---- text ----------------------------------------------------------------------------------- */

static bool is(const char *name, const char *text, size_t size)
{
	return strlen(name) == size && !memcmp(name, text, size);
}

/* Returns how many characters text and name have in common from the first on. */
static size_t common(const char *name, const char *text, size_t size)
{
	size_t i = 0;
	while (i < size && name[i] && name[i] == text[i])
		i++;
	return i;
}

/* Sets *value from the size characters at text; returns NULL or the first offending character. */
static const char *read_value(const crumb_key_info *key, const char *text, size_t size, float *value)
{
	size_t most = 0;
	for (size_t i = 0; key->choices && key->choices[i]; i++) {
		if (is(key->choices[i], text, size)) {
			*value = (float)i;
			return NULL;
		}
		const size_t same = common(key->choices[i], text, size);
		most = same > most ? same : most;
	}
	if (most > 0 || (key->choices && key->step != 0))
		return text + (most < size ? most : 0);
	const size_t good = crumb_decimal_read(text, size, value);
	if (size == 0 || good < size)
		return text + good;
	return in_range(key, *value) && !name_of(key, *value) ? NULL : text;
}

/* Returns the first key of a refused combination that is accepted with this key at its default, or just the
 * first key. at: where each key stands in the text; NULL: it is not named. */
static const char *refused_key(const struct codec *c, const crumb_codec *codec, const char *const *at)
{
	const char *first = NULL, *cause = NULL;
	for (size_t k = 0; k < c->info->keys; k++) {
		crumb_codec without = *codec;
		without.value[k] = c->info->key[k].default_value;
		if (at[k] && (!first || at[k] < first))
			first = at[k];
		if (at[k] && (!cause || at[k] < cause) && c->accepts(&without))
			cause = at[k];
	}
	return cause ? cause : first;
}

/* Reads "KEY=VALUE,KEY=VALUE"; returns NULL or the first offending character. */
static const char *read_keys(const struct codec *c, crumb_codec *codec, const char *text)
{
	const char *at[CRUMB_MAX_KEYS] = {NULL};
	for (;;) {
		const size_t name = strcspn(text, "=,");
		size_t k = 0;
		while (k < c->info->keys && !is(c->info->key[k].name, text, name))
			k++;
		if (k == c->info->keys || at[k])
			return text;
		if (text[name] != '=')
			return text + name;
		const char *value = text + name + 1;
		const size_t size = strcspn(value, ",");
		const char *bad = read_value(&c->info->key[k], value, size, &codec->value[k]);
		if (bad)
			return bad;
		at[k] = text;
		if (!value[size])
			return c->accepts && !c->accepts(codec) ? refused_key(c, codec, at) : NULL;
		text = value + size + 1;
	}
}

int crumb_parse(crumb_codec *codec, const char *spec, const char **bad)
{
	DEFAULT_FLOATS;
	if (!codec || !spec)
		return CRUMB_EINVAL;
	const size_t name = strcspn(spec, ":");
	const struct codec *const *codecs = crumb_isa_now()->codecs;
	const struct codec *c = NULL;
	size_t most = 0;
	for (size_t i = 0; codecs[i] && !c; i++) {
		if (is(codecs[i]->info->name, spec, name))
			c = codecs[i];
		const size_t same = common(codecs[i]->info->name, spec, name);
		most = same > most ? same : most;
	}
	const char *wrong = spec + most;
	if (c) {
		crumb_codec read = {.id = c->info->id};
		for (size_t k = 0; k < c->info->keys; k++)
			read.value[k] = c->info->key[k].default_value;
		wrong = spec[name] ? read_keys(c, &read, spec + name + 1) : NULL;
		if (!wrong) {
			*codec = read;
			return 0;
		}
	}
	if (bad)
		*bad = wrong;
	return CRUMB_ESPEC;
}

int crumb_print(const crumb_codec *codec, char *dst, size_t cap)
{
	DEFAULT_FLOATS;
	const struct codec *c = crumb_codec_valid(codec);
	if (!c || !dst)
		return CRUMB_EINVAL;
	char text[CRUMB_SPEC_MAX];
	size_t at = strlen(c->info->name);
	memcpy(text, c->info->name, at + 1);
	char before = ':';
	for (size_t k = 0; k < c->info->keys; k++) {
		const crumb_key_info *key = &c->info->key[k];
		if (codec->value[k] == key->default_value)
			continue;
		char number[CRUMB_DECIMAL_MAX];
		const char *value = name_of(key, codec->value[k]);
		if (!value) {
			crumb_decimal_write(number, codec->value[k]);
			value = number;
		}
		const size_t name = strlen(key->name), size = strlen(value);
		text[at++] = before;
		memcpy(text + at, key->name, name);
		at += name;
		text[at++] = '=';
		memcpy(text + at, value, size + 1);
		at += size;
		before = ',';
	}
	if (at >= cap)
		return CRUMB_ESPACE;
	memcpy(dst, text, at + 1);
	return (int)at;
}
