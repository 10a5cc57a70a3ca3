/* A block of symbols into rANS words (rans.h), sixteen lanes at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_ENCODE_H
#define RANS_ENCODE_H

#include "coding/rans.h"
#include "v16/prefetch.h"
#include "coding/nibbles.h"

/* x / f is the upper half of 2 x * reciprocal, shifted; reciprocal = ceil(2^(31 + shift) / f) with 2^shift >=
 * f is exact for x < 2^31. Then the coded x is x + x / f * (4096 - f) + c. */
struct rans_encode_tables {
	float reciprocal[V16]; /* its bits */
	float limit[V16]; /* the bits of 4096 - f in the lower half, of the upper half of f * 2^19 - 1 in the
	                     upper */
	float rest[V16];  /* the bits of shift in the lower half, of c in the upper */
};

struct rans_encode_tables crumb_rans_encode_tables(const struct rans_model *m);

/* Tables of limits and of 4096 - f; or one of both, where to look up takes longer than to take apart. */
struct rans_encode_registers {
	v16t reciprocal, limit, rest, times;
};

static inline struct rans_encode_registers rans_encode_registers_of(const struct rans_encode_tables *t)
{
	struct rans_encode_registers r = {v16_table(t->reciprocal), v16_table(t->limit), v16_table(t->rest),
	                                  v16_table(t->limit)};
	if (V16_LANES == 16) {
		const v16i half = v16_seti(0xFFFF), both = v16_bits_of(v16_loadf(t->limit));
		float limit[V16], times[V16];
		v16_storef(limit, v16_of_bits(v16_ori(both, half)));
		v16_storef(times, v16_of_bits(v16_andi(both, half)));
		r.limit = v16_table(limit);
		r.times = v16_table(times);
	}
	return r;
}

/* Codes a group, of symbols as rans_take gives them, but for the lower sixteen bits of the lanes that it
 * returns, whose words go out first. */
RANS_FN v16m rans_put(v16i *state, const struct rans_encode_registers *r, v16i symbol)
{
	const bool apart = V16_LANES == 16;
	const v16i half = v16_seti(0xFFFF), both = rans_entry(r->limit, symbol),
	           times = apart ? rans_entry(r->times, symbol) : v16_andi(both, half),
	           rest = rans_entry(r->rest, symbol);
	const v16m full = v16_lti(apart ? both : v16_ori(both, half), *state);
	const v16i x = v16_shr_where(full, *state, 16), reciprocal = rans_entry(r->reciprocal, symbol);
	/* Where the next group waits for it, it is divided before it is known whether a word goes out: of
	 * what is left then, the quotient is the same shifted by 16 more. */
	const v16i q = apart ? v16_shrv_low(v16_mulhi_twice(*state, reciprocal),
	                                    v16_addi_where(full, rest, v16_seti(16)))
	                     : v16_shrv_low(v16_mulhi_twice(x, reciprocal), rest);
	*state = v16_addi(v16_addi(x, v16_shr(rest, 16)), v16_muli(q, times));
	return full;
}

/* The symbols of a run, group by group from the last to the first. */
#ifdef P_HAS_NIBBLES
typedef uint32_t rans_run[BLOCKS_RUN / BLOCKS_NIBBLES];
typedef v16i rans_left;
V16_FN void rans_read(rans_run run, const uint8_t *codes, size_t groups, const struct block_code *s)
{
	symbols_nibbles(run, codes, groups, s);
}
/* Of the here <= 8 groups before group end, which is the end of the run or a multiple of eight: turned so
 * that the last one's symbols are one rotation from where they are taken. */
V16_FN rans_left rans_turn(const rans_run run, size_t end, size_t here)
{
	v16i next = v16_loadi(run + V16 * ((end - here) / BLOCKS_NIBBLES));
	for (; here < BLOCKS_NIBBLES; here++)
		next = v16_rotl(next, 4);
	return next;
}
V16_FN v16i rans_take(rans_left *next)
{
	*next = v16_rotl(*next, 4);
	return *next;
}
#else
typedef uint8_t rans_run[BLOCKS_RUN];
typedef const uint8_t *rans_left;
V16_FN void rans_read(rans_run run, const uint8_t *codes, size_t groups, const struct block_code *s)
{
	s->get(codes, groups, run);
}
V16_FN rans_left rans_turn(const rans_run run, size_t end, size_t here)
{
	(void)here;
	return run + V16 * end;
}
V16_FN v16i rans_take(rans_left *next)
{
	*next -= V16;
	return v16_load_u8(*next);
}
#endif

/* Codes a group whose words end at at; returns where they begin. */
V16_FN uint8_t *rans_put_one(uint8_t *at, v16i *even, const struct rans_encode_registers *r, rans_left *next)
{
	const v16i a = *even;
	return v16_compress_u16(at, rans_put(even, r, rans_take(next)), a);
}

/* The same of two. */
V16_FN uint8_t *rans_put_pair(uint8_t *at, v16i *even, v16i *odd, const struct rans_encode_registers *r,
                              rans_left *next)
{
	const v16i a = *even, b = *odd;
	const v16m second = rans_put(odd, r, rans_take(next)), first = rans_put(even, r, rans_take(next));
	return v16_compress_both_u16(at, first, a, second, b);
}

/* A state follows from the one before, so that most of the time is waiting: as many blocks as this go side by
 * side, where registers are long. */
enum { RANS_ENCODE_SIDE = V16_LANES == 16 ? 2 : 1 };
_Static_assert(RANS_ENCODE_SIDE <= 2, "rans_encode looks at two");

/* A block on its way: the groups whose codes are left, which go from the last to the first, and the words of
 * the others. */
struct rans_encoder {
	const uint8_t *codes;
	size_t left, around, most; /* groups; bytes beside the words, and what they may come to together */
	struct rans_model model;
	struct rans_encode_tables tables;
	v16i even, odd;
	uint8_t *at;
	uint8_t words[BLOCKS_BLOCK_BYTES + 2 * BLOCKS_RUN + 4 * V16]; /* a run may go beyond the most */
};

static inline size_t rans_size(const struct rans_encoder *e)
{
	return e->around + (size_t)(e->words + sizeof e->words - e->at);
}

/* Begins a block, which is not to be coded to its end unless its size is below most. */
static inline void rans_begin(struct rans_encoder *e, size_t most, const uint8_t *codes, size_t groups,
                              const struct block_code *s, const uint32_t count[BLOCKS_MOST])
{
	e->codes = codes;
	e->around = 2 * s->count + RANS_STATE_BYTES;
	e->most = most;
	e->model = crumb_rans_model(count);
	e->tables = crumb_rans_encode_tables(&e->model);
	e->even = e->odd = v16_seti(RANS_LOW);
	e->at = e->words + sizeof e->words;
	e->left = rans_size(e) < most ? groups : 0;
}

/* Codes the last run that is left of as many blocks, which have equally many groups left. */
V16_FN void rans_put_run(struct rans_encoder *e, const size_t side, const struct block_code *s)
{
	rans_run run[RANS_ENCODE_SIDE];
	rans_left next[RANS_ENCODE_SIDE] = {0};
	uint8_t *at[RANS_ENCODE_SIDE] = {NULL};
	struct rans_encode_registers registers[RANS_ENCODE_SIDE];
	v16i even[RANS_ENCODE_SIDE], odd[RANS_ENCODE_SIDE];
	size_t g = (e->left - 1) % (BLOCKS_RUN / V16) + 1;
	for (size_t k = 0; k < side; k++) {
		e[k].left -= g;
		rans_read(run[k], e[k].codes + s->width * e[k].left, g, s);
		registers[k] = rans_encode_registers_of(&e[k].tables);
		even[k] = e[k].even;
		odd[k] = e[k].odd;
		at[k] = e[k].at;
	}
	while (g) {
		size_t here = (g - 1) % BLOCKS_NIBBLES + 1;
		for (size_t k = 0; k < side; k++)
			next[k] = rans_turn(run[k], g, here);
		/* Where blocks are not joined, what is counted next comes from memory meanwhile. */
		for (size_t k = 0; k < side; k++)
			prefetch(e[k].codes,
			         s->width * (e[k].left + g) + (RANS_ENCODE_SIDE + 1) * BLOCKS_BLOCK_BYTES);
		g -= here;
		if (here % 2) {
			here--;
			for (size_t k = 0; k < side; k++)
				at[k] = rans_put_one(at[k], &even[k], &registers[k], &next[k]);
		}
		for (; here; here -= 2)
			for (size_t k = 0; k < side; k++)
				at[k] = rans_put_pair(at[k], &even[k], &odd[k], &registers[k], &next[k]);
	}
	for (size_t k = 0; k < side; k++) {
		e[k].even = even[k];
		e[k].odd = odd[k];
		e[k].at = at[k];
		if (rans_size(&e[k]) >= e[k].most)
			e[k].left = 0;
	}
}

/* Codes a block, or RANS_ENCODE_SIDE of them: while one has more groups left, that one alone. */
static inline void rans_encode(struct rans_encoder *e, size_t count, const struct block_code *s)
{
	struct rans_encoder *const last = &e[count - 1];
	while (e->left || last->left)
		if (RANS_ENCODE_SIDE == 1 || count == 1 || e->left != last->left)
			rans_put_run(e->left > last->left ? e : last, 1, s);
		else
			rans_put_run(e, RANS_ENCODE_SIDE, s);
}

/* Writes a block: frequencies, words, states. Returns its size, or 0 if that is not below most. */
static inline size_t rans_write(uint8_t *dst, const struct rans_encoder *e, const struct block_code *s)
{
	const size_t size = rans_size(e);
	if (size >= e->most)
		return 0;
	for (unsigned j = 0; j < s->count; j++)
		dst = put_u16(dst, (uint16_t)e->model.frequency[j]);
	memcpy(dst, e->at, size - e->around);
	dst += size - e->around;
	uint32_t state[RANS_STATES];
	v16_storei(state, e->even);
	v16_storei(state + V16, e->odd);
	memcpy(dst, state, RANS_STATE_BYTES);
	return size;
}

#endif
