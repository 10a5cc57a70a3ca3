/* Messages out, messages in, and what is wrong with them.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "exchange/step.h"
#include "exchange/transport.h"

bool crumb_swap_reserve(struct buffer *buffer, size_t size)
{
	if (size <= buffer->size)
		return true;
	uint8_t *data = crumb_exchange_alloc(size);
	if (!data)
		return false;
	free(buffer->data);
	*buffer = (struct buffer){data, size};
	return true;
}

int crumb_swap_ended(struct crumb_exchange *x, int dead, int error)
{
	x->messages.dead = dead;
	if (dead && error == CRUMB_ENONFINITE)
		x->why[0] = 0; /* that would not have ended it */
	return dead ? crumb_step_fail(x, dead, "%s", x->net->why) : 0;
}

static int swap(struct crumb_exchange *x, int error)
{
	struct messages *m = &x->messages;

	if (!x->net) {
		m->in[0] = m->out[0];
		return 0;
	}
	return m->dead ? m->dead : crumb_swap_ended(x, x->net->swap(x->net, m->out, m->in), error);
}

/* Adds what has passed this rank's link to the statistics. */
static void count(struct crumb_exchange *x)
{
	struct exchange_stats *stats = &x->stats;

	for (unsigned r = 0; r < x->ranks; r++)
		if (r != x->rank) {
			stats->link_messages++;
			stats->link_out += x->messages.out[r].len;
			stats->link_in += x->messages.in[r].len;
		}
}

int crumb_swap(struct step *step, enum message_phase phase, int error, struct outgoing *message,
               size_t messages)
{
	struct crumb_exchange *x = step->x;

	if (x->messages.dead) /* a slow rank may still read the last messages */
		return x->messages.dead;
	step->head.phase = (uint16_t)phase;
	step->head.error = error;
	for (size_t k = 0; k < messages; k++)
		crumb_message_seal(&step->head, &message[k]);
	for (unsigned r = 0; r < x->ranks; r++) {
		const struct outgoing *out = &message[messages > 1 ? r : 0];
		x->messages.out[r] = (crumb_span){out->data, out->len};
	}
	const int dead = swap(x, error);
	if (dead)
		return dead;
	count(x);
	const size_t cap = x->why[0] ? 0 : sizeof x->why; /* the first reason is the best */
	for (unsigned r = 0; r < x->ranks; r++) {
		const int refused = crumb_message_check(&step->head, x->messages.in[r],
		                                        crumb_exchange_name(x, r), x->why, cap);
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
		x->messages.out[r] = (crumb_span){NULL, 0};
	swap(x, 0);
}

int crumb_swap_damaged(struct crumb_exchange *x, unsigned from)
{
	return crumb_step_fail(x, CRUMB_EFRAME, "the message of rank %u is damaged",
	                       crumb_exchange_name(x, from));
}
