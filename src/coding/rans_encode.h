/* The rANS encoder (rans.h): the symbols of a block into words.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RANS_ENCODE_H
#define RANS_ENCODE_H

#include "coding/nibbles.h"
#include "coding/rans.h"
#include "v16/prefetch.h"

/* Blocks that are encoded in parallel. A state depends on the one before, so that a single block is bound by
 * latency; with registers of sixteen lanes there are enough registers for two blocks. */
enum { RANS_ENCODE_BLOCKS = V16_LANES == 16 ? 2 : 1 };
_Static_assert(RANS_ENCODE_BLOCKS <= 2, "rans_encode compares the first block with the last");

/* Tables by symbol; f is its frequency, c its cumulative frequency. The floats hold the bits of 32-bit
 * numbers. floor(x / f) is the upper half of 2 x * reciprocal, shifted: reciprocal = ceil(2^(31 + shift) / f)
 * with 2^shift >= f is exact for x < 2^31. The coded state is then x + floor(x / f) * gain + c, with the gain
 * 4096 - f. */
struct rans_encode_tables {
	float reciprocal[V16];
	float limit_gain[V16];  /* the state limit f * 2^19 - 1: upper half; gain in the lower half */
	float start_shift[V16]; /* c in the upper half, shift in the lower */
};

struct rans_encode_tables crumb_rans_encode_tables(const struct rans_model *m);

/* The tables in registers. With AVX-512 state limit and gain have a table each; elsewhere a second look-up
 * costs more than masking the halves of a shared entry. */
struct rans_encode_registers {
	v16t reciprocal, state_limit, gain, start_shift;
};
enum { RANS_SPLIT_TABLES = V16_LANES == 16 };

static inline struct rans_encode_registers rans_encode_registers_of(const struct rans_encode_tables *t)
{
	const v16t both = v16_table(t->limit_gain);
	struct rans_encode_registers r = {v16_table(t->reciprocal), both, both, v16_table(t->start_shift)};
	if (RANS_SPLIT_TABLES) {
		const v16i half = v16_seti(0xFFFF), bits = v16_bits_of(v16_loadf(t->limit_gain));
		float state_limit[V16], gain[V16];
		v16_storef(state_limit, v16_of_bits(v16_ori(bits, half)));
		v16_storef(gain, v16_of_bits(v16_andi(bits, half)));
		r.state_limit = v16_table(state_limit);
		r.gain = v16_table(gain);
	}
	return r;
}

/* Encodes a group. symbol: from run_previous. Returns the lanes whose states had to be renormalised: the
 * lower 16 bits of their former values are to go out as words. */
RANS_FN v16m rans_put(v16i *state, const struct rans_encode_registers *r, v16i symbol)
{
	const bool split = RANS_SPLIT_TABLES;
	const v16i half = v16_seti(0xFFFF), limit = rans_entry(r->state_limit, symbol),
	           gain = split ? rans_entry(r->gain, symbol) : v16_andi(limit, half),
	           start_shift = rans_entry(r->start_shift, symbol);
	const v16m full = v16_lti(split ? limit : v16_ori(limit, half), *state);
	const v16i x = v16_shr_where(full, *state, 16), reciprocal = rans_entry(r->reciprocal, symbol);
	/* With AVX-512 the division comes before renormalising, off the critical path:
	 * floor(x / (2^16 f)) = floor(x / f) >> 16. */
	const v16i quotient = split ? v16_shrv_low(v16_mulhi_twice(*state, reciprocal),
	                                           v16_addi_where(full, start_shift, v16_seti(16)))
	                            : v16_shrv_low(v16_mulhi_twice(x, reciprocal), start_shift);
	*state = v16_addi(v16_addi(x, v16_shr(start_shift, 16)), v16_muli(quotient, gain));
	return full;
}

/* Encodes a group whose words end at `end`; returns where they begin. */
V16_FN uint8_t *rans_put_one(uint8_t *end, v16i *even, const struct rans_encode_registers *r,
                             run_cursor *next)
{
	const v16i a = *even;
	return v16_compress_u16(end, rans_put(even, r, run_previous(next)), a);
}

/* Encodes a pair of groups, the later one first. */
V16_FN uint8_t *rans_put_pair(uint8_t *end, v16i *even, v16i *odd, const struct rans_encode_registers *r,
                              run_cursor *next)
{
	const v16i a = *even, b = *odd;
	const v16m second = rans_put(odd, r, run_previous(next)),
	           first = rans_put(even, r, run_previous(next));
	return v16_compress_both_u16(end, first, a, second, b);
}

/* A block that is being encoded, and its words so far. */
struct rans_encoder {
	const uint8_t *codes;
	size_t left;                 /* groups that are not encoded yet, the first ones */
	size_t overhead, size_limit; /* bytes beside the words; the coded block must have fewer bytes than
	                                size_limit */
	struct rans_model model;
	struct rans_encode_tables tables;
	v16i even, odd;
	uint8_t *at; /* begin of the words so far, which end with the array */
	/* Room for one run past the limit, which is tested after each run. */
	uint8_t words[BLOCKS_BLOCK_BYTES + 2 * BLOCKS_RUN + 4 * V16];
};

static inline size_t rans_size(const struct rans_encoder *e)
{
	return e->overhead + (size_t)(e->words + sizeof e->words - e->at);
}

/* Begins a block. It is given up when it has size_limit bytes or more. */
static inline void rans_begin(struct rans_encoder *e, size_t size_limit, const uint8_t *codes, size_t groups,
                              const struct block_code *code, const uint32_t count[BLOCKS_MOST])
{
	e->codes = codes;
	e->overhead = 2 * code->count + RANS_STATE_BYTES;
	e->size_limit = size_limit;
	e->model = crumb_rans_model(count);
	e->tables = crumb_rans_encode_tables(&e->model);
	e->even = e->odd = v16_seti(RANS_LOW);
	e->at = e->words + sizeof e->words;
	e->left = rans_size(e) < size_limit ? groups : 0;
}

/* Encodes the last run that is left of each of `blocks` blocks, which have equally many groups left. */
V16_FN void rans_put_run(struct rans_encoder *e, const size_t blocks, const struct block_code *code)
{
	run_symbols run[RANS_ENCODE_BLOCKS];
	run_cursor next[RANS_ENCODE_BLOCKS] = {0};
	uint8_t *at[RANS_ENCODE_BLOCKS] = {NULL};
	struct rans_encode_registers registers[RANS_ENCODE_BLOCKS];
	v16i even[RANS_ENCODE_BLOCKS], odd[RANS_ENCODE_BLOCKS];
	size_t g = (e->left - 1) % (BLOCKS_RUN / V16) + 1;
	for (size_t k = 0; k < blocks; k++) {
		e[k].left -= g;
		run_read(run[k], e[k].codes + code->width * e[k].left, g, code);
		registers[k] = rans_encode_registers_of(&e[k].tables);
		even[k] = e[k].even;
		odd[k] = e[k].odd;
		at[k] = e[k].at;
	}
	while (g) {
		size_t in_word = (g - 1) % BLOCKS_NIBBLES + 1;
		for (size_t k = 0; k < blocks; k++)
			next[k] = run_seek(run[k], g, in_word);
		/* Prefetches later blocks' codes, which are counted next unless blocks are joined. */
		for (size_t k = 0; k < blocks; k++)
			prefetch(e[k].codes, code->width * (e[k].left + g) +
			                             (RANS_ENCODE_BLOCKS + 1) * BLOCKS_BLOCK_BYTES);
		g -= in_word;
		if (in_word % 2) {
			in_word--;
			for (size_t k = 0; k < blocks; k++)
				at[k] = rans_put_one(at[k], &even[k], &registers[k], &next[k]);
		}
		for (; in_word; in_word -= 2)
			for (size_t k = 0; k < blocks; k++)
				at[k] = rans_put_pair(at[k], &even[k], &odd[k], &registers[k], &next[k]);
	}
	for (size_t k = 0; k < blocks; k++) {
		e[k].even = even[k];
		e[k].odd = odd[k];
		e[k].at = at[k];
		if (rans_size(&e[k]) >= e[k].size_limit)
			e[k].left = 0;
	}
}

/* Encodes count <= RANS_ENCODE_BLOCKS blocks; the longer one alone until equally many groups are left. */
static inline void rans_encode(struct rans_encoder *e, size_t count, const struct block_code *code)
{
	struct rans_encoder *const last = &e[count - 1];
	while (e->left || last->left)
		if (RANS_ENCODE_BLOCKS == 1 || count == 1 || e->left != last->left)
			rans_put_run(e->left > last->left ? e : last, 1, code);
		else
			rans_put_run(e, RANS_ENCODE_BLOCKS, code);
}

/* Writes an encoded block: frequencies, words, states. Returns its size; 0 if not below size_limit. */
static inline size_t rans_write(uint8_t *dst, const struct rans_encoder *e, const struct block_code *code)
{
	const size_t size = rans_size(e);
	if (size >= e->size_limit)
		return 0;
	for (unsigned j = 0; j < code->count; j++)
		dst = put_u16(dst, (uint16_t)e->model.frequency[j]);
	memcpy(dst, e->at, size - e->overhead);
	dst += size - e->overhead;
	uint32_t state[RANS_STATES];
	v16_storei(state, e->even);
	v16_storei(state + V16, e->odd);
	memcpy(dst, state, RANS_STATE_BYTES);
	return size;
}

#endif
