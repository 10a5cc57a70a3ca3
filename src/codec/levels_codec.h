/* The parts that the six codecs of levels have in common: all but their levels and their keys.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEVELS_CODEC_H
#define LEVELS_CODEC_H

#include "codec/codec.h"
#include "payload/levels.h"

/* Defines the codec of that name. form: how its frames carry their levels. zero_key: "zero" is the first of
 * its own keys. The arguments after these are the other members of struct codec, pack among them. */
#define LEVELS_CODEC(name, form, zero_key, ...)                                                          \
	static size_t bound(const crumb_codec *codec, size_t n) { return levels_bound(codec, n, form); } \
	static void describe(const struct frame *frame, crumb_frame_info *out)                           \
	{                                                                                                \
		levels_describe(frame, out, zero_key);                                                   \
	}                                                                                                \
	const struct codec PER_ISA(name) = {                                                             \
	        .info = &crumb_info_##name,                                                              \
	        .variable_width = LEVELS_VARIABLE_WIDTH,                                                 \
	        .checks_itself = true,                                                                   \
	        .accepts = levels_accepts,                                                               \
	        .bound = bound,                                                                          \
	        .check = levels_check,                                                                   \
	        .check_chunk = levels_check_chunk,                                                       \
	        .unpack_add = levels_unpack_add,                                                         \
	        .describe = describe,                                                                    \
	        __VA_ARGS__,                                                                             \
	}

#endif
