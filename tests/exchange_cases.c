/* SPDX-License-Identifier: MIT */
#include "tests/exchange_cases.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/exchange.h"
#include "exchange/plan.h"
#include "exchange/team.h"
#include "exchange/transport.h"

/* ---- the model: every kind, an empty slice, slices too short to shrink -------------------------------- */

struct crumb_slice slices[SLICES] = {
        {.n = 500, .run = 25, .kind = CRUMB_CONV},
        {.n = 20, .kind = CRUMB_BIAS},
        {.n = 4099, .kind = CRUMB_CONV},
        {.n = 0, .kind = CRUMB_BATCHNORM},
        {.n = 8011, .run = 50, .kind = CRUMB_FC},
        {.n = 1, .kind = CRUMB_BIAS},
        {.n = 257, .kind = CRUMB_LSTM},
        {.n = 16, .kind = CRUMB_EMBEDDING},
        {.n = 1000, .run = 100, .kind = CRUMB_KIND_LAST},
        {.n = 100, .kind = CRUMB_BATCHNORM},
};
size_t total;

void place_slices(void)
{
	total = 0;
	for (size_t s = 0; s < SLICES; s++) {
		slices[s].at = total;
		total += slices[s].n;
	}
}

const float even_share[LEARNERS] = {0.25f, 0.25f, 0.25f, 0.25f};
const float uneven_share[LEARNERS] = {0.3f, 0.3f, 0.2f, 0.2f};

void make_gradient(float *grad, size_t learner, unsigned step)
{
	uint64_t x = crumb_exchange_seed(7, learner, step);

	for (size_t s = 0; s < SLICES; s++) {
		const float scale = 0.02f * (float)(s + 1);
		for (size_t i = 0; i < slices[s].n; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			float sum = -2;
			for (int k = 0; k < 64; k += 16)
				sum += (float)(x >> k & 0xFFFF) * 0x1p-16f;
			grad[slices[s].at + i] = 1.4f * scale * sum;
		}
	}
}

void make_further(float *grad, size_t learner, unsigned step, unsigned k)
{
	make_gradient(grad, learner, step + k * STEPS);
	if (learner == 2 && k == 1)
		grad[slices[4].at] = NAN;
}

struct policy parse_policy(const char *text)
{
	struct policy policy;
	const char *bad = NULL;

	if (crumb_policy_parse(&policy, text, &bad))
		fail_msg("%s: refused at %d", text, (int)(bad - text));
	return policy;
}

void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void in_threads(void *(*run)(void *), void *objects, size_t size, unsigned count)
{
	pthread_t *thread = must(calloc(count, sizeof *thread));

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, (char *)objects + i * size), 0);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	free(thread);
}

/* Returns true if learners agree on so many floats that they solve for levels, which takes long. */
static bool solves(const crumb_codec *codec)
{
	crumb_packer *packer = must(malloc(crumb_packer_size(codec, 1000)));
	assert_int_equal(crumb_packer_init(packer, codec, 1000, 0, 0), 0);
	const bool many = crumb_agree_count(packer) > 100;
	free(packer);
	return many;
}

bool has_momentum(const crumb_codec *codec)
{
	const crumb_codec_info *info = crumb_codec_info_of(codec);

	return info->flags & CRUMB_CODEC_MOMENTUM && !strcmp(info->key[0].name, "momentum") &&
	       codec->value[0] > 0;
}

void for_every_setting(void (*law)(const struct policy *policy, const char *text, bool defaults))
{
	for (size_t i = 0; crumb_list(i); i++) {
		const crumb_codec_info *info = crumb_list(i);
		for (size_t k = 0; k <= 2 * info->keys; k++) {
			crumb_codec codec;
			char spec[CRUMB_SPEC_MAX], text[2 * CRUMB_SPEC_MAX];
			assert_int_equal(crumb_parse(&codec, info->name, NULL), 0);
			if (k > 0)
				codec.value[(k - 1) / 2] =
				        k % 2 ? info->key[(k - 1) / 2].min : info->key[(k - 1) / 2].max;
			if (crumb_print(&codec, spec, sizeof spec) < 0)
				continue; /* not accepted with the other keys' defaults */
			if (k > 0 && (!strcmp(spec, info->name) || solves(&codec)))
				continue;
			snprintf(text, sizeof text, "conv,fc,lstm,embedding,bias,batchnorm=%s", spec);
			const struct policy policy = parse_policy(text);
			law(&policy, spec, k == 0);
		}
	}
}

/* ---- the reference: plain crumb calls ------------------------------------------------------- */

static crumb_packer *open_packer(const crumb_codec *codec, size_t s, size_t learner)
{
	const size_t size = crumb_packer_size(codec, slices[s].n);
	crumb_packer *packer = must(aligned_alloc(64, (size + 63) / 64 * 64));

	assert_int_equal(crumb_packer_init(packer, codec, slices[s].n, slices[s].run,
	                                   crumb_exchange_seed(CASE_SEED, learner, s)),
	                 0);
	return packer;
}

struct reference *reference_open(const struct policy *policy, bool owned, const struct policy *down)
{
	struct reference *ref = must(calloc(1, sizeof *ref));

	ref->exact = owned && !down;
	for (size_t s = 0; s < SLICES; s++) {
		ref->codec[s] = crumb_policy_choose(policy, slices[s].kind, slices[s].n);
		for (size_t l = 0; l < LEARNERS; l++)
			ref->packer[l][s] = open_packer(&ref->codec[s], s, l);
		if (owned && down) {
			ref->down_codec[s] = crumb_policy_choose(down, slices[s].kind, slices[s].n);
			if (has_momentum(&ref->down_codec[s]))
				ref->down_codec[s].value[0] = 0;
			ref->down[s] = open_packer(&ref->down_codec[s], s, LEARNERS);
		}
	}
	for (size_t l = 0; l < LEARNERS; l++)
		ref->grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < STEPS; step++)
		ref->mean[step] = must(calloc(total, sizeof(float)));
	return ref;
}

void reference_close(struct reference *ref)
{
	for (size_t l = 0; l < LEARNERS; l++) {
		free(ref->grad[l]);
		for (size_t s = 0; s < SLICES; s++)
			free(ref->packer[l][s]);
	}
	for (size_t s = 0; s < SLICES; s++)
		free(ref->down[s]);
	for (unsigned step = 0; step < STEPS; step++)
		free(ref->mean[step]);
	free(ref);
}

/* Packs values and decodes them. Returns the frame's length. */
static uint64_t through(crumb_packer *packer, const crumb_codec *codec, size_t n, float *value)
{
	const size_t cap = crumb_bound(codec, n), due = crumb_agree_count(packer);
	float *stat = must(malloc((due + 1) * sizeof *stat));
	uint8_t *frame = must(malloc(cap));

	if (due) {
		assert_int_equal(crumb_measure(packer, value, n, CRUMB_F32, stat), 0);
		assert_int_equal(crumb_agree(packer, stat, 1), 0);
	}
	const int64_t length = crumb_pack(packer, value, n, CRUMB_F32, 0, frame, cap);
	memset(value, 0, n * sizeof *value);
	assert_int_equal(crumb_unpack_add(frame, (size_t)length, 1, value, n), length);
	free(stat);
	free(frame);
	return (uint64_t)length;
}

/* With a scaler that all share, and equal weights, the mean is fl(s q / N), q the sum of all learners' -1, 0
 * and 1; frame: all of n elements, one after another, decoded with weight 1. A bucket has one s, so |frame|
 * is s or 0. */
static void mean_of_integers(const float *frame, size_t n, float *mean)
{
	for (size_t i = 0; i < n; i++) {
		float s = 0, q = 0;
		for (size_t l = 0; l < LEARNERS; l++) {
			const float value = frame[l * n + i];
			s = fabsf(value) > 0 ? fabsf(value) : s;
			q += value > 0 ? 1.0f : value < 0 ? -1.0f : 0.0f;
		}
		mean[i] = s * q / LEARNERS;
	}
}

static void reference_slice(struct reference *ref, size_t s, const float *share, unsigned step, float *mean)
{
	const size_t n = slices[s].n, cap = crumb_bound(&ref->codec[s], n);
	const size_t due = crumb_agree_count(ref->packer[0][s]);
	float *stat = must(malloc((LEARNERS * due * (1 + ref->extras) + 1) * sizeof *stat)), *next = stat;
	float *extra = must(malloc(total * sizeof *extra));
	float *decoded = must(calloc(LEARNERS * n + 1, sizeof *decoded));
	uint8_t *frame = must(malloc(cap)), *sum = must(malloc(crumb_sum_bound(1, n)));
	bool sums = false; /* frames of this codec can be summed */

	for (size_t l = 0; l < LEARNERS && due; l++)
		for (unsigned k = 1; k <= 1 + ref->extras; k++, next += due) {
			const float *grad = k > ref->extras ? ref->grad[l] : extra;
			if (grad == extra)
				make_further(extra, l, step, k);
			if (crumb_measure(ref->packer[l][s], grad + slices[s].at, n, CRUMB_F32, next)) {
				assert_true(grad == extra && l == 2 && s == 4);
				memset(next, 0, due * sizeof *next);
			}
		}
	for (size_t l = 0; l < LEARNERS; l++) {
		if (due)
			assert_int_equal(crumb_agree(ref->packer[l][s], stat, LEARNERS * (1 + ref->extras)),
			                 0);
		const int64_t length = crumb_pack(ref->packer[l][s], ref->grad[l] + slices[s].at, n,
		                                  CRUMB_F32, 0, frame, cap);
		assert_true(length >= CRUMB_HEADER_BYTES);
		ref->frame_bytes[slices[s].kind] += (uint64_t)length;
		assert_int_equal(crumb_unpack_add(frame, (size_t)length, share[l], mean, n), length);
		assert_int_equal(crumb_unpack_add(frame, (size_t)length, 1, decoded + l * n, n), length);
		sums = crumb_sum(&(crumb_span){frame, (size_t)length}, 1, sum, crumb_sum_bound(1, n)) > 0;
	}
	if (ref->exact && sums && share == even_share)
		mean_of_integers(decoded, n, mean);
	else if (ref->down[s])
		ref->down_bytes[slices[s].kind] += through(ref->down[s], &ref->down_codec[s], n, mean);
	free(stat);
	free(extra);
	free(decoded);
	free(sum);
	free(frame);
}

const float *reference_step(struct reference *ref, const float *share, unsigned step)
{
	for (size_t l = 0; l < LEARNERS; l++)
		make_gradient(ref->grad[l], l, step);
	for (size_t s = 0; s < SLICES; s++)
		reference_slice(ref, s, share, step, ref->mean[step] + slices[s].at);
	return ref->mean[step];
}

/* ---- ranks as threads ----------------------------------------------------------------------- */

const struct job plain_job = {.share = even_share,
                              .ranks = 1,
                              .threads = 1,
                              .nan_step = NONE,
                              .nan_learner = NONE,
                              .odd_rank = NONE,
                              .odd_share = NONE,
                              .leaver = NONE,
                              .sleeper = NONE};

static uint64_t count_packed(struct crumb_exchange *x, size_t own)
{
	uint64_t frames = 0;

	for (size_t l = 0; l < own; l++)
		for (size_t s = 0; s < SLICES; s++)
			frames += crumb_packer_step(crumb_exchange_packer(x, l, s));
	return frames;
}

static void rank_steps(struct rank_run *run, struct crumb_exchange *x)
{
	const struct job *job = run->job;
	const unsigned rank = job->alone ? 0 : run->net->rank;
	size_t first, own;
	float *grad[LEARNERS];

	crumb_exchange_learners(x, &first, &own);
	for (size_t l = 0; l < own; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < STEPS; step++) {
		if (rank == job->leaver && step == 1) {
			run->net->leave(run->net);
			run->error[1] = run->error[2] = CRUMB_EPEER;
			break;
		}
		if (rank == job->sleeper && step == 1) {
			run->error[1] = run->error[2] = CRUMB_EPEER;
			break;
		}
		if (!job->alone)
			run->net->timeout = job->sleeper == NONE || step == 0 ? 0 : 0.2;
		for (unsigned k = 1; k <= job->extras && crumb_exchange_due(x); k++) {
			for (size_t l = 0; l < own; l++)
				make_further(grad[l], first + l, step, k);
			crumb_exchange_measure(x, (const float *const *)grad);
		}
		for (size_t l = 0; l < own; l++) {
			make_gradient(grad[l], first + l, step);
			if (step == job->nan_step && first + l == job->nan_learner)
				grad[l][total / 2] = NAN;
		}
		const float *share = rank == job->odd_share ? uneven_share : job->share;
		run->error[step] = crumb_exchange_step(x, (const float *const *)grad, share, run->mean[step]);
		snprintf(run->why[step], sizeof run->why[step], "%s", crumb_exchange_why(x));
	}
	run->packed = count_packed(x, own);
	for (size_t l = 0; l < own; l++)
		run->owed += crumb_exchange_owed(x, l);
	crumb_exchange_read_stats(x, &run->stats);
	for (size_t l = 0; l < own; l++)
		free(grad[l]);
}

static void *rank_main(void *arg)
{
	struct rank_run *run = arg;
	const struct job *job = run->job;
	struct crumb_slice odd[SLICES];
	struct crumb_exchange *x = NULL;
	struct team *team = crumb_team_open(job->threads);
	char why[200] = "";

	memcpy(odd, slices, sizeof odd);
	odd[2].run = 7;
	const struct crumb_exchange_config config = {
	        .slices = !job->alone && run->net->rank == job->odd_rank ? odd : slices,
	        .slice_count = SLICES,
	        .plan = job->plan,
	        .policy = job->policy,
	        .down = job->down,
	        .learners = LEARNERS,
	        .seed = CASE_SEED,
	        .net = job->alone ? NULL : run->net,
	        .team = team,
	};
	run->opened = crumb_exchange_start(&x, &config, why, sizeof why);
	if (!run->opened)
		rank_steps(run, x);
	crumb_exchange_close(x);
	crumb_team_close(team);
	return NULL;
}

void run_job(const struct job *job, struct rank_run *run)
{
	struct crumb_exchange_net *net[MOST_RANKS];

	assert_int_equal(crumb_exchange_threads(net, job->ranks), 0);
	for (unsigned r = 0; r < job->ranks; r++) {
		run[r] = (struct rank_run){.job = job, .net = net[r]};
		for (unsigned step = 0; step < STEPS; step++)
			run[r].mean[step] = must(malloc(total * sizeof(float)));
	}
	in_threads(rank_main, run, sizeof *run, job->ranks);
	crumb_threads_close(net, job->ranks);
	assert_null(net[0]);
	for (unsigned r = 0; r < job->ranks; r++)
		assert_int_equal(run[r].opened, 0);
}

void free_job(struct rank_run *run, unsigned ranks)
{
	for (unsigned r = 0; r < ranks; r++)
		for (unsigned step = 0; step < STEPS; step++)
			free(run[r].mean[step]);
}

void assert_bits(const float *got, const float *expected, const char *text, const struct job *job)
{
	for (size_t i = 0; i < total; i++)
		if (memcmp(&got[i], &expected[i], sizeof *got))
			fail_msg("%s, %s, %u ranks, %u threads: element %zu is %a, not %a", text,
			         job->plan ? job->plan->name : "default", job->ranks, job->threads, i,
			         (double)got[i], (double)expected[i]);
}
