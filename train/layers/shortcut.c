/* The sum of a residual block (He et al., CVPR 2016, their option A): if the block halves the image and
 * doubles the channels, the shortcut takes every second pixel, and its missing channels are zeros.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/layers.h"

/* The elements of the block's input and output that the shortcut joins. */
struct joint {
	tape_layout of_input, of_output;
};

static struct joint joint(struct tape *tape, const struct stage *stage)
{
	const struct shape in = stage->shortcut->l->out, out = stage->l->out;
	const struct shape common = {in.channels, out.height, out.width};
	return (struct joint){
	        .of_input = tape_lattice(tape, stage->batch, in, common, in.height / out.height),
	        .of_output = tape_lattice(tape, stage->batch, out, common, 1),
	};
}

static void add(struct tape *tape, dnnl_memory_t from, tape_layout from_md, dnnl_memory_t to,
                tape_layout to_md)
{
	tape_add(tape, tape_view(tape, from, from_md), tape_view(tape, to, to_md));
}

static dnnl_memory_t copy(struct tape *tape, const struct stage *stage, struct shape shape,
                          dnnl_memory_t from)
{
	const tape_layout md = tape_tensor(tape, stage->batch, shape);
	dnnl_memory_t to = tape_memory(tape, md);
	tape_copy(tape, from, to);
	return to;
}

void shortcut_forward(struct tape *tape, struct stage *stage)
{
	const struct joint j = joint(tape, stage);
	stage->y = copy(tape, stage, stage->l->out, stage->x);
	add(tape, stage->shortcut->y, j.of_input, stage->y, j.of_output);
}

dnnl_memory_t shortcut_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx)
{
	(void)tape;
	(void)stage;
	return want_dx ? dy : NULL;
}

dnnl_memory_t shortcut_join(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
                            dnnl_memory_t dy_of_input)
{
	const struct joint j = joint(tape, stage);
	dnnl_memory_t total = copy(tape, stage, stage->shortcut->l->out, dy_of_input);
	add(tape, dy, j.of_output, total, j.of_input);
	return total;
}
