/* The histogram of coordinates divided by their bucket's norm: eight bins an octave from 2^-20 to 1 on either
 * side, and one about zero. Bin borders are f32 numbers of few bits, so that a coordinate's bin is a matter
 * of its bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "base/bytes.h"
#include "fit/fit.h"

enum { HISTOGRAM_SIDE_BINS = 160, HISTOGRAM_BINS = 2 * HISTOGRAM_SIDE_BINS + 1 };
enum { HISTOGRAM_MIN_OCTAVE = (127 - 20) << 3 }; /* the bits of 2^-20 from the third of its mantissa up */

static inline size_t histogram_bin(float y)
{
	const uint32_t bits = bits_of_float(y), least = HISTOGRAM_MIN_OCTAVE;
	const uint32_t octave = (bits & 0x7FFFFFFFu) >> 20;
	if (octave < least)
		return HISTOGRAM_SIDE_BINS;
	const size_t at = octave - least < HISTOGRAM_SIDE_BINS ? octave - least : HISTOGRAM_SIDE_BINS - 1;
	return bits >> 31 ? HISTOGRAM_SIDE_BINS - 1 - at : HISTOGRAM_SIDE_BINS + 1 + at;
}

/* One of all coordinates, weighed by their norms squared relative to the greatest norm so far. A bucket's are
 * counted first. */
struct histogram_count {
	double mass[HISTOGRAM_BINS];
	float top, norm; /* norm: of the bucket that is counted, */
	float worth;     /* of which each count stands for so many coordinates */
	uint32_t count[HISTOGRAM_BINS];
};

/* Adds the counted bucket to mass, and counts from zero. */
void crumb_histogram_add_bucket(struct histogram_count *s);

/* A law made of one, and the arrays it stands on. */
struct histogram_law {
	struct fit_histogram of;
	double edge[HISTOGRAM_BINS + 1], sum[3][HISTOGRAM_BINS + 1];
};

/* mass: HISTOGRAM_BINS masses, which outlive the law. */
void crumb_histogram_law(struct histogram_law *law, const double *mass);

#endif
