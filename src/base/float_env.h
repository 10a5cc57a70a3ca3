/* The floating-point environment in which the library computes: numbers are rounded to nearest, subnormal
 * ones are kept, and no exception traps. The caller may have another one, as programs do that trap overflows
 * and divisions by zero.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FLOAT_ENV_H
#define FLOAT_ENV_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SSE__)
#include <xmmintrin.h>
enum { FLOAT_ENV_DEFAULT = 0x1F80, FLOAT_ENV_FLAGS = 0x3F }; /* flags: of exceptions that have occurred */
static inline uint64_t float_env_get(void) { return _mm_getcsr(); }
static inline void float_env_set(uint64_t env) { _mm_setcsr((unsigned)env); }
#elif defined(__aarch64__)
enum { FLOAT_ENV_DEFAULT = 0, FLOAT_ENV_FLAGS = 0 };
static inline uint64_t float_env_get(void)
{
	uint64_t env;
	__asm__ volatile("mrs %0, fpcr" : "=r"(env) : : "memory");
	return env;
}
static inline void float_env_set(uint64_t env) { __asm__ volatile("msr fpcr, %0" : : "r"(env) : "memory"); }
#else
enum { FLOAT_ENV_DEFAULT = 0, FLOAT_ENV_FLAGS = 0 };
static inline uint64_t float_env_get(void) { return FLOAT_ENV_DEFAULT; }
static inline void float_env_set(uint64_t env) { (void)env; }
#endif

static inline bool float_env_is_default(uint64_t env)
{
	return (env & ~(uint64_t)FLOAT_ENV_FLAGS) == FLOAT_ENV_DEFAULT;
}

/* Sets the default environment; returns the caller's. */
static inline uint64_t float_env_enter(void)
{
	const uint64_t callers = float_env_get();
	if (!float_env_is_default(callers))
		float_env_set(FLOAT_ENV_DEFAULT);
	return callers;
}
static inline void float_env_leave(const uint64_t *callers)
{
	if (!float_env_is_default(*callers))
		float_env_set(*callers);
}

/* The first statement of a public function that computes, or checks a codec's values: the default environment
 * is in use until the function returns. Floats are computed in the functions that it calls, so that none is
 * computed before. */
#define DEFAULT_FLOATS \
	const uint64_t callers_env __attribute__((cleanup(float_env_leave), unused)) = float_env_enter()

#endif
