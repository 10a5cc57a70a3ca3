/* Locks between processes.
 *
 * SPDX-License-Identifier: MIT */
#include "program/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int file_lock_open(int fd, bool wait) { return flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB); }

bool file_lock_unknown(int error) { return error == ENOSYS || error == EOPNOTSUPP; }

/* Returns true if the file that is open, and described in *info, still has its name. */
static bool is_there(const struct file_lock *lock, struct stat *info)
{
	struct stat named;
	return !fstat(lock->fd, info) && !stat(lock->path, &named) && named.st_dev == info->st_dev &&
	       named.st_ino == info->st_ino;
}

static int give_up(struct file_lock *lock)
{
	const int error = errno;
	if (lock->fd >= 0)
		close(lock->fd);
	free(lock->path);
	lock->path = NULL;
	errno = error;
	return -1;
}

int file_lock_take(struct file_lock *lock, const char *path, bool wait)
{
	struct stat info;
	char *const target = realpath(path, NULL);
	const int length = asprintf(&lock->path, "%s.lock", target ? target : path);
	free(target);
	if (length < 0) {
		lock->path = NULL;
		errno = ENOMEM;
		return -1;
	}
	for (;;) {
		lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (lock->fd < 0 && errno == EACCES) { /* another user's, which can be locked all the same */
			lock->fd = open(lock->path, O_RDONLY | O_CLOEXEC);
			errno = EACCES; /* where there is none, this is why none could be made */
		}
		if (lock->fd < 0 || file_lock_open(lock->fd, wait))
			return give_up(lock);
		if (is_there(lock, &info)) /* not if who held it before has removed it meanwhile */
			return 0;
		close(lock->fd);
	}
}

void file_lock_release(struct file_lock *lock)
{
	struct stat info;
	if (!lock->path)
		return;
	if (is_there(lock, &info) && info.st_size == 0) /* a file with bytes in it is the user's */
		unlink(lock->path);
	close(lock->fd);
	free(lock->path);
	lock->path = NULL;
}
