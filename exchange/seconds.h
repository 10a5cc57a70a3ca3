/* Wall time, measured.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SECONDS_H
#define SECONDS_H

#include <stddef.h>

double crumb_seconds(void); /* since some moment in the past */

/* Sorts seconds and returns the median; 0 if there are none. */
double crumb_seconds_median(double *seconds, size_t count);

#endif
