/* Ranks of one node average first, and one rank a node goes on to the others. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TIERS_H
#define TIERS_H

#include "exchange/exchange.h"

/* The second tier: an exchange between the nodes, in which a node is a learner and its first rank a rank. */
struct tiers {
	unsigned *leader; /* [rank]: the first rank of its node */
	unsigned *node;   /* [rank]: its node's number */
	unsigned nodes;
	struct crumb_exchange *between; /* NULL on all ranks but the leaders */
	crumb_codec *codec;             /* [slice]: of the node's mean */
	struct group *group;            /* the leaders' way to each other */
	crumb_span *frame;              /* [slice][learner of this node] */
	size_t learners;                /* of this node */
	float *weight;                  /* [learner of this node]; their sum is 1 */
	float *node_weight;             /* [node] */
	struct outgoing *down; /* [rank]: the mean for the ranks of this node, nothing for the others */
	struct message_head *nothing;
};

/* Writes who leads whom among so many ranks, [rank]: by the node's size, or as the transport says, which may
 * be NULL. Returns how many nodes there are; 0 if the size is no use. */
unsigned crumb_tiers_leaders(unsigned *leader, unsigned ranks, const struct crumb_exchange_net *net,
                             unsigned node_size);

/* Opens the second tier of x, whose ranks and learners are set. Returns 0, or an error and a line in why. */
int crumb_tiers_open(struct crumb_exchange *x, const struct crumb_exchange_config *config, char *why,
                     size_t cap);
void crumb_tiers_close(struct tiers *tiers); /* NULL is fine */

#endif
