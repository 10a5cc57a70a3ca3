/* What the programs of this folder that measure codecs have in common: which codecs, on which machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SUBJECTS_H
#define SUBJECTS_H

#include <stddef.h>

/* The i-th spec: every codec at its defaults, then what the goals of speed are stated for, and settings of
 * note; NULL past the last. */
const char *subject_spec(size_t i);

/* The CPU's name, up to a comma, family and model; numbers are 0 where the machine does not tell. */
const char *subject_cpu(void);

#endif
