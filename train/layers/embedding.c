/* The two embeddings of a transformer: a vector for each token, and one for each place of the sequence.
 *
 * Tokens come one-hot, so that their vectors are a product of matrices.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

/* Rows of one-hot tokens, times [tokens][channels]. */
struct product {
	int rows, tokens, channels;
};

static struct product product(const struct stage *stage)
{
	return (struct product){stage->batch * stage->l->in.height, stage->l->in.channels,
	                        stage->l->layer.units};
}

static dnnl_status_t look_up(const void *of, float *const *data)
{
	const struct product p = product(of);
	return dnnl_sgemm('N', 'N', p.rows, p.channels, p.tokens, 1, data[0], p.tokens, data[1], p.channels,
	                  0, data[2], p.channels);
}

/* Sums each token's rows of dy; adds that to the gradient if a tied head has written to it. */
static dnnl_status_t sum_by_token(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const struct product p = product(stage);
	return dnnl_sgemm('T', 'N', p.tokens, p.channels, p.rows, 1, data[0], p.tokens, data[1], p.channels,
	                  stage->shared ? 1 : 0, data[2], p.channels);
}

static dnnl_memory_t vectors(struct tape *tape, const struct stage *stage, enum tape_base base)
{
	const int n = (int)stage->l->weights;
	return tape_bound(tape, base, stage->l->weights_at, tape_plain(tape, 1, &n));
}

void embedding_forward(struct tape *tape, struct stage *stage)
{
	stage->y = tape_memory(tape, tape_tensor(tape, stage->batch, stage->l->out));
	tape_call(tape, look_up, stage, 3,
	          (dnnl_memory_t[]){stage->x, vectors(tape, stage, TAPE_PARAM), stage->y});
}

/* Tokens have no gradient. */
dnnl_memory_t embedding_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	(void)want_dx;
	tape_call(tape, sum_by_token, stage, 3,
	          (dnnl_memory_t[]){stage->x, dy, vectors(tape, stage, TAPE_GRAD)});
	return NULL;
}

static dnnl_status_t add_positions(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const size_t n = stage->l->weights;
	for (size_t i = 0; i < (size_t)stage->batch; i++)
		for (size_t k = 0; k < n; k++)
			data[2][i * n + k] = data[0][i * n + k] + data[1][k];
	return dnnl_success;
}

static dnnl_status_t sum_by_position(const void *of, float *const *data)
{
	const struct stage *stage = of;
	const size_t n = stage->l->weights;
	for (size_t k = 0; k < n; k++)
		data[1][k] = 0;
	for (size_t i = 0; i < (size_t)stage->batch; i++)
		for (size_t k = 0; k < n; k++)
			data[1][k] += data[0][i * n + k];
	return dnnl_success;
}

void position_forward(struct tape *tape, struct stage *stage)
{
	stage->y = tape_memory(tape, tape_tensor(tape, stage->batch, stage->l->out));
	tape_call(tape, add_positions, stage, 3,
	          (dnnl_memory_t[]){stage->x, vectors(tape, stage, TAPE_PARAM), stage->y});
}

dnnl_memory_t position_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	tape_call(tape, sum_by_position, stage, 2, (dnnl_memory_t[]){dy, vectors(tape, stage, TAPE_GRAD)});
	return want_dx ? dy : NULL;
}
