/* Messages of the exchange: a head names the sender, the step and the exchange, and says whether the sender
 * has failed. The exchange adds nothing to frames. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <crumb.h>

enum message_phase {
	MESSAGE_VOTE = 1,
	MESSAGE_UP = 2,
	MESSAGE_DOWN = 3,
	MESSAGE_TELL = 4,
	MESSAGE_PUSH = 5,   /* plan async: gradients for the server */
	MESSAGE_PULL = 6,   /* plan async: weights for a worker */
	MESSAGE_REFUSAL = 7 /* plan async: to a worker that was given up */
};

/* It travels as it lies here, little-endian, without gaps. magic, format and crumb keep their places in every
 * format. */
struct message_head {
	char magic[4];              /* "CRMX" */
	uint16_t format;            /* of the exchange's messages */
	uint16_t phase;             /* enum message_phase */
	uint32_t crumb;             /* major << 16 | minor << 8 | patch of the library */
	uint32_t rank;              /* of the sender */
	int32_t error;              /* 0, or why the sender cannot take part; then nothing follows */
	uint16_t segment, segments; /* of the step's, from 0, and how many there are */
	uint64_t step;              /* calls of crumb_exchange_step before this one */
	uint64_t model;             /* the caller's */
	uint64_t table;             /* hash of the slice table */
	uint64_t setup;             /* hash of plan, codecs, learners and seed */
	uint64_t weights;           /* hash of the learners' weights */
	/* A MESSAGE_PULL has the next work's first part here, and how many parts it has; the server's
	 * MESSAGE_TELL in plan async how many ranks it has given up; other messages 0. */
	uint64_t next, count;
	uint64_t sum; /* hash of next, count and the body */
};

/* A message on its way out: a head, body bytes that the head's sum covers, and then, up to len, frames, which
 * have checksums. */
struct outgoing {
	uint8_t *data;
	size_t body, len;
};

/* Fills in magic, format and crumb. */
void crumb_message_head(struct message_head *head);

/* Puts the head before a message; with an error in the head the message is no longer than that. */
void crumb_message_seal(const struct message_head *head, struct outgoing *message);

/* Compares the message of rank from with mine, which is what its head should be. Returns 0, the sender's
 * error, or CRUMB_EVERSION or CRUMB_EFRAME if it is no message of this step of this exchange; then why (cap
 * bytes) gets a line. */
int crumb_message_check(const struct message_head *mine, crumb_span message, uint32_t from, char *why,
                        size_t cap);

/* Returns the body of a message that was checked; NULL if it is shorter, or damaged. */
const uint8_t *crumb_message_body(crumb_span message, size_t body);

/* Return the next value of a hash h after a number, and after len bytes. */
uint64_t crumb_message_mix(uint64_t h, uint64_t x);
uint64_t crumb_message_hash(uint64_t h, const void *data, size_t len);

#endif
