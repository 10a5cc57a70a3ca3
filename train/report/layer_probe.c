/* Sums in double, in the order of elements.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/layer_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const unsigned spread_permille[SPREAD_PERCENTILES] = {500, 900, 950, 990, 999, 1000};

/* ---- spread ---- */

enum { DIGIT = 11, DIGITS = 3, RADIX = 1 << DIGIT };

/* Radix-sorts |x| in ascending order: magnitudes of floats order as their bits do. room: 2 n floats. Returns
 * the half of it with the result. */
static const float *sorted(const float *x, size_t n, float *room)
{
	float *from = room, *to = room + n;
	for (size_t i = 0; i < n; i++)
		from[i] = fabsf(x[i]);
	for (int shift = 0; shift < DIGIT * DIGITS; shift += DIGIT) {
		size_t at[RADIX + 1] = {0};
		uint32_t bits;
		for (size_t i = 0; i < n; i++) {
			memcpy(&bits, &from[i], sizeof bits);
			at[(bits >> shift) % RADIX + 1]++;
		}
		for (size_t digit = 0; digit < RADIX; digit++)
			at[digit + 1] += at[digit];
		for (size_t i = 0; i < n; i++) {
			memcpy(&bits, &from[i], sizeof bits);
			to[at[(bits >> shift) % RADIX]++] = from[i];
		}
		float *const done = to;
		to = from;
		from = done;
	}
	return from;
}

/* room: 2 n floats. */
static void spread_of(struct spread *spread, const float *x, size_t n, float *room)
{
	const float *size = sorted(x, n, room);
	const double most = (double)size[n - 1];
	*spread = (struct spread){.zeros = 0};
	for (size_t k = 0; k < SPREAD_PERCENTILES; k++)
		spread->percentile[k] = (double)size[(n * spread_permille[k] - 1) / 1000];
	for (size_t i = 0; i < n; i++) {
		const size_t bin =
		        most > 0 ? (size_t)(((double)x[i] / most + 1) / 2 * SPREAD_BINS) : SPREAD_BINS / 2;
		spread->bin[bin < SPREAD_BINS ? bin : SPREAD_BINS - 1]++;
		spread->zeros += x[i] == 0;
	}
	spread->zeros /= (double)n;
}

/* ---- a codec's settings ---- */

/* Returns the codec's value of this key; NULL if it has no such key. */
static float *key(crumb_codec *codec, const char *name)
{
	const crumb_codec_info *info = crumb_codec_info_of(codec);
	for (size_t k = 0; k < info->keys; k++)
		if (strcmp(info->key[k].name, name) == 0)
			return &codec->value[k];
	return NULL;
}

/* Clips by the codec's own rule: with shared=1 crumb_measure gives the largest |g| of each bucket after
 * clipping. */
static int clip(crumb_codec codec, const float *grad, size_t n, size_t bucket, float *clipped)
{
	*key(&codec, "shared") = 1;
	crumb_packer *packer = crumb_exchange_alloc(crumb_packer_size(&codec, n));
	float *most = malloc(((n - 1) / bucket + 1) * sizeof *most);
	int error = packer && most ? crumb_packer_init(packer, &codec, n, 0, 0) : CRUMB_EMEMORY;
	if (!error)
		error = crumb_measure(packer, grad, n, CRUMB_F32, most);
	for (size_t i = 0; i < n && !error; i++)
		clipped[i] = fmaxf(fminf(grad[i], most[i / bucket]), -most[i / bucket]);
	free(packer);
	free(most);
	return error;
}

/* ---- layer ---- */

/* A layer's elements; room: twice as many. */
struct view {
	const float *grad;
	float *arrived, *residual, *clipped, *room;
};

struct sums {
	double sent, bins;
	double normal, squares; /* sums of |g| / |bucket| and of its squares */
};

static void add_buckets(struct sums *sums, const float *grad, size_t n, size_t bucket)
{
	for (size_t first = 0; first < n; first += bucket) {
		const size_t end = n - first < bucket ? n : first + bucket;
		double sum = 0, squares = 0;
		for (size_t i = first; i < end; i++) {
			sum += fabs((double)grad[i]);
			squares += (double)grad[i] * (double)grad[i];
		}
		sums->normal += squares > 0 ? sum / sqrt(squares) : 0;
		sums->squares += squares > 0;
	}
}

/* Adds slice s of the exchange: n elements of the layer from number `at` on. */
static int add_part(struct layer_probe *probe, struct sums *sums, const struct view *view,
                    struct crumb_exchange *exchange, size_t s, size_t at, size_t n)
{
	const crumb_span frame = crumb_exchange_frame(exchange, 0, s);
	const float *owed = crumb_packer_residual(crumb_exchange_packer(exchange, 0, s));
	crumb_codec codec = *crumb_exchange_codec(exchange, s);
	const float *bin = key(&codec, "bin"), *length = key(&codec, "bucket");
	const size_t bucket = length && *length > 0 ? (size_t)*length : n;
	crumb_frame_info about;
	int64_t error = crumb_peek(&about, frame.data, frame.len);
	if (error >= 0)
		error = crumb_unpack_add(frame.data, frame.len, 1, view->arrived + at, n);
	if (error < 0)
		return (int)error;
	sums->sent += (double)about.sent;
	sums->bins += bin ? ceil((double)n / (double)*bin) : 0;
	add_buckets(sums, view->grad + at, n, bucket);
	if (owed)
		memcpy(view->residual + at, owed, n * sizeof *owed);
	probe->owes = probe->owes || owed;
	probe->codec = codec;
	if (key(&codec, "clip")) {
		probe->clips = true;
		return clip(codec, view->grad + at, n, bucket, view->clipped + at);
	}
	memcpy(view->clipped + at, view->grad + at, n * sizeof *view->clipped);
	return 0;
}

static void compare(struct layer_probe *probe, const struct view *view, size_t n)
{
	double lost = 0, all = 0, squares = 0, product = 0, of_clipped = 0;
	for (size_t i = 0; i < n; i++) {
		const double g = (double)view->grad[i], arrived = (double)view->arrived[i],
		             clipped = (double)view->clipped[i],
		             wanted = probe->owes ? arrived + (double)view->residual[i] : g;
		lost += (wanted - arrived) * (wanted - arrived);
		all += wanted * wanted;
		squares += g * g;
		product += g * clipped;
		of_clipped += clipped * clipped;
	}
	probe->error = lost / all;
	probe->clip_length = sqrt(of_clipped / squares);
	probe->clip_cosine = product / sqrt(of_clipped * squares);
}

static int look(struct layer_probe *probe, const struct view *view, struct crumb_exchange *exchange,
                const struct crumb_slice *cut, size_t cuts, const struct crumb_slice *layer)
{
	const size_t first = layer->at, n = layer->n;
	struct sums sums = {0};
	for (size_t s = 0; s < cuts; s++)
		if (cut[s].n > 0 && cut[s].at >= first && cut[s].at < first + n) {
			const int error =
			        add_part(probe, &sums, view, exchange, s, cut[s].at - first, cut[s].n);
			if (error < 0)
				return error;
		}
	compare(probe, view, n);
	const double mean = sums.normal / (double)n;
	probe->variance = sums.squares / (double)n - mean * mean;
	probe->sent = sums.sent / (double)n;
	probe->bin_sent = sums.bins > 0 ? sums.sent / sums.bins : NAN;
	spread_of(&probe->gradient, view->grad, n, view->room);
	spread_of(&probe->arrived, view->arrived, n, view->room);
	if (probe->owes)
		spread_of(&probe->residual, view->residual, n, view->room);
	if (probe->clips)
		spread_of(&probe->clipped, view->clipped, n, view->room);
	return 0;
}

bool layer_probe_wants(const struct crumb_slice *slice)
{
	return slice->n > 0 && slice->kind != CRUMB_BIAS && slice->kind != CRUMB_BATCHNORM;
}

int layer_probe(struct layer_probe *probe, struct crumb_exchange *exchange, const struct crumb_slice *cut,
                size_t cuts, size_t slice, const struct crumb_slice *layer, const float *grad)
{
	float *memory = calloc(layer->n, 5 * sizeof *memory);
	const struct view view = {grad + layer->at, memory, memory + layer->n, memory + 2 * layer->n,
	                          memory + 3 * layer->n};
	*probe = (struct layer_probe){.slice = slice, .kind = layer->kind};
	const int error = memory ? look(probe, &view, exchange, cut, cuts, layer) : CRUMB_EMEMORY;
	free(memory);
	return error;
}
