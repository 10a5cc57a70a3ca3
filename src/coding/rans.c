/* Frequencies, what symbols cost under them, and the coders' tables.
 *
 * SPDX-License-Identifier: MIT */
#include "coding/rans_decode.h"
#include "coding/rans_encode.h"

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

/* log2 of a frequency, rounded down, in units of 2^-12: each squaring gives a bit. */
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

struct rans_encode_tables crumb_rans_encode_tables(const struct rans_model *m)
{
	struct rans_encode_tables t = {{0}, {0}, {0}};
	for (uint32_t j = 0, c = 0; j < BLOCKS_MOST; c += m->frequency[j++]) {
		const uint32_t f = m->frequency[j];
		if (!f)
			continue;
		const uint32_t shift = f > 1 ? 32 - (uint32_t)__builtin_clz(f - 1) : 0;
		const uint32_t reciprocal = (uint32_t)(((UINT64_C(1) << (31 + shift)) + f - 1) / f);
		const uint32_t limit = ((f << 19) - (1u << 16)) | (RANS_TOTAL - f);
		const uint32_t rest = c << 16 | shift;
		memcpy(&t.reciprocal[j], &reciprocal, sizeof reciprocal);
		memcpy(&t.limit[j], &limit, sizeof limit);
		memcpy(&t.rest[j], &rest, sizeof rest);
	}
	return t;
}

bool crumb_rans_decode_tables(struct rans_decode_tables *t, const uint8_t *frequencies, unsigned count)
{
	uint32_t begin[BLOCKS_MOST + 1] = {0};
	for (unsigned j = 0; j < BLOCKS_MOST; j++) {
		const uint32_t f = j < count ? get_u16(frequencies + 2 * j) : 0;
		memcpy(&t->frequency[j], &f, sizeof f);
		memcpy(&t->start[j], &begin[j], sizeof *begin);
		begin[j + 1] = begin[j] + f;
	}
	t->few = count <= 4;
	memset(t->inner, 0, sizeof t->inner);
	for (int k = 0; k < 3; k++) {
		t->outer[k] = begin[t->few ? k + 1 : 4 * k + 4] - 1;
		for (int q = 0; q < 4; q++) {
			const uint32_t last = begin[4 * q + k + 1] - 1;
			memcpy(&t->inner[k][q], &last, sizeof last);
		}
	}
	return begin[BLOCKS_MOST] == RANS_TOTAL;
}
