/* A rank's state between two epochs, in files: DIR/epoch0000012-rank0.
 *
 * A file is written under a temporary name and renamed when it is on the disk, so that a checkpoint is whole
 * whenever the program was killed. The two newest epochs stay, because another rank may be one behind; rank 0
 * also removes older files of ranks that a run before had. A file begins with a text that identifies the run,
 * and is of no use to another run, nor to a machine or a version with another layout of blocks; it ends with
 * a checksum.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "program/file_lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoint {
	const char *folder;
	unsigned rank;
	const char *run; /* identifies the run: lines of what has to be the same when it goes on */
};

struct checkpoint_block {
	void *data;
	size_t size;
	bool optional; /* in the file it may be empty; then size is 0 afterwards */
};

/* Makes the folder if there is none, and keeps another process with this rank out of it until
 * file_lock_release; where locks are unknown, nobody. All return 0, or -1 with a line in why, which names the
 * file. */
int checkpoint_lock(const struct checkpoint *checkpoint, struct file_lock *lock, char *why, size_t cap);

/* *newest: the epoch of any rank's newest file below `before`, 0 if there is none. */
int checkpoint_find(const struct checkpoint *checkpoint, size_t before, size_t *newest, char *why,
                    size_t cap);
int checkpoint_write(const struct checkpoint *checkpoint, size_t epoch, const struct checkpoint_block *block,
                     size_t blocks, char *why, size_t cap);
/* Reads the first so many blocks. Also returns CHECKPOINT_DAMAGED, with a line in why, if the file is not as
 * it was written, CHECKPOINT_ABSENT if there is none. On failure the blocks' bytes are unspecified. */
enum { CHECKPOINT_DAMAGED = -2, CHECKPOINT_ABSENT = -3 };
int checkpoint_read(const struct checkpoint *checkpoint, size_t epoch, struct checkpoint_block *block,
                    size_t blocks, char *why, size_t cap);

#endif
