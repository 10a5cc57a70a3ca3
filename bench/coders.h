/* The entropy coders by instruction set, the portable ones first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODERS_H
#define CODERS_H

#include "payload/levels.h"
#include "coding/blocks.h"

#define CODER(isa)                                                                                      \
	size_t crumb_blocks_encode_##isa(uint8_t *, const uint8_t *, size_t, const struct block_code *, \
	                                 enum blocks_coder);                                            \
	bool crumb_blocks_decode_##isa(const uint8_t *, size_t, size_t, const struct block_code *,      \
	                               enum blocks_coder, blocks_put *, void *);                        \
	struct block_code crumb_levels_codes_##isa(uint32_t);
CODER(sse2)
CODER(avx2)
CODER(avx512)
CODER(neon)
#undef CODER

static const struct isa_coder {
	const char *isa;
	size_t (*encode)(uint8_t *, const uint8_t *, size_t, const struct block_code *, enum blocks_coder);
	bool (*decode)(const uint8_t *, size_t, size_t, const struct block_code *, enum blocks_coder,
	               blocks_put *, void *);
	struct block_code (*levels)(uint32_t count); /* codes of levels */
} isa_coders[] = {
#define CODER(isa) {#isa, crumb_blocks_encode_##isa, crumb_blocks_decode_##isa, crumb_levels_codes_##isa},
        CODER(portable)
#ifdef CRUMB_HAVE_SSE2
                CODER(sse2)
#endif
#ifdef CRUMB_HAVE_AVX2
                        CODER(avx2)
#endif
#ifdef CRUMB_HAVE_AVX512
                                CODER(avx512)
#endif
#ifdef CRUMB_HAVE_NEON
                                        CODER(neon)
#endif
};
#undef CODER
enum { ISA_CODERS = sizeof isa_coders / sizeof *isa_coders };

#endif
