/* Policies from text. It knows two codecs by name: raw, for slices that no rule covers, and TernGrad, which
 * leaves the classifier's weights raw.
 *
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>
#include "exchange/policy.h"

static const char *const kind_names[CRUMB_KINDS] = {
        [CRUMB_CONV] = "conv",           [CRUMB_FC] = "fc",     [CRUMB_LSTM] = "lstm",
        [CRUMB_EMBEDDING] = "embedding", [CRUMB_BIAS] = "bias", [CRUMB_BATCHNORM] = "batchnorm",
        [CRUMB_KIND_LAST] = "last",
};

const char *crumb_kind_name(enum crumb_kind kind)
{
	return (unsigned)kind < CRUMB_KINDS ? kind_names[kind] : "?";
}

static crumb_codec raw_codec(void)
{
	crumb_codec raw = {0};

	crumb_parse(&raw, "raw", NULL);
	return raw;
}

static bool published_without_last(const crumb_codec *codec)
{
	return !strcmp(crumb_codec_info_of(codec)->name, "terngrad"); /* NeurIPS 2017, section 4.2 */
}

/* Parses the spec at *at, which ends at ';' or with the text, and moves *at to its end; on an error, to the
 * offending character. */
static int parse_spec(crumb_codec *codec, const char **at)
{
	char spec[CRUMB_SPEC_MAX];
	const char *bad = spec;
	const size_t length = strcspn(*at, ";");

	if (length >= sizeof spec) {
		*at += sizeof spec - 1;
		return CRUMB_ESPEC;
	}
	memcpy(spec, *at, length);
	spec[length] = 0;
	const int error = crumb_parse(codec, spec, &bad);
	*at += error ? (size_t)(bad - spec) : length;
	return error;
}

/* Returns the kind that the length characters at text name; if none, CRUMB_KINDS, and *good is how many of
 * them begin some kind's name. */
static int find_kind(const char *text, size_t length, size_t *good)
{
	*good = 0;
	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		const char *name = kind_names[kind];
		size_t same = 0;
		while (same < length && name[same] == text[same])
			same++;
		if (same == length && !name[same])
			return kind;
		*good = same > *good ? same : *good;
	}
	return CRUMB_KINDS;
}

/* Parses KIND[,KIND...]= at *at into a bitmask and moves *at past the '='; on an error, to the offending
 * character. */
static int parse_kinds(unsigned *kinds, const char **at)
{
	*kinds = 0;
	do {
		size_t good;
		const size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz");
		const int kind = find_kind(*at, length, &good);
		if (kind == CRUMB_KINDS) {
			*at += good;
			return CRUMB_ESPEC;
		}
		*kinds |= 1u << kind;
		*at += length;
		if (**at != ',' && **at != '=')
			return CRUMB_ESPEC;
	} while (*(*at)++ == ',');
	return 0;
}

static int parse_rules(struct policy *policy, const char **at)
{
	unsigned named = 0, kinds;
	crumb_codec codec;

	for (;;) {
		int error = parse_kinds(&kinds, at);
		if (!error)
			error = parse_spec(&codec, at);
		if (error)
			return error;
		for (int kind = 0; kind < CRUMB_KINDS; kind++)
			if (kinds & ~named & 1u << kind)
				policy->codec[kind] = codec;
		named |= kinds;
		if (!**at)
			break;
		++*at;
	}
	kinds = crumb_policy_with_fc(1u << CRUMB_FC, named);
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		if (kinds & 1u << kind)
			policy->codec[kind] = policy->codec[CRUMB_FC];
	return 0;
}

static int parse_single(struct policy *policy, const char **at)
{
	static const enum crumb_kind weights[] = {CRUMB_CONV, CRUMB_FC, CRUMB_LSTM, CRUMB_EMBEDDING};
	crumb_codec codec;
	const int error = parse_spec(&codec, at);

	if (error || **at)
		return error ? error : CRUMB_ESPEC;
	for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++)
		policy->codec[weights[i]] = codec;
	if (!published_without_last(&codec))
		policy->codec[CRUMB_KIND_LAST] = codec;
	return 0;
}

/* Returns true if a SPEC stands here and not a rule: its name is followed by ':' or nothing, a rule's first
 * kind by ',' or '='. */
static bool is_single(const char *text)
{
	const size_t word = strcspn(text, ":,=;");

	return text[word] == ':' || !text[word];
}

unsigned crumb_policy_rule(const char **at)
{
	unsigned kinds = 0;

	if (!is_single(*at))
		parse_kinds(&kinds, at);
	*at += strcspn(*at, ";");
	*at += **at == ';';
	return kinds;
}

unsigned crumb_policy_named(const char *text)
{
	unsigned kinds = 0;

	while (*text)
		kinds |= crumb_policy_rule(&text);
	return kinds;
}

unsigned crumb_policy_with_fc(unsigned kinds, unsigned named)
{
	const unsigned others = (1u << CRUMB_KIND_LAST | 1u << CRUMB_EMBEDDING) & ~named;

	return kinds & 1u << CRUMB_FC ? kinds | others : kinds;
}

int crumb_policy_parse(struct policy *policy, const char *text, const char **bad)
{
	struct policy parsed;
	const char *at = text;

	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		parsed.codec[kind] = raw_codec();
	const int error = is_single(text) ? parse_single(&parsed, &at) : parse_rules(&parsed, &at);
	if (!error)
		*policy = parsed;
	else if (bad)
		*bad = at;
	return error;
}

crumb_codec crumb_policy_choose(const struct policy *policy, enum crumb_kind kind, size_t n)
{
	const crumb_codec *codec = policy ? &policy->codec[kind] : NULL;

	/* Without a limit on n the codec is taken; its bound is 0 where it cannot take n. */
	const size_t bound = codec && n < SIZE_MAX ? crumb_bound(codec, n) : 1;

	return codec && bound && bound / sizeof(float) < n ? *codec : raw_codec();
}

bool crumb_policy_agrees(const struct policy *policy)
{
	int kind = 0;

	while (kind < CRUMB_KINDS && !crumb_agrees(&policy->codec[kind]))
		kind++;
	return kind < CRUMB_KINDS;
}

float *crumb_policy_momentum(crumb_codec *codec)
{
	const crumb_codec_info *info = crumb_codec_info_of(codec);

	for (size_t k = 0; info->flags & CRUMB_CODEC_MOMENTUM && k < info->keys; k++)
		if (!strcmp(info->key[k].name, "momentum"))
			return &codec->value[k];
	return NULL;
}

crumb_codec crumb_policy_choose_mean(const struct policy *policy, enum crumb_kind kind, size_t n)
{
	crumb_codec codec = crumb_policy_choose(policy, kind, n);
	float *momentum = crumb_policy_momentum(&codec);

	if (momentum)
		*momentum = 0;
	return codec;
}
