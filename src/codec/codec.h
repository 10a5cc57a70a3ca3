/* The interface of a codec. The callers, crumb.c and frame.c, check everything before: arguments, space, that
 * the gradient is finite (unless checks_itself), and a frame's header. A frame's checksums and payload have
 * been checked for all functions but check and check_chunk, which are part of that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODEC_H
#define CODEC_H

#include "base/bytes.h"
#include "base/frame_view.h"
#include "base/packer.h"
#include "base/per_isa.h"

/* A codec's description is the same for every instruction set; the library holds it once. */
#ifdef V16_PORTABLE
#define CODEC_INFO(name, ...) const crumb_codec_info crumb_info_##name = {__VA_ARGS__}
#else
#define CODEC_INFO(name, ...) extern const crumb_codec_info crumb_info_##name
#endif
#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The last key of every codec with a residual: crumb_pack multiplies the residual by it, and then the codec
 * packs. */
#define DECAY_KEY                                                                 \
	{                                                                         \
		"decay", "factor of the residual at every step", 1, 0, 1, 0, NULL \
	}

/* For codecs whose learners share statistics before they pack (crumb_agree_count). */
struct agreement {
	/* Returns the floats due before the next pack; 0: none at this step. */
	size_t (*count)(const struct crumb_packer *p);
	void (*measure)(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat);
	void (*agree)(struct crumb_packer *p, const float *stat, size_t learners);
	/* Returns true if the packer's floats, all finite, are values that agree could have left. NULL: any
	 * are. */
	bool (*packer_ok)(const struct crumb_packer *p);
};

/* For codecs whose frames can be summed without decoding (crumb_sum). */
struct summing {
	/* Returns the most bytes of the payload of a sum of count frames; 0 if there can be no such sum. */
	size_t (*bound)(size_t count, size_t n);
	/* Writes the sum of checked frames of one n; returns its payload's size, or CRUMB_EAGREE. */
	int64_t (*sum)(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags);
};

enum { ALL_FRAMES = -1 };

/* Functions are called with n > 0. */
struct codec {
	const crumb_codec_info *info;
	/* Frame flags any of which says that codes have variable width: a range then costs more than its
	 * share. 0: no frame has such codes; ALL_FRAMES: all have. */
	int variable_width;
	/* pack looks for unusable elements itself, if packed.check is set. */
	bool checks_itself;

	/* Returns true if the codec takes this combination of values, each of which is in its range. NULL:
	 * any. */
	bool (*accepts)(const crumb_codec *codec);
	/* Returns the floats of a packer's memory. NULL: none. */
	size_t (*floats)(const crumb_codec *codec, size_t n);
	/* Returns the most bytes of a payload; 0 if a tensor of n elements is too large for the codec. */
	size_t (*bound)(const crumb_codec *codec, size_t n);
	/* Writes the payload, updates the residual, returns the payload's size. base/packer.h says how
	 * far the residual may grow. With checks_itself it may return UNUSABLE; it has then written to
	 * nothing but dst. */
	size_t (*pack)(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
	               struct packed *out);
	/* Returns true if the frame's flags, the payload's head and every unit that starts in the part are
	 * well-formed, apart from what check_chunk looks at. */
	bool (*check)(const struct frame *frame, struct part *part);
	/* Returns false if [from, to) holds a reserved code, in a frame that passed check. Called once per
	 * CHECK_CHUNK of the payload, after the chunk's checksum, while it is in L1; the first chunk
	 * includes the payload's head. NULL: check has looked at every byte. */
	bool (*check_chunk)(const struct frame *frame, const uint8_t *from, const uint8_t *to);
	/* Adds weight * decoded[i] to acc[i] for first <= i < end. first is a multiple of CRUMB_RANGE_STEP;
	 * end is one, or n. */
	void (*unpack_add)(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
	/* Adds several frames, with the same bits as one after another, which is done if this is NULL. */
	void (*unpack_add_many)(const struct frame *frames, const float *weights, size_t count, float *acc,
	                        size_t first, size_t end);
	/* Sets codec values, sent and facts of the description. */
	void (*describe)(const struct frame *frame, crumb_frame_info *out);

	const struct agreement *agreement; /* NULL: learners share nothing */
	const struct summing *summing;     /* NULL: frames cannot be summed */
};

/* spec.c: return the codec of that id, and the codec if each value is in its range, too; NULL if there is
 * none. */
const struct codec *crumb_codec_find(uint32_t id);
const struct codec *crumb_codec_valid(const crumb_codec *codec);

/* spec.c: gives values that are out of their range, of a codec that exists, their defaults. */
void crumb_codec_mend(crumb_codec *codec);

#endif
