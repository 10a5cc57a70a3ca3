/* Starting the programs that are installed beside this one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BESIDE_H
#define BESIDE_H

#include <stdio.h>
#include <sys/types.h>

/* Starts words[0], the one beside this program or else the one that $PATH has. input, from its first byte on,
 * and output are its standard streams; NULL: those of this program. words: NULL at the end. Returns 0 or an
 * error of errno.h. */
int beside_start(pid_t *process, const char *const *words, FILE *input, FILE *output);

/* Waits. Returns the exit status; -1: a signal has ended it. */
int beside_end(pid_t process);

#endif
