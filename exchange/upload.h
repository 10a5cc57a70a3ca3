/* Frames on their way up: what this rank's learners send, and what came from all. Private to exchange/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef UPLOAD_H
#define UPLOAD_H

#include <crumb.h>
#include <stdbool.h>

struct crumb_exchange;
struct share;
struct step;

/* A slice that this rank packs: of one of its learners, on its way up, or of a mean, on its way down. */
struct slot {
	crumb_codec codec;
	crumb_packer *packer; /* NULL: of a mean that another rank takes */
	uint8_t *data;        /* place to pack at; later the frame moves to the end of those before it */
	size_t size;
	int64_t length; /* of the frame, or an error */
	const uint8_t *frame;
	uint64_t sent; /* elements of the frame, in steps that count them */
	bool sum;      /* of a mean: it comes down as the sum of the frames */
};

/* Packs the gradients of the learners that take part, and joins their frames. Returns 0 or an error. */
int crumb_upload_pack(struct step *step);

/* Packs this rank's gradients, unless there is an error, and swaps the frames, a message to each owner of a
 * share. Returns 0 or an error, as crumb_swap. */
int crumb_upload_swap(struct step *step, int error);

/* Finds everybody's frames of a share in the messages that came. Returns 0 or CRUMB_EFRAME. */
int crumb_upload_find(struct crumb_exchange *x, const struct share *share);

/* Averages the frames of count slices into step->mean; best with the longest first. Returns 0 or an error. */
int crumb_upload_mean(struct step *step, const size_t *slice, size_t count);

#endif
