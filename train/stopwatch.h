/* Seconds on a clock that only goes forward.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STOPWATCH_H
#define STOPWATCH_H

/* Since some fixed moment. */
double stopwatch_now(void);

#endif
