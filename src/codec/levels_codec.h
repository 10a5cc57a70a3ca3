/* What the codecs of levels have in common; each adds its own describe, and more.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LEVELS_CODEC_H
#define LEVELS_CODEC_H

#include "codec/codec.h"
#include "payload/levels.h"

#define LEVELS_CODEC(name, ...)                                                      \
	const struct codec PER_ISA(name) = {.info = &crumb_info_##name,              \
	                                    .variable_width = LEVELS_VARIABLE_WIDTH, \
	                                    .checks_itself = true,                   \
	                                    .bound = bound,                          \
	                                    .pack = pack,                            \
	                                    .check = levels_check,                   \
	                                    .check_chunk = levels_check_chunk,       \
	                                    .unpack_add = levels_unpack_add,         \
	                                    __VA_ARGS__}

#endif
