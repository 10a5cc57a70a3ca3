/* A tape: oneDNN primitives and plain functions with their memory, recorded once and run many times by one
 * thread.
 *
 * The first failure sticks: recording functions then do nothing, and tape_ready reports it, so that callers
 * need not check every call.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TAPE_H
#define TAPE_H
#include "nets/shape.h"

#include "train/layers/onednn.h"

#include <stddef.h>

struct tape;

/* The dimensions of a tensor and its order in memory, owned by the tape. */
typedef const_dnnl_memory_desc_t tape_layout;

/* NULL when out of memory. */
struct tape *tape_open(void);
void tape_close(struct tape *tape);

/* ---- recording ---- */

/* Returns a plain layout of f32: row after row, the last dimension contiguous. */
tape_layout tape_plain(struct tape *tape, int dims, const int *dim);
tape_layout tape_strided(struct tape *tape, int dims, const int *dim, const int *stride);
/* Returns the layout of [batch][channels][height][width] with channels last in memory, which oneDNN does not
 * pad. */
tape_layout tape_tensor(struct tape *tape, int batch, struct shape shape);
/* Returns the layout of a part of such a tensor: its first channels, and every step-th pixel. */
tape_layout tape_lattice(struct tape *tape, int batch, struct shape whole, struct shape part, int step);
/* Returns dimensions in whatever layout the primitive prefers. */
tape_layout tape_any(struct tape *tape, int dims, const int *dim);

/* Return arguments of oneDNN's functions dnnl_..._primitive_desc_create. */
dnnl_engine_t tape_engine(const struct tape *tape);
const_dnnl_primitive_attr_t tape_attributes(const struct tape *tape);

/* Makes the tape the owner of a primitive descriptor, and returns it. status: what its creation returned;
 * NULL if that is a failure. */
dnnl_primitive_desc_t tape_described(struct tape *tape, dnnl_status_t status,
                                     dnnl_primitive_desc_t described);

/* Returns the layout that a described operation wants for its weights, workspace, ... (dnnl_query_weights_md,
 * ...); i: for which of several, else 0. */
tape_layout tape_wanted(struct tape *tape, const_dnnl_primitive_desc_t described, dnnl_query_t what, int i);

/* Return new memory, and the same memory under another layout. */
dnnl_memory_t tape_memory(struct tape *tape, tape_layout md);
dnnl_memory_t tape_view(struct tape *tape, dnnl_memory_t memory, tape_layout md);

/* Returns new memory full of zeros. */
dnnl_memory_t tape_zeros(struct tape *tape, tape_layout md);

/* Returns memory at param + at, or at grad + at, of the run. */
enum tape_base { TAPE_PARAM, TAPE_GRAD };
dnnl_memory_t tape_bound(struct tape *tape, enum tape_base base, size_t at, tape_layout md);

/* Returns the memory itself if it has this layout, else new memory that has it. */
dnnl_memory_t tape_fitting(struct tape *tape, dnnl_memory_t memory, tape_layout md);

/* Records a copy, which converts the layout; nothing if both are the same memory. */
void tape_copy(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to);

/* Records that the memory becomes zeros, the gaps of its layout included. */
void tape_clear(struct tape *tape, dnnl_memory_t memory);

/* Records to += from, of equal dimensions in any layouts; they do not overlap. */
void tape_add(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to);

/* Returns tape_fitting's memory, and records the copy into it. */
dnnl_memory_t tape_convert(struct tape *tape, dnnl_memory_t memory, tape_layout md);

/* Records the operation on up to TAPE_ARGS arguments. */
#define TAPE_ARGS 19
void tape_record(struct tape *tape, dnnl_primitive_desc_t described, int args, const dnnl_exec_arg_t *arg);

/* Records a call of a function with this argument, which outlives the tape, and the data of up to TAPE_ARGS
 * memories. */
typedef dnnl_status_t tape_function(const void *of, float *const *data);
void tape_call(struct tape *tape, tape_function *function, const void *of, int count,
               const dnnl_memory_t *memory);

/* Ends the forward part: tape_backward runs the steps recorded from here on. */
void tape_turn(struct tape *tape);

/* Ends the recording. 0, or a negative number, and then tape_why says what failed. */
int tape_ready(struct tape *tape);

/* ---- running ---- */

int tape_forward(struct tape *tape, const float *param);
/* Writes the gradient's bound memory; follows tape_forward. */
int tape_backward(struct tape *tape, float *grad);
const char *tape_why(const struct tape *tape);

/* Returns a memory's elements; NULL if there is none. */
float *tape_data(dnnl_memory_t memory);

#endif
