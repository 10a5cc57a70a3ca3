/* From the slots of two groups of states to their symbols, by a search of the cumulative frequencies.
 *
 * Symbols are found in two steps of three comparisons: among the first symbols of four quarters of the
 * alphabet, then within the quarter; an alphabet of at most four symbols takes one step. AVX-512 compares in
 * lanes of 16 bits, so that both groups share a register.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_SLOTS_H
#define RANS_SLOTS_H

#include "coding/rans.h"

/* The start of a symbol is its cumulative frequency. outer and inner hold starts minus 1, so that a slot has
 * reached a start if the difference is negative. Floats hold 32-bit numbers. */
struct rans_decode_tables {
	uint32_t outer[3];                /* of symbols 4, 8 and 12; with few, of 1, 2 and 3 */
	float inner[3][V16];              /* of symbols 4q + 1, 4q + 2 and 4q + 3, by q < 4 */
	float frequency[V16], start[V16]; /* by symbol */
	bool few;                         /* at most four symbols */
};

/* Makes the tables from count frequencies of 2 bytes; returns false if these do not add up. */
bool crumb_rans_decode_tables(struct rans_decode_tables *t, const uint8_t *frequencies, unsigned count);

/* A group's symbols as the states see them: the frequency, and the slot minus the start. */
struct rans_found {
	v16i frequency, offset;
};

#ifdef P_HAS_WORDS

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

/* Returns 4 number + how many of three rising starts the slot has reached. Starts rise, so the signs of the
 * differences are that number in unary: its upper bit is the second sign, its lower bit their parity. */
V16_FN pi rans_search(pi number, pi slot, const pi before[3])
{
	const pi one = p_subw(before[0], slot), two = p_subw(before[1], slot),
	         three = p_subw(before[2], slot);
	return p_push_signw(p_push_signw(number, two), p_xor3(one, two, three));
}

V16_FN void rans_find(struct rans_found found[2], v16i even, v16i odd, const struct rans_decode_registers *r,
                      const bool few, uint8_t *symbol)
{
	const pi slot = p_andi(p_words(even.p[0], odd.p[0]), p_setw(RANS_TOTAL - 1));
	pi number = rans_search(p_seti(0), slot, r->outer);
	if (!few) {
		pi inner[3];
		for (int k = 0; k < 3; k++)
			inner[k] = p_lookupw(r->inner[k], number);
		number = rans_search(number, slot, inner);
	}
	p_store_words_u8(symbol, number);
	const pi f = p_lookupw(r->frequency, number), offset = p_subw(slot, p_lookupw(r->start, number));
	found[0] = (struct rans_found){{{p_lower(f)}}, {{p_lower(offset)}}};
	found[1] = (struct rans_found){{{p_upper(f)}}, {{p_upper(offset)}}};
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

/* Returns number + how many of three starts the slot has reached. */
V16_FN v16i rans_search(v16i number, v16i slot, const v16i before[3])
{
	for (int k = 0; k < 3; k++)
		number = v16_addi(number, v16_shr(v16_subi(before[k], slot), 31));
	return number;
}

RANS_FN struct rans_found rans_find_one(v16i state, const struct rans_decode_registers *r, const bool few,
                                        uint8_t *symbol)
{
	const v16i slot = v16_andi(state, v16_seti(RANS_TOTAL - 1));
	v16i number = rans_search(v16_seti(0), slot, r->outer);
	if (!few) {
		v16i inner[3];
		for (int k = 0; k < 3; k++)
			inner[k] = v16_bits_of(v16_lookup8(r->inner[k], number));
		number = rans_search(v16_shl(number, 2), slot, inner);
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

#endif
