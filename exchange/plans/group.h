/* A transport between some of the ranks of another one. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GROUP_H
#define GROUP_H

#include "exchange/transport.h"

struct group {
	struct crumb_exchange_net net; /* between the members; member[k] is its rank k */
	struct crumb_exchange_net *parent;
	unsigned *member;
	crumb_span *out, *in; /* [rank of parent] */
};

/* Opens a group of the ranks that lead themselves (leader[r] == r), for the rank of parent, which need not be
 * one of them. While members swap all others call crumb_group_idle. Returns NULL if there is no memory. */
struct group *crumb_group_open(struct crumb_exchange_net *parent, const unsigned *leader);
void crumb_group_close(struct group *group); /* NULL is fine */

/* Takes part in a swap of the members, and sends nothing. Returns 0 or the transport's error. */
int crumb_group_idle(struct group *group);

#endif
