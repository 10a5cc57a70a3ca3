/* Which codec a slice gets, by its kind: "conv=adacomp:bin=50;fc,last=adacomp:bin=500;bias,batchnorm=raw".
 *
 * Rules KIND[,KIND...]=SPEC joined by ';', the first match wins. last falls back to fc where no rule names
 * it; a kind that no rule covers goes raw. A single SPEC is short for: that codec for weights, raw for bias
 * and batchnorm, and for last too with terngrad, as published (NeurIPS 2017, section 5). No blanks; a SPEC
 * has fewer than CRUMB_SPEC_MAX characters.
 *
 * SPDX-License-Identifier: MIT */
#ifndef POLICY_H
#define POLICY_H

#include <crumb.h>
#include "exchange/exchange.h"

struct policy {
	crumb_codec codec[CRUMB_KINDS];
};

/* 0, or CRUMB_ESPEC with *bad (bad may be NULL) at the first offending character of text. */
int crumb_policy_parse(struct policy *policy, const char *text, const char **bad);

/* The codec of n elements of a kind: the policy's, or raw when its bound is not below the dense size, and
 * without a policy (NULL). */
crumb_codec crumb_policy_choose(const struct policy *policy, enum crumb_kind kind, size_t n);

#endif
