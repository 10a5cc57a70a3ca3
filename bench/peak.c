/* Loops of one instruction, of which so many follow each other that none waits for its own result.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/peak.h"

#include <string.h>

#ifdef __x86_64__

#define EIGHT(DO)   DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define SIXTEEN(DO) EIGHT(DO) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

#define ADD_256(k)  "vpaddd %%ymm" #k ", %%ymm" #k ", %%ymm" #k "\n"
#define ADD_512(k)  "vpaddd %%zmm" #k ", %%zmm" #k ", %%zmm" #k "\n"
#define FOLD_128(k) "vpclmulqdq $0, %%xmm" #k ", %%xmm" #k ", %%xmm" #k "\n"
#define FOLD_512(k) "vpclmulqdq $0, %%zmm" #k ", %%zmm" #k ", %%zmm" #k "\n"
#define CRC(k)      "crc32q %%rax, %%r" #k "\n"
#define CRCS        CRC(8) CRC(9) CRC(10) CRC(11) CRC(12) CRC(13) CRC(14) CRC(15)

#define LOOP(turns, BODY)                                                                               \
	__asm__ volatile(".p2align 6\n1:\n" BODY "dec %0\njnz 1b\nvzeroupper"                           \
	                 : "+r"(turns)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
	                   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "rax", \
	                   "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc")

enum { F32 = 4, GROUP = 16 * F32 };

static bool is(const char *isa, const char *name) { return !strcmp(isa, name); }

bool peak_operation(const char *isa, size_t bytes)
{
	size_t turns = bytes / GROUP / 16 + 1;
	if (is(isa, "avx512"))
		LOOP(turns, SIXTEEN(ADD_512));
	else if (is(isa, "avx2"))
		LOOP(turns, SIXTEEN(ADD_256));
	else
		return false;
	return true;
}

bool peak_fold(const char *isa, size_t bytes)
{
	size_t wide = bytes / 64 / 8 + 1, narrow = bytes / 16 / 8 + 1;
	if (is(isa, "avx512"))
		LOOP(wide, SIXTEEN(FOLD_512));
	else if (is(isa, "avx2"))
		LOOP(narrow, SIXTEEN(FOLD_128));
	else
		return false;
	return true;
}

bool peak_crc(const char *isa, size_t bytes)
{
	size_t turns = bytes / 8 / 16 + 1;
	if (!is(isa, "avx512") && !is(isa, "avx2"))
		return false;
	LOOP(turns, CRCS CRCS);
	return true;
}

#else

bool peak_operation(const char *isa, size_t bytes)
{
	(void)isa, (void)bytes;
	return false;
}

bool peak_fold(const char *isa, size_t bytes) { return peak_operation(isa, bytes); }

bool peak_crc(const char *isa, size_t bytes) { return peak_operation(isa, bytes); }

#endif
