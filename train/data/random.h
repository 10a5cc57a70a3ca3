/* Random numbers as a pure function of a seed and a purpose: a counter and a 64-bit mixer. No libm, so that a
 * seed gives the same numbers on every machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t counter;
};

static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

enum random_purpose {
	RANDOM_WEIGHTS = 1,
	RANDOM_SHUFFLE,
	RANDOM_PACKERS,
	RANDOM_DIGITS,
	RANDOM_AUGMENT,
	RANDOM_TEXT,
	RANDOM_DROPOUT
};

/* Returns the stream number `index` for this purpose. */
static inline struct random random_stream(uint64_t seed, enum random_purpose purpose, uint64_t index)
{
	const uint64_t golden = 0x9e3779b97f4a7c15u;
	return (struct random){random_mix(random_mix(random_mix(seed + golden) + (uint64_t)purpose) + index)};
}

static inline uint64_t random_next(struct random *r) { return random_mix(r->counter += 0x9e3779b97f4a7c15u); }

/* Returns a number from 0 to n - 1; n < 2^32. */
static inline uint64_t random_below(struct random *r, uint64_t n)
{
	return ((random_next(r) >> 32) * n) >> 32;
}

/* Writes the numbers 0 to n - 1 in random order, all orders equally likely; n < 2^32. */
static inline void random_order(struct random *r, uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n; i > 1; i--) {
		const uint64_t k = random_below(r, i);
		const uint32_t swap = order[i - 1];
		order[i - 1] = order[k];
		order[k] = swap;
	}
}

/* Returns a uniform number in [low, high). */
static inline float random_between(struct random *r, float low, float high)
{
	return low + (high - low) * ((float)(random_next(r) >> 40) * 0x1p-24f);
}

/* Returns a number close to standard normal: the centred sum of four uniform ones, at most 3.5 from zero. */
static inline float random_bell(struct random *r)
{
	const uint64_t bits = random_next(r);
	const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
	return ((float)sum - 131070.0f) * (1.0f / 37836.9f);
}

#endif
