/* The choice of the instruction set, and of prefetching, by what the CPU is.
 *
 * SPDX-License-Identifier: MIT */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "crumb runs on little-endian hosts only: frames, packers and gradients are little-endian"
#endif

#include "isa.h"
#include "v16/prefetch.h"
#include <stdatomic.h>
#include <string.h>
#ifdef CRUMB_HAVE_AVX2
#include <cpuid.h>
#endif
#if defined(CRUMB_HAVE_NEON) && !defined(__ARM_FEATURE_CRC32)
#include <sys/auxv.h>
#endif

static bool always(void) { return true; }
#ifdef CRUMB_HAVE_AVX2
/* clang's __builtin_cpu_supports does not know f16c. */
static bool has_f16c(void)
{
	unsigned a, b, c = 0, d;
	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
static bool has_avx2(void)
{
	return has_f16c() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}
#endif
#ifdef CRUMB_HAVE_AVX512
static bool has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
	       __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("vpclmulqdq");
}
#endif
#ifdef CRUMB_HAVE_NEON
/* AdvSIMD is always there; the CRC instructions are optional in ARMv8.0. */
static bool has_neon(void)
{
#ifdef __ARM_FEATURE_CRC32
	return true;
#else
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
#endif
}
#endif

size_t crumb_stream_prefetch;

#ifdef CRUMB_HAVE_AVX2
/* Runs when the library is loaded, before any call of it can. Software prefetching speeds up streams on Intel
 * CPUs and from Zen 5 on; it slows down Zen 4, whose hardware prefetcher does better alone. */
__attribute__((constructor)) static void choose_prefetch(void)
{
	unsigned version = 0, maker = 0, b, c, d;
	__get_cpuid(0, &version, &maker, &c, &d);
	__get_cpuid(1, &version, &b, &c, &d);
	const unsigned amd_family = (version >> 8 & 15) + (version >> 20 & 255);
	const bool zen5 = maker == signature_AMD_ebx && amd_family >= 26;
	crumb_stream_prefetch = zen5 || maker == signature_INTEL_ebx ? PREFETCH_BYTES : 0;
}
#endif

/* Best first. */
static const struct {
	const struct isa *isa;
	bool (*here)(void);
} choices[] = {
#ifdef CRUMB_HAVE_AVX512
        {&crumb_isa_avx512, has_avx512},
#endif
#ifdef CRUMB_HAVE_AVX2
        {&crumb_isa_avx2, has_avx2},
#endif
#ifdef CRUMB_HAVE_SSE2
        {&crumb_isa_sse2, always},
#endif
#ifdef CRUMB_HAVE_NEON
        {&crumb_isa_neon, has_neon},
#endif
        {&crumb_isa_portable, always},
};

/* NULL until the first use. Threads that find it so at the same time store the same value. */
static _Atomic(const struct isa *) chosen;

static const struct isa *choose(const char *name)
{
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		if ((!name || !strcmp(name, choices[i].isa->name)) && choices[i].here())
			return choices[i].isa;
	return NULL;
}

const struct isa *crumb_isa_now(void)
{
	const struct isa *isa = atomic_load_explicit(&chosen, memory_order_relaxed);
	if (!isa) {
		isa = choose(NULL);
		atomic_store_explicit(&chosen, isa, memory_order_relaxed);
	}
	return isa;
}

const char *crumb_isa(void) { return crumb_isa_now()->name; }

int crumb_set_isa(const char *name)
{
	const struct isa *isa = choose(name);
	if (!isa)
		return CRUMB_EISA;
	atomic_store_explicit(&chosen, isa, memory_order_relaxed);
	return 0;
}
