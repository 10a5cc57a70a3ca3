/* A tape: oneDNN primitives with their memory, recorded once and run many times by one thread.
 *
 * The first failure sticks: recording functions then do nothing, and tape_ready reports it, so that those who
 * record need not check every call.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TAPE_H
#define TAPE_H

#include <stddef.h>
#include <oneapi/dnnl/dnnl.h>
#include "nets/shape.h"

struct tape;

/* NULL when out of memory. */
struct tape *tape_open(void);
void tape_close(struct tape *tape);

/* ---- recording ---- */

/* Layouts, f32. Plain: row after row, the last dimension contiguous. */
dnnl_memory_desc_t tape_plain(struct tape *tape, int dims, const int *dim);
dnnl_memory_desc_t tape_strided(struct tape *tape, int dims, const int *dim, const int *stride);
/* [batch][channels][height][width] by name, channels last in memory: oneDNN pads no channels then. */
dnnl_memory_desc_t tape_tensor(struct tape *tape, int batch, struct shape shape);
/* Part of such a tensor: its first channels, and pixels `step` apart from the first on. */
dnnl_memory_desc_t tape_lattice(struct tape *tape, int batch, struct shape whole, struct shape part,
                                int step);
/* The same dimensions in whatever layout the primitive likes best. */
dnnl_memory_desc_t tape_any(struct tape *tape, const dnnl_memory_desc_t *md);

/* What oneDNN makes of an operation descriptor, into which status is the result of its initialisation.
 * forward: the forward operation's, or NULL. Owned by the tape. */
dnnl_primitive_desc_t tape_describe(struct tape *tape, dnnl_status_t status, const_dnnl_op_desc_t operation,
                                    const_dnnl_primitive_desc_t forward);

/* The layout that a described operation wants its weights, workspace, ... (dnnl_query_weights_md, ...) to
 * have. */
dnnl_memory_desc_t tape_wanted(struct tape *tape, const_dnnl_primitive_desc_t described, dnnl_query_t what);
/* Of the weights of a described operation that has several, the i-th. */
dnnl_memory_desc_t tape_wanted_at(struct tape *tape, const_dnnl_primitive_desc_t described, dnnl_query_t what,
                                  int i);

/* New memory; the same memory under another layout. */
dnnl_memory_t tape_memory(struct tape *tape, const dnnl_memory_desc_t *md);
dnnl_memory_t tape_view(struct tape *tape, dnnl_memory_t memory, const dnnl_memory_desc_t *md);

/* New memory full of zeros. */
dnnl_memory_t tape_zeros(struct tape *tape, const dnnl_memory_desc_t *md);

/* Memory that lies at param + at, or at grad + at, of the run. */
enum tape_base { TAPE_PARAM, TAPE_GRAD };
dnnl_memory_t tape_bound(struct tape *tape, enum tape_base base, size_t at, const dnnl_memory_desc_t *md);

/* The memory itself if it has this layout, else a new one that has it. */
dnnl_memory_t tape_fitting(struct tape *tape, dnnl_memory_t memory, const dnnl_memory_desc_t *md);

/* Records a copy, which changes the layout; nothing when both are the same memory. */
void tape_copy(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to);

/* Records to += from, of equal dimensions, whatever layout each has; they do not overlap. */
void tape_add(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to);

/* tape_fitting, and the copy into it. */
dnnl_memory_t tape_convert(struct tape *tape, dnnl_memory_t memory, const dnnl_memory_desc_t *md);

/* Records the operation on up to TAPE_ARGS arguments. */
#define TAPE_ARGS 15
void tape_record(struct tape *tape, dnnl_primitive_desc_t described, int args, const dnnl_exec_arg_t *arg);

/* What is recorded from here on is run by tape_backward. */
void tape_turn(struct tape *tape);

/* Ends the recording. 0, or a negative number, and then tape_why says what failed. */
int tape_ready(struct tape *tape);

/* ---- running ---- */

int tape_forward(struct tape *tape, const float *param);
/* After tape_forward; writes the gradient's bound memory. */
int tape_backward(struct tape *tape, float *grad);
const char *tape_why(const struct tape *tape);

/* The elements of a memory, NULL if there is none. */
float *tape_data(dnnl_memory_t memory);

#endif
