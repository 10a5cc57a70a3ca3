/* Several processes with one state file take their steps one after another.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STATE_LOCK_H
#define STATE_LOCK_H

/* Begin with zeros. */
struct state_lock {
	char *path; /* NULL: not held */
	int fd;
};

/* Waits until no other process holds the state's lock, which is on the file STATE.lock: the state itself is
 * replaced at every step. The end of a process, whatever ends it, releases its lock. STATUS_OK, or
 * STATUS_FAILED after a message. */
int state_lock_take(struct state_lock *lock, const char *state);

/* Releases the lock if it is held, and removes its file if that is empty. */
void state_lock_release(struct state_lock *lock);

#endif
