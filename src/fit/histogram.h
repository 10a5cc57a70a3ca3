/* The histogram of coordinates, elements divided by their bucket's norm: eight bins an octave from 2^-20 to 1
 * on either side, and one about zero. Edges are f32 numbers with three bits of mantissa, so that the upper
 * bits of a coordinate are its bin.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "base/bytes.h"
#include "fit/fit.h"

enum { HISTOGRAM_SIDE_BINS = 160, HISTOGRAM_BINS = 2 * HISTOGRAM_SIDE_BINS + 1 };
/* The bits of 2^-20 from the third of its mantissa on: the first of the steps, eight an octave, that are
 * bins. */
enum { HISTOGRAM_FIRST_STEP = (127 - 20) << 3 };

static inline size_t histogram_bin(float y)
{
	const uint32_t bits = bits_of_float(y), first = HISTOGRAM_FIRST_STEP;
	const uint32_t step = (bits & 0x7FFFFFFFu) >> 20;
	if (step < first)
		return HISTOGRAM_SIDE_BINS;
	const size_t at = step - first < HISTOGRAM_SIDE_BINS ? step - first : HISTOGRAM_SIDE_BINS - 1;
	return bits >> 31 ? HISTOGRAM_SIDE_BINS - 1 - at : HISTOGRAM_SIDE_BINS + 1 + at;
}

/* A histogram weighed by norms squared, relative to the largest norm so far. A bucket is counted first. */
struct histogram_count {
	double mass[HISTOGRAM_BINS];
	float top, norm; /* the largest norm of buckets added; the counted bucket's */
	float weight;    /* coordinates of that bucket for which each count stands */
	uint32_t count[HISTOGRAM_BINS];
};

/* Adds the counted bucket to mass, and counts from zero. */
void crumb_histogram_add_bucket(struct histogram_count *s);

/* The law of a histogram, and its arrays. */
struct histogram_law {
	struct fit_histogram of;
	double edge[HISTOGRAM_BINS + 1], sum[3][HISTOGRAM_BINS + 1];
};

/* mass: HISTOGRAM_BINS masses, which must outlive the law. */
void crumb_histogram_law(struct histogram_law *law, const double *mass);

/* Sets the masses to those of another law on [-1, 1], and makes their law. */
void crumb_histogram_of(struct histogram_law *law, double *mass, const struct fit_law *of);

#endif
