/* CPU time and repetitions.
 *
 * SPDX-License-Identifier: MIT */
#include "measure/timing.h"

#include <time.h>

double timing_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

size_t timing_repeats(size_t n)
{
	const size_t enough_elements = 1 << 20, enough_calls = 1 << 10;
	return n < enough_elements / enough_calls ? enough_calls : (enough_elements + n - 1) / n;
}
