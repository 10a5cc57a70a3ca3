/* A rank's state between two epochs, in files: DIR/epoch0000012-rank0.
 *
 * A file is written under a temporary name and renamed when it is on the disk, so that a checkpoint is whole
 * whenever the program was killed. A rank's two newest stay, because another rank may be one epoch behind. A
 * file begins with a text that identifies the run, and is of no use to another run, nor to a machine or a
 * version with another layout of blocks; it ends with a checksum.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

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
};

/* Makes the folder if there is none. *newest: the epoch of this rank's newest file below `before`, 0 if it
 * has none. All return 0, or -1 with a line in why, which names the file. */
int checkpoint_find(const struct checkpoint *checkpoint, size_t before, size_t *newest, char *why,
                    size_t cap);
int checkpoint_write(const struct checkpoint *checkpoint, size_t epoch, const struct checkpoint_block *block,
                     size_t blocks, char *why, size_t cap);
/* Also returns CHECKPOINT_DAMAGED, with a line in why, if the file is not as it was written. */
enum { CHECKPOINT_DAMAGED = -2 };
int checkpoint_check(const struct checkpoint *checkpoint, size_t epoch, char *why, size_t cap);
/* On failure the blocks' bytes are unspecified. */
int checkpoint_read(const struct checkpoint *checkpoint, size_t epoch, const struct checkpoint_block *block,
                    size_t blocks, char *why, size_t cap);

#endif
