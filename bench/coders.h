/* The coders of symbols by instruction set, the portable ones first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODERS_H
#define CODERS_H

#include "levels.h"
#include "symbols.h"

#define CODER(isa)                                                                                    \
	size_t crumb_symbols_encode_##isa(uint8_t *, const uint8_t *, size_t, const struct symbols *, \
	                                  enum symbols_coder);                                        \
	bool crumb_symbols_decode_##isa(const uint8_t *, size_t, size_t, const struct symbols *,      \
	                                enum symbols_coder, symbols_put *, void *);                   \
	struct symbols crumb_levels_symbols_##isa(uint32_t);
CODER(sse2)
CODER(avx2)
CODER(avx512)
CODER(neon)
#undef CODER

static const struct isa_coder {
	const char *isa;
	size_t (*encode)(uint8_t *, const uint8_t *, size_t, const struct symbols *, enum symbols_coder);
	bool (*decode)(const uint8_t *, size_t, size_t, const struct symbols *, enum symbols_coder,
	               symbols_put *, void *);
	struct symbols (*levels)(uint32_t count); /* codes of levels */
} isa_coders[] = {
#define CODER(isa) {#isa, crumb_symbols_encode_##isa, crumb_symbols_decode_##isa, crumb_levels_symbols_##isa},
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
