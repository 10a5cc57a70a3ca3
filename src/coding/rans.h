/* rANS: a block of symbols at its entropy (Duda's asymmetric numeral systems), in sixteen lanes.
 *
 * There are 32 states: element i belongs to state i mod 32, so that groups of sixteen alternate between two
 * registers. A state x lies in [2^15, 2^31). Coding a symbol of frequency f, of 4096, that begins at c, makes
 * it
 *
 *     x / f * 4096 + x mod f + c
 *
 * after its lower 16 bits have gone out as a word, should x be f * 2^19 or more. Decoding runs the other way:
 * the encoder walks from the last group to the first and puts its words one before another.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_H
#define RANS_H

#include "coding/blocks.h"
#include "v16/v16.h"

enum { RANS_BITS = 12, RANS_TOTAL = 1 << RANS_BITS, RANS_STATES = 32, RANS_STATE_BYTES = 4 * RANS_STATES };
#define RANS_LOW (1u << 15)

/* Frequencies of all symbols add up to RANS_TOTAL; one that occurs has at least 1. */
struct rans_model {
	uint32_t frequency[BLOCKS_MOST];
};
struct rans_model crumb_rans_model(const uint32_t count[BLOCKS_MOST]);

/* The bits of the words of so many symbols, in units of 2^-RANS_COST_BITS. */
enum { RANS_COST_BITS = 12 };
uint64_t crumb_rans_cost(const uint32_t count[BLOCKS_MOST]);

/* A group's code is inline where it is short: where sixteen lanes are one register, or two. */
#if V16_LANES >= 8
#define RANS_FN V16_FN
#else
#define RANS_FN __attribute__((noinline)) static
#endif

/* An entry of a table of 32-bit numbers, which v16 holds as floats. */
V16_FN v16i rans_entry(v16t table, v16i at) { return v16_bits_of(v16_lookup(table, at)); }

#endif
