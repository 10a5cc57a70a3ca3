/* Rules of a policy that apply to nothing in a network.
 *
 * SPDX-License-Identifier: MIT */
#ifndef IDLE_RULES_H
#define IDLE_RULES_H

#include "nets/net.h"
#include "train/options/options.h"

/* Looks at the policies of --codec and --down. Prints a line for each rule that applies to no slice, if say;
 * 0, or -1 with a line in why if a policy has no other rules. */
int idle_rules_check(const struct options *options, const struct net *net, bool say, char *why, size_t cap);

#endif
