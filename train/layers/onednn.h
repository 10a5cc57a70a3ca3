/* oneDNN's C API of version 3. With version 2, which Debian 12 has, its functions are given here in terms of
 * those of version 2, as far as train/layers calls them: a memory descriptor is a pointer, and a primitive
 * descriptor is made in one step. Version 2's plain convolutions, pools and LSTMs have no dilation, peepholes
 * or projection: these arguments are ignored.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ONEDNN_H
#define ONEDNN_H
#include <oneapi/dnnl/dnnl.h>

/* Batch normalisation's gradient: version 2 wants the shift as an argument, version 3 refuses it. */
enum { ONEDNN_BACKWARD_TAKES_SHIFT = DNNL_VERSION_MAJOR == 2 };

#if DNNL_VERSION_MAJOR == 2
#include <stdint.h>
#include <stdlib.h>

typedef dnnl_memory_desc_t dnnl2_memory_desc;
typedef dnnl2_memory_desc *dnnl3_memory_desc_t;
typedef const dnnl2_memory_desc *const_dnnl_memory_desc_t;
#define dnnl_memory_desc_t dnnl3_memory_desc_t

#define dnnl_post_ops_append_sum(ops, scale, zero_point, type) dnnl_post_ops_append_sum(ops, scale)

static inline dnnl_status_t dnnl_memory_desc_destroy(dnnl_memory_desc_t md)
{
	free(md);
	return dnnl_success;
}

static inline dnnl_status_t dnnl2_new_memory_desc(dnnl_memory_desc_t *md)
{
	return (*md = calloc(1, sizeof **md)) ? dnnl_success : dnnl_out_of_memory;
}

/* Returns the status of filling in *md; frees it if that is a failure. */
static inline dnnl_status_t dnnl2_filled(dnnl_memory_desc_t *md, dnnl_status_t status)
{
	if (status != dnnl_success) {
		free(*md);
		*md = NULL;
	}
	return status;
}

static inline dnnl_status_t dnnl_memory_desc_create_with_tag(dnnl_memory_desc_t *md, int ndims,
                                                             const dnnl_dims_t dims, dnnl_data_type_t type,
                                                             dnnl_format_tag_t tag)
{
	const dnnl_status_t status = dnnl2_new_memory_desc(md);
	return status ? status : dnnl2_filled(md, dnnl_memory_desc_init_by_tag(*md, ndims, dims, type, tag));
}

static inline dnnl_status_t dnnl_memory_desc_create_with_strides(dnnl_memory_desc_t *md, int ndims,
                                                                 const dnnl_dims_t dims,
                                                                 dnnl_data_type_t type,
                                                                 const dnnl_dims_t strides)
{
	const dnnl_status_t status = dnnl2_new_memory_desc(md);
	return status ? status
	              : dnnl2_filled(md, dnnl_memory_desc_init_by_strides(*md, ndims, dims, type, strides));
}

/* Makes a primitive descriptor of an operation descriptor `op`, which INIT fills in. */
#define DNNL2_CREATE(TYPE, INIT, FORWARD)                                                                 \
	TYPE op;                                                                                          \
	const dnnl_status_t status = INIT;                                                                \
	return status == dnnl_success ? dnnl_primitive_desc_create(described, &op, attr, engine, FORWARD) \
	                              : status

static inline dnnl_status_t dnnl_convolution_forward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
        const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t b,
        const_dnnl_memory_desc_t y, const dnnl_dims_t strides, const dnnl_dims_t dilates,
        const dnnl_dims_t left, const dnnl_dims_t right, const_dnnl_primitive_attr_t attr)
{
	(void)dilates;
	DNNL2_CREATE(dnnl_convolution_desc_t,
	             dnnl_convolution_forward_desc_init(&op, prop, alg, x, w, b, y, strides, left, right),
	             NULL);
}

static inline dnnl_status_t dnnl_convolution_backward_weights_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_alg_kind_t alg,
        const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t dw, const_dnnl_memory_desc_t db,
        const_dnnl_memory_desc_t dy, const dnnl_dims_t strides, const dnnl_dims_t dilates,
        const dnnl_dims_t left, const dnnl_dims_t right, const_dnnl_primitive_desc_t forward,
        const_dnnl_primitive_attr_t attr)
{
	(void)dilates;
	DNNL2_CREATE(
	        dnnl_convolution_desc_t,
	        dnnl_convolution_backward_weights_desc_init(&op, alg, x, dw, db, dy, strides, left, right),
	        forward);
}

static inline dnnl_status_t dnnl_convolution_backward_data_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_alg_kind_t alg,
        const_dnnl_memory_desc_t dx, const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t dy,
        const dnnl_dims_t strides, const dnnl_dims_t dilates, const dnnl_dims_t left, const dnnl_dims_t right,
        const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t attr)
{
	(void)dilates;
	DNNL2_CREATE(dnnl_convolution_desc_t,
	             dnnl_convolution_backward_data_desc_init(&op, alg, dx, w, dy, strides, left, right),
	             forward);
}

static inline dnnl_status_t
dnnl_inner_product_forward_primitive_desc_create(dnnl_primitive_desc_t *described, dnnl_engine_t engine,
                                                 dnnl_prop_kind_t prop, const_dnnl_memory_desc_t x,
                                                 const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t b,
                                                 const_dnnl_memory_desc_t y, const_dnnl_primitive_attr_t attr)
{
	DNNL2_CREATE(dnnl_inner_product_desc_t, dnnl_inner_product_forward_desc_init(&op, prop, x, w, b, y),
	             NULL);
}

static inline dnnl_status_t dnnl_inner_product_backward_weights_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, const_dnnl_memory_desc_t x,
        const_dnnl_memory_desc_t dw, const_dnnl_memory_desc_t db, const_dnnl_memory_desc_t dy,
        const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t attr)
{
	DNNL2_CREATE(dnnl_inner_product_desc_t,
	             dnnl_inner_product_backward_weights_desc_init(&op, x, dw, db, dy), forward);
}

static inline dnnl_status_t dnnl_inner_product_backward_data_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, const_dnnl_memory_desc_t dx,
        const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t dy, const_dnnl_primitive_desc_t forward,
        const_dnnl_primitive_attr_t attr)
{
	DNNL2_CREATE(dnnl_inner_product_desc_t, dnnl_inner_product_backward_data_desc_init(&op, dx, w, dy),
	             forward);
}

static inline dnnl_status_t dnnl_pooling_forward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
        const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t y, const dnnl_dims_t strides,
        const dnnl_dims_t kernel, const dnnl_dims_t dilates, const dnnl_dims_t left, const dnnl_dims_t right,
        const_dnnl_primitive_attr_t attr)
{
	(void)dilates;
	DNNL2_CREATE(dnnl_pooling_desc_t,
	             dnnl_pooling_forward_desc_init(&op, prop, alg, x, y, strides, kernel, left, right),
	             NULL);
}

static inline dnnl_status_t dnnl_pooling_backward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_alg_kind_t alg,
        const_dnnl_memory_desc_t dx, const_dnnl_memory_desc_t dy, const dnnl_dims_t strides,
        const dnnl_dims_t kernel, const dnnl_dims_t dilates, const dnnl_dims_t left, const dnnl_dims_t right,
        const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t attr)
{
	(void)dilates;
	DNNL2_CREATE(dnnl_pooling_desc_t,
	             dnnl_pooling_backward_desc_init(&op, alg, dx, dy, strides, kernel, left, right),
	             forward);
}

static inline dnnl_status_t
dnnl_eltwise_forward_primitive_desc_create(dnnl_primitive_desc_t *described, dnnl_engine_t engine,
                                           dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
                                           const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t y,
                                           float alpha, float beta, const_dnnl_primitive_attr_t attr)
{
	(void)y; /* version 2 has one descriptor for both */
	DNNL2_CREATE(dnnl_eltwise_desc_t, dnnl_eltwise_forward_desc_init(&op, prop, alg, x, alpha, beta),
	             NULL);
}

static inline dnnl_status_t dnnl_eltwise_backward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_alg_kind_t alg,
        const_dnnl_memory_desc_t dx, const_dnnl_memory_desc_t dy, const_dnnl_memory_desc_t x, float alpha,
        float beta, const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t attr)
{
	(void)dy;
	DNNL2_CREATE(dnnl_eltwise_desc_t, dnnl_eltwise_backward_desc_init(&op, alg, dx, x, alpha, beta),
	             forward);
}

static inline dnnl_status_t
dnnl_binary_primitive_desc_create(dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_alg_kind_t alg,
                                  const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b,
                                  const_dnnl_memory_desc_t y, const_dnnl_primitive_attr_t attr)
{
	DNNL2_CREATE(dnnl_binary_desc_t, dnnl_binary_desc_init(&op, alg, a, b, y), NULL);
}

static inline dnnl_status_t
dnnl_batch_normalization_forward_primitive_desc_create(dnnl_primitive_desc_t *described, dnnl_engine_t engine,
                                                       dnnl_prop_kind_t prop, const_dnnl_memory_desc_t x,
                                                       const_dnnl_memory_desc_t y, float epsilon,
                                                       unsigned flags, const_dnnl_primitive_attr_t attr)
{
	(void)y;
	DNNL2_CREATE(dnnl_batch_normalization_desc_t,
	             dnnl_batch_normalization_forward_desc_init(&op, prop, x, epsilon, flags), NULL);
}

static inline dnnl_status_t dnnl_batch_normalization_backward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_prop_kind_t prop,
        const_dnnl_memory_desc_t dx, const_dnnl_memory_desc_t dy, const_dnnl_memory_desc_t x, float epsilon,
        unsigned flags, const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t attr)
{
	(void)dy;
	DNNL2_CREATE(dnnl_batch_normalization_desc_t,
	             dnnl_batch_normalization_backward_desc_init(&op, prop, dx, x, epsilon, flags), forward);
}

static inline dnnl_status_t dnnl_lstm_forward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t h,
        const_dnnl_memory_desc_t c, const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t u,
        const_dnnl_memory_desc_t peephole, const_dnnl_memory_desc_t projection, const_dnnl_memory_desc_t b,
        const_dnnl_memory_desc_t y, const_dnnl_memory_desc_t last_h, const_dnnl_memory_desc_t last_c,
        unsigned flags, const_dnnl_primitive_attr_t attr)
{
	(void)peephole;
	(void)projection;
	DNNL2_CREATE(
	        dnnl_rnn_desc_t,
	        dnnl_lstm_forward_desc_init(&op, prop, direction, x, h, c, w, u, b, y, last_h, last_c, flags),
	        NULL);
}

static inline dnnl_status_t dnnl_lstm_backward_primitive_desc_create(
        dnnl_primitive_desc_t *described, dnnl_engine_t engine, dnnl_prop_kind_t prop,
        dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t h,
        const_dnnl_memory_desc_t c, const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t u,
        const_dnnl_memory_desc_t peephole, const_dnnl_memory_desc_t projection, const_dnnl_memory_desc_t b,
        const_dnnl_memory_desc_t y, const_dnnl_memory_desc_t last_h, const_dnnl_memory_desc_t last_c,
        const_dnnl_memory_desc_t dx, const_dnnl_memory_desc_t dh, const_dnnl_memory_desc_t dc,
        const_dnnl_memory_desc_t dw, const_dnnl_memory_desc_t du, const_dnnl_memory_desc_t dpeephole,
        const_dnnl_memory_desc_t dprojection, const_dnnl_memory_desc_t db, const_dnnl_memory_desc_t dy,
        const_dnnl_memory_desc_t dlast_h, const_dnnl_memory_desc_t dlast_c, unsigned flags,
        const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t attr)
{
	(void)peephole;
	(void)projection;
	(void)dpeephole;
	(void)dprojection;
	DNNL2_CREATE(dnnl_rnn_desc_t,
	             dnnl_lstm_backward_desc_init(&op, prop, direction, x, h, c, w, u, b, y, last_h, last_c,
	                                          dx, dh, dc, dw, du, db, dy, dlast_h, dlast_c, flags),
	             forward);
}
#endif

#endif
