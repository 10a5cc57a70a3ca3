/* How fast a network computes here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_ESTIMATE_H
#define PLAN_ESTIMATE_H

#include <stdint.h>

/* Seconds of a batch on one thread, as crumb-train --estimate times it, which stands beside this program or
 * in PATH. STATUS_OK, or STATUS_FAILED after a message. */
int estimate_compute(double *seconds, const char *model, uint64_t batch);

#endif
