/* Messages out and in. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SWAP_H
#define SWAP_H

#include <stdbool.h>
#include "exchange/message.h"

struct step;
struct crumb_exchange;

struct buffer {
	uint8_t *data;
	size_t size;
};

struct messages {
	struct buffer vote;
	struct outgoing *up;   /* [segment][share]: the frames of this rank's learners */
	struct outgoing *down; /* [segment]: the means of this rank's share */
	crumb_span *out, *in;  /* [rank]: of the last swap */
	int dead;              /* the transport's error, which is final */
};

/* Makes room for size bytes, aligned to a cache line; the former contents are lost. Returns false if there is
 * no memory; the buffer is then unchanged. */
bool crumb_swap_reserve(struct buffer *buffer, size_t size);

/* Notes how a swap of the transport has ended, after the error that this rank told by it. Returns dead. */
int crumb_swap_ended(struct crumb_exchange *x, int dead, int error);

/* Puts heads on count messages, one for everybody or one for each rank, swaps them and checks what came. With
 * an error only the heads travel. Returns 0, any rank's error, or what is wrong with a message; then x->why
 * has a line. */
int crumb_swap(struct step *step, enum message_phase phase, int error, struct outgoing *message,
               size_t count);

/* Ends the last swap by an empty one if ranks look into each other's memory. */
void crumb_swap_end(struct crumb_exchange *x);

/* Returns CRUMB_EFRAME, and says that the message of rank from is not what it sent. */
int crumb_swap_damaged(struct crumb_exchange *x, unsigned from);

#endif
