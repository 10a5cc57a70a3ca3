/* The shape of one sample, or of a layer's output for it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHAPE_H
#define SHAPE_H

#include <stddef.h>

struct shape {
	int channels, height, width;
};

static inline size_t shape_count(struct shape shape)
{
	return (size_t)shape.channels * (size_t)shape.height * (size_t)shape.width;
}

#endif
