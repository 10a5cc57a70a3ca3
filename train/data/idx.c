/* IDX: a big-endian magic 0x0000TTDD (type 8: bytes; D dimensions), D big-endian sizes, and the bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "train/data/idx.h"
#include "train/data/reader.h"

#include <stdio.h>
#include <string.h>

#define MNIST_SIDE    28
#define MNIST_CLASSES 10
#define MOST_DIMS     4
#define MOST_PIXELS   (1 << 24) /* of one sample */

/* Reads the header: dims sizes. */
static int read_header(struct reader *r, int dims, uint32_t *size)
{
	uint8_t head[4 + 4 * MOST_DIMS];
	if (reader_get(r, head, 4 + 4 * (size_t)dims) < 0)
		return -1;
	if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] != dims)
		return reader_complain(r, dims > 1 ? "not an IDX file of byte images"
		                                   : "not an IDX file of byte labels");
	for (int i = 0; i < dims; i++) {
		const uint8_t *b = head + 4 + 4 * i;
		size[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	}
	return 0;
}

/* The required shape and classes of a set; 0: any, which the training set, read first, then fills in. */
struct wanted {
	struct shape shape;
	int classes;
};

static int check_images(struct reader *r, const struct wanted *wanted, struct shape shape)
{
	char text[80];
	const struct shape want = wanted->shape;
	if (want.height == 0 || memcmp(&want, &shape, sizeof want) == 0)
		return 0;
	if (want.channels == 1)
		snprintf(text, sizeof text, "images are not %d x %d", want.height, want.width);
	else
		snprintf(text, sizeof text, "images are not %d x %d x %d", want.channels, want.height,
		         want.width);
	return reader_complain(r, text);
}

/* The last sizes are width, height, channels; the first is the count. */
static int read_images(struct reader *r, int dims, const struct wanted *wanted, struct samples *to,
                       struct shape *shape)
{
	uint32_t size[MOST_DIMS] = {0};
	uint64_t side[3] = {1, 1, 1}, pixels = 1;
	if (read_header(r, dims, size) < 0)
		return -1;
	if (size[0] == 0)
		return reader_complain(r, "holds no images");
	for (int i = 1; i < dims; i++) {
		side[3 - dims + i] = size[i];
		pixels *= pixels <= MOST_PIXELS ? size[i] : 1;
	}
	*shape = (struct shape){(int)side[0], (int)side[1], (int)side[2]};
	if (check_images(r, wanted, *shape) < 0)
		return -1;
	if (pixels == 0 || pixels > MOST_PIXELS)
		return reader_complain(r, "images of no size, or of too large a one");
	to->count = size[0];
	return reader_rest(r, to->count * (size_t)pixels, &to->pixel);
}

static int read_labels(struct reader *r, struct samples *to)
{
	uint32_t count = 0;
	if (read_header(r, 1, &count) < 0)
		return -1;
	if (count != to->count)
		return reader_complain(r, "not as many labels as there are images");
	return reader_rest(r, count, &to->label);
}

static int greatest_label(const struct samples *samples)
{
	int greatest = 0;
	for (size_t i = 0; i < samples->count; i++)
		greatest = samples->label[i] > greatest ? samples->label[i] : greatest;
	return greatest;
}

static int check_labels(struct reader *r, const struct wanted *wanted, const struct samples *samples)
{
	char text[40];
	if (wanted->classes == 0 || greatest_label(samples) < wanted->classes)
		return 0;
	snprintf(text, sizeof text, "a label is above %d", wanted->classes - 1);
	return reader_complain(r, text);
}

/* Writes the file name of a set's images, "idx3" if there is none, and returns its dimensions. */
static int find_images(const char *folder, const char *set, char name[64])
{
	static const char *const what[] = {"images", "features"};
	for (int i = 0; i < 2; i++)
		for (int dims = 2; dims <= MOST_DIMS; dims++) {
			snprintf(name, 64, "%s-%s-idx%d-ubyte", set, what[i], dims);
			if (reader_exists(folder, name))
				return dims;
		}
	snprintf(name, 64, "%s-images-idx3-ubyte", set);
	return 3;
}

/* Loads a set, and fills in the zeros of wanted. */
static int load_set(struct samples *to, const char *folder, const char *set, struct wanted *wanted, char *why,
                    size_t cap)
{
	struct reader r;
	struct shape shape = {0, 0, 0};
	char name[64];
	const int dims = find_images(folder, set, name);
	if (reader_open(&r, folder, name, why, cap) < 0)
		return -1;
	if (reader_close(&r, read_images(&r, dims, wanted, to, &shape)) < 0)
		return -1;
	snprintf(name, sizeof name, "%s-labels-idx1-ubyte", set);
	if (reader_open(&r, folder, name, why, cap) < 0)
		return -1;
	int result = read_labels(&r, to);
	if (result == 0)
		result = check_labels(&r, wanted, to);
	if (reader_close(&r, result) < 0)
		return -1;
	wanted->shape = shape;
	if (wanted->classes == 0)
		wanted->classes = greatest_label(to) + 1;
	return 0;
}

static int load(struct data *data, const char *folder, struct wanted wanted, char *why, size_t cap)
{
	if (load_set(&data->train, folder, "train", &wanted, why, cap) < 0 ||
	    load_set(&data->test, folder, "t10k", &wanted, why, cap) < 0)
		return -1;
	data->image = data->shape = wanted.shape;
	data->classes = wanted.classes;
	return 0;
}

int idx_load_mnist(struct data *data, const char *folder, char *why, size_t cap)
{
	const struct wanted mnist = {{1, MNIST_SIDE, MNIST_SIDE}, MNIST_CLASSES};
	return load(data, folder, mnist, why, cap);
}

int idx_load(struct data *data, const char *folder, char *why, size_t cap)
{
	return load(data, folder, (struct wanted){{0, 0, 0}, 0}, why, cap);
}
