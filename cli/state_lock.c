/* A lock on a file beside the state.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/state_lock.h"
#include "measure/program.h"
#include "measure/status_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the file that is open, and described in *info, still has its name. */
static bool is_there(const struct state_lock *lock, struct stat *info)
{
	struct stat named;
	return !fstat(lock->fd, info) && !stat(lock->path, &named) && named.st_dev == info->st_dev &&
	       named.st_ino == info->st_ino;
}

static int give_up(struct state_lock *lock)
{
	const int status = program_fail("%s: %s", lock->path, strerror(errno));
	if (lock->fd >= 0)
		close(lock->fd);
	free(lock->path);
	lock->path = NULL;
	return status;
}

static int wait_for(int fd)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	status_line("waiting for another process with this state");
	const int failed = flock(fd, LOCK_EX);
	status_line_clear();
	return failed;
}

int state_lock_take(struct state_lock *lock, const char *state)
{
	struct stat info;
	char *const target = realpath(state, NULL);
	const int length = asprintf(&lock->path, "%s.lock", target ? target : state);
	free(target);
	if (length < 0) {
		lock->path = NULL;
		return program_fail("not enough memory");
	}
	for (;;) {
		lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (lock->fd < 0 && errno == EACCES) { /* another user's, which can be locked all the same */
			lock->fd = open(lock->path, O_RDONLY | O_CLOEXEC);
			errno = EACCES; /* where there is none, this is why none could be made */
		}
		if (lock->fd < 0 || wait_for(lock->fd))
			return give_up(lock);
		if (is_there(lock, &info)) /* not if who held it before has removed it meanwhile */
			return STATUS_OK;
		close(lock->fd);
	}
}

void state_lock_release(struct state_lock *lock)
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
