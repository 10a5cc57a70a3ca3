/* The random function of doc/FORMAT.md, 3: u(seed, step, i), the same on every machine and in every order.
 *
 * A generator is xoshiro128+ in sixteen lanes, seeded anew for every block of 4,096 elements from a hash of
 * seed, step and block.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RNG_H
#define RNG_H

#include "v16/v16.h"

typedef struct {
	v16i s[4];
} rng;

static inline uint64_t rng_mix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

V16_FN v16i rng_mix32(v16i x)
{
	x = v16_muli(v16_xori(x, v16_shr(x, 16)), v16_seti(0x85EBCA6Bu));
	x = v16_muli(v16_xori(x, v16_shr(x, 13)), v16_seti(0xC2B2AE35u));
	return v16_xori(x, v16_shr(x, 16));
}

/* Returns the generator of the block that starts at element i, a multiple of SUM_BLOCK. */
V16_FN rng rng_at(uint64_t seed, uint64_t step, uint64_t i)
{
	static const uint32_t lane[V16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t k = rng_mix64(seed + golden);
	k = rng_mix64((k ^ step) + golden);
	k = rng_mix64((k ^ i / SUM_BLOCK) + golden);
	rng r;
	for (uint32_t w = 0; w < 4; w++) {
		const v16i number = v16_addi(v16_loadi(lane), v16_seti(16 * w));
		const v16i x = v16_addi(v16_muli(number, v16_seti(0x9E3779B9u)), v16_seti((uint32_t)k));
		r.s[w] = rng_mix32(v16_xori(rng_mix32(x), v16_seti((uint32_t)(k >> 32))));
	}
	return r;
}

/* Returns the next sixteen random integers below 2^24: u times 2^24. */
V16_FN v16i rng_bits(rng *r)
{
	const v16i a = r->s[0], b = r->s[1], c = r->s[2], d = r->s[3];
	r->s[0] = v16_xor3(a, b, d);
	r->s[1] = v16_xor3(b, a, c);
	r->s[2] = v16_xor3(v16_shl(b, 9), a, c);
	r->s[3] = v16_rotl(v16_xori(b, d), 11);
	return v16_shr(v16_addi(a, d), 8);
}
V16_FN v16f rng_next(rng *r) { return v16_float_of(rng_bits(r)); }

#endif
