/* What each type of layer records on a tape; one file a type.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LAYERS_H
#define LAYERS_H

#include <stdbool.h>
#include "nets/net.h"
#include "train/data/random.h"
#include "train/layers/tape.h"

/* A layer at work on one batch. Tensors between layers are what tape_tensor says. */
struct stage {
	const struct net_layer *l;
	int batch;
	dnnl_memory_t x, y;            /* in and out */
	dnnl_primitive_desc_t forward; /* the layer's own, for its backward */
	dnnl_memory_t workspace;
	dnnl_memory_t out, state; /* of an LSTM: y as oneDNN wrote it; the state it begins with */
	bool test; /* batch normalisation by given statistics, which lie behind the parameters */
	dnnl_memory_t mean, variance; /* of batch normalisation */
	const struct stage *shortcut; /* of a shortcut: where it comes from */
	dnnl_memory_t mask;           /* what each input is multiplied by; NULL where training drops none */
};

/* From stage->l, batch and x to the rest of the stage. */
void conv_forward(struct tape *tape, struct stage *stage);
void pool_forward(struct tape *tape, struct stage *stage);
void fc_forward(struct tape *tape, struct stage *stage);
void relu_forward(struct tape *tape, struct stage *stage);
void lstm_forward(struct tape *tape, struct stage *stage);
void batchnorm_forward(struct tape *tape, struct stage *stage);
void shortcut_forward(struct tape *tape, struct stage *stage);

/* From dy, the gradient of the loss by y, to the parameters' gradient; returns the gradient by x, or NULL
 * where it was not asked for. */
dnnl_memory_t conv_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t pool_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t fc_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t relu_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t lstm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t batchnorm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
                                 bool want_dx);
dnnl_memory_t shortcut_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);

/* The whole gradient by the output that a shortcut comes from: dy_of_input, which came the long way, and dy,
 * which came to the shortcut. */
dnnl_memory_t shortcut_join(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
                            dnnl_memory_t dy_of_input);

/* Between a layer and its input: stage->x becomes what is left of it; dx, the gradient by that, becomes the
 * gradient by the input. */
void dropout_forward(struct tape *tape, struct stage *stage);
dnnl_memory_t dropout_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dx);
/* Which inputs of a sample of the batch are dropped. */
void dropout_draw(const struct stage *stage, size_t sample, float share, struct random *random);

#endif
