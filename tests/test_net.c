/* Networks: shapes and slices, the forward pass against plain loops, every layer's gradient against
 * differences, and gradients by any number of threads, whose bits are those of one.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/team.h"

#include "train/data/drawn_digits.h"
#include "train/layers/init.h"
#include "train/layers/loss.h"
#include "nets/net.h"
#include "train/layers/pass.h"
#include "train/data/random.h"
#include "train/split.h"
#include "train/train.h"
#include "train/worker.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void fill(float *to, size_t n, uint64_t seed, float range)
{
	struct random r = random_stream(seed, RANDOM_WEIGHTS, 0);
	for (size_t i = 0; i < n; i++)
		to[i] = random_between(&r, -range, range);
}

static float *new_floats(size_t n)
{
	float *floats = calloc(n, sizeof *floats);
	assert_non_null(floats);
	return floats;
}

static void open_net(struct net *net, const struct model *model, struct shape input)
{
	char why[256];
	if (net_open(net, model, input, why, sizeof why) < 0)
		fail_msg("%s", why);
}

static struct pass *open_pass(const struct net *net, size_t batch)
{
	char why[256];
	struct pass *pass = pass_open(net, batch, PASS_TRAIN, why, sizeof why);
	if (!pass)
		fail_msg("%s", why);
	return pass;
}

/* ---- layout ---- */

static void lenet_is_the_papers(void **state)
{
	(void)state;
	static const struct {
		size_t n, run;
		enum crumb_kind kind;
	} want[] = {{500, 25, CRUMB_CONV},        {20, 0, CRUMB_BIAS},     {25000, 500, CRUMB_CONV},
	            {50, 0, CRUMB_BIAS},          {400000, 800, CRUMB_FC}, {500, 0, CRUMB_BIAS},
	            {5000, 500, CRUMB_KIND_LAST}, {10, 0, CRUMB_BIAS}};
	struct net net;
	open_net(&net, model_find("lenet"), (struct shape){1, 28, 28});
	assert_int_equal(net.parameters, 431080);
	assert_int_equal(net.classes, 10);
	assert_int_equal(net.slice_count, COUNT(want));
	size_t at = 0;
	for (size_t s = 0; s < COUNT(want); s++) {
		assert_int_equal(net.slice[s].at, at);
		assert_int_equal(net.slice[s].n, want[s].n);
		assert_int_equal(net.slice[s].run, want[s].run);
		assert_int_equal(net.slice[s].kind, want[s].kind);
		at += want[s].n;
	}
	assert_int_equal(at, net.parameters);
}

static void networks_are_as_large_as_the_papers(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t parameters, pixels_at_last; /* inputs of the last layer */
	} want[] = {{"lenet", 431080, 500},
	            {"mlp", 10020874, 2048},
	            {"cifar-cnn", 89578, 1024},
	            {"cifarnet", 1068298, 192},
	            {"bn50-dnn", 4680734, 1024},
	            {"resnet20", 269722, 64},
	            {"resnet32", 464154, 64},
	            {"char-lstm", 3321411, 512 * 50},
	            {"lenet-relu", 431080, 500},
	            {"gpt-mini", 1017027, 128 * 64},
	            {"gpt-small", 10771584, 384 * 256}};
	for (size_t i = 0; i < COUNT(want); i++) {
		struct net net;
		const struct model *model = model_find(want[i].name);
		assert_non_null(model);
		open_net(&net, model, model->input);
		assert_int_equal(net.parameters, want[i].parameters);
		assert_int_equal(shape_count(net.layer[net.layer_count - 1].in), want[i].pixels_at_last);
	}
}

/* The AdaComp paper's network for MNIST is lenet with ReLU after its convolutions. */
static void lenet_relu_is_lenet_with_two_more(void **state)
{
	(void)state;
	const struct model *relu = model_find("lenet-relu"), *lenet = model_find("lenet");
	size_t k = 0, more = 0;
	assert_non_null(relu);
	for (size_t i = 0; i < relu->layer_count; i++)
		if (relu->layers[i].type == LAYER_RELU && relu->layers[i - 1].type == LAYER_CONV)
			more++;
		else
			assert_memory_equal(&relu->layers[i], &lenet->layers[k++], sizeof *lenet->layers);
	assert_int_equal(k, lenet->layer_count);
	assert_int_equal(more, 2);
}

static void too_small_an_input_is_refused(void **state)
{
	(void)state;
	struct net net;
	char why[256] = "";
	assert_int_equal(net_open(&net, model_find("lenet"), (struct shape){1, 12, 12}, why, sizeof why), -1);
	assert_non_null(strstr(why, "too small"));
	assert_int_equal(net_open(&net, model_find("resnet20"), (struct shape){3, 30, 32}, why, sizeof why),
	                 -1);
	assert_non_null(strstr(why, "does not suit"));
	assert_int_equal(net_open(&net, model_find("char-lstm"), (struct shape){67, 50, 2}, why, sizeof why),
	                 -1);
	assert_int_equal(net_open(&net, model_find("gpt-mini"), (struct shape){67, 50, 2}, why, sizeof why),
	                 -1);
	assert_int_equal(net_open(&net, model_find("gpt-small"), (struct shape){66, 50, 1}, why, sizeof why),
	                 -1);
	assert_non_null(strstr(why, "does not suit"));
}

/* Every parameter is in one tensor, and a matrix is what a policy compresses. */
static void tensors_are_the_slices(void **state)
{
	(void)state;
	const struct model *model;
	for (size_t i = 0; (model = model_list(i)); i++) {
		struct net net;
		open_net(&net, model, model->input);
		for (size_t s = 0; s < net.slice_count; s++) {
			const struct crumb_slice *slice = &net.slice[s];
			bool matrix = slice->run == 0;
			assert_int_equal(net_tensor_end(&net, slice->at, &matrix), slice->at + slice->n);
			assert_int_equal(matrix, slice->run != 0);
			assert_int_equal(net_tensor_end(&net, slice->at + slice->n - 1, &matrix),
			                 slice->at + slice->n);
		}
	}
}

static void initial_values_follow_the_seed(void **state)
{
	(void)state;
	struct net net;
	open_net(&net, model_find("lenet"), (struct shape){1, 28, 28});
	float *one = new_floats(net.parameters), *same = new_floats(net.parameters),
	      *two = new_floats(net.parameters);
	init_parameters(&net, 1, one);
	init_parameters(&net, 1, same);
	init_parameters(&net, 2, two);
	assert_memory_equal(one, same, net.parameters * sizeof *one);
	assert_memory_not_equal(one, two, net.parameters * sizeof *one);

	const struct net_layer *fc = &net.layer[4]; /* before a relu: variance 2 / fan-in */
	double squares = 0;
	for (size_t i = 0; i < fc->weights; i++)
		squares += (double)one[fc->weights_at + i] * one[fc->weights_at + i];
	assert_float_equal(squares / (double)fc->weights, 2.0 / 800, 0.02 * 2.0 / 800);
	for (size_t i = 0; i < fc->bias; i++)
		assert_true(one[fc->bias_at + i] == 0);
	free(one);
	free(same);
	free(two);
}

/* ---- forward, by the definition ---- */

static const struct layer every_layer[] = {
        {.type = LAYER_CONV, .units = 3, .size = 2},
        {.type = LAYER_RELU},
        {.type = LAYER_MAX_POOL, .size = 2},
        {.type = LAYER_CONV, .units = 18, .size = 2},
        {.type = LAYER_FC, .units = 5},
        {.type = LAYER_RELU},
        {.type = LAYER_FC, .units = 4},
};

/* Padding, strides, and windows that overlap and hang over the edge. */
static const struct layer every_window[] = {
        {.type = LAYER_CONV, .units = 3, .size = 3, .pad = 2},
        {.type = LAYER_MAX_POOL, .size = 3, .stride = 2},
        {.type = LAYER_CONV, .units = 5, .size = 3, .stride = 2, .pad = 1},
        {.type = LAYER_AVERAGE_POOL, .size = 3, .stride = 2},
        {.type = LAYER_FC, .units = 4},
};

/* A block that keeps the shape, and one that halves the image. */
static const struct layer blocks[] = {
        {.type = LAYER_CONV, .units = 3, .size = 3, .pad = 1},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 3, .size = 3, .pad = 1},
        {.type = LAYER_BATCHNORM},
        {.type = LAYER_SHORTCUT, .back = 3},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 7, .size = 3, .pad = 1, .stride = 2},
        {.type = LAYER_BATCHNORM},
        {.type = LAYER_RELU},
        {.type = LAYER_CONV, .units = 7, .size = 3, .pad = 1},
        {.type = LAYER_BATCHNORM},
        {.type = LAYER_SHORTCUT, .back = 6},
        {.type = LAYER_FC, .units = 4},
};

/* Three steps in time, each with a layer of its own on top. */
static const struct layer recurrent[] = {
        {.type = LAYER_LSTM, .units = 5},
        {.type = LAYER_LSTM, .units = 3},
        {.type = LAYER_CONV, .units = 4, .size = 1},
};

/* Tokens at five places; a block of a transformer of two heads; a head of its own, and one tied to the
 * embedding. */
#define TRANSFORMER                                                                                  \
	{.type = LAYER_EMBEDDING, .units = 6}, {.type = LAYER_POSITION}, {.type = LAYER_LAYERNORM},  \
	        {.type = LAYER_LINEAR, .units = 18}, {.type = LAYER_ATTENTION, .size = 2},           \
	        {.type = LAYER_LINEAR, .units = 6}, {.type = LAYER_SHORTCUT, .back = 5},             \
	        {.type = LAYER_LAYERNORM}, {.type = LAYER_LINEAR, .units = 9}, {.type = LAYER_GELU}, \
	        {.type = LAYER_LINEAR, .units = 6}, {.type = LAYER_SHORTCUT, .back = 5},             \
	{                                                                                            \
		.type = LAYER_LAYERNORM                                                              \
	}
static const struct layer transformer[] = {TRANSFORMER, {.type = LAYER_LINEAR, .units = 4}};
static const struct layer tied_transformer[] = {TRANSFORMER,
                                                {.type = LAYER_LINEAR, .units = 7, .tied = true}};

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double *lstm_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	enum { MOST_UNITS = 8 };
	const size_t inputs = (size_t)l->in.channels, units = (size_t)l->layer.units,
	             steps = (size_t)l->in.height;
	double cell[MOST_UNITS] = {0}, state[MOST_UNITS] = {0}, next[MOST_UNITS];
	for (size_t t = 0; t < steps; t++) {
		for (size_t u = 0; u < units; u++) {
			double gate[4];
			for (size_t g = 0; g < 4; g++) {
				const size_t row = g * units + u;
				gate[g] = param[l->bias_at + row];
				for (size_t i = 0; i < inputs; i++)
					gate[g] += (double)param[l->weights_at + row * inputs + i] *
					           x[i * steps + t];
				for (size_t i = 0; i < units; i++)
					gate[g] +=
					        (double)param[l->recurrent_at + row * units + i] * state[i];
			}
			cell[u] = sigmoid(gate[1]) * cell[u] + sigmoid(gate[0]) * tanh(gate[2]);
			next[u] = sigmoid(gate[3]) * tanh(cell[u]);
		}
		for (size_t u = 0; u < units; u++)
			y[u * steps + t] = state[u] = next[u];
	}
	return y;
}

/* Returns a pixel; 0 beyond the edges. */
static double pixel(const struct net_layer *l, const double *x, int c, int i, int j)
{
	const bool within = i >= 0 && i < l->in.height && j >= 0 && j < l->in.width;
	return within ? x[(c * l->in.height + i) * l->in.width + j] : 0;
}

static double *conv_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	const int size = l->layer.size;
	const int stride = layer_stride(&l->layer), pad = l->layer.pad;
	for (int u = 0; u < l->out.channels; u++)
		for (int i = 0; i < l->out.height; i++)
			for (int j = 0; j < l->out.width; j++) {
				double sum = param[l->bias_at + (size_t)u];
				for (int c = 0; c < l->in.channels; c++)
					for (int a = 0; a < size; a++)
						for (int b = 0; b < size; b++)
							sum += (double)param[l->weights_at +
							                     (size_t)(((u * l->in.channels +
							                                c) * size +
							                               a) * size +
							                              b)] *
							       pixel(l, x, c, i * stride + a - pad,
							             j * stride + b - pad);
				y[(u * l->out.height + i) * l->out.width + j] = sum;
			}
	return y;
}

static double *pool_by_hand(const struct net_layer *l, const double *x, double *y)
{
	const int size = l->layer.size, stride = layer_stride(&l->layer);
	for (int c = 0; c < l->out.channels; c++)
		for (int i = 0; i < l->out.height; i++)
			for (int j = 0; j < l->out.width; j++) {
				double most = -INFINITY, sum = 0, count = 0;
				for (int a = stride * i; a < stride * i + size && a < l->in.height; a++)
					for (int b = stride * j; b < stride * j + size && b < l->in.width;
					     b++) {
						most = fmax(most, pixel(l, x, c, a, b));
						sum += pixel(l, x, c, a, b);
						count++;
					}
				y[(c * l->out.height + i) * l->out.width + j] =
				        l->layer.type == LAYER_MAX_POOL ? most : sum / count;
			}
	return y;
}

/* Returns the product of weights, [units][channels] or by_column [channels][units], and a place's channels.
 */
static double product(const struct net_layer *l, const float *w, bool by_column, const double *x, size_t u,
                      size_t t)
{
	const size_t channels = (size_t)l->in.channels, units = (size_t)l->layer.units;
	double sum = 0;
	for (size_t c = 0; c < channels; c++)
		sum += (double)w[by_column ? c * units + u : u * channels + c] *
		       x[c * (size_t)l->in.height + t];
	return sum;
}

static double *linear_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	const size_t places = (size_t)l->in.height;
	for (size_t u = 0; u < (size_t)l->layer.units; u++)
		for (size_t t = 0; t < places; t++)
			y[u * places + t] =
			        product(l, param + l->weights_at, l->layer.type == LAYER_EMBEDDING, x, u, t) +
			        (l->bias ? (double)param[l->bias_at + u] : 0);
	return y;
}

static double *layernorm_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	const size_t channels = (size_t)l->in.channels, places = (size_t)l->in.height;
	for (size_t t = 0; t < places; t++) {
		double mean = 0, variance = 0;
		for (size_t c = 0; c < channels; c++)
			mean += x[c * places + t] / (double)channels;
		for (size_t c = 0; c < channels; c++)
			variance += pow(x[c * places + t] - mean, 2) / (double)channels;
		for (size_t c = 0; c < channels; c++)
			y[c * places + t] = (x[c * places + t] - mean) / sqrt(variance + 1e-5) *
			                            (double)param[l->weights_at + c] +
			                    (double)param[l->bias_at + c];
	}
	return y;
}

static double *attention_by_hand(const struct net_layer *l, const double *x, double *y)
{
	enum { MOST_PLACES = 8 };
	const size_t all = (size_t)l->out.channels, places = (size_t)l->in.height,
	             head = all / (size_t)l->layer.size;
	for (size_t first = 0; first < all; first += head)
		for (size_t t = 0; t < places; t++) {
			double weight[MOST_PLACES], total = 0;
			for (size_t s = 0; s <= t; s++) {
				double score = 0;
				for (size_t c = first; c < first + head; c++)
					score += x[c * places + t] * x[(all + c) * places + s];
				total += weight[s] = exp(score / sqrt((double)head));
			}
			for (size_t c = first; c < first + head; c++) {
				y[c * places + t] = 0;
				for (size_t s = 0; s <= t; s++)
					y[c * places + t] +=
					        weight[s] / total * x[(2 * all + c) * places + s];
			}
		}
	return y;
}

static double *layer_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	const size_t inputs = shape_count(l->in);
	switch (l->layer.type) {
	case LAYER_EMBEDDING:
	case LAYER_LINEAR:
		return linear_by_hand(l, param, x, y);
	case LAYER_POSITION:
		for (size_t i = 0; i < inputs; i++) {
			const size_t places = (size_t)l->in.height, channels = (size_t)l->in.channels;
			y[i] = x[i] + (double)param[l->weights_at + i % places * channels + i / places];
		}
		return y;
	case LAYER_LAYERNORM:
		return layernorm_by_hand(l, param, x, y);
	case LAYER_ATTENTION:
		return attention_by_hand(l, x, y);
	case LAYER_GELU:
		for (size_t i = 0; i < inputs; i++)
			y[i] = x[i] / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x[i] + 0.044715 * pow(x[i], 3))));
		return y;
	case LAYER_CONV:
		return conv_by_hand(l, param, x, y);
	case LAYER_MAX_POOL:
	case LAYER_AVERAGE_POOL:
		return pool_by_hand(l, x, y);
	case LAYER_FC:
		for (size_t u = 0; u < l->bias; u++) {
			y[u] = param[l->bias_at + u];
			for (size_t i = 0; i < inputs; i++)
				y[u] += (double)param[l->weights_at + u * inputs + i] * x[i];
		}
		return y;
	case LAYER_LSTM:
		return lstm_by_hand(l, param, x, y);
	case LAYER_RELU:
		for (size_t i = 0; i < inputs; i++)
			y[i] = x[i] > 0 ? x[i] : 0;
		return y;
	case LAYER_BATCHNORM:
	case LAYER_SHORTCUT:
		break;
	}
	return NULL;
}

static void batchnorm_by_hand(const struct net_layer *l, const float *param, size_t batch, const double *x,
                              double *y)
{
	const size_t channels = (size_t)l->in.channels, side = (size_t)(l->in.height * l->in.width);
	for (size_t c = 0; c < channels; c++) {
		double sum = 0, squares = 0, n = (double)(batch * side);
		for (size_t i = 0; i < batch * side; i++)
			sum += x[(i / side * channels + c) * side + i % side];
		for (size_t i = 0; i < batch * side; i++)
			squares += pow(x[(i / side * channels + c) * side + i % side] - sum / n, 2);
		for (size_t i = 0; i < batch * side; i++) {
			const size_t at = (i / side * channels + c) * side + i % side;
			y[at] = param[l->weights_at + c] * (x[at] - sum / n) / sqrt(squares / n + 1e-5) +
			        param[l->bias_at + c];
		}
	}
}

/* Computes one sample. `from`: the shortcut's input. */
static void shortcut_by_hand(const struct net_layer *l, struct shape in, const double *x, const double *from,
                             double *y)
{
	const int step = in.height / l->out.height;
	for (int c = 0; c < l->out.channels; c++)
		for (int i = 0; i < l->out.height; i++)
			for (int j = 0; j < l->out.width; j++) {
				const int at = (c * l->out.height + i) * l->out.width + j;
				y[at] = x[at];
				if (c < in.channels)
					y[at] += from[(c * in.height + step * i) * in.width + step * j];
			}
}

static void check_forward(const struct layer *layers, size_t count, struct shape input)
{
	enum { BATCH = 3, MOST = 1000 }; /* MOST: most outputs of a */
	const struct model model = {.name = "every layer", .layers = layers, .layer_count = count};
	struct net net;
	open_net(&net, &model, input);
	float *param = new_floats(net.parameters);
	fill(param, net.parameters, 1, 0.5f);
	struct pass *pass = open_pass(&net, BATCH);
	const size_t pixels = shape_count(net.input);
	fill(pass_input(pass), BATCH * pixels, 2, 1);
	assert_int_equal(pass_forward(pass, param), 0);
	static double value[16][BATCH * MOST]; /* value[l]: input of layer */
	for (size_t k = 0; k < BATCH * pixels; k++)
		value[0][k] = pass_input(pass)[k];
	for (size_t l = 0; l < net.layer_count; l++) {
		const struct net_layer *layer = &net.layer[l];
		const size_t from = l + 1 - (size_t)layer->layer.back, inputs = shape_count(layer->in);
		const size_t outputs = shape_count(layer->out);
		assert_true(outputs <= MOST);
		if (layer->layer.type == LAYER_BATCHNORM)
			batchnorm_by_hand(layer, param, BATCH, value[l], value[l + 1]);
		for (size_t i = 0; i < BATCH && layer->layer.type != LAYER_BATCHNORM; i++) {
			const double *x = value[l] + i * inputs;
			double *y = value[l + 1] + i * outputs;
			if (layer->layer.type == LAYER_SHORTCUT)
				shortcut_by_hand(layer, net.layer[from - 1].out, x,
				                 value[from] + i * shape_count(net.layer[from - 1].out), y);
			else
				layer_by_hand(layer, param, x, y);
		}
	}
	const size_t classes = (size_t)net.classes, places = (size_t)net.places;
	for (size_t i = 0; i < BATCH; i++)
		for (size_t c = 0; c < classes; c++)
			for (size_t p = 0; p < places; p++)
				assert_float_equal(pass_logits(pass)[(i * places + p) * classes + c],
				                   value[net.layer_count][(i * classes + c) * places + p],
				                   1e-5);
	pass_close(pass);
	free(param);
}

static void forward_is_the_definition(void **state)
{
	(void)state;
	check_forward(every_layer, COUNT(every_layer),
	              (struct shape){2, 9, 8}); /* the pool leaves a column out */
	for (int height = 5; height < 10; height++)
		check_forward(every_window, COUNT(every_window), (struct shape){2, height, 8});
	check_forward(blocks, COUNT(blocks), (struct shape){2, 8, 6});
	check_forward(recurrent, COUNT(recurrent), (struct shape){6, 3, 1});
	check_forward(transformer, COUNT(transformer), (struct shape){7, 5, 1});
	check_forward(tied_transformer, COUNT(tied_transformer), (struct shape){7, 5, 1});
}

/* Tests a batch with its own statistics: the outputs equal those of its training. */
static void a_test_takes_given_statistics(void **state)
{
	(void)state;
	enum { BATCH = 4 };
	const struct model model = {.name = "blocks", .layers = blocks, .layer_count = COUNT(blocks)};
	struct net net;
	char why[256] = "";
	open_net(&net, &model, (struct shape){2, 8, 6});
	assert_int_equal(net.statistics, 2 * (3 + 7 + 7));
	float *param = new_floats(net.parameters + net.statistics);
	fill(param, net.parameters, 1, 0.5f);
	struct pass *train = open_pass(&net, BATCH),
	            *test = pass_open(&net, BATCH, PASS_TEST, why, sizeof why);
	assert_non_null(test);
	const size_t pixels = BATCH * shape_count(net.input);
	fill(pass_input(train), pixels, 2, 1);
	memcpy(pass_input(test), pass_input(train), pixels * sizeof *param);
	assert_int_equal(pass_forward(train, param), 0);
	pass_statistics(train, param + net.parameters);
	assert_int_equal(pass_forward(test, param), 0);
	for (size_t k = 0; k < BATCH * (size_t)net.classes; k++)
		assert_float_equal(pass_logits(test)[k], pass_logits(train)[k], 1e-5);
	param[net.parameters] += 1;
	assert_int_equal(pass_forward(test, param), 0);
	assert_true(fabsf(pass_logits(test)[0] - pass_logits(train)[0]) > 1e-3f);
	pass_close(train);
	pass_close(test);
	free(param);
}

/* Two pieces of a sequence, of which the second begins with the first one's states, are the sequence. */
static void carried_states_join_pieces(void **state)
{
	(void)state;
	enum { BATCH = 3, CHANNELS = 6, TIME = 4 };
	const struct model model = {
	        .name = "recurrent", .layers = recurrent, .layer_count = COUNT(recurrent)};
	struct net whole, half;
	open_net(&whole, &model, (struct shape){CHANNELS, 2 * TIME, 1});
	open_net(&half, &model, (struct shape){CHANNELS, TIME, 1});
	half.carries = true;
	assert_int_equal(half.states, 2 * (5 + 3));
	float *param = new_floats(whole.parameters), *states = new_floats(BATCH * half.states);
	fill(param, whole.parameters, 1, 0.5f);
	struct pass *one = open_pass(&whole, BATCH), *two = open_pass(&half, BATCH);
	fill(pass_input(one), BATCH * shape_count(whole.input), 2, 1);
	assert_int_equal(pass_forward(one, param), 0);
	const size_t outputs = TIME * (size_t)half.classes;
	for (size_t piece = 0; piece < 2; piece++) {
		for (size_t row = 0; row < BATCH * CHANNELS; row++)
			memcpy(pass_input(two) + row * TIME, pass_input(one) + (2 * row + piece) * TIME,
			       TIME * sizeof(float));
		for (size_t i = 0; i < BATCH; i++)
			pass_begin_state(two, i, piece == 0 ? NULL : states + i * half.states);
		assert_int_equal(pass_forward(two, param), 0);
		for (size_t i = 0; i < BATCH; i++) {
			pass_end_state(two, i, states + i * half.states);
			for (size_t k = 0; k < outputs; k++)
				assert_float_equal(pass_logits(two)[i * outputs + k],
				                   pass_logits(one)[(2 * i + piece) * outputs + k], 1e-6);
		}
	}
	pass_close(one);
	pass_close(two);
	free(param);
	free(states);
}

/* ---- backward, by differences ---- */

static double along(struct pass *pass, const float *param, const float *direction, size_t outputs)
{
	double sum = 0;
	assert_int_equal(pass_forward(pass, param), 0);
	for (size_t k = 0; k < outputs; k++)
		sum += (double)direction[k] * pass_logits(pass)[k];
	return sum;
}

/* Compares the gradient of sum(direction * logits) by every parameter with differences. Between kinks of relu
 * and pool that sum is linear in each parameter: a difference is exact up to rounding, and the differences to
 * both sides show a kink. Few parameters may have one. */
static void check_gradient_with(const struct layer *layers, size_t count, struct shape input, float dropout,
                                bool carries)
{
	enum { BATCH = 3 };
	const float h = 0x1p-9f;
	const double tolerance = 3e-3;
	const struct model model = {.name = "tiny", .layers = layers, .layer_count = count};
	struct net net;
	open_net(&net, &model, input);
	net.dropout = dropout;
	net.carries = carries;
	const size_t outputs = BATCH * (size_t)(net.classes * net.places);
	float *param = new_floats(net.parameters), *grad = new_floats(net.parameters),
	      *direction = new_floats(outputs);
	fill(param, net.parameters, 3, 0.5f);
	fill(direction, outputs, 4, 1);
	struct pass *pass = open_pass(&net, BATCH);
	fill(pass_input(pass), BATCH * shape_count(input), 5, 1);
	for (size_t i = 0; i < BATCH; i++)
		pass_drop(pass, i, random_stream(6, RANDOM_DROPOUT, i));
	float *states = new_floats(BATCH * net.states + 1);
	fill(states, BATCH * net.states, 7, 1);
	for (size_t i = 0; i < BATCH && carries; i++)
		pass_begin_state(pass, i, states + i * net.states);

	const double here = along(pass, param, direction, outputs);
	memcpy(pass_logits_gradient(pass), direction, outputs * sizeof *direction);
	assert_int_equal(pass_backward(pass, grad), 0);
	size_t kinks = 0;
	for (size_t p = 0; p < net.parameters; p++) {
		const float old = param[p];
		param[p] = old + h;
		const double above = (along(pass, param, direction, outputs) - here) / (double)h;
		param[p] = old - h;
		const double below = (here - along(pass, param, direction, outputs)) / (double)h;
		param[p] = old;
		if (fabs(above - below) > tolerance * (1 + fabs(above)))
			kinks++;
		else if (fabs(0.5 * (above + below) - grad[p]) > tolerance * (1 + fabs(above)))
			fail_msg("parameter %zu of %zu: differences %g and %g, gradient %g", p,
			         net.parameters, above, below, (double)grad[p]);
	}
	assert_true(20 * kinks <= net.parameters);
	pass_close(pass);
	free(param);
	free(grad);
	free(direction);
	free(states);
}

static void check_gradient(const struct layer *layers, size_t count, struct shape input)
{
	check_gradient_with(layers, count, input, 0, false);
}

static void gradients_are_differences(void **state)
{
	(void)state;
	static const struct layer fc[] = {{.type = LAYER_FC, .units = 4}};
	static const struct layer fc_relu_fc[] = {
	        {.type = LAYER_FC, .units = 7}, {.type = LAYER_RELU}, {.type = LAYER_FC, .units = 4}};
	static const struct layer conv[] = {{.type = LAYER_CONV, .units = 4, .size = 3}};
	static const struct layer conv_conv_fc[] = {{.type = LAYER_CONV, .units = 20, .size = 2},
	                                            {.type = LAYER_CONV, .units = 3, .size = 3},
	                                            {.type = LAYER_FC, .units = 4}};
	static const struct layer conv_pool[] = {{.type = LAYER_CONV, .units = 4, .size = 2},
	                                         {.type = LAYER_MAX_POOL, .size = 2}};
	check_gradient(fc, COUNT(fc), (struct shape){2, 3, 3});
	check_gradient(fc_relu_fc, COUNT(fc_relu_fc), (struct shape){1, 4, 3});
	check_gradient_with(fc_relu_fc, COUNT(fc_relu_fc), (struct shape){1, 4, 3}, 0.4f, false);
	check_gradient(conv, COUNT(conv), (struct shape){3, 5, 4});
	check_gradient(conv_conv_fc, COUNT(conv_conv_fc), (struct shape){1, 6, 5});
	check_gradient(conv_pool, COUNT(conv_pool), (struct shape){2, 6, 7});
	check_gradient(every_layer, COUNT(every_layer), (struct shape){2, 9, 8});
	for (int height = 5; height < 10; height++)
		check_gradient(every_window, COUNT(every_window), (struct shape){2, height, 8});
	check_gradient(blocks, COUNT(blocks), (struct shape){2, 8, 6});
	check_gradient(recurrent, COUNT(recurrent), (struct shape){6, 3, 1});
	check_gradient(transformer, COUNT(transformer), (struct shape){7, 5, 1});
	check_gradient(tied_transformer, COUNT(tied_transformer), (struct shape){7, 5, 1});
	check_gradient_with(recurrent, COUNT(recurrent), (struct shape){6, 3, 1}, 0, true);
}

/* Passes inputs of 1 through a layer that changes nothing: the logits are dropout's factors. */
static void dropout_is_fair(void **state)
{
	(void)state;
	enum { BATCH = 8, N = 500 };
	static const float share = 0.3f;
	static const struct layer layers[] = {{.type = LAYER_RELU}, {.type = LAYER_FC, .units = N}};
	const struct model model = {.name = "same", .layers = layers, .layer_count = COUNT(layers)};
	struct net net;
	char why[256];
	open_net(&net, &model, (struct shape){N, 1, 1});
	net.dropout = share;
	float *param = new_floats(net.parameters);
	for (size_t i = 0; i < N; i++)
		param[i * N + i] = 1;
	struct pass *pass = open_pass(&net, BATCH), *one = open_pass(&net, 1),
	            *test = pass_open(&net, 1, PASS_TEST, why, sizeof why);
	assert_non_null(test);
	for (size_t i = 0; i < BATCH * N; i++)
		pass_input(pass)[i] = 1;
	memcpy(pass_input(one), pass_input(pass), N * sizeof *param);
	memcpy(pass_input(test), pass_input(pass), N * sizeof *param);
	for (size_t i = 0; i < BATCH; i++)
		pass_drop(pass, i, random_stream(1, RANDOM_DROPOUT, i));
	pass_drop(one, 0, random_stream(1, RANDOM_DROPOUT, 5));
	assert_int_equal(pass_forward(pass, param), 0);
	assert_int_equal(pass_forward(one, param), 0);
	assert_int_equal(pass_forward(test, param), 0);
	const float *drawn = pass_logits(pass);
	size_t left = 0;
	for (size_t i = 0; i < BATCH * N; i++) {
		assert_true(drawn[i] == 0 || drawn[i] == 1 / (1 - share));
		left += drawn[i] > 0;
	}
	const double all = BATCH * N, sigma = sqrt(all * (double)share * (1 - (double)share));
	assert_true(fabs((double)left - all * (1 - (double)share)) < 4 * sigma);
	assert_memory_equal(pass_logits(one), drawn + 5 * N, N * sizeof *drawn);
	assert_memory_not_equal(drawn, drawn + N, N * sizeof *drawn);
	for (size_t i = 0; i < N; i++)
		assert_true(pass_logits(test)[i] == 1);
	pass_close(pass);
	pass_close(one);
	pass_close(test);
	free(param);
}

static void loss_is_cross_entropy(void **state)
{
	(void)state;
	enum { N = 3, CLASSES = 4 };
	const uint8_t label[N] = {0, 3, 1};
	float logits[N * CLASSES] = {1, -2, 0.5f, 3, 0, 0, 0, 1, 80, 70, -60, 0}, gradient[N * CLASSES];
	double sum = 0;
	for (size_t i = 0; i < N; i++) {
		double total = 0;
		for (size_t c = 0; c < CLASSES; c++)
			total += exp((double)logits[i * CLASSES + c]);
		sum -= log(exp((double)logits[i * CLASSES + label[i]]) / total);
	}
	size_t errors;
	assert_float_equal(loss_sum(logits, label, N, CLASSES, &errors), sum, 1e-9);
	assert_int_equal(errors, 2);

	const float h = 0x1p-10f, weight = 0.25f;
	loss_gradient(logits, label, N, CLASSES, weight, gradient);
	for (size_t k = 0; k < N * CLASSES; k++) {
		const float old = logits[k];
		logits[k] = old + h;
		const double up = loss_sum(logits, label, N, CLASSES, NULL);
		logits[k] = old - h;
		const double down = loss_sum(logits, label, N, CLASSES, NULL);
		logits[k] = old;
		assert_float_equal(gradient[k], weight * (up - down) / (2 * (double)h), 1e-5);
	}

	const float equal[CLASSES] = {1, 1, 1, 1}, strange[CLASSES] = {NAN, 0, 0, 0};
	loss_sum(equal, label, 1, CLASSES, &errors);
	assert_int_equal(errors, 1);
	assert_true(isnan(loss_sum(strange, label, 1, CLASSES, &errors)));
	assert_int_equal(errors, 1);
}

/* ---- threads ---- */

static void small_data(struct data *data)
{
	char why[256];
	*data = (struct data){0};
	assert_int_equal(digits_make(data, 400, 100, why, sizeof why), 0);
	data->mean = 37;
	data->scale = 1.0f / 60;
}

static size_t threads_now(void)
{
	size_t n = 0;
	DIR *tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks));)
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}

struct crowd {
	struct worker *worker[3];
	const float *param;
	float *grad[8];
	size_t learners;
};

static void crowd_task(void *arg, size_t l, unsigned thread)
{
	enum { BATCH = 100 };
	struct crowd *crowd = arg;
	uint32_t index[BATCH];
	double loss;
	const size_t n = split_size(BATCH, crowd->learners, l);
	for (size_t i = 0; i < n; i++)
		index[i] = (uint32_t)(3 * (split_first(BATCH, crowd->learners, l) + i));
	if (worker_gradient(crowd->worker[thread], crowd->param, index, n, NULL, crowd->grad[l], &loss) < 0)
		crowd->grad[l][0] = NAN;
}

/* Computes 8 gradients into `grad`, one after another, on so many threads. */
static void gradients_on(unsigned threads, const struct net *net, const struct data *data, const float *param,
                         float *grad)
{
	struct crowd crowd = {.param = param, .learners = 8};
	struct team *team = crumb_team_open(threads);
	assert_non_null(team);
	for (unsigned i = 0; i < threads; i++)
		assert_non_null(crowd.worker[i] = worker_open(net, data));
	for (size_t l = 0; l < crowd.learners; l++)
		crowd.grad[l] = grad + l * net->parameters;
	const size_t before = threads_now();
	crumb_team_run(team, crowd_task, &crowd, crowd.learners);
	assert_int_equal(threads_now(), before); /* oneDNN has started none */
	for (unsigned i = 0; i < threads; i++)
		worker_close(crowd.worker[i]);
	crumb_team_close(team);
}

static void a_gradient_is_one_threads_work(void **state)
{
	(void)state;
	struct data data;
	struct net net;
	small_data(&data);
	open_net(&net, model_find("lenet"), data.shape);
	float *param = new_floats(net.parameters), *one = new_floats(8 * net.parameters),
	      *many = new_floats(8 * net.parameters);
	init_parameters(&net, 1, param);
	gradients_on(1, &net, &data, param, one);
	for (unsigned threads = 2; threads <= 3; threads++) {
		gradients_on(threads, &net, &data, param, many);
		assert_memory_equal(one, many, 8 * net.parameters * sizeof *one);
	}
	free(param);
	free(one);
	free(many);
	data_close(&data);
}

static void micro_batches_add_up(void **state)
{
	(void)state;
	enum { N = 70 }; /* three micro-batches */
	struct data data;
	struct net net;
	small_data(&data);
	open_net(&net, model_find("lenet"), data.shape);
	float *param = new_floats(net.parameters), *whole = new_floats(net.parameters),
	      *single = new_floats(net.parameters);
	double *sum = calloc(net.parameters, sizeof *sum), loss, losses = 0, norm = 0, difference = 0;
	assert_non_null(sum);
	init_parameters(&net, 1, param);
	struct worker *worker = worker_open(&net, &data);
	assert_non_null(worker);
	uint32_t index[N];
	for (uint32_t i = 0; i < N; i++) {
		index[i] = (7 * i) % 400;
		assert_int_equal(worker_gradient(worker, param, &index[i], 1, NULL, single, &loss), 0);
		losses += loss / N;
		for (size_t k = 0; k < net.parameters; k++)
			sum[k] += (double)single[k] / N;
	}
	assert_int_equal(worker_gradient(worker, param, index, N, NULL, whole, &loss), 0);
	assert_float_equal(loss, losses, 1e-5);
	for (size_t k = 0; k < net.parameters; k++) {
		norm += sum[k] * sum[k];
		difference += (sum[k] - whole[k]) * (sum[k] - whole[k]);
	}
	assert_true(norm > 0 && difference < 1e-10 * norm);
	worker_close(worker);
	free(param);
	free(whole);
	free(single);
	free(sum);
	data_close(&data);
}

/* Returns a run's report, which depends on the last bit of every parameter's history: loss and residual are
 * sums over everything. */
static struct report run_on(unsigned threads, const char *policy, const struct data *data,
                            const struct net *net)
{
	static struct options options;
	char why[256] = "";
	struct report run;
	struct log log = {0};
	options = (struct options){.model = net->model,
	                           .data = "digits",
	                           .learners = 7,
	                           .batch = 25,
	                           .epochs = 2,
	                           .lr = 0.02,
	                           .momentum = 0.9,
	                           .seed = 3,
	                           .plan = crumb_plan_find("gather"),
	                           .down_exact = true};
	options.codec[0].text = policy;
	assert_int_equal(crumb_policy_parse(&options.codec[0].policy, policy, NULL), 0);
	struct team *team = crumb_team_open(threads);
	assert_non_null(team);
	const struct train_setting setting = {&options, data, net, team, NULL, &log, NULL};
	if (train_run(&setting, 0, &run, why, sizeof why) < 0)
		fail_msg("%s", why);
	crumb_team_close(team);
	return run;
}

static void training_does_not_depend_on_threads(void **state)
{
	(void)state;
	struct data data;
	struct net net;
	small_data(&data);
	open_net(&net, model_find("lenet"), data.shape);
	const char *const policies[] = {"raw", "adacomp", "terngrad"};
	for (size_t p = 0; p < COUNT(policies); p++) {
		const struct report one = run_on(1, policies[p], &data, &net);
		assert_true(one.loss > 0 && one.loss < 2.5);
		for (unsigned threads = 2; threads <= 3; threads++) {
			const struct report many = run_on(threads, policies[p], &data, &net);
			assert_memory_equal(&one.loss, &many.loss, sizeof one.loss);
			assert_memory_equal(&one.error, &many.error, sizeof one.error);
			assert_memory_equal(&one.residual_norm, &many.residual_norm,
			                    sizeof one.residual_norm);
			assert_int_equal(one.bytes, many.bytes);
		}
	}
	data_close(&data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(lenet_is_the_papers),
	        cmocka_unit_test(lenet_relu_is_lenet_with_two_more),
	        cmocka_unit_test(networks_are_as_large_as_the_papers),
	        cmocka_unit_test(too_small_an_input_is_refused),

	        cmocka_unit_test(tensors_are_the_slices),
	        cmocka_unit_test(initial_values_follow_the_seed),
	        cmocka_unit_test(forward_is_the_definition),
	        cmocka_unit_test(a_test_takes_given_statistics),
	        cmocka_unit_test(carried_states_join_pieces),
	        cmocka_unit_test(gradients_are_differences),
	        cmocka_unit_test(dropout_is_fair),
	        cmocka_unit_test(loss_is_cross_entropy),
	        cmocka_unit_test(a_gradient_is_one_threads_work),
	        cmocka_unit_test(micro_batches_add_up),
	        cmocka_unit_test(training_does_not_depend_on_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
