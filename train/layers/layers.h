/* The recordings of each type of layer on a tape; one file a type.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LAYERS_H
#define LAYERS_H
#include "nets/net.h"
#include "train/data/random.h"
#include "train/layers/tape.h"

#include <stdbool.h>

/* A layer on one batch. Tensors between layers have tape_tensor's layout. */
struct stage {
	const struct net_layer *l;
	int batch;
	dnnl_memory_t x, y;            /* in and out */
	dnnl_primitive_desc_t forward; /* of the layer, for its backward */
	dnnl_memory_t workspace;
	dnnl_memory_t out; /* LSTM: y as oneDNN wrote it */
	bool carries; /* LSTM: the states are the caller's to read and write; else the first one is zeros */
	dnnl_memory_t first[2], last[2]; /* LSTM: states h and c before and after all steps in time */
	bool test; /* batch normalisation takes given statistics, which follow the parameters */
	dnnl_memory_t mean, variance; /* batch normalisation's */
	const struct stage *shortcut; /* a shortcut's source */
	dnnl_memory_t mask;           /* factor of each input; NULL without dropout */
};

/* Fill in the rest of a stage from its l, batch and x. */
void conv_forward(struct tape *tape, struct stage *stage);
void pool_forward(struct tape *tape, struct stage *stage);
void fc_forward(struct tape *tape, struct stage *stage);
void relu_forward(struct tape *tape, struct stage *stage);
void lstm_forward(struct tape *tape, struct stage *stage);
void batchnorm_forward(struct tape *tape, struct stage *stage);
void shortcut_forward(struct tape *tape, struct stage *stage);

/* Record the parameters' gradient from dy, the loss's gradient by y. Return its gradient by x, or NULL
 * without want_dx. */
dnnl_memory_t conv_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t pool_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t fc_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t relu_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t lstm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);
dnnl_memory_t batchnorm_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
                                 bool want_dx);
dnnl_memory_t shortcut_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dy, bool want_dx);

/* Returns the whole gradient by the output at which a shortcut starts: dy_of_input through the block plus dy
 * through the shortcut. */
dnnl_memory_t shortcut_join(struct tape *tape, const struct stage *stage, dnnl_memory_t dy,
                            dnnl_memory_t dy_of_input);

/* Records dropout between a layer and its input: stage->x becomes the masked input; backward, dx, the
 * gradient by that, becomes the gradient by the input. */
void dropout_forward(struct tape *tape, struct stage *stage);
dnnl_memory_t dropout_backward(struct tape *tape, const struct stage *stage, dnnl_memory_t dx);
/* Draws the mask of one sample of the batch. */
void dropout_draw(const struct stage *stage, size_t sample, float share, struct random *random);

#endif
