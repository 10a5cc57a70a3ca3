/* Dropout (Srivastava et al., JMLR 2014): training zeroes a share of a layer's inputs and scales the others
 * up, so that the mean equals a test's, which takes all of them.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"
#include "train/data/random.h"

static tape_layout tensor(struct tape *tape, const struct stage *stage)
{
	return tape_tensor(tape, stage->batch, stage->l->in);
}

/* Records the product by element. */
static dnnl_memory_t product(struct tape *tape, tape_layout md, dnnl_memory_t a, dnnl_memory_t b)
{
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status = dnnl_binary_primitive_desc_create(
	        &described, tape_engine(tape), dnnl_binary_mul, md, md, md, tape_attributes(tape));
	dnnl_memory_t to = tape_memory(tape, md);
	const dnnl_exec_arg_t arg[] = {
	        {DNNL_ARG_SRC_0, a},
	        {DNNL_ARG_SRC_1, b},
	        {DNNL_ARG_DST, to},
	};
	tape_record(tape, tape_described(tape, status, described), 3, arg);
	return to;
}

void dropout_forward(struct tape *tape, struct stage *stage)
{
	const tape_layout md = tensor(tape, stage);
	stage->mask = tape_zeros(tape, md);
	stage->x = product(tape, md, stage->x, stage->mask);
}

dnnl_memory_t dropout_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dx)
{
	const tape_layout md = tensor(tape, stage);
	return product(tape, md, dx, stage->mask);
}

void dropout_draw(const struct stage *stage, size_t sample, float share, struct random *random)
{
	const size_t n = shape_count(stage->l->in);
	float *mask = (float *)tape_data(stage->mask) + sample * n;
	for (size_t i = 0; i < n; i++)
		mask[i] = random_between(random, 0, 1) < share ? 0 : 1 / (1 - share);
}
