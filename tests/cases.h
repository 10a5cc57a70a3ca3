/* What the laws loop over: codecs in many settings, instruction sets, lengths, gradients.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CASES_H
#define CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>
#include <crumb.h>

/* Every codec at its defaults, then with each key at each of its choices or at the ends of its range, then
 * the settings in which codecs differ inside. */
size_t case_codecs(crumb_codec *codec, size_t cap);
enum { CASE_CODECS = 256 };

/* The instruction sets of this machine, the portable one first. */
size_t case_isas(const char **name);
enum { CASE_ISAS = 8 };

/* Lengths around every block that a codec has. */
extern const size_t case_length[];
extern const size_t case_lengths;

/* Gradients of different characters; each is a pure function of (kind, n, seed). */
enum case_kind { CASE_GAUSS, CASE_SPARSE, CASE_DYADIC, CASE_EXTREME, CASE_CONSTANT, CASE_ZERO, CASE_KINDS };
void case_fill(float *g, size_t n, enum case_kind kind, uint64_t seed);

/* The gradient in another type, rounded by plain C; the result is n elements of dtype. */
void case_convert(void *dst, enum crumb_dtype dtype, const float *src, size_t n);
/* And back: the f32 that an element of dtype is. */
float case_element(const void *src, enum crumb_dtype dtype, size_t i);
size_t case_width(enum crumb_dtype dtype);

/* A packer in a block of exactly its size. */
crumb_packer *case_packer(const crumb_codec *codec, size_t n, uint64_t seed);

/* Measures and agrees with itself where the codec wants it, then packs into a block of exactly the bound,
 * which the caller frees. Fails the test on an error. */
uint8_t *case_pack(crumb_packer *packer, const void *grad, enum crumb_dtype dtype, size_t *len);

/* Random 64 bits; the state is the caller's. */
uint64_t case_random(uint64_t *state);
double case_uniform(uint64_t *state);
double case_gauss(uint64_t *state);

#endif
