/* Additions of integers, which more of a CPU's units do than anything else.
 *
 * SPDX-License-Identifier: MIT */
#include "peak.h"

#include <string.h>

#ifdef __x86_64__
/* Eight of each turn: enough that none waits for the one before. */
#define EACH(ADD)  ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7)
#define ADD_256(k) "vpaddd %%ymm" #k ", %%ymm" #k ", %%ymm" #k "\n"
#define ADD_512(k) "vpaddd %%zmm" #k ", %%zmm" #k ", %%zmm" #k "\n"
#define CHANGED                                                                                           \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
	        "xmm12", "xmm13", "xmm14", "xmm15", "cc"

bool peak_run(const char *isa, size_t n)
{
	size_t turns = n / 16 / 8 + 1;
	if (!strcmp(isa, "avx512"))
		__asm__ volatile("1:\n" EACH(ADD_512) "dec %0\njnz 1b\nvzeroupper" : "+r"(turns)::CHANGED);
	else if (!strcmp(isa, "avx2"))
		__asm__ volatile("1:\n" EACH(ADD_256) "dec %0\njnz 1b\nvzeroupper" : "+r"(turns)::CHANGED);
	else
		return false;
	return true;
}
#else
bool peak_run(const char *isa, size_t n)
{
	(void)isa, (void)n;
	return false;
}
#endif
