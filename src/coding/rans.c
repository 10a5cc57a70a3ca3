/* rANS's frequencies, the cost of symbols under them, and the tables of encoder and decoder.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/rans_encode.h"
#include "coding/rans_slots.h"

struct rans_model crumb_rans_model(const uint32_t count[BLOCKS_MOST])
{
	struct rans_model m;
	uint64_t all = 0;
	uint32_t rest = RANS_TOTAL;
	int most = 0;
	for (int j = 0; j < BLOCKS_MOST; j++) {
		all += count[j];
		most = count[j] > count[most] ? j : most;
	}
	for (int j = 0; j < BLOCKS_MOST; j++) {
		const uint32_t near = (uint32_t)((2 * RANS_TOTAL * (uint64_t)count[j] + all) / (2 * all));
		m.frequency[j] = near || !count[j] ? near : 1;
		rest -= m.frequency[j];
	}
	m.frequency[most] += rest; /* modulo 2^32: rest may be negative */
	return m;
}

/* Returns log2 of a frequency, rounded down, in units of 2^-RANS_COST_BITS: each squaring gives a bit. */
static uint32_t log_of(uint32_t frequency)
{
	uint32_t log = 31 - (uint32_t)__builtin_clz(frequency);
	uint64_t x = (uint64_t)frequency << (31 - log); /* in [1, 2), in units of 2^-31 */
	for (int k = 0; k < RANS_COST_BITS; k++) {
		x = x * x >> 31;
		log = 2 * log + (uint32_t)(x >> 32);
		x >>= x >> 32;
	}
	return log;
}

uint64_t crumb_rans_cost(const uint32_t count[BLOCKS_MOST])
{
	const struct rans_model m = crumb_rans_model(count);
	uint64_t cost = 0;
	for (int j = 0; j < BLOCKS_MOST; j++)
		if (count[j])
			cost += (uint64_t)count[j] * ((RANS_BITS << RANS_COST_BITS) - log_of(m.frequency[j]));
	return cost;
}

/* Copies the bits: an x87 register changes floats that are signalling NaNs. */
static void set_bits(float *entry, uint32_t bits) { memcpy(entry, &bits, sizeof bits); }

struct rans_encode_tables crumb_rans_encode_tables(const struct rans_model *m)
{
	struct rans_encode_tables t = {{0}, {0}, {0}};
	for (uint32_t j = 0, start = 0; j < BLOCKS_MOST; start += m->frequency[j++]) {
		const uint32_t f = m->frequency[j];
		if (!f)
			continue;
		const uint32_t shift = f > 1 ? 32 - (uint32_t)__builtin_clz(f - 1) : 0;
		const uint32_t reciprocal = (uint32_t)(((UINT64_C(1) << (31 + shift)) + f - 1) / f);
		set_bits(&t.reciprocal[j], reciprocal);
		set_bits(&t.limit_gain[j], ((f << 19) - (1u << 16)) | (RANS_TOTAL - f));
		set_bits(&t.start_shift[j], start << 16 | shift);
	}
	return t;
}

bool crumb_rans_decode_tables(struct rans_decode_tables *t, const uint8_t *frequencies, unsigned count)
{
	uint32_t start[BLOCKS_MOST + 1] = {0};
	for (unsigned j = 0; j < BLOCKS_MOST; j++) {
		const uint32_t f = j < count ? get_u16(frequencies + 2 * j) : 0;
		set_bits(&t->frequency[j], f);
		set_bits(&t->start[j], start[j]);
		start[j + 1] = start[j] + f;
	}
	t->few = count <= 4;
	memset(t->inner, 0, sizeof t->inner);
	for (int k = 0; k < 3; k++) {
		t->outer[k] = start[t->few ? k + 1 : 4 * k + 4] - 1;
		for (int q = 0; q < 4; q++)
			set_bits(&t->inner[k][q], start[4 * q + k + 1] - 1);
	}
	return start[BLOCKS_MOST] == RANS_TOTAL;
}
