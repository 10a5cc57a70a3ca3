/* Frames to weighted sums, by all threads. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef AVERAGE_H
#define AVERAGE_H

#include <crumb_parallel.h>
#include <stdbool.h>

struct step;

/* Frames to decode: [slice][frames], and their weights. */
struct decode_job {
	size_t frames; /* of each slice */
	const crumb_span *frame;
	const float *weight;
	size_t stride; /* from one slice's weights to the next one's; 0: all slices have the same */
};

/* Memory of one call. */
struct decode_memory {
	struct range *range;
	size_t *cut_slice;       /* slices that are cut */
	crumb_part *found;       /* [cut][frame][part] */
	struct checked *checked; /* [cut][frame] */
};

/* Writes the weighted sums of the frames of count slices to step->mean; best with the longest slices first.
 * Returns 0, or the error of the first slice that has one, and says why. */
int crumb_average_slices(struct step *step, const size_t *slice, size_t count, const struct decode_job *job);

/* Limits a mean that is packed again to 2^120 in magnitude, above which it could not be: sums of legal
 * gradients, and of what was owed of them, may be greater. */
void crumb_average_limit(float *mean, size_t n);

/* Takes memory; frames: the most of a slice. Returns false if there is none; crumb_average_close frees what
 * there is. */
bool crumb_average_open(struct decode_memory *memory, size_t slices, size_t frames, unsigned threads);
void crumb_average_close(struct decode_memory *memory);

#endif
