/* Frequencies, and what symbols cost under them.
 *
 * SPDX-License-Identifier: MIT */
#include "rans.h"

struct rans_model crumb_rans_model(const uint32_t count[SYMBOLS_MOST])
{
	struct rans_model m;
	uint64_t all = 0;
	uint32_t rest = RANS_TOTAL;
	int most = 0;
	for (int j = 0; j < SYMBOLS_MOST; j++) {
		all += count[j];
		most = count[j] > count[most] ? j : most;
	}
	for (int j = 0; j < SYMBOLS_MOST; j++) {
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

uint64_t crumb_rans_cost(const uint32_t count[SYMBOLS_MOST])
{
	const struct rans_model m = crumb_rans_model(count);
	uint64_t cost = 0;
	for (int j = 0; j < SYMBOLS_MOST; j++)
		if (count[j])
			cost += (uint64_t)count[j] * ((RANS_BITS << RANS_COST_BITS) - log_of(m.frequency[j]));
	return cost;
}
