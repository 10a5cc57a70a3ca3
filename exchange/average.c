/* Decoding by a team of threads. Slices are laid end to end and cut into equal ranges (McNaughton 1959,
 * theorem 3.1), two for every thread, since one sparse frame may have much more to add than another. The
 * frames of a slice that is cut are checked first, by all threads, a part each; then its ranges are added.
 * The result equals that of whole slices to the bit.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "exchange/step.h"
#include "exchange/team.h"

enum { RANGES_PER_THREAD = 2 };
#define WHOLE SIZE_MAX

/* Elements [first, end) of slice s, which one task decodes; cut_index: the slice's index in cut_slice, or
 * WHOLE. */
struct range {
	size_t s, first, end, cut_index;
	int error;
};

struct checked {
	crumb_checked frame;
	int error;
};

static size_t parts_of(unsigned threads) { return threads < CRUMB_MAX_PARTS ? threads : CRUMB_MAX_PARTS; }

static size_t most_ranges(unsigned threads) { return threads > 1 ? RANGES_PER_THREAD * (size_t)threads : 1; }

bool crumb_average_open(struct decode_memory *memory, size_t slices, size_t frames, unsigned threads)
{
	const size_t ranges = most_ranges(threads), cut_count = slices < ranges ? slices : ranges,
	             checks = threads > 1 ? cut_count * frames : 0;

	memory->range = calloc(slices + ranges, sizeof *memory->range);
	memory->cut_slice = calloc(cut_count + 1, sizeof *memory->cut_slice);
	memory->found = calloc(checks * parts_of(threads) + 1, sizeof *memory->found);
	memory->checked = calloc(checks + 1, sizeof *memory->checked);
	return memory->range && memory->cut_slice && memory->found && memory->checked;
}

void crumb_average_close(struct decode_memory *memory)
{
	free(memory->range);
	free(memory->cut_slice);
	free(memory->found);
	free(memory->checked);
}

/* One call of crumb_average_slices, as its tasks see it. */
struct average_call {
	struct step *step;
	const struct decode_job *job;
	struct decode_memory *memory;
	size_t parts; /* of a frame that is checked */
};

/* Returns the i-th frame of all slices that are cut. */
static crumb_span frame_of(const struct average_call *call, size_t i)
{
	const size_t frames = call->job->frames;

	return call->job->frame[call->memory->cut_slice[i / frames] * frames + i % frames];
}

/* Compares the number of elements in the i-th frame's header with its slice's. Returns 0 or an error. */
static int check_count(const struct average_call *call, size_t i)
{
	const crumb_span frame = frame_of(call, i);
	const int64_t count = crumb_frame_count(frame.data, frame.len);
	const size_t s = call->memory->cut_slice[i / call->job->frames];

	return count < 0 ? (int)count : (uint64_t)count != call->step->x->slice[s].n ? CRUMB_ELENGTH : 0;
}

static void check_task(void *arg, size_t i, unsigned thread)
{
	const struct average_call *call = arg;
	const crumb_span frame = frame_of(call, i / call->parts);

	(void)thread;
	/* join_task finds a bad header again. */
	if (check_count(call, i / call->parts) == 0)
		crumb_check_part(&call->memory->found[i], frame.data, frame.len, i % call->parts,
		                 call->parts);
}

static void join_task(void *arg, size_t i, unsigned thread)
{
	const struct average_call *call = arg;
	struct checked *checked = &call->memory->checked[i];
	const crumb_span frame = frame_of(call, i);

	(void)thread;
	checked->error = check_count(call, i);
	if (checked->error)
		return;
	const int64_t length = crumb_check_join(&checked->frame, frame.data, frame.len,
	                                        call->memory->found + call->parts * i, call->parts);
	checked->error = length < 0 ? (int)length : (uint64_t)length != frame.len ? CRUMB_EFRAME : 0;
}

/* Adds the frames [first_frame, first_frame + count) to a range. */
static int add(const struct average_call *call, const struct range *range, size_t first_frame, size_t count,
               float *mean)
{
	const struct decode_job *job = call->job;
	const float *weight = job->weight + range->s * job->stride + first_frame;
	const size_t n = call->step->x->slice[range->s].n;

	if (range->cut_index == WHOLE)
		return crumb_unpack_add_all(job->frame + range->s * job->frames + first_frame, weight, count,
		                            mean, n);
	const struct checked *checked = &call->memory->checked[range->cut_index * job->frames + first_frame];
	crumb_checked good[CRUMB_MAX_FRAMES];
	for (size_t f = 0; f < count; f++) {
		if (checked[f].error)
			return checked[f].error;
		good[f] = checked[f].frame;
	}
	return crumb_add_range(good, weight, count, mean, n, range->first, range->end);
}

static void range_task(void *arg, size_t i, unsigned thread)
{
	const struct average_call *call = arg;
	struct range *range = &call->memory->range[i];
	float *mean = call->step->mean + call->step->x->slice[range->s].at;

	(void)thread;
	range->error = 0;
	memset(mean + range->first, 0, (range->end - range->first) * sizeof *mean);
	for (size_t f = 0; f < call->job->frames && !range->error; f += CRUMB_MAX_FRAMES) {
		const size_t left = call->job->frames - f;
		range->error = add(call, range, f, left < CRUMB_MAX_FRAMES ? left : CRUMB_MAX_FRAMES, mean);
	}
}

/* Reverses the ranges, so that the slowest starts first: decoding may have to pass over all elements before a
 * range. */
static void reverse(struct range *range, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		const struct range other = range[count - 1 - i];
		range[count - 1 - i] = range[i];
		range[i] = other;
	}
}

/* Makes the ranges of count slices and returns how many there are; *cut_count becomes the number of cut
 * slices. */
static size_t cut_slices(const struct step *step, struct decode_memory *memory, const size_t *slice,
                         size_t count, size_t *cut_count)
{
	const struct crumb_exchange *x = step->x;
	const uint64_t quotas = most_ranges(crumb_team_threads(step->team));
	uint64_t all = 0, before = 0, quota = 1;
	size_t ranges = 0;

	*cut_count = 0;
	for (size_t i = 0; i < count; i++)
		all += x->slice[slice[i]].n;
	for (size_t i = 0; i < count; i++) {
		const size_t s = slice[i], n = x->slice[s].n;
		size_t first = 0, begin = ranges;
		for (; quota < quotas && all * quota / quotas < before + n; quota++) {
			const uint64_t end_in_slice = all * quota / quotas - before;
			const size_t end = (size_t)end_in_slice / CRUMB_RANGE_STEP * CRUMB_RANGE_STEP;
			if (end > first) {
				memory->range[ranges++] = (struct range){s, first, end, *cut_count, 0};
				first = end;
			}
		}
		memory->range[ranges++] = (struct range){s, first, n, first ? *cut_count : WHOLE, 0};
		if (first)
			memory->cut_slice[(*cut_count)++] = s;
		reverse(memory->range + begin, ranges - begin);
		before += n;
	}
	return ranges;
}

int crumb_average_slices(struct step *step, const size_t *slice, size_t count, const struct decode_job *job)
{
	struct crumb_exchange *x = step->x;
	struct decode_memory *memory = &x->decode_memory;
	struct average_call call = {step, job, memory, parts_of(crumb_team_threads(step->team))};
	size_t cut_count;
	const size_t ranges = cut_slices(step, memory, slice, count, &cut_count);

	crumb_team_run(step->team, check_task, &call, cut_count * job->frames * call.parts);
	crumb_team_run(step->team, join_task, &call, cut_count * job->frames);
	crumb_team_run(step->team, range_task, &call, ranges);
	for (size_t i = 0; i < ranges; i++)
		if (memory->range[i].error)
			return crumb_step_fail(x, memory->range[i].error, "a frame of slice %zu: %s",
			                       memory->range[i].s, crumb_strerror(memory->range[i].error));
	return 0;
}

void crumb_average_limit(float *mean, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mean[i] = mean[i] > 0x1p120f ? 0x1p120f : mean[i] < -0x1p120f ? -0x1p120f : mean[i];
}
