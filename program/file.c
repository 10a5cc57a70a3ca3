/* Reading whole files, and writing files that appear whole or not at all.
 *
 * SPDX-License-Identifier: MIT */
#include "program/file.h"
#include "program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path)
{
	return program_fail("%s: %s", strcmp(path, "-") ? path : "standard input or output", strerror(errno));
}

/* Doubles the capacity of a file that is being read. */
static int grow(struct file *file, size_t *room)
{
	uint8_t *larger = *room > SIZE_MAX / 2 ? NULL : program_memory(*room * 2);
	if (!larger)
		return STATUS_FAILED;
	memcpy(larger, file->data, file->size);
	free(file->data);
	file->data = larger;
	*room *= 2;
	return STATUS_OK;
}

static int read_all(struct file *file, int fd, const char *path)
{
	struct stat info;
	if (fstat(fd, &info))
		return fail(path);
	size_t room = S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size + 1 : 1 << 16;
	file->data = program_memory(room);
	if (!file->data)
		return STATUS_FAILED;
	for (;;) {
		const ssize_t got = read(fd, file->data + file->size, room - file->size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(path);
		if (got == 0)
			return STATUS_OK;
		file->size += (size_t)got;
		if (file->size == room && grow(file, &room))
			return STATUS_FAILED;
	}
}

int file_read(struct file *file, const char *path)
{
	*file = (struct file){NULL, 0};
	const bool standard = !strcmp(path, "-");
	const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(path);
	const int status = read_all(file, fd, path);
	if (!standard)
		close(fd);
	if (status) {
		free(file->data);
		*file = (struct file){NULL, 0};
	}
	return status;
}

/* As file_exists; *info describes a file that exists. */
static int look(bool *exists, struct stat *info, const char *path)
{
	*exists = !stat(path, info);
	if (*exists)
		return STATUS_OK;
	const int error = errno;
	if (error == ENOENT && !lstat(path, info))
		return program_fail("%s: a link to a file that does not exist", path);
	errno = error;
	return error == ENOENT ? STATUS_OK : fail(path);
}

int file_exists(bool *exists, const char *path)
{
	struct stat info;
	return look(exists, &info, path);
}

bool file_replaceable(const char *path)
{
	struct stat info;
	return stat(path, &info) || S_ISREG(info.st_mode);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Writes a file's folder. */
static const char *folder_of(const char *path, char room[PATH_MAX])
{
	const size_t length = (size_t)(name_of(path) - path);
	snprintf(room, PATH_MAX, "%.*s", length ? (int)length : 1, length ? path : ".");
	return room;
}

bool file_same(const char *a, const char *b)
{
	char room[PATH_MAX];
	struct stat info_a, info_b;
	if (!strcmp(a, "-") || !strcmp(b, "-"))
		return false;
	const bool there_a = !stat(a, &info_a), there_b = !stat(b, &info_b);
	if (there_a || there_b)
		return there_a && there_b && info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
	return !strcmp(name_of(a), name_of(b)) && !stat(folder_of(a, room), &info_a) &&
	       !stat(folder_of(b, room), &info_b) && info_a.st_dev == info_b.st_dev &&
	       info_a.st_ino == info_b.st_ino;
}

/* ---- what a signal leaves behind ---- */

enum { MOST_OUTPUTS = 4 };
static char *volatile unfinished[MOST_OUTPUTS]; /* names of temporary files */

/* Removes them, and ends the process as the signal would have. */
static void remove_unfinished(int number)
{
	for (int i = 0; i < MOST_OUTPUTS; i++)
		if (unfinished[i])
			unlink(unfinished[i]);
	signal(number, SIG_DFL);
	raise(number);
}

/* Signals that somebody handles, or ignores, stay as they are. SIGPIPE is ignored, so that the write fails.
 */
static void handle_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct sigaction now, ours = {.sa_handler = remove_unfinished};
		if (!sigaction(ends[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(ends[i], &ours, NULL);
	}
}

/* Sets or, with to NULL, forgets a name that a signal would remove. */
static void exchange_unfinished(const char *from, char *to)
{
	int i = 0;
	while (i < MOST_OUTPUTS && unfinished[i] != from)
		i++;
	if (i < MOST_OUTPUTS)
		unfinished[i] = to;
}

/* ---- writing ---- */

int output_open(struct output *output, const char *path)
{
	*output = (struct output){.path = path, .fd = -1};
	handle_signals();
	if (!strcmp(path, "-")) {
		output->fd = STDOUT_FILENO;
		return STATUS_OK;
	}
	struct stat info;
	bool exists;
	if (look(&exists, &info, path))
		return STATUS_FAILED;
	if (exists && !S_ISREG(info.st_mode)) {
		output->fd = open(path, O_WRONLY | O_CLOEXEC);
		return output->fd < 0 ? fail(path) : STATUS_OK;
	}
	output->target = exists ? realpath(path, NULL) : strdup(path);
	if (!output->target)
		return fail(path);
	/* A process that was killed may have left a file of such a name. */
	for (unsigned k = 0; output->fd < 0 && k < 1000; k++) {
		free(output->temporary);
		if (asprintf(&output->temporary, "%s.%ld-%u.tmp", output->target, (long)getpid(), k) < 0) {
			output->temporary = NULL;
			return fail(path);
		}
		output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		                  exists ? info.st_mode & 0777 : 0666);
		if (output->fd < 0 && errno != EEXIST)
			break;
	}
	if (output->fd >= 0) {
		exchange_unfinished(NULL, output->temporary);
		if (exists) /* the file's mode, whatever this process's mask is */
			(void)!fchmod(output->fd, info.st_mode & 0777);
		return STATUS_OK;
	}
	const int status = fail(path);
	free(output->temporary); /* never created: do not remove what bears its name */
	output->temporary = NULL;
	return status;
}

int output_write(struct output *output, const void *data, size_t size)
{
	for (const uint8_t *next = data; size;) {
		const ssize_t put = write(output->fd, next, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(output->path);
		next += put;
		size -= (size_t)put;
	}
	return STATUS_OK;
}

int output_settle(struct output *output)
{
	if (output->temporary && fsync(output->fd))
		return fail(output->path);
	const int fd = output->fd;
	output->fd = -1;
	return close(fd) ? fail(output->path) : STATUS_OK;
}

int file_sync_folder(const char *folder)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	const int error = fsync(fd) && errno != EINVAL ? errno : 0; /* EINVAL: the file system cannot sync */
	close(fd);
	errno = error;
	return error ? -1 : 0;
}

int output_commit(struct output *output)
{
	if (!output->temporary)
		return STATUS_OK;
	if (rename(output->temporary, output->target))
		return fail(output->path);
	exchange_unfinished(output->temporary, NULL);
	free(output->temporary);
	output->temporary = NULL;
	char room[PATH_MAX];
	return file_sync_folder(folder_of(output->target, room)) ? fail(output->path) : STATUS_OK;
}

void output_close(struct output *output)
{
	if (output->fd > STDOUT_FILENO)
		close(output->fd);
	if (output->temporary) {
		unlink(output->temporary);
		exchange_unfinished(output->temporary, NULL);
	}
	free(output->temporary);
	free(output->target);
	*output = (struct output){.fd = -1};
}
