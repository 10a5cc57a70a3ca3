/* Every layer by its definition.
 *
 * SPDX-License-Identifier: MIT */
#include "layers_by_hand.h"

#include <math.h>
#include <stdbool.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void lstm_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
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
}

/* Returns a pixel; 0 beyond the edges. */
static double pixel(const struct net_layer *l, const double *x, int c, int i, int j)
{
	const bool within = i >= 0 && i < l->in.height && j >= 0 && j < l->in.width;
	return within ? x[(c * l->in.height + i) * l->in.width + j] : 0;
}

static void conv_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
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
}

static void pool_by_hand(const struct net_layer *l, const double *x, double *y)
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

static void linear_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	const size_t places = (size_t)l->in.height;
	for (size_t u = 0; u < (size_t)l->layer.units; u++)
		for (size_t t = 0; t < places; t++)
			y[u * places + t] =
			        product(l, param + l->weights_at, l->layer.type == LAYER_EMBEDDING, x, u, t) +
			        (l->bias ? (double)param[l->bias_at + u] : 0);
}

static void layernorm_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
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
}

static void attention_by_hand(const struct net_layer *l, const double *x, double *y)
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
}

static void sample_by_hand(const struct net_layer *l, const float *param, const double *x, double *y)
{
	const size_t inputs = shape_count(l->in);
	switch (l->layer.type) {
	case LAYER_EMBEDDING:
	case LAYER_LINEAR:
		linear_by_hand(l, param, x, y);
		break;
	case LAYER_POSITION:
		for (size_t i = 0; i < inputs; i++) {
			const size_t places = (size_t)l->in.height, channels = (size_t)l->in.channels;
			y[i] = x[i] + (double)param[l->weights_at + i % places * channels + i / places];
		}
		break;
	case LAYER_LAYERNORM:
		layernorm_by_hand(l, param, x, y);
		break;
	case LAYER_ATTENTION:
		attention_by_hand(l, x, y);
		break;
	case LAYER_GELU:
		for (size_t i = 0; i < inputs; i++)
			y[i] = x[i] / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x[i] + 0.044715 * pow(x[i], 3))));
		break;
	case LAYER_CONV:
		conv_by_hand(l, param, x, y);
		break;
	case LAYER_MAX_POOL:
	case LAYER_AVERAGE_POOL:
		pool_by_hand(l, x, y);
		break;
	case LAYER_FC:
		for (size_t u = 0; u < l->bias; u++) {
			y[u] = param[l->bias_at + u];
			for (size_t i = 0; i < inputs; i++)
				y[u] += (double)param[l->weights_at + u * inputs + i] * x[i];
		}
		break;
	case LAYER_LSTM:
		lstm_by_hand(l, param, x, y);
		break;
	case LAYER_RELU:
		for (size_t i = 0; i < inputs; i++)
			y[i] = x[i] > 0 ? x[i] : 0;
		break;
	case LAYER_BATCHNORM:
	case LAYER_SHORTCUT:
		break;
	}
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

void layer_by_hand(const struct net_layer *l, const float *param, size_t batch, const double *x,
                   struct shape back, const double *from, double *y)
{
	const size_t inputs = shape_count(l->in), outputs = shape_count(l->out);
	if (l->layer.type == LAYER_BATCHNORM) {
		batchnorm_by_hand(l, param, batch, x, y);
		return;
	}
	for (size_t i = 0; i < batch; i++)
		if (l->layer.type == LAYER_SHORTCUT)
			shortcut_by_hand(l, back, x + i * inputs, from + i * shape_count(back),
			                 y + i * outputs);
		else
			sample_by_hand(l, param, x + i * inputs, y + i * outputs);
}
