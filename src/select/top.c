/* The k greatest magnitudes of a tensor.
 *
 * SPDX-License-Identifier: MIT */
#include "select/top.h"
#include "select/above.h"
#include "select/kth.h"
#include <math.h>

/* MIN_ROOM: with room for fewer candidates none are collected. STACK_ROOM: candidates on the stack, if the
 * list has little room. SPARE: candidates beyond twice k before the cutoff is raised, so that a small k
 * raises it rarely. */
enum { MIN_ROOM = 256, STACK_ROOM = 4096, SPARE = 64 };

/* Returns how many groups to sample: one in 64, or one in 16 up to LEAST groups; at most MOST, and what fits
 * the room. */
static size_t sampled(size_t n, size_t room)
{
	enum { LEAST = 256, MOST = 4096 };
	const size_t all = n / V16, least = all / 16 < LEAST ? all / 16 : LEAST,
	             wanted = all / 64 > least ? all / 64 : least,
	             fit = wanted < room / V16 ? wanted : room / V16;
	return fit < MOST ? fit : MOST;
}

/* Returns a magnitude that, judging by a sample, somewhat more than k elements of r + grad reach;
 * MIN_MAGNITUDE if the sample would be too small. Sampled groups are not evenly spaced, since a tensor with a
 * period could put all even samples in one column. */
static float estimate_cutoff(const float *r, const void *grad, enum crumb_dtype type, size_t n,
                             const struct top *c)
{
	const size_t groups = sampled(n, c->room);
	if (!groups)
		return MIN_MAGNITUDE;
	/* Neighbours are correlated: the deviation is taken to be larger than of independent samples. */
	const double all = (double)(V16 * groups), expected = all * (double)c->k / (double)n,
	             wanted = (expected + 6 * sqrt(expected) + 4) / all;
	if (!(wanted < 1))
		return MIN_MAGNITUDE;
	/* Selection is faster among maxima of several samples each. If a fraction `below` of the samples is
	 * below the cutoff, below^per_max of the maxima are. Enough maxima are kept that one row of large
	 * elements is not most of those above the cutoff. */
	size_t per_max = 1;
	double below = 1 - wanted;
	for (; 2 * per_max <= groups && below * below > 0.9; per_max *= 2)
		below *= below;
	const size_t max_groups = groups / per_max, step = n / (max_groups * per_max),
	             maxima = V16 * max_groups;
	for (size_t j = 0; j < max_groups; j++) {
		v16f max = v16_set(0);
		for (size_t g = j; g < max_groups * per_max; g += max_groups) { /* from all over the tensor */
			const size_t i = g * step + (uint32_t)g * 0x9E3779B9u % (step - V16 + 1);
			max = v16_max_abs(v16_add(v16_loadf(r + i), v16_load(type, grad, i)), max);
		}
		float x[V16];
		v16_storef(x, max);
		memcpy(c->value + sizeof x * j, x, sizeof x);
	}
	const float cutoff = kth_magnitude(c->value, maxima, (size_t)((1 - below) * (double)maxima));
	return cutoff > MIN_MAGNITUDE ? cutoff : MIN_MAGNITUDE;
}

void top_drop(struct top *c, float threshold)
{
	uint8_t *const value = c->value, *const number = c->number;
	const size_t all = c->count;
	size_t count = 0;
	for (size_t j = 0; j < all; j++) { /* no branch that could be mispredicted */
		const float x = get_f32(value + 4 * j);
		put_f32(value + 4 * count, x);
		if (number)
			put_u32(number + 4 * count, get_u32(number + 4 * j));
		count += fabsf(x) >= threshold;
	}
	c->count = count;
}

/* Raises the cutoff to the k-th largest of k or more candidates and drops those below it. Returns false if
 * that leaves less than a quarter of the room free: the cutoff would be raised too often. */
static bool raise_cutoff(struct top *c)
{
	c->cutoff = kth_magnitude(c->value, c->count, c->k);
	top_drop(c, c->cutoff);
	c->most = 2 * c->count + SPARE;
	return c->count <= c->room / 4 * 3;
}

/* Collects the elements of the chunk from element first on that `above` marks. A candidate may be below the
 * cutoff, if that was raised within the chunk. Returns false if there is too little room. */
static bool collect(struct top *c, const float *r, size_t first, const struct above *above)
{
	uint8_t number[ABOVE_GROUPS + V16];
	const size_t groups = above_groups(above, number);
	size_t count = c->count;
	for (size_t k = 0; k < groups; k++) {
		for (uint32_t bits = above->bits[number[k]]; bits; bits &= bits - 1, count++) {
			const size_t i = first + (size_t)V16 * number[k] + v16_first_bit(bits);
			put_f32(c->value + 4 * count, r[i]);
			if (c->number)
				put_u32(c->number + 4 * count, (uint32_t)i);
		}
		if (count + V16 > c->room || count > c->most) {
			c->count = count;
			if (!raise_cutoff(c))
				return false;
			count = c->count;
		}
	}
	c->count = count;
	return true;
}

/* r += grad, and collects candidates. Returns false if there is too little room for them. */
static bool add(float *r, const void *grad, enum crumb_dtype type, size_t n, struct top *c)
{
	struct above above;
	bool fits = c->room >= MIN_ROOM && c->k <= c->room / 4 * 3;
	c->most = 2 * c->k + SPARE;
	for (size_t first = 0; first < n; first = above.end) {
		above_add(r, grad, type, first, n, c->cutoff, &above);
		fits = fits && collect(c, r, first, &above);
	}
	return fits;
}

void top_add(float *r, const void *grad, enum crumb_dtype type, size_t n, struct top *top)
{
	top->count = 0;
	top->cutoff = estimate_cutoff(r, grad, type, n, top);
	/* At a cutoff of MIN_MAGNITUDE all elements that are not 0 are candidates. */
	top->enough = add(r, grad, type, n, top) && (top->count >= top->k || top->cutoff == MIN_MAGNITUDE);
	const uint8_t *const x = top->enough ? top->value : (const uint8_t *)r;
	const size_t count = top->enough ? top->count : n;
	const float kth = count < top->k ? 0 : kth_magnitude(x, count, top->k);
	/* If fewer than k elements are not 0, all of these are selected. */
	top->threshold = kth > 0 ? kth : MIN_MAGNITUDE;
}

/* Takes count elements out of r: the `above` elements that are larger than threshold, and the first ones of
 * those that equal it. */
static void take(float *r, size_t n, float threshold, size_t count, size_t above, uint8_t *list)
{
	size_t equal = count - above;
	uint8_t *number = list, *value = list + 4 * count;
	for (size_t i = 0; i < n; i += V16) {
		const uint32_t lanes = v16_first(n - i < V16 ? n - i : V16);
		const v16f x = v16_loadf_some(r + i, n - i);
		/* Zeros may reach the threshold where a thread flushes subnormal numbers (base/float_env.h).
		 */
		uint32_t bits = v16_bits(v16_ge(v16_abs(x), v16_set(threshold))) & lanes;
		for (; bits; bits &= bits - 1) {
			const size_t e = i + (size_t)__builtin_ctz(bits);
			if (fabsf(r[e]) == threshold) {
				if (equal == 0)
					continue;
				equal--;
			}
			number = put_u32(number, (uint32_t)e);
			value = put_f32(value, r[e]);
			r[e] = 0;
		}
	}
}

size_t top_take(float *r, const void *grad, enum crumb_dtype type, size_t n, size_t k, uint8_t *list)
{
	const bool few = 2 * k <= STACK_ROOM;
	uint8_t stack[4 * STACK_ROOM];
	struct top top = {.k = k, .room = few ? STACK_ROOM : 2 * k, .value = few ? stack : list};
	size_t reach, above;
	top_add(r, grad, type, n, &top);
	count_ranks(top.enough ? top.value : (const uint8_t *)r, top.enough ? top.count : n, top.threshold,
	            &reach, &above);
	const size_t count = reach < k ? reach : k;
	take(r, n, top.threshold, count, above, list);
	return count;
}
