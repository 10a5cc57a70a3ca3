/* A magic, the length of the run's text, the text, for every block its size and its bytes, a CRC-32 of it
 * all.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "train/checkpoint.h"
#include "program/file.h"
#include "train/options/difference.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char magic[8] = "CRMBRUN1";

struct stream {
	FILE *file;
	char path[4096];
	uint32_t sum;
	char *why;
	size_t cap;
};

static int failed(const struct stream *s, const char *what)
{
	snprintf(s->why, s->cap, "%s: %s", s->path,
	         what    ? what
	         : errno ? strerror(errno)
	                 : "cannot be written");
	return -1;
}

/* Sets the path to folder/name. 0, or -1 after a message. */
static int set_path(struct stream *s, const char *folder, const char *name)
{
	const int length = snprintf(s->path, sizeof s->path, "%s/%s", folder, name);
	return length > 0 && (size_t)length < sizeof s->path ? 0 : failed(s, "the path is too long");
}

static void file_name(char name[64], size_t epoch, unsigned rank)
{
	snprintf(name, 64, "epoch%07zu-rank%u", epoch, rank);
}

/* Returns the epoch of a rank's checkpoint file, and its rank; 0 if the name is no such file's. */
static size_t epoch_of(const char *name, unsigned *rank)
{
	size_t epoch = 0;
	char same[64];
	if (sscanf(name, "epoch%zu-rank%u", &epoch, rank) != 2)
		return 0;
	file_name(same, epoch, *rank);
	return strcmp(name, same) == 0 ? epoch : 0;
}

/* Finds the newest epoch below `before`, of this rank's files or all ranks'; 0 if there is none. -1 if the
 * folder cannot be read. */
static int find_newest(const struct checkpoint *c, size_t before, bool all, size_t *newest)
{
	DIR *folder = opendir(c->folder);
	unsigned rank;
	if (!folder)
		return -1;
	*newest = 0;
	errno = 0;
	for (const struct dirent *entry; (entry = readdir(folder)); errno = 0) {
		const size_t epoch = epoch_of(entry->d_name, &rank);
		if (epoch > *newest && epoch < before && (all || rank == c->rank))
			*newest = epoch;
	}
	const int error = errno;
	closedir(folder);
	errno = error;
	return error ? -1 : 0;
}

int checkpoint_find(const struct checkpoint *c, size_t before, size_t *newest, char *why, size_t cap)
{
	if (find_newest(c, before, true, newest) == 0)
		return 0;
	snprintf(why, cap, "%s: %s", c->folder, strerror(errno));
	return -1;
}

/* ---- writing ---- */

int checkpoint_lock(const struct checkpoint *c, struct file_lock *lock, char *why, size_t cap)
{
	struct stream s = {.why = why, .cap = cap};
	char name[64];
	if (set_path(&s, c->folder, ".") < 0) /* which a file does not have */
		return -1;
	if ((mkdir(c->folder, 0777) < 0 && errno != EEXIST) || access(s.path, W_OK | X_OK) < 0) {
		snprintf(why, cap, "%s: %s", c->folder, strerror(errno));
		return -1;
	}
	snprintf(name, sizeof name, "rank%u", c->rank);
	if (set_path(&s, c->folder, name) < 0)
		return -1;
	if (file_lock_take(lock, s.path, false) == 0 || file_lock_unknown(errno))
		return 0;
	if (errno == EWOULDBLOCK)
		snprintf(why, cap, "%s: another run is writing there", c->folder);
	else
		snprintf(why, cap, "%s.lock: %s", s.path, strerror(errno));
	return -1;
}

static bool put(struct stream *s, const void *data, size_t size)
{
	if (size == 0)
		return true;
	s->sum = (uint32_t)crc32_z(s->sum, data, size);
	return fwrite(data, 1, size, s->file) == size;
}

static bool put_sized(struct stream *s, const void *data, size_t size)
{
	const uint64_t length = size;
	return put(s, &length, sizeof length) && put(s, data, size);
}

static bool put_all(struct stream *s, const struct checkpoint *c, const struct checkpoint_block *block,
                    size_t blocks)
{
	bool well = put(s, magic, sizeof magic) && put_sized(s, c->run, strlen(c->run));
	for (size_t i = 0; i < blocks && well; i++)
		well = put_sized(s, block[i].data, block[i].size);
	const uint32_t sum = s->sum;
	return well && put(s, &sum, sizeof sum) && fflush(s->file) == 0 && fsync(fileno(s->file)) == 0;
}

/* Removes files older than this rank's newest one before this epoch: rank 0 all ranks', which have that one,
 * too, or took no part in it. */
static void remove_older(struct stream *s, const struct checkpoint *c, size_t epoch)
{
	size_t kept;
	DIR *folder = find_newest(c, epoch, false, &kept) < 0 ? NULL : opendir(c->folder);
	if (!folder)
		return;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		unsigned rank;
		const size_t older = epoch_of(entry->d_name, &rank);
		if (older > 0 && older < kept && (c->rank == 0 || rank == c->rank) &&
		    set_path(s, c->folder, entry->d_name) == 0)
			remove(s->path);
	}
	closedir(folder);
}

int checkpoint_write(const struct checkpoint *c, size_t epoch, const struct checkpoint_block *block,
                     size_t blocks, char *why, size_t cap)
{
	struct stream s = {.why = why, .cap = cap};
	char name[64], temporary[sizeof s.path];
	snprintf(name, sizeof name, "rank%u.tmp", c->rank);
	if (set_path(&s, c->folder, name) < 0)
		return -1;
	memcpy(temporary, s.path, sizeof temporary);
	file_name(name, epoch, c->rank);
	if (set_path(&s, c->folder, name) < 0)
		return -1;
	errno = 0;
	s.file = fopen(temporary, "wb");
	if (!s.file)
		return failed(&s, NULL);
	const bool well = put_all(&s, c, block, blocks);
	const int because = errno;
	if (fclose(s.file) != 0 || !well || rename(temporary, s.path) < 0) {
		errno = well ? errno : because;
		failed(&s, NULL);
		remove(temporary);
		return -1;
	}
	if (file_sync_folder(c->folder) < 0)
		return failed(&s, NULL);
	remove_older(&s, c, epoch);
	return 0;
}

/* ---- reading ---- */

static int damaged(const struct stream *s)
{
	failed(s, "a damaged checkpoint");
	return CHECKPOINT_DAMAGED;
}

/* Checks the whole file, so that a damaged one is not taken for another run's, and goes back to its start. */
static int check_sum(struct stream *s)
{
	unsigned char part[1 << 16];
	uint32_t sum = 0, stored;
	long left = fseek(s->file, 0, SEEK_END) == 0 ? ftell(s->file) - (long)sizeof stored : -1;
	rewind(s->file);
	while (left > 0) {
		const size_t size = (size_t)left < sizeof part ? (size_t)left : sizeof part;
		if (fread(part, 1, size, s->file) != size)
			return damaged(s);
		sum = (uint32_t)crc32_z(sum, part, size);
		left -= (long)size;
	}
	if (left < 0 || fread(&stored, 1, sizeof stored, s->file) != sizeof stored || stored != sum)
		return damaged(s);
	rewind(s->file);
	return 0;
}

static bool get(struct stream *s, void *data, size_t size) { return fread(data, 1, size, s->file) == size; }

static bool get_block(struct stream *s, struct checkpoint_block *block)
{
	uint64_t length;
	if (!get(s, &length, sizeof length))
		return false;
	if (block->optional && length == 0)
		block->size = 0;
	return length == block->size && get(s, block->data, block->size);
}

/* Names the first line in which two runs differ. */
static int of_another_run(const struct stream *s, const char *then, const char *now)
{
	const struct difference d = difference_find(then, now);
	snprintf(s->why, s->cap, "%s is of another run: then \"%.*s\", now \"%.*s\"", s->path, d.a_length,
	         d.a, d.b_length, d.b);
	return -1;
}

/* Reads the head and refuses another run's file. */
static int read_head(struct stream *s, const struct checkpoint *c)
{
	char begin[sizeof magic], text[8192];
	uint64_t length;
	if (!get(s, begin, sizeof begin) || memcmp(begin, magic, sizeof magic) != 0 ||
	    !get(s, &length, sizeof length) || length >= sizeof text || !get(s, text, (size_t)length))
		return failed(s, "no checkpoint");
	text[length] = 0;
	return strcmp(text, c->run) == 0 ? 0 : of_another_run(s, text, c->run);
}

static int read_blocks(struct stream *s, struct checkpoint_block *block, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++)
		if (!get_block(s, &block[i]))
			return failed(s, "a checkpoint of another build of crumb-train");
	return 0;
}

/* Opens the file of an epoch and checks its sum. */
static int open_checked(struct stream *s, const struct checkpoint *c, size_t epoch)
{
	char name[64];
	file_name(name, epoch, c->rank);
	if (set_path(s, c->folder, name) < 0)
		return -1;
	errno = 0;
	s->file = fopen(s->path, "rb");
	if (s->file)
		return check_sum(s);
	const bool absent = errno == ENOENT;
	failed(s, NULL);
	return absent ? CHECKPOINT_ABSENT : -1;
}

int checkpoint_read(const struct checkpoint *c, size_t epoch, struct checkpoint_block *block, size_t blocks,
                    char *why, size_t cap)
{
	struct stream s = {.why = why, .cap = cap};
	int result = open_checked(&s, c, epoch);
	if (result == 0)
		result = read_head(&s, c);
	if (result == 0)
		result = read_blocks(&s, block, blocks);
	if (s.file)
		fclose(s.file);
	return result;
}
