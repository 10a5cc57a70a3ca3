/* The speed of codecs by threads and by length, beside the memory's:
 *
 *    scaling          lines of CSV
 *
 * Every codec with the best instruction set on gradients of several lengths: workload.h's of the shortest one
 * and repetitions of them, so that all lengths send the same share; with one thread and with two, lengths and
 * threads alternating; wall time, so the machine has to be idle. With two threads a gradient is packed, and
 * unpacked, as eight slices, each a task. A slice that is too long for one thread is shared as in the
 * exchange: both threads check a part of its frame each, then add four ranges, each a task; eight frames
 * likewise. Before frames are added the caches are filled with gradients, because they would hold the few
 * lines that a list touches; and one thread adds copies of a shorter gradient's frame side by side, up to
 * eight, because the minimum over short times would be over shorter disturbances.
 *
 * Columns: the CPU; number of elements; instruction set; codec; threads; and in GB/s of f32 the fastest of
 * all rounds, because other programs only slow a round down: pack, unpack, unpack of one frame that is
 * shared, of eight (the elements of all of them), r += g, the sum of g, acc *= s, and r += g and then r *= s,
 * as for codecs with two passes over the residual.
 *
 * SPDX-License-Identifier: MIT */
#include "bench/gathered.h"
#include "bench/subjects.h"
#include "exchange/seconds.h"
#include "exchange/team.h"
#include "measure/baseline.h"
#include "measure/workload.h"
#include "program/program.h"

#include <crumb_parallel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, SLICES = 8, TURNS = 2, GRADIENTS = 3, ROUNDS = 7, WARM_STEPS = MANY };

static const size_t lengths[] = {1 << 23, 1 << 24, 1 << 25, 1 << 26};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

enum kernel { PACK, READ, UNPACK, ADD, SHARED, SHARED_MANY, SCALE, TWICE, KERNELS };

/* Gradients and sums of the longest length, of which other lengths take the beginning. */
struct arrays {
	size_t turn, longest;
	float *grad[GRADIENTS], *residual, *acc, *scaled;
	struct team *team[THREADS + 1]; /* by number of threads; [1]: the caller alone */
	volatile float sink[THREADS];
};

struct scaling {
	struct arrays *shared;
	size_t n;
	struct gathered whole;
	size_t places;       /* accumulators side by side, to each of which a copy is added */
	uint8_t *copy[MANY]; /* copies of its frame, for all places but the first */
	struct learner slice[SLICES];
	double sample[THREADS + 1][KERNELS][ROUNDS];
};

/* Returns the start of the i-th of so many equal ranges. */
static size_t range_first(size_t n, size_t i, size_t ranges)
{
	return i == ranges ? n : n / ranges * i / CRUMB_RANGE_STEP * CRUMB_RANGE_STEP;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* A kernel's shared arguments; each task has its own part. */
struct run {
	struct scaling *scaling;
	const float *grad;
	float *scaled;
	size_t threads, frames;
	crumb_part found[MANY][THREADS];
	int64_t result[MANY * THREADS];
};

static void pack_task(void *arg, size_t i, unsigned thread)
{
	struct run *run = arg;
	struct scaling *s = run->scaling;
	(void)thread;
	run->result[i] = run->threads == 1
	                         ? gathered_pack(&s->whole, run->grad, CRUMB_KNOWN_FINITE)
	                         : learner_pack(&s->slice[i], run->grad + range_first(s->n, i, SLICES),
	                                        CRUMB_F32, CRUMB_KNOWN_FINITE);
}

static void unpack_task(void *arg, size_t i, unsigned thread)
{
	struct run *run = arg;
	struct scaling *s = run->scaling;
	const struct learner *slice = &s->slice[i];
	const size_t first = range_first(s->n, i, SLICES), end = range_first(s->n, i + 1, SLICES);
	(void)thread;
	run->result[i] = run->threads == 1 ? crumb_unpack_add(i ? s->copy[i] : s->whole.frame[0].data,
	                                                      s->whole.frame[0].len, 0.125f,
	                                                      s->shared->acc + i * s->n, s->n)
	                                   : crumb_unpack_add(slice->frame, slice->cap, 0.125f,
	                                                      s->shared->acc + first, end - first);
}

static void check_task(void *arg, size_t i, unsigned thread)
{
	struct run *run = arg;
	const size_t f = i / run->threads, part = i % run->threads;
	const crumb_span frame = run->scaling->whole.frame[f];
	(void)thread;
	run->result[i] = crumb_check_part(&run->found[f][part], frame.data, frame.len, part, run->threads);
}

static size_t shared_ranges(const struct run *run) { return run->threads == 1 ? 1 : TURNS * run->threads; }

static void range_task(void *arg, size_t i, unsigned thread)
{
	static const float weight[MANY] = {0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f};
	struct run *run = arg;
	struct scaling *s = run->scaling;
	const size_t ranges = shared_ranges(run), first = range_first(s->n, i, ranges),
	             end = range_first(s->n, i + 1, ranges);
	crumb_checked checked[MANY];
	int64_t result = 0;
	(void)thread;
	for (size_t f = 0; f < run->frames && result >= 0; f++)
		result = crumb_check_join(&checked[f], s->whole.frame[f].data, s->whole.frame[f].len,
		                          run->found[f], run->threads);
	run->result[i] =
	        result < 0 ? result
	                   : crumb_add_range(checked, weight, run->frames, s->shared->acc, s->n, first, end);
}

static void add_task(void *arg, size_t i, unsigned thread)
{
	const struct run *run = arg;
	const size_t first = range_first(run->scaling->n, i, run->threads),
	             end = range_first(run->scaling->n, i + 1, run->threads);
	(void)thread;
	baseline_add(run->scaling->shared->residual + first, run->grad + first, end - first);
}

static void read_task(void *arg, size_t i, unsigned thread)
{
	const struct run *run = arg;
	const size_t first = range_first(run->scaling->n, i, run->threads),
	             end = range_first(run->scaling->n, i + 1, run->threads);
	(void)thread;
	run->scaling->shared->sink[i] = baseline_sum(run->grad + first, end - first);
}

static void scale_task(void *arg, size_t i, unsigned thread)
{
	const struct run *run = arg;
	const size_t first = range_first(run->scaling->n, i, run->threads),
	             end = range_first(run->scaling->n, i + 1, run->threads);
	(void)thread;
	baseline_scale(run->scaled + first, 1.0f, end - first);
}

/* Returns the first error of the tasks, or 0. */
static int64_t outcome(const struct run *run, size_t tasks)
{
	for (size_t i = 0; i < tasks; i++)
		if (run->result[i] < 0)
			return run->result[i];
	return 0;
}

static int64_t unpack_shared(struct run *run, struct team *team)
{
	crumb_team_run(team, check_task, run, run->frames * run->threads);
	crumb_team_run(team, range_task, run, shared_ranges(run));
	return outcome(run, shared_ranges(run));
}

static int64_t run_kernel(struct scaling *s, enum kernel kernel, size_t threads)
{
	struct arrays *a = s->shared;
	struct team *team = a->team[threads];
	const size_t slices = threads == 1 ? 1 : SLICES, adds = threads == 1 ? s->places : SLICES;
	a->turn += kernel == PACK || kernel == READ || kernel == ADD;
	struct run run = {
	        .scaling = s, .grad = a->grad[a->turn % GRADIENTS], .scaled = a->scaled, .threads = threads};
	switch (kernel) {
	case PACK:
		crumb_team_run(team, pack_task, &run, slices);
		return outcome(&run, slices);
	case UNPACK:
		crumb_team_run(team, unpack_task, &run, adds);
		return outcome(&run, adds);
	case SHARED:
		run.frames = 1;
		return unpack_shared(&run, team);
	case SHARED_MANY:
		run.frames = MANY;
		return unpack_shared(&run, team);
	case ADD:
		crumb_team_run(team, add_task, &run, threads);
		return 0;
	case READ:
		crumb_team_run(team, read_task, &run, threads);
		return 0;
	case SCALE:
		crumb_team_run(team, scale_task, &run, threads);
		return 0;
	case TWICE:
		crumb_team_run(team, add_task, &run, threads);
		run.scaled = a->residual;
		crumb_team_run(team, scale_task, &run, threads);
		return 0;
	case KERNELS:
		break;
	}
	return CRUMB_EINVAL;
}

/* Returns the elements that one run of a kernel passes over. */
static double elements(const struct scaling *s, enum kernel kernel, size_t threads)
{
	return (double)s->n * (kernel == SHARED_MANY              ? MANY
	                       : kernel == UNPACK && threads == 1 ? (double)s->places
	                                                          : 1);
}

static void copy_frame(struct scaling *s)
{
	for (size_t i = 1; i < s->places; i++)
		memcpy(s->copy[i], s->whole.frame[0].data, s->whole.frame[0].len);
}

/* Fills the caches of all threads with gradients. */
static void fill_caches(struct arrays *a)
{
	struct scaling longest = {.shared = a, .n = a->longest};
	for (size_t g = 0; g < GRADIENTS; g++) {
		struct run run = {.scaling = &longest, .grad = a->grad[g], .threads = THREADS};
		crumb_team_run(a->team[THREADS], read_task, &run, THREADS);
	}
}

/* ---- a codec -------------------------------------------------------------------------------- */

static int open_codec(struct scaling *s, const crumb_codec *codec)
{
	int status = gathered_open(&s->whole, codec, s->n, 1);
	s->places = s->shared->longest / s->n < MANY ? s->shared->longest / s->n : MANY;
	for (size_t i = 1; i < s->places && !status; i++)
		if (!(s->copy[i] = program_memory(s->whole.learner.cap)))
			status = STATUS_FAILED;
	for (size_t i = 0; i < SLICES && !status; i++)
		status = learner_open(&s->slice[i], codec,
		                      range_first(s->n, i + 1, SLICES) - range_first(s->n, i, SLICES), 2 + i);
	int64_t result = 0;
	s->shared->turn = 0;
	for (int step = 0; step < WARM_STEPS && !status && result >= 0; step++)
		for (size_t threads = 1; threads <= THREADS && result >= 0; threads++)
			result = run_kernel(s, PACK, threads);
	return result < 0 ? program_fail("%s", crumb_strerror((int)result)) : status;
}

static void close_codec(struct scaling *s)
{
	gathered_close(&s->whole);
	for (size_t i = 1; i < s->places; i++)
		free(s->copy[i]);
	memset(s->copy, 0, sizeof s->copy);
	for (size_t i = 0; i < SLICES; i++)
		learner_close(&s->slice[i]);
}

/* Alternates gradients so that two kernels in a row never take the same one. The kernels of a length take a
 * multiple of GRADIENTS in a round, so that one turn more a round gives every kernel all of them. */
static int64_t measure_round(struct scaling *s, int round)
{
	int64_t result = 0;
	for (int k = 0; k < KERNELS; k++)
		for (size_t threads = 1; threads <= THREADS && result >= 0; threads++) {
			const enum kernel kernel = (enum kernel)k;
			if (kernel == UNPACK)
				copy_frame(s);
			if (kernel == UNPACK || kernel == SHARED || kernel == SHARED_MANY)
				fill_caches(s->shared);
			const double start = crumb_seconds();
			result = run_kernel(s, kernel, threads);
			const double seconds = crumb_seconds() - start;
			s->sample[threads][k][round] = 4e-9 * elements(s, kernel, threads) / seconds;
		}
	return result;
}

static double fastest(const double *sample)
{
	double most = 0;
	for (int round = 0; round < ROUNDS; round++)
		most = fmax(most, sample[round]);
	return most;
}

static void print(struct scaling *s, const char *spec)
{
	static const enum kernel column[] = {PACK, UNPACK, SHARED, SHARED_MANY, ADD, READ, SCALE, TWICE};
	for (size_t threads = 1; threads <= THREADS; threads++) {
		printf("%s,%zu,%s,\"%s\",%zu", subject_cpu(), s->n, crumb_isa(), spec, threads);
		for (size_t i = 0; i < KERNELS; i++)
			printf(",%.4g", fastest(s->sample[threads][column[i]]));
		putchar('\n');
	}
}

static int measure_codec(struct scaling *s, const char *spec)
{
	crumb_codec codec;
	char text[CRUMB_SPEC_MAX];
	int64_t result = 0;
	int status = program_spec(&codec, spec);
	for (size_t i = 0; i < LENGTHS && !status; i++)
		status = open_codec(&s[i], &codec);
	for (int round = 0; round < ROUNDS && !status && result >= 0; round++, s->shared->turn++)
		for (size_t i = 0; i < LENGTHS && result >= 0; i++)
			result = measure_round(&s[i], round);
	for (size_t i = 0; i < LENGTHS; i++)
		close_codec(&s[i]);
	if (status || result < 0)
		return status ? status : program_fail("%s", crumb_strerror((int)result));
	crumb_print(&codec, text, sizeof text);
	for (size_t i = 0; i < LENGTHS; i++)
		print(&s[i], text);
	fflush(stdout);
	return STATUS_OK;
}

/* Fills all lengths with repetitions of the shortest's gradient. */
static void repeat(float *grad, size_t n, size_t period, size_t seed)
{
	workload_gradient(grad, period, seed);
	for (size_t i = period; i < n; i += period)
		memcpy(grad + i, grad, (n - i < period ? n - i : period) * sizeof *grad);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int measure_lengths(struct arrays *a)
{
	static struct scaling s[LENGTHS];
	float **const array[] = {&a->grad[0], &a->grad[1], &a->grad[2], &a->residual, &a->acc, &a->scaled};
	const char *spec;
	int status = STATUS_OK;
	a->longest = lengths[LENGTHS - 1];
	for (size_t i = 0; i < LENGTHS; i++) {
		s[i].shared = a;
		s[i].n = lengths[i];
	}
	for (size_t i = 0; i < sizeof array / sizeof *array && !status; i++) {
		*array[i] = program_memory(a->longest * sizeof **array);
		if (!*array[i])
			status = STATUS_FAILED;
		else if (i < GRADIENTS)
			repeat(*array[i], a->longest, lengths[0], i);
		else
			memset(*array[i], 0, a->longest * sizeof **array);
	}
	for (size_t i = 0; (spec = subject_spec(i)) && !status; i++)
		status = measure_codec(s, spec);
	for (size_t i = 0; i < sizeof array / sizeof *array; i++)
		free(*array[i]);
	return status;
}

int main(void)
{
	struct arrays a = {0};
	int status = STATUS_OK;
	for (unsigned threads = 2; threads <= THREADS && !status; threads++)
		if (!(a.team[threads] = crumb_team_open(threads)))
			status = program_fail("no threads");
	if (!status) {
		puts("cpu,n,isa,what,threads,pack_gbps,unpack_gbps,shared_gbps,shared_8_gbps,floor_gbps,read_gbps,"
		     "scale_gbps,twice_gbps");
		status = measure_lengths(&a);
	}
	for (unsigned threads = 2; threads <= THREADS; threads++)
		crumb_team_close(a.team[threads]);
	return program_finish(status);
}
