/* rANS: range asymmetric numeral systems (Duda 2013), interleaved, sixteen lanes at a time.
 *
 * A block has 32 states. Element i belongs to state i mod 32, so groups of sixteen elements alternate between
 * two registers of states, even and odd. A state x lies in [2^15, 2^31). Let a symbol have the frequency f,
 * of 4096, and the cumulative frequency c of the symbols before it. Encoding it first renormalises: if x is
 * f * 2^19 or more, its lower 16 bits go out as a word and x becomes x / 2^16. Then x becomes
 *
 *     floor(x / f) * 4096 + x mod f + c
 *
 * Decoding is the reverse: the slot x mod 4096 lies in [c, c + f) of one symbol; x becomes
 * f * floor(x / 4096) + slot - c, and if that is below 2^15, the next word becomes its lower 16 bits. rANS is
 * last in, first out: the encoder goes from the last group to the first and writes its words downwards.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_H
#define RANS_H

#include "coding/blocks.h"
#include "v16/v16.h"

enum { RANS_BITS = 12, RANS_TOTAL = 1 << RANS_BITS, RANS_STATES = 32, RANS_STATE_BYTES = 4 * RANS_STATES };
#define RANS_LOW (1u << 15) /* the least state, which is also the initial one */

/* The frequencies of all symbols, which add up to RANS_TOTAL; one that occurs has at least 1. */
struct rans_model {
	uint32_t frequency[BLOCKS_MOST];
};
struct rans_model crumb_rans_model(const uint32_t count[BLOCKS_MOST]);

/* Returns the bits that symbols of these counts take at the frequencies of their model, in units of
 * 2^-RANS_COST_BITS. */
enum { RANS_COST_BITS = 12 };
uint64_t crumb_rans_cost(const uint32_t count[BLOCKS_MOST]);

/* The code of a group is short, and inline, if sixteen lanes are one register or two. */
#if V16_LANES >= 8
#define RANS_FN V16_FN
#else
#define RANS_FN __attribute__((noinline)) static
#endif

/* Returns entries of a table of 32-bit numbers, which v16 holds as floats. */
V16_FN v16i rans_entry(v16t table, v16i at) { return v16_bits_of(v16_lookup(table, at)); }

#endif
