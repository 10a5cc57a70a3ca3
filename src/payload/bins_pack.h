/* Packing bins: the part that adacomp and local share. A codec adds the gradient to the residual, G = r + g,
 * and writes each bin's symbols. The scale, the subtraction from the residual and the choice between symbols
 * and gaps are here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINS_PACK_H
#define BINS_PACK_H

#include "base/packer.h"
#include "payload/bins.h"

/* The mean of the bins' M, their largest |G|. The order of additions, which doc/FORMAT.md gives, changes its
 * last bit: each run of BINS_PER_RUN bins has a partial sum of its own. */
struct mean {
	double sum, partial;
	size_t bins;
};

enum { BINS_PER_RUN = 1024 };

V16_FN void mean_add(struct mean *mean, float M)
{
	mean->partial += M;
	if (++mean->bins % BINS_PER_RUN == 0) {
		mean->sum += mean->partial;
		mean->partial = 0;
	}
}

V16_FN float mean_of(const struct mean *mean)
{
	return (float)((mean->sum + mean->partial) / (double)mean->bins);
}

/* Adds a group of the gradient to the residual. Returns, lane by lane, the larger of max and |G|. */
V16_FN v16f add_group(float *r, const void *grad, const enum crumb_dtype type, size_t at, v16f max)
{
	const v16f G = v16_add(v16_loadf(r + at), v16_load(type, grad, at));
	v16_storef(r + at, G);
	return v16_max_abs(G, max);
}

/* A codec's loop over the bins: r becomes G, and the symbols are written from dst on. Returns their end, and
 * the mean of the bins' M in *scale. */
typedef uint8_t *pack_symbols(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
                              float *scale);

/* Returns the offset at which the payload of symbols is packed: with entropy coding after the room for the
 * payload of gaps, a scale of 4 bytes and the gaps. */
static inline size_t bins_uncoded_at(size_t n, bool entropy) { return entropy ? 4 + golomb_room(n) : 0; }

/* Bytes that packing needs: scale and bin have 8, and crumb_golomb_of_bins reads up to 3 past the symbols. */
static inline size_t bins_bound(size_t n, size_t bin, size_t symbols, bool entropy)
{
	return bins_uncoded_at(n, entropy) + 8 + symbols * symbol_width(bin) + (entropy ? 3 : 0);
}

/* Packs a tensor: serves as a codec's pack. */
static inline size_t bins_pack(struct crumb_packer *p, const void *grad, enum crumb_dtype type,
                               pack_symbols *pack, bool entropy, uint8_t *dst, uint16_t *flags)
{
	const size_t n = p->n, bin = (size_t)p->codec.value[BIN];
	uint8_t *const uncoded = dst + bins_uncoded_at(n, entropy), *const symbols = uncoded + 8;
	float scale;
	uint8_t *const end = pack(p, grad, type, symbols, &scale);
	const size_t size = (size_t)(end - uncoded);
	put_u32(put_f32(uncoded, scale), (uint32_t)bin);
	add_bins(&(struct bin_reader){symbols, 0}, n, bin, -scale, packer_floats(p), n); /* r = G - value */
	if (entropy) {
		const size_t gaps =
		        crumb_golomb_of_bins(dst + 4, symbols, size - 8, symbol_width(bin), bin, n);
		if (gaps && 4 + gaps < size) {
			*flags = BINS_GAPS;
			memcpy(dst, uncoded, 4);
			return 4 + gaps;
		}
		memmove(dst, uncoded, size); /* gaps were not shorter: keep the symbols */
	}
	return size;
}

#endif
