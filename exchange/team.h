/* A team of threads that runs many small tasks and waits for them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TEAM_H
#define TEAM_H

#include <stddef.h>

struct team;

/* Starts a team of threads >= 1, the caller being one of them. NULL if they cannot be started. */
struct team *crumb_team_open(unsigned threads);
void crumb_team_close(struct team *team);             /* NULL is fine */
unsigned crumb_team_threads(const struct team *team); /* 1 for NULL */

/* Calls task(arg, i, thread) once for every i in [0, count), thread in [0, threads), and returns when all are
 * done. Results must not depend on which thread runs which task; some may run none. One call at a time; a
 * task must not call it for its own team. A team of one, and NULL, run all tasks in the caller, in order. */
void crumb_team_run(struct team *team, void (*task)(void *arg, size_t i, unsigned thread), void *arg,
                    size_t count);

#endif
