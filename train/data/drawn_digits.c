/* Each digit is a skeleton of strokes, bent, tilted, written with a pen of random width on cluttered, noisy
 * paper.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/drawn_digits.h"
#include "train/data/canvas.h"
#include "train/data/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CLASSES      10
#define COLOUR_SIDE  32
#define MOST_POINTS  14
#define MOST_STROKES 2
#define SEED         1234 /* of the data; --seed does not change it */

/* Corners of a stroke, in percent of a box; the pen rounds them. */
struct stroke {
	int points;
	struct {
		signed char x, y;
	} at[MOST_POINTS];
};

struct glyph {
	int digit;
	struct stroke stroke[MOST_STROKES];
};

/* clang-format off */
static const struct glyph glyphs[] = {
	{0, {{9, {{50, 5}, {22, 15}, {15, 50}, {22, 85}, {50, 95}, {78, 85}, {85, 50}, {78, 15}, {50, 5}}}}},
	{1, {{2, {{50, 4}, {50, 96}}}}},
	{1, {{3, {{30, 24}, {55, 5}, {55, 96}}}}},
	{2, {{8, {{20, 25}, {30, 8}, {55, 4}, {78, 18}, {75, 40}, {45, 68}, {16, 94}, {86, 94}}}}},
	{2, {{10, {{20, 22}, {40, 5}, {70, 8}, {76, 32}, {55, 65}, {28, 92}, {15, 84}, {26, 75}, {50, 88}, {86, 92}}}}},
	{3, {{9, {{20, 12}, {50, 4}, {78, 16}, {75, 38}, {46, 47}, {78, 55}, {82, 80}, {55, 96}, {18, 88}}}}},
	{4, {{3, {{62, 5}, {14, 65}, {90, 65}}}, {2, {{66, 36}, {64, 96}}}}},
	{4, {{3, {{22, 8}, {18, 54}, {84, 52}}}, {2, {{76, 6}, {70, 96}}}}},
	{5, {{8, {{82, 6}, {28, 6}, {22, 45}, {55, 37}, {82, 55}, {80, 82}, {50, 96}, {17, 86}}}}},
	{6, {{10, {{72, 6}, {40, 22}, {20, 58}, {26, 88}, {52, 96}, {78, 84}, {78, 62}, {55, 50}, {28, 60},
		   {22, 72}}}}},
	{7, {{3, {{14, 8}, {86, 8}, {42, 96}}}}},
	{7, {{3, {{14, 8}, {86, 8}, {42, 96}}}, {2, {{34, 50}, {78, 50}}}}},
	{8, {{13, {{50, 48}, {22, 34}, {26, 10}, {50, 4}, {74, 10}, {78, 34}, {50, 48}, {18, 66}, {22, 90},
		   {50, 96}, {78, 90}, {82, 66}, {50, 48}}}}},
	{9, {{9, {{78, 34}, {55, 50}, {26, 42}, {22, 20}, {48, 4}, {76, 14}, {80, 40}, {74, 70}, {60, 96}}}}},
};
/* clang-format on */

/* The bend, size, tilt and place of a digit by one writer. */
struct hand {
	float bend_x, bend_y; /* parabolas across and along */
	float xx, xy, yx, yy; /* then a matrix, */
	float x, y;           /* and a translation, in pixels */
	float wobble;         /* random shift of every corner, in boxes */
};

/* Writes cosine and sine of an angle near 2 * half, without libm. */
static void turn(float half, float *cosine, float *sine)
{
	const float norm = 1 / (1 + half * half);
	*cosine = (1 - half * half) * norm;
	*sine = 2 * half * norm;
}

static struct hand random_hand(struct random *r)
{
	struct hand hand;
	float cosine, sine;
	turn(random_between(r, -0.17f, 0.17f), &cosine, &sine);
	const float width = random_between(r, 11, 21), height = random_between(r, 15, 23);
	const float shear = random_between(r, -0.4f, 0.4f);
	hand.xx = cosine * width;
	hand.xy = (shear * cosine - sine) * height;
	hand.yx = sine * width;
	hand.yy = (shear * sine + cosine) * height;
	hand.x = CANVAS_SIDE / 2 + random_between(r, -3, 3);
	hand.y = CANVAS_SIDE / 2 + random_between(r, -2.5f, 2.5f);
	hand.bend_x = random_between(r, -0.6f, 0.6f);
	hand.bend_y = random_between(r, -0.5f, 0.5f);
	hand.wobble = random_between(r, 0.01f, 0.07f);
	return hand;
}

static struct point place(const struct hand *hand, struct random *r, int percent_x, int percent_y)
{
	float x = (float)percent_x * 0.01f - 0.5f + hand->wobble * random_bell(r);
	float y = (float)percent_y * 0.01f - 0.5f + hand->wobble * random_bell(r);
	const float across = hand->bend_x * y * y, along = hand->bend_y * x * x;
	x += across;
	y += along;
	return (struct point){hand->x + hand->xx * x + hand->xy * y, hand->y + hand->yx * x + hand->yy * y};
}

static struct point between(struct point a, struct point b, float t)
{
	return (struct point){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
}

/* Cuts every corner; returns the new number of points, at most 2 * points. */
static size_t smooth(const struct point *corner, size_t points, struct point *curve)
{
	size_t n = 0;
	curve[n++] = corner[0];
	for (size_t i = 0; i + 1 < points; i++) {
		if (i > 0)
			curve[n++] = between(corner[i], corner[i + 1], 0.25f);
		if (i + 2 < points)
			curve[n++] = between(corner[i], corner[i + 1], 0.75f);
	}
	curve[n++] = corner[points - 1];
	return n;
}

static void write_digit(struct canvas *canvas, const struct glyph *glyph, struct random *r)
{
	const struct hand hand = random_hand(r);
	const float half_width = random_between(r, 0.5f, 1.7f), ink = random_between(r, 0.55f, 1.0f);
	for (int s = 0; s < MOST_STROKES && glyph->stroke[s].points > 0; s++) {
		const struct stroke *stroke = &glyph->stroke[s];
		struct point corner[MOST_POINTS], curve[2 * MOST_POINTS];
		for (int i = 0; i < stroke->points; i++)
			corner[i] = place(&hand, r, stroke->at[i].x, stroke->at[i].y);
		canvas_line(canvas, curve, smooth(corner, (size_t)stroke->points, curve), half_width, ink);
	}
}

/* Draws stray strokes, such as neighbouring letters and ruled paper. */
static void clutter(struct canvas *canvas, struct random *r)
{
	for (uint64_t n = random_below(r, 4); n > 0; n--) {
		struct point from,
		        to; /* one draw a statement: the order of evaluation within one is unspecified */
		from.x = random_between(r, 0, CANVAS_SIDE);
		from.y = random_between(r, 0, CANVAS_SIDE);
		to.x = from.x + random_between(r, -9, 9);
		to.y = from.y + random_between(r, -9, 9);
		const float half_width = random_between(r, 0.3f, 1.0f);
		const float ink = random_between(r, 0.3f, 0.9f);
		canvas_line(canvas, (struct point[]){from, to}, 2, half_width, ink);
	}
}

static void add_noise(struct canvas *canvas, struct random *r)
{
	const float level = random_between(r, 0.05f, 0.25f);
	for (int y = 0; y < CANVAS_SIDE; y++)
		for (int x = 0; x < CANVAS_SIDE; x++)
			canvas->ink[y][x] += level * random_bell(r);
}

static const struct glyph *random_glyph(int digit, struct random *r)
{
	const struct glyph *form[sizeof glyphs / sizeof *glyphs];
	size_t forms = 0;
	for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
		if (glyphs[i].digit == digit)
			form[forms++] = &glyphs[i];
	return form[random_below(r, forms)];
}

/* Writes the canvas in colour. Paper and ink differ by at least 60 of 255 in every channel; the border of
 * paper fills the larger image. */
static void colour_bytes(const struct canvas *canvas, struct random *r, uint8_t *pixel)
{
	enum { EDGE = (COLOUR_SIDE - CANVAS_SIDE) / 2 };
	uint8_t grey[CANVAS_SIDE][CANVAS_SIDE];
	canvas_bytes(canvas, &grey[0][0]);
	for (int channel = 0; channel < 3; channel++) {
		const int paper = (int)random_below(r, 256), step = 60 + (int)random_below(r, 68);
		const int ink = paper + step < 256 ? paper + step : paper - step;
		for (int y = 0; y < COLOUR_SIDE; y++)
			for (int x = 0; x < COLOUR_SIDE; x++) {
				const int row = y - EDGE, column = x - EDGE;
				const bool on =
				        row >= 0 && row < CANVAS_SIDE && column >= 0 && column < CANVAS_SIDE;
				const int cover = on ? grey[row][column] : 0;
				*pixel++ = (uint8_t)(paper + (ink - paper) * cover / 255);
			}
	}
}

static int draw(struct samples *set, bool colour, size_t pixels, size_t count, uint64_t first)
{
	set->count = count;
	set->pixel = malloc(count * pixels);
	set->label = malloc(count);
	if (!set->pixel || !set->label)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct random r = random_stream(SEED, RANDOM_DIGITS, first + i);
		struct canvas canvas = {0};
		set->label[i] = (uint8_t)(i % CLASSES);
		write_digit(&canvas, random_glyph(set->label[i], &r), &r);
		clutter(&canvas, &r);
		add_noise(&canvas, &r);
		if (colour)
			colour_bytes(&canvas, &r, set->pixel + i * pixels);
		else
			canvas_bytes(&canvas, set->pixel + i * pixels);
	}
	return 0;
}

int drawn_digits_make(struct data *data, bool colour, size_t train, size_t test, char *why, size_t cap)
{
	const int side = colour ? COLOUR_SIDE : CANVAS_SIDE;
	data->image = data->shape = (struct shape){colour ? 3 : 1, side, side};
	data->classes = CLASSES;
	const size_t pixels = shape_count(data->image);
	const uint64_t first_test = UINT64_C(1) << 32; /* the sets share no image, whatever their sizes */
	if (draw(&data->train, colour, pixels, train, 0) < 0 ||
	    draw(&data->test, colour, pixels, test, first_test) < 0) {
		snprintf(why, cap, "out of memory for %zu digits", train + test);
		return -1;
	}
	return 0;
}
