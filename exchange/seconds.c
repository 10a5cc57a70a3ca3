/* Wall time, measured.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "exchange/seconds.h"

#include <stdlib.h>
#include <time.h>

double crumb_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double crumb_seconds_median(double *seconds, size_t count)
{
	qsort(seconds, count, sizeof *seconds, by_size);
	return count ? (seconds[count / 2] + seconds[(count - 1) / 2]) / 2 : 0;
}
