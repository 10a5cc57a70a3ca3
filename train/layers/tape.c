/* Recording and running oneDNN primitives.
 *
 * SPDX-License-Identifier: MIT */
#include "train/layers/tape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* oneDNN's OpenMP. Declared here because clang comes without omp.h; linked as the gomp that oneDNN runs
 * on. */
void omp_set_num_threads(int threads);

#define MOST_LAYOUTS    4096
#define MOST_MEMORIES   4096
#define MOST_PRIMITIVES 2048
#define MOST_BOUND      1024

struct step {
	dnnl_primitive_t primitive;
	tape_function *function; /* without a primitive */
	const void *of;          /* the function's argument */
	int args;
	dnnl_exec_arg_t arg[TAPE_ARGS + 1];
};

struct bound {
	dnnl_memory_t memory;
	enum tape_base base;
	size_t at;
};

struct tape {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_attr_t attr;
	dnnl_status_t status;
	const char *what; /* the step that failed */
	dnnl_memory_desc_t layout[MOST_LAYOUTS];
	size_t layouts;
	dnnl_memory_t memory[MOST_MEMORIES];
	size_t memories;
	dnnl_primitive_desc_t described[MOST_PRIMITIVES];
	size_t descriptions;
	struct step step[MOST_PRIMITIVES];
	size_t steps, turn;
	struct bound bound[MOST_BOUND];
	size_t bounds;
	dnnl_memory_t scratch[MOST_PRIMITIVES]; /* all in one buffer, because steps run one at a time */
	size_t scratches, scratch_bytes;
	void *scratch_buffer;
};

/* Limits oneDNN to the calling thread: a gradient's sums then always have the same order, and the trainer's
 * own threads are the only ones. */
static void stay_one_thread(void) { omp_set_num_threads(1); }

/* Records the first failure. Returns true if there has been none. */
static bool well(struct tape *tape, dnnl_status_t status, const char *what)
{
	if (tape->status == dnnl_success && status != dnnl_success) {
		tape->status = status;
		tape->what = what;
	}
	return tape->status == dnnl_success;
}

static bool room(struct tape *tape, size_t count, size_t most)
{
	return well(tape, count < most ? dnnl_success : dnnl_out_of_memory, "the network has too many steps");
}

struct tape *tape_open(void)
{
	struct tape *tape = calloc(1, sizeof *tape);
	if (!tape)
		return NULL;
	stay_one_thread();
	if (well(tape, dnnl_engine_create(&tape->engine, dnnl_cpu, 0), "oneDNN has no engine") &&
	    well(tape, dnnl_stream_create(&tape->stream, tape->engine, dnnl_stream_default_flags),
	         "oneDNN has no stream") &&
	    well(tape, dnnl_primitive_attr_create(&tape->attr), "out of memory"))
		well(tape, dnnl_primitive_attr_set_scratchpad_mode(tape->attr, dnnl_scratchpad_mode_user),
		     "oneDNN refuses a scratchpad");
	return tape;
}

void tape_close(struct tape *tape)
{
	if (!tape)
		return;
	for (size_t i = 0; i < tape->steps; i++)
		dnnl_primitive_destroy(tape->step[i].primitive);
	for (size_t i = 0; i < tape->descriptions; i++)
		dnnl_primitive_desc_destroy(tape->described[i]);
	for (size_t i = 0; i < tape->memories; i++)
		dnnl_memory_destroy(tape->memory[i]);
	for (size_t i = 0; i < tape->layouts; i++)
		dnnl_memory_desc_destroy(tape->layout[i]);
	dnnl_primitive_attr_destroy(tape->attr);
	dnnl_stream_destroy(tape->stream);
	dnnl_engine_destroy(tape->engine);
	free(tape->scratch_buffer);
	free(tape);
}

dnnl_engine_t tape_engine(const struct tape *tape) { return tape->engine; }
const_dnnl_primitive_attr_t tape_attributes(const struct tape *tape) { return tape->attr; }

static tape_layout own_layout(struct tape *tape, dnnl_status_t status, dnnl_memory_desc_t md)
{
	if (well(tape, status, "a tensor's shape") && room(tape, tape->layouts, MOST_LAYOUTS))
		return tape->layout[tape->layouts++] = md;
	dnnl_memory_desc_destroy(md);
	return NULL;
}

static tape_layout by_tag(struct tape *tape, int dims, const dnnl_dims_t size, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t md = NULL;
	const dnnl_status_t status = dnnl_memory_desc_create_with_tag(&md, dims, size, dnnl_f32, tag);
	return own_layout(tape, status, md);
}

static tape_layout by_strides(struct tape *tape, int dims, const dnnl_dims_t size, const dnnl_dims_t stride)
{
	dnnl_memory_desc_t md = NULL;
	const dnnl_status_t status = dnnl_memory_desc_create_with_strides(&md, dims, size, dnnl_f32, stride);
	return own_layout(tape, status, md);
}

/* Copies int dimensions. */
static void widen(int dims, const int *dim, dnnl_dims_t size)
{
	for (int i = 0; i < dims; i++)
		size[i] = dim[i];
}

tape_layout tape_plain(struct tape *tape, int dims, const int *dim)
{
	static const dnnl_format_tag_t tag[] = {dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd};
	dnnl_dims_t size = {0};
	widen(dims, dim, size);
	return by_tag(tape, dims, size, tag[dims]);
}

tape_layout tape_strided(struct tape *tape, int dims, const int *dim, const int *stride)
{
	dnnl_dims_t size = {0}, strides = {0};
	widen(dims, dim, size);
	widen(dims, stride, strides);
	return by_strides(tape, dims, size, strides);
}

tape_layout tape_tensor(struct tape *tape, int batch, struct shape shape)
{
	const dnnl_dims_t size = {batch, shape.channels, shape.height, shape.width};
	return by_tag(tape, 4, size, dnnl_nhwc);
}

tape_layout tape_lattice(struct tape *tape, int batch, struct shape whole, struct shape part, int step)
{
	const dnnl_dims_t size = {batch, part.channels, part.height, part.width};
	const dnnl_dim_t row = (dnnl_dim_t)whole.width * whole.channels;
	const dnnl_dims_t stride = {row * whole.height, 1, step * row, (dnnl_dim_t)step * whole.channels};
	return by_strides(tape, 4, size, stride);
}

tape_layout tape_any(struct tape *tape, int dims, const int *dim)
{
	dnnl_dims_t size = {0};
	widen(dims, dim, size);
	return by_tag(tape, dims, size, dnnl_format_tag_any);
}

static tape_layout layout_of(dnnl_memory_t memory)
{
	tape_layout md = NULL;
	if (!memory || dnnl_memory_get_memory_desc(memory, &md) != dnnl_success)
		return NULL;
	return md;
}

dnnl_primitive_desc_t tape_described(struct tape *tape, dnnl_status_t status, dnnl_primitive_desc_t described)
{
	if (well(tape, status, "oneDNN cannot compute a layer") &&
	    room(tape, tape->descriptions, MOST_PRIMITIVES))
		return tape->described[tape->descriptions++] = described;
	dnnl_primitive_desc_destroy(described);
	return NULL;
}

static dnnl_memory_t own_memory(struct tape *tape, tape_layout md, void *data)
{
	dnnl_memory_t memory = NULL;
	if (!room(tape, tape->memories, MOST_MEMORIES) ||
	    !well(tape, dnnl_memory_create(&memory, md, tape->engine, data), "out of memory for activations"))
		return NULL;
	return tape->memory[tape->memories++] = memory;
}

dnnl_memory_t tape_memory(struct tape *tape, tape_layout md)
{
	return own_memory(tape, md, DNNL_MEMORY_ALLOCATE);
}

static dnnl_status_t clear(const void *layout, float *const *data)
{
	memset(data[0], 0, dnnl_memory_desc_get_size(layout));
	return dnnl_success;
}

dnnl_memory_t tape_zeros(struct tape *tape, tape_layout md)
{
	dnnl_memory_t memory = tape_memory(tape, md);
	if (memory)
		clear(md, (float *[]){tape_data(memory)});
	return memory;
}

tape_layout tape_wanted(struct tape *tape, const_dnnl_primitive_desc_t described, dnnl_query_t what, int i)
{
	return described && tape->status == dnnl_success ? dnnl_primitive_desc_query_md(described, what, i)
	                                                 : NULL;
}

dnnl_memory_t tape_view(struct tape *tape, dnnl_memory_t memory, tape_layout md)
{
	return memory ? own_memory(tape, md, tape_data(memory)) : NULL;
}

dnnl_memory_t tape_bound(struct tape *tape, enum tape_base base, size_t at, tape_layout md)
{
	dnnl_memory_t memory = own_memory(tape, md, DNNL_MEMORY_NONE);
	if (!memory || !room(tape, tape->bounds, MOST_BOUND))
		return NULL;
	tape->bound[tape->bounds++] = (struct bound){memory, base, at};
	return memory;
}

dnnl_memory_t tape_fitting(struct tape *tape, dnnl_memory_t memory, tape_layout md)
{
	tape_layout have = layout_of(memory);
	return have && md && dnnl_memory_desc_equal(have, md) ? memory : tape_memory(tape, md);
}

void tape_record(struct tape *tape, dnnl_primitive_desc_t described, int args, const dnnl_exec_arg_t *arg)
{
	if (!room(tape, tape->steps, MOST_PRIMITIVES))
		return;
	struct step *step = &tape->step[tape->steps];
	if (!well(tape, dnnl_primitive_create(&step->primitive, described), "oneDNN cannot make a primitive"))
		return;
	tape->steps++;
	for (int i = 0; i < args; i++)
		step->arg[i] = arg[i];
	step->args = args;
	tape_layout md = tape_wanted(tape, described, dnnl_query_scratchpad_md, 0);
	const size_t bytes = md ? dnnl_memory_desc_get_size(md) : 0;
	if (bytes == 0)
		return;
	dnnl_memory_t scratch = own_memory(tape, md, DNNL_MEMORY_NONE);
	if (!scratch)
		return;
	tape->scratch[tape->scratches++] = scratch;
	if (bytes > tape->scratch_bytes)
		tape->scratch_bytes = bytes;
	step->arg[step->args++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, scratch};
}

void tape_call(struct tape *tape, tape_function *function, const void *of, int count,
               const dnnl_memory_t *memory)
{
	if (!room(tape, tape->steps, MOST_PRIMITIVES))
		return;
	struct step *step = &tape->step[tape->steps++];
	*step = (struct step){.function = function, .of = of, .args = count};
	for (int i = 0; i < count; i++)
		step->arg[i].memory = memory[i];
}

void tape_clear(struct tape *tape, dnnl_memory_t memory)
{
	tape_call(tape, clear, layout_of(memory), 1, &memory);
}

static void reorder(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to, const_dnnl_primitive_attr_t attr)
{
	if (tape->status != dnnl_success)
		return;
	tape_layout src = layout_of(from), dst = layout_of(to);
	dnnl_primitive_desc_t described = NULL;
	const dnnl_status_t status =
	        dnnl_reorder_primitive_desc_create(&described, src, tape->engine, dst, tape->engine, attr);
	tape_record(tape, tape_described(tape, status, described), 2,
	            (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void tape_copy(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to)
{
	if (from != to)
		reorder(tape, from, to, tape->attr);
}

void tape_add(struct tape *tape, dnnl_memory_t from, dnnl_memory_t to)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_post_ops_t sum = NULL;
	if (well(tape, dnnl_primitive_attr_clone(&attr, tape->attr), "no attributes") &&
	    well(tape, dnnl_post_ops_create(&sum), "no post-operation") &&
	    well(tape, dnnl_post_ops_append_sum(sum, 1, 0, dnnl_data_type_undef), "no sum") &&
	    well(tape, dnnl_primitive_attr_set_post_ops(attr, sum), "no post-operation"))
		reorder(tape, from, to, attr);
	dnnl_post_ops_destroy(sum);
	dnnl_primitive_attr_destroy(attr);
}

dnnl_memory_t tape_convert(struct tape *tape, dnnl_memory_t memory, tape_layout md)
{
	dnnl_memory_t fitting = tape_fitting(tape, memory, md);
	tape_copy(tape, memory, fitting);
	return fitting;
}

void tape_turn(struct tape *tape) { tape->turn = tape->steps; }

int tape_ready(struct tape *tape)
{
	if (tape->status == dnnl_success && tape->scratch_bytes > 0) {
		const size_t line = 64;
		tape->scratch_buffer = aligned_alloc(line, (tape->scratch_bytes + line - 1) / line * line);
		well(tape, tape->scratch_buffer ? dnnl_success : dnnl_out_of_memory, "out of memory");
		for (size_t i = 0; i < tape->scratches; i++)
			well(tape, dnnl_memory_set_data_handle(tape->scratch[i], tape->scratch_buffer),
			     "a scratchpad");
	}
	return tape->status == dnnl_success ? 0 : -1;
}

static void bind(struct tape *tape, enum tape_base base, float *data)
{
	for (size_t i = 0; i < tape->bounds; i++)
		if (tape->bound[i].base == base)
			well(tape,
			     dnnl_memory_set_data_handle(tape->bound[i].memory, data + tape->bound[i].at),
			     "oneDNN refuses the parameters");
}

static dnnl_status_t call(const struct step *step)
{
	float *data[TAPE_ARGS];
	for (int i = 0; i < step->args; i++)
		data[i] = tape_data(step->arg[i].memory);
	return step->function(step->of, data);
}

static int run(struct tape *tape, size_t from, size_t to)
{
	stay_one_thread();
	for (size_t i = from; i < to && tape->status == dnnl_success; i++) {
		const struct step *step = &tape->step[i];
		well(tape,
		     step->function
		             ? call(step)
		             : dnnl_primitive_execute(step->primitive, tape->stream, step->args, step->arg),
		     "oneDNN fails in a layer");
	}
	well(tape, dnnl_stream_wait(tape->stream), "oneDNN fails");
	return tape->status == dnnl_success ? 0 : -1;
}

int tape_forward(struct tape *tape, const float *param)
{
	bind(tape, TAPE_PARAM, (float *)param); /* oneDNN has no const memory, but no step writes here */
	return run(tape, 0, tape->turn);
}

int tape_backward(struct tape *tape, float *grad)
{
	bind(tape, TAPE_GRAD, grad);
	return run(tape, tape->turn, tape->steps);
}

const char *tape_why(const struct tape *tape) { return tape->what ? tape->what : "nothing failed"; }

float *tape_data(dnnl_memory_t memory)
{
	void *data = NULL;
	if (!memory || dnnl_memory_get_data_handle(memory, &data) != dnnl_success)
		return NULL;
	return data;
}
