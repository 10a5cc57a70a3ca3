/* rANS words (rans.h) into a block of symbols, sixteen lanes at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_DECODE_H
#define RANS_DECODE_H

#include "coding/rans.h"

/* The symbol of a slot of 4096 is found in two steps, of which few symbols take but one: how many of three
 * starts it has reached, each of which is known by the slot before it. */
struct rans_decode_tables {
	uint32_t outer[3];                /* of symbols 4, 8 and 12; or, of few, 1, 2 and 3 */
	float inner[3][V16];              /* their bits, of symbols 4q + 1, 4q + 2 and 4q + 3 by q < 4 */
	float frequency[V16], start[V16]; /* their bits, by symbol */
	bool few;                         /* at most four symbols */
};

/* Of count frequencies, 2 bytes each; false if they do not add up. */
bool crumb_rans_decode_tables(struct rans_decode_tables *t, const uint8_t *frequencies, unsigned count);

/* Of a group's slots: the frequency of its symbol, and the slot less the symbol's start. */
struct rans_found {
	v16i frequency, within;
};

#ifdef P_HAS_WORDS

/* AVX-512's own: in words of sixteen bits, of two groups in one register. */
struct rans_decode_registers {
	pi outer[3], inner[3], frequency, start;
};

static inline struct rans_decode_registers rans_decode_registers_of(const struct rans_decode_tables *t)
{
	struct rans_decode_registers r;
	for (int k = 0; k < 3; k++) {
		r.outer[k] = p_setw((uint16_t)t->outer[k]);
		r.inner[k] = p_tablew(t->inner[k]);
	}
	r.frequency = p_tablew(t->frequency);
	r.start = p_tablew(t->start);
	return r;
}

/* 4 number + how many of the starts are reached; they rise, so that of one, two, three the middle one says
 * whether it is two at least, and their parity the rest. */
V16_FN pi rans_reached(pi number, pi slot, const pi before[3])
{
	const pi one = p_subw(before[0], slot), two = p_subw(before[1], slot),
	         three = p_subw(before[2], slot);
	return p_push_signw(p_push_signw(number, two), p_xor3(one, two, three));
}

V16_FN void rans_find(struct rans_found found[2], v16i even, v16i odd, const struct rans_decode_registers *r,
                      const bool few, uint8_t *symbol)
{
	const pi slot = p_andi(p_words(even.p[0], odd.p[0]), p_setw(RANS_TOTAL - 1));
	pi number = rans_reached(p_seti(0), slot, r->outer);
	if (!few) {
		pi inner[3];
		for (int k = 0; k < 3; k++)
			inner[k] = p_lookupw(r->inner[k], number);
		number = rans_reached(number, slot, inner);
	}
	p_store_words_u8(symbol, number);
	const pi f = p_lookupw(r->frequency, number), within = p_subw(slot, p_lookupw(r->start, number));
	found[0] = (struct rans_found){{{p_lower(f)}}, {{p_lower(within)}}};
	found[1] = (struct rans_found){{{p_upper(f)}}, {{p_upper(within)}}};
}

#else

struct rans_decode_registers {
	v16i outer[3];
	v16t inner[3], frequency, start;
};

static inline struct rans_decode_registers rans_decode_registers_of(const struct rans_decode_tables *t)
{
	struct rans_decode_registers r;
	for (int k = 0; k < 3; k++) {
		r.outer[k] = v16_seti(t->outer[k]);
		r.inner[k] = v16_table(t->inner[k]);
	}
	r.frequency = v16_table(t->frequency);
	r.start = v16_table(t->start);
	return r;
}

/* number + how many of the starts are reached. */
V16_FN v16i rans_reached(v16i number, v16i slot, const v16i before[3])
{
	for (int k = 0; k < 3; k++)
		number = v16_addi(number, v16_shr(v16_subi(before[k], slot), 31));
	return number;
}

RANS_FN struct rans_found rans_find_one(v16i state, const struct rans_decode_registers *r, const bool few,
                                        uint8_t *symbol)
{
	const v16i slot = v16_andi(state, v16_seti(RANS_TOTAL - 1));
	v16i number = rans_reached(v16_seti(0), slot, r->outer);
	if (!few) {
		v16i inner[3];
		for (int k = 0; k < 3; k++)
			inner[k] = v16_bits_of(v16_lookup8(r->inner[k], number));
		number = rans_reached(v16_shl(number, 2), slot, inner);
	}
	v16_store_u8(symbol, number);
	return (struct rans_found){rans_entry(r->frequency, number),
	                           v16_subi(slot, rans_entry(r->start, number))};
}

V16_FN void rans_find(struct rans_found found[2], v16i even, v16i odd, const struct rans_decode_registers *r,
                      const bool few, uint8_t *symbol)
{
	found[0] = rans_find_one(even, r, few, symbol);
	found[1] = rans_find_one(odd, r, few, symbol + V16);
}

#endif

/* The state after a group, whose words begin at at; returns where they end. */
RANS_FN const uint8_t *rans_get(const uint8_t *at, v16i *state, struct rans_found found)
{
	const v16i x = v16_addi(v16_muli(found.frequency, v16_shr(*state, RANS_BITS)), found.within);
	return v16_refill(at, v16_lti(x, v16_seti(RANS_LOW)), x, state);
}

/* A block on its way. */
struct rans_decoder {
	struct rans_decode_tables tables;
	const uint8_t *at, *end; /* of the words */
	v16i even, odd;
	const float *ask; /* what the next symbols' elements will be added to, which memory brings meanwhile;
	                     or NULL */
};

/* Opens a coded block: frequencies of count symbols, words, states. */
static inline bool rans_open(struct rans_decoder *d, const uint8_t *src, size_t size, unsigned count)
{
	uint32_t state[RANS_STATES];
	if (size < 2 * count + RANS_STATE_BYTES || size % 2)
		return false;
	d->ask = NULL;
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

/* The most blocks that are decoded side by side, where registers are long; fewer go two by two. */
enum { RANS_DECODE_SIDE = V16_LANES == 16 ? 4 : 1 };

/* The loop of rans_next. Before a pair of groups is decoded no more words were taken than there are: it reads
 * at most 64 bytes of the states behind them. */
V16_FN bool rans_groups(struct rans_decoder *const d[], const size_t side, uint8_t *const symbol[],
                        size_t groups)
{
	struct rans_decode_registers r[RANS_DECODE_SIDE];
	const uint8_t *at[RANS_DECODE_SIDE];
	v16i even[RANS_DECODE_SIDE], odd[RANS_DECODE_SIDE];
	const float *ask[RANS_DECODE_SIDE];
	bool asks = true;
	const bool few = d[0]->tables.few;
	bool good = true;
	for (size_t k = 0; k < side; k++) {
		r[k] = rans_decode_registers_of(&d[k]->tables);
		at[k] = d[k]->at;
		even[k] = d[k]->even;
		odd[k] = d[k]->odd;
		ask[k] = d[k]->ask;
		asks = asks && ask[k];
	}
	for (size_t g = 0; g < groups && good; g += 2)
		for (size_t k = 0; k < side; k++) {
			struct rans_found found[2];
			if (asks) {
				prefetch(ask[k], sizeof **ask * V16 * g);
				prefetch(ask[k], sizeof **ask * V16 * (g + 1));
			}
			rans_find(found, even[k], odd[k], &r[k], few, symbol[k] + V16 * g);
			at[k] = rans_get(at[k], &even[k], found[0]);
			if (g + 1 < groups)
				at[k] = rans_get(at[k], &odd[k], found[1]);
			good &= at[k] <= d[k]->end;
		}
	for (size_t k = 0; k < side; k++) {
		d[k]->at = at[k];
		d[k]->even = even[k];
		d[k]->odd = odd[k];
	}
	return good;
}

/* Decodes the next groups of so many blocks of one alphabet: of one, or, where blocks go side by side, two or
 * RANS_DECODE_SIDE. Of an odd number of groups, which are then the last, one more is written. */
static inline bool rans_next(struct rans_decoder *const d[], size_t side, uint8_t *const symbol[],
                             size_t groups)
{
	if (RANS_DECODE_SIDE > 1 && side == RANS_DECODE_SIDE)
		return rans_groups(d, RANS_DECODE_SIDE, symbol, groups);
	if (RANS_DECODE_SIDE > 1 && side == 2)
		return rans_groups(d, 2, symbol, groups);
	return rans_groups(d, 1, symbol, groups);
}

/* Whether all words were taken and the states are those that the encoder began with. */
static inline bool rans_close(const struct rans_decoder *d)
{
	const v16f low = v16_float_of(v16_seti(RANS_LOW));
	const v16m more = v16_either(v16_ne(v16_float_of(d->even), low), v16_ne(v16_float_of(d->odd), low));
	return d->at == d->end && !v16_bits(more);
}

#endif
