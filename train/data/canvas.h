/* A small grey image to draw strokes on. Plain IEEE arithmetic and square roots only, so that the same
 * strokes give the same bytes on every machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CANVAS_H
#define CANVAS_H

#include <stddef.h>
#include <stdint.h>

#define CANVAS_SIDE 28

struct point {
	float x, y; /* in pixels, from the upper left corner */
};

struct canvas {
	float ink[CANVAS_SIDE][CANVAS_SIDE]; /* 0 is paper, 1 is black */
};

/* Draws the line through these points, round and soft at its edges; overlapping lines take the darker
 * value. */
void canvas_line(struct canvas *canvas, const struct point *point, size_t points, float half_width,
                 float ink);

/* Writes the image as bytes, 255 for ink 1; clamps to 0 and 255. */
void canvas_bytes(const struct canvas *canvas, uint8_t *pixel);

#endif
