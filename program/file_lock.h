/* Locks between processes. The end of a process, whatever ends it, releases its locks.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FILE_LOCK_H
#define FILE_LOCK_H

#include <stdbool.h>

/* A lock on a file of its own, for what is replaced while the lock is held. Begin with zeros. */
struct file_lock {
	char *path; /* NULL: not held */
	int fd;
};

/* Takes the lock on PATH.lock, where path's symbolic links are resolved. Returns 0, or -1 with errno, which
 * is EWOULDBLOCK if another process holds the lock and `wait` is false. */
int file_lock_take(struct file_lock *lock, const char *path, bool wait);

/* Releases the lock if it is held, and removes its file if that is empty. */
void file_lock_release(struct file_lock *lock);

/* Locks an open file itself until it is closed. Returns as file_lock_take does. */
int file_lock_open(int fd, bool wait);

/* Returns true if the error says that the file system, or this kernel, has no locks. */
bool file_lock_unknown(int error);

#endif
