/* The cases that the laws loop over: codecs in many settings, instruction sets, lengths, gradients.
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

/* Fills codec with every codec at its defaults, then with each key at each of its choices or at both ends of
 * its range, then with settings that take other code paths. Returns how many there are, at most cap. */
size_t case_codecs(crumb_codec *codec, size_t cap);
enum { CASE_CODECS = 256 };

/* Parses a spec; fails the test if it is wrong. */
crumb_codec case_parse(const char *spec);

/* Fills name with the instruction sets of this machine, the portable one first, and returns their number. */
size_t case_isas(const char **name);
enum { CASE_ISAS = 8 };

/* Goes through the instruction sets of this machine, the portable one first: the i-th is in use in the body,
 * the best one after the loop. */
#define FOR_EACH_ISA(i) for (size_t i = 0; case_isa(i); i++)
/* Uses the i-th instruction set and returns its name; past the last one NULL, and the best one is in use. */
const char *case_isa(size_t i);

/* Lengths just below, at and above every block size of a codec, in elements. */
extern const size_t case_length[];
extern const size_t case_lengths;

/* Gradients of different characters; each is a pure function of (kind, n, seed). */
enum case_kind { CASE_GAUSS, CASE_SPARSE, CASE_DYADIC, CASE_EXTREME, CASE_CONSTANT, CASE_ZERO, CASE_KINDS };
void case_fill(float *g, size_t n, enum case_kind kind, uint64_t seed);

/* Converts n f32 to n elements of dtype, rounding to nearest even in plain C. */
void case_convert(void *dst, enum crumb_dtype dtype, const float *src, size_t n);
/* Returns element i of src as an f32. */
float case_element(const void *src, enum crumb_dtype dtype, size_t i);
/* Returns the bytes of one element. */
size_t case_width(enum crumb_dtype dtype);

/* Returns a packer in a heap block of exactly its size, which the caller frees. */
crumb_packer *case_packer(const crumb_codec *codec, size_t n, uint64_t seed);

/* Measures the shared statistics, if the codec has any, and agrees on them alone; then packs into a heap
 * block of exactly the bound, which the caller frees. Fails the test on an error. */
uint8_t *case_pack(crumb_packer *packer, const void *grad, enum crumb_dtype dtype, size_t *len);

/* Random 64 bits, a uniform number in [0, 1), and a standard normal one; the state is the caller's. */
uint64_t case_random(uint64_t *state);
double case_uniform(uint64_t *state);
double case_gauss(uint64_t *state);

#endif
