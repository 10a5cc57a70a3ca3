/* The slices of a network, for test_kinds.py.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include "nets/net.h"

size_t slices_of(const char *model, size_t i, int *kind, size_t *n);

/* Sets kind and n of the i-th slice. Returns the number of slices; 0 if there is no such network. */
size_t slices_of(const char *model, size_t i, int *kind, size_t *n)
{
	static struct net net;
	char why[256];
	const struct model *found = model_find(model);

	if (!found || net_open(&net, found, found->input, why, sizeof why) < 0)
		return 0;
	if (i < net.slice_count) {
		*kind = net.slice[i].kind;
		*n = net.slice[i].n;
	}
	return net.slice_count;
}
