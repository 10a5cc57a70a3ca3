/* Messages out, messages in, and what is wrong with them.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "exchange/exchange_state.h"
#include "exchange/transport.h"

static int swap(struct crumb_exchange *x)
{
	if (!x->net) {
		x->in[0] = x->out[0];
		return 0;
	}
	if (!x->dead) {
		x->dead = x->net->swap(x->net, x->out, x->in);
		if (x->dead && !x->why[0])
			snprintf(x->why, sizeof x->why, "step %llu: rank %u: %s", (unsigned long long)x->step,
			         x->rank, x->net->why);
	}
	return x->dead;
}

/* What has passed this rank's link. */
static void count(struct crumb_exchange *x)
{
	struct crumb_exchange_stats *stats = &x->stats;

	for (unsigned r = 0; r < x->ranks; r++)
		if (r != x->rank) {
			stats->link_messages++;
			stats->link_out += x->out[r].len;
			stats->link_in += x->in[r].len;
		}
}

int crumb_swap(struct crumb_exchange *x, enum message_phase phase, int error, struct letter *letter,
               size_t letters)
{
	x->head.phase = (uint16_t)phase;
	x->head.error = error;
	for (size_t k = 0; k < letters; k++)
		crumb_message_seal(&x->head, &letter[k]);
	for (unsigned r = 0; r < x->ranks; r++)
		x->out[r] = (crumb_span){letter[letters > 1 ? r : 0].data, letter[letters > 1 ? r : 0].len};
	const int dead = swap(x);
	if (dead)
		return dead;
	count(x);
	const size_t cap = x->why[0] ? 0 : sizeof x->why; /* the first reason is the best */
	for (unsigned r = 0; r < x->ranks; r++) {
		const int refused = crumb_message_check(&x->head, x->in[r], r, x->why, cap);
		if (refused)
			return refused;
	}
	return 0;
}

void crumb_swap_end(struct crumb_exchange *x)
{
	if (!x->net || !x->net->shares_memory)
		return;
	for (unsigned r = 0; r < x->ranks; r++)
		x->out[r] = (crumb_span){NULL, 0};
	swap(x);
}

int crumb_swap_damaged(struct crumb_exchange *x, unsigned from)
{
	snprintf(x->why, sizeof x->why, "step %llu: rank %u: the message of rank %u is damaged",
	         (unsigned long long)x->step, x->rank, from);
	return CRUMB_EFRAME;
}
