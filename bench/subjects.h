/* The codecs and the machine's name, for the programs of this folder that measure codecs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SUBJECTS_H
#define SUBJECTS_H

#include <stddef.h>

/* Returns the i-th spec: every codec at its defaults, then the settings of speed goals, and others of note;
 * NULL past the last. */
const char *subject_spec(size_t i);

/* Returns the CPU's name, up to a comma, family and model; numbers are 0 if unknown. */
const char *subject_cpu(void);

#endif
