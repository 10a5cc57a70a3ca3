/* Internal functions of crumb-train's, for test_kinds.py and test_policy.py.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include "exchange/policy.h"
#include "nets/net.h"

/* A network's slice. */
struct named_slice {
	const char *kind;
	size_t n;
};

size_t slices_of(const char *model, struct named_slice *slice, size_t cap);

/* Writes a network's first slices, cap of them at most. Returns how many it has; 0 if there is no such
 * network. */
size_t slices_of(const char *model, struct named_slice *slice, size_t cap)
{
	static struct net net;
	char why[256];
	const struct model *found = model_find(model);

	if (!found || net_open(&net, found, found->input, why, sizeof why) < 0)
		return 0;
	for (size_t i = 0; i < net.slice_count && i < cap; i++)
		slice[i] = (struct named_slice){crumb_kind_name(net.slice[i].kind), net.slice[i].n};
	return net.slice_count;
}
