/* What a codec is to the rest of the library. The API (crumb.c) has checked everything before it calls a
 * codec: arguments, space, finiteness (but where a codec gates), and of a frame the header and, but for check
 * and clean, the checksums.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CODEC_H
#define CODEC_H

#include "base/bytes.h"
#include "base/frame_view.h"
#include "base/packer.h"
#include "base/per_isa.h"

enum { FRAMES_FEW = 8 }; /* that are added at once */

/* What a codec is for its users is the same for every instruction set, and only once in the library. */
#ifdef V16_PORTABLE
#define CODEC_INFO(name, ...) const crumb_codec_info crumb_info_##name = {__VA_ARGS__}
#else
#define CODEC_INFO(name, ...) extern const crumb_codec_info crumb_info_##name
#endif
#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})

struct codec {
	const crumb_codec_info *info;
	/* Whether a combination of values, each in its range, is one that the codec takes; NULL: any. */
	bool (*accepts)(const crumb_codec *codec);
	/* Floats of memory that a packer has. */
	size_t (*floats)(const crumb_codec *codec, size_t n);
	/* Most bytes of a payload; n > 0. 0: a tensor of n elements is too large for the codec. */
	size_t (*bound)(const crumb_codec *codec, size_t n);
	/* Writes the payload, moves the residual on, returns the payload's size; n > 0. */
	size_t (*pack)(struct crumb_packer *p, const void *grad, enum crumb_dtype type, uint8_t *dst,
	               struct packed *out);
	/* In place of pack and gates, where a payload is bound / n bytes an element, one after another:
	 * writes those of elements first to end - 1 to dst and returns how many. Ranges come in order, and
	 * but for the last one are 16 KiB of payload; the API has looked at each before. */
	size_t (*put)(const struct crumb_packer *p, const void *grad, enum crumb_dtype type, size_t first,
	              size_t end, uint8_t *dst, struct packed *out);
	/* Whether pack itself looks for what is not usable: it then returns UNUSABLE, and has written to dst
	 * at most. NULL or false: the API has looked before, and pack cannot fail. */
	bool (*gates)(const crumb_codec *codec);
	/* Whether flags and the payload's head are well-formed, and so is what begins in the part, but for
	 * what clean sees to; n > 0. */
	bool (*check)(const struct frame *frame, struct part *part);
	/* Whether no code among the payload's bytes from up to to stands for nothing, in a frame that passed
	 * check: from is a multiple of 16 KiB behind the payload's first byte, and to is the next one or the
	 * payload's end, so that heads are among them. Called beside their checksum, while they are in the
	 * cache. NULL: check sees to all. The functions below are called on frames all parts of which passed
	 * both. */
	bool (*clean)(const struct frame *frame, const uint8_t *from, const uint8_t *to);
	/* acc[i] += weight * decoded[i], for i from first < end to end - 1; first is a multiple of
	 * CRUMB_RANGE_STEP, which is one of every block in which codes of fixed width come, and end is one or
	 * n.
	 */
	void (*unpack_add)(const struct frame *frame, float weight, float *acc, size_t first, size_t end);
	/* The same of up to FRAMES_FEW frames, to the bit as one after another, where end too is a multiple
	 * of CRUMB_RANGE_STEP; NULL: it would gain nothing. */
	void (*unpack_add_few)(const struct frame *frame, const float *weight, size_t count, float *acc,
	                       size_t first, size_t end);
	/* Whether a range costs no more than its share, however short it is (crumb_frame_divides: of every
	 * frame); NULL: never. */
	bool (*divides)(const struct frame *frame);
	/* Sets codec values, sent and facts; the rest is done. */
	void (*describe)(const struct frame *frame, crumb_frame_info *out);

	/* The rest only where learners agree, or where frames can be added. */
	size_t (*agree_count)(const struct crumb_packer *p);
	void (*measure)(struct crumb_packer *p, const void *grad, enum crumb_dtype type, float *stat);
	void (*agree)(struct crumb_packer *p, const float *stat, size_t learners);
	/* Whether a packer's floats, finite ones, are such as pack leaves them; NULL: any are. */
	bool (*sound)(const struct crumb_packer *p);
	/* The sum of checked frames of one n: its payload's size, or CRUMB_EAGREE if they cannot be added. */
	size_t (*sum_bound)(size_t count, size_t n);
	int64_t (*sum)(const struct frame *frames, size_t count, uint8_t *dst, uint16_t *flags);
};

/* frame.c */
bool crumb_frame_divides(const struct frame *frame);

/* spec.c: whether each value is in its range, and the codec of that id; NULL if there is none. */
const struct codec *crumb_codec_find(uint32_t id);
const struct codec *crumb_codec_valid(const crumb_codec *codec);

/* gates, for a codec that always does. */
static inline __attribute__((unused)) bool always_gates(const crumb_codec *codec)
{
	(void)codec;
	return true;
}

#endif
