/* Strokes by distance: a pixel is the darker the nearer the line.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/canvas.h"

#include <math.h>

static float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/* Writes the range of rows or columns within reach of both ends. */
static void extent(float a, float b, float reach, int *first, int *end)
{
	*first = (int)clamp((a < b ? a : b) - reach, 0, CANVAS_SIDE);
	*end = (int)clamp((a < b ? b : a) + reach + 1, 0, CANVAS_SIDE);
}

static void segment(struct canvas *canvas, struct point a, struct point b, float half_width, float ink)
{
	const float dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
	const float inverse = length2 > 0 ? 1 / length2 : 0;
	int x0, x1, y0, y1;
	extent(a.x, b.x, half_width + 1, &x0, &x1);
	extent(a.y, b.y, half_width + 1, &y0, &y1);
	for (int y = y0; y < y1; y++)
		for (int x = x0; x < x1; x++) {
			const float px = (float)x + 0.5f - a.x, py = (float)y + 0.5f - a.y;
			const float along = clamp((px * dx + py * dy) * inverse, 0, 1);
			const float ex = px - along * dx, ey = py - along * dy;
			const float cover = clamp(half_width + 0.5f - sqrtf(ex * ex + ey * ey), 0, 1) * ink;
			if (cover > canvas->ink[y][x])
				canvas->ink[y][x] = cover;
		}
}

void canvas_line(struct canvas *canvas, const struct point *point, size_t points, float half_width, float ink)
{
	for (size_t i = 1; i < points; i++)
		segment(canvas, point[i - 1], point[i], half_width, ink);
}

void canvas_bytes(const struct canvas *canvas, uint8_t *pixel)
{
	for (int y = 0; y < CANVAS_SIDE; y++)
		for (int x = 0; x < CANVAS_SIDE; x++)
			*pixel++ = (uint8_t)(clamp(canvas->ink[y][x], 0, 1) * 255 + 0.5f);
}
