/* The rANS decoder (rans.h): words into the symbols of a block.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_DECODE_H
#define RANS_DECODE_H

#include "coding/rans_slots.h"
#include "v16/prefetch.h"

/* Blocks that are decoded in parallel. A state depends on the one before, so that a single block is bound by
 * latency; registers of sixteen lanes leave enough of them for four. */
enum { RANS_DECODE_BLOCKS = V16_LANES == 16 ? 4 : 1 };

/* A block that is being decoded. */
struct rans_decoder {
	struct rans_decode_tables tables;
	const uint8_t *at, *end; /* of the words */
	v16i even, odd;
	const float *acc; /* the next symbols will be added to these, which are prefetched; or NULL */
};

/* Opens a coded block: frequencies of count symbols, words, states. Returns false if it is malformed. */
static inline bool rans_open(struct rans_decoder *d, const uint8_t *src, size_t size, unsigned count)
{
	uint32_t state[RANS_STATES];
	if (size < 2 * count + RANS_STATE_BYTES || size % 2)
		return false;
	d->acc = NULL;
	d->at = src + 2 * count;
	d->end = src + size - RANS_STATE_BYTES;
	memcpy(state, d->end, sizeof state);
	bool good = crumb_rans_decode_tables(&d->tables, src, count);
	for (int i = 0; i < RANS_STATES; i++)
		good = good && state[i] >= RANS_LOW && state[i] < 1u << 31;
	d->even = v16_loadi(state);
	d->odd = v16_loadi(state + V16);
	return good;
}

/* Takes a group's symbols off the states, and renormalises with the words at at; returns where these end. */
RANS_FN const uint8_t *rans_advance(const uint8_t *at, v16i *state, struct rans_found found)
{
	const v16i x = v16_addi(v16_muli(found.frequency, v16_shr(*state, RANS_BITS)), found.offset);
	return v16_refill(at, v16_lti(x, v16_seti(RANS_LOW)), x, state);
}

/* rans_next for a constant side. All words are checked to be there after each pair of groups, which reads at
 * most 64 bytes past them: the states stand there. */
V16_FN bool rans_groups(struct rans_decoder *const d[], const size_t side, uint8_t *const symbol[],
                        size_t groups)
{
	struct rans_decode_registers r[RANS_DECODE_BLOCKS];
	const uint8_t *at[RANS_DECODE_BLOCKS];
	v16i even[RANS_DECODE_BLOCKS], odd[RANS_DECODE_BLOCKS];
	const float *acc[RANS_DECODE_BLOCKS];
	const bool few = d[0]->tables.few;
	bool adds = true, good = true;
	for (size_t k = 0; k < side; k++) {
		r[k] = rans_decode_registers_of(&d[k]->tables);
		at[k] = d[k]->at;
		even[k] = d[k]->even;
		odd[k] = d[k]->odd;
		acc[k] = d[k]->acc;
		adds = adds && acc[k];
	}
	for (size_t g = 0; g < groups && good; g += 2)
		for (size_t k = 0; k < side; k++) {
			struct rans_found found[2];
			if (adds) {
				prefetch(acc[k], sizeof **acc * V16 * g);
				prefetch(acc[k], sizeof **acc * V16 * (g + 1));
			}
			rans_find(found, even[k], odd[k], &r[k], few, symbol[k] + V16 * g);
			at[k] = rans_advance(at[k], &even[k], found[0]);
			if (g + 1 < groups)
				at[k] = rans_advance(at[k], &odd[k], found[1]);
			good &= at[k] <= d[k]->end;
		}
	for (size_t k = 0; k < side; k++) {
		d[k]->at = at[k];
		d[k]->even = even[k];
		d[k]->odd = odd[k];
	}
	return good;
}

/* Decodes the next groups of 1 or RANS_DECODE_BLOCKS blocks of one alphabet. Only the last groups of a block
 * may be an odd number; one more is written then. */
static inline bool rans_next(struct rans_decoder *const d[], size_t side, uint8_t *const symbol[],
                             size_t groups)
{
	return side == RANS_DECODE_BLOCKS ? rans_groups(d, RANS_DECODE_BLOCKS, symbol, groups)
	                                  : rans_groups(d, 1, symbol, groups);
}

/* Returns true if all words were taken and the states are those that the encoder began with. */
static inline bool rans_close(const struct rans_decoder *d)
{
	const v16f low = v16_float_of(v16_seti(RANS_LOW));
	const v16m more = v16_either(v16_ne(v16_float_of(d->even), low), v16_ne(v16_float_of(d->odd), low));
	return d->at == d->end && !v16_bits(more);
}

#endif
