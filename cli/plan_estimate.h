/* The time that a network's batch takes on this machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_ESTIMATE_H
#define PLAN_ESTIMATE_H

#include <stdint.h>

/* Measures the seconds of a batch on one thread by crumb-train --estimate, which is beside this program or in
 * PATH. STATUS_OK, or STATUS_FAILED after a message. */
int estimate_compute(double *seconds, const char *model, uint64_t batch);

#endif
