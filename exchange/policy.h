/* Policies give each kind of slice a codec: "conv=adacomp:bin=50;fc,last=adacomp:bin=500;bias,batchnorm=raw".
 *
 * Rules KIND[,KIND...]=SPEC are joined by ';', and the first match wins. last and embedding are as fc if no
 * rule names them: a language model has a third of its weights there, or more. A head that shares the
 * embedding's weights is an embedding; attention's matrices are fc. Another kind that no rule covers goes
 * raw. A single SPEC gives that codec to weights and raw to bias and batchnorm, which is any normalisation's,
 * and with terngrad also to last, which its paper exempts in large networks (NeurIPS 2017, section 4.2). No
 * blanks; a SPEC has fewer than CRUMB_SPEC_MAX characters.
 *
 * SPDX-License-Identifier: MIT */
#ifndef POLICY_H
#define POLICY_H

#include <crumb.h>
#include "exchange/exchange.h"

struct policy {
	crumb_codec codec[CRUMB_KINDS];
};

/* Parses text. Returns 0, or CRUMB_ESPEC with *bad (bad may be NULL) at the first offending character. */
int crumb_policy_parse(struct policy *policy, const char *text, const char **bad);

/* Returns the bitmask of the kinds that the rule at *at names, 0 if a single SPEC stands there, and moves *at
 * past it, to the next rule or the text's end. text is one that crumb_policy_parse takes. */
unsigned crumb_policy_rule(const char **at);

/* Returns the kinds that the rules of a policy name; 0 if it is a single SPEC, which is for all. */
unsigned crumb_policy_named(const char *text);

/* Returns these kinds and, if fc is one of them, those of last and embedding that no rule names. */
unsigned crumb_policy_with_fc(unsigned kinds, unsigned named);

/* Returns true if the learners of a codec of the policy agree before they pack. */
bool crumb_policy_agrees(const struct policy *policy);

/* Returns the policy's codec for n elements of a kind; raw if its bound is not below the size in f32, or
 * there is no policy (NULL). */
crumb_codec crumb_policy_choose(const struct policy *policy, enum crumb_kind kind, size_t n);

/* Returns the codec's value of its key momentum; NULL if its packers have none (CRUMB_CODEC_MOMENTUM). */
float *crumb_policy_momentum(crumb_codec *codec);

/* Returns the codec of a mean: without momentum, which the gradients have had. */
crumb_codec crumb_policy_choose_mean(const struct policy *policy, enum crumb_kind kind, size_t n);

#endif
