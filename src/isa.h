/* The functions of one instruction set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ISA_H
#define ISA_H

#include "codec/codec.h"

/* The entry points of what is compiled once per instruction set. */
struct isa {
	const char *name;
	const struct codec *const *codecs; /* in order of id, which begins at 1; NULL at the end */
	bool (*finite)(const void *grad, size_t n, enum crumb_dtype type);
	uint32_t (*crc)(const uint8_t *data, size_t size);                       /* crc32c */
	uint32_t (*checksum)(uint32_t before, const uint8_t *data, size_t size); /* crc32c_blocks */
};

extern const struct isa crumb_isa_portable, crumb_isa_sse2, crumb_isa_avx2, crumb_isa_avx512, crumb_isa_neon;

/* isa.c: returns the one in use. */
const struct isa *crumb_isa_now(void);

#endif
