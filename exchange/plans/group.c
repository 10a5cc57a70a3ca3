/* A transport between some ranks: the parent's swap, in which all others send and get nothing.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/plans/group.h"

#include <stdio.h>
#include <stdlib.h>

static int swap_all(struct group *group)
{
	struct crumb_exchange_net *parent = group->parent;
	const int error = parent->swap(parent, group->out, group->in);

	if (error)
		snprintf(group->net.why, sizeof group->net.why, "%s", parent->why);
	return error;
}

static int group_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct group *group = (struct group *)net;

	for (unsigned k = 0; k < net->ranks; k++)
		group->out[group->member[k]] = out[k];
	const int error = swap_all(group);
	for (unsigned k = 0; k < net->ranks && !error; k++)
		in[k] = group->in[group->member[k]];
	return error;
}

int crumb_group_idle(struct group *group)
{
	for (unsigned r = 0; r < group->parent->ranks; r++)
		group->out[r] = (crumb_span){NULL, 0};
	return swap_all(group);
}

struct group *crumb_group_open(struct crumb_exchange_net *parent, const unsigned *leader)
{
	struct group *group = calloc(1, sizeof *group);

	if (!group)
		return NULL;
	group->parent = parent;
	group->member = calloc(parent->ranks, sizeof *group->member);
	group->out = calloc(parent->ranks, sizeof *group->out);
	group->in = calloc(parent->ranks, sizeof *group->in);
	if (!group->member || !group->out || !group->in) {
		crumb_group_close(group);
		return NULL;
	}
	group->net = (struct crumb_exchange_net){
	        .swap = group_swap, .name = group->member, .any_thread = parent->any_thread};
	for (unsigned r = 0; r < parent->ranks; r++) {
		if (leader[r] != r)
			continue;
		if (r == leader[parent->rank])
			group->net.rank = group->net.ranks;
		group->member[group->net.ranks++] = r;
	}
	return group;
}

void crumb_group_close(struct group *group)
{
	if (!group)
		return;
	free(group->member);
	free(group->out);
	free(group->in);
	free(group);
}
