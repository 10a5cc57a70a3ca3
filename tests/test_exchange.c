/* The exchange: whatever the ranks, threads and codecs, the mean has the bits of plain crumb calls, one after
 * another; and whatever fails, every rank hears of it and none waits in vain.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include "exchange.h"
#include "message.h"
#include "plan.h"
#include "policy.h"
#include "team.h"
#include "transport.h"

enum { SLICES = 10, LEARNERS = 4, STEPS = 3, MOST_RANKS = 5, NONE = 1000 };
static const uint64_t seed = 1;

/* ---- the model: every kind, an empty slice, slices too short to shrink -------------------------------- */

static struct crumb_slice slices[SLICES] = {
        {.n = 500, .run = 25, .kind = CRUMB_CONV},
        {.n = 20, .kind = CRUMB_BIAS},
        {.n = 4099, .kind = CRUMB_CONV},
        {.n = 0, .kind = CRUMB_BATCHNORM},
        {.n = 8011, .run = 50, .kind = CRUMB_FC},
        {.n = 1, .kind = CRUMB_BIAS},
        {.n = 257, .kind = CRUMB_LSTM},
        {.n = 16, .kind = CRUMB_EMBEDDING},
        {.n = 1000, .run = 100, .kind = CRUMB_LAST},
        {.n = 100, .kind = CRUMB_BATCHNORM},
};
static size_t total;

static const float even_share[LEARNERS] = {0.25f, 0.25f, 0.25f, 0.25f};
static const float uneven_share[LEARNERS] = {0.3f, 0.3f, 0.2f, 0.2f};

/* About normal, of another size in every slice; a pure function of learner, step and place. */
static void make_gradient(float *grad, size_t learner, unsigned step)
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

static struct policy parse_policy(const char *text)
{
	struct policy policy;
	const char *bad = NULL;

	if (crumb_policy_parse(&policy, text, &bad))
		fail_msg("%s: refused at %d", text, (int)(bad - text));
	return policy;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* Learners that agree on so much solve for levels, which takes long. */
static bool solves(const crumb_codec *codec)
{
	crumb_packer *packer = must(malloc(crumb_packer_size(codec, 1000)));
	assert_int_equal(crumb_packer_init(packer, codec, 1000, 0, 0), 0);
	const bool many = crumb_agree_count(packer) > 100;
	free(packer);
	return many;
}

/* Calls law for a policy of every codec: with its defaults, and with every key at either end of its range,
 * except where that would take long. */
static void for_every_setting(void (*law)(const struct policy *policy, const char *text, bool defaults))
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
				continue; /* the codec does not accept this key's end with the others'
				             defaults */
			if (k > 0 && (!strcmp(spec, info->name) || solves(&codec)))
				continue;
			snprintf(text, sizeof text, "conv,fc,lstm,embedding,bias,batchnorm=%s", spec);
			const struct policy policy = parse_policy(text);
			law(&policy, spec, k == 0);
		}
	}
}

/* ---- the reference: plain crumb calls ------------------------------------------------------- */

struct reference {
	crumb_packer *packer[LEARNERS][SLICES];
	crumb_packer *down[SLICES]; /* NULL: the mean comes down as it is */
	crumb_codec codec[SLICES], down_codec[SLICES];
	bool exact; /* what agrees on a scaler comes down as integers */
	float *grad[LEARNERS];
	float *mean[STEPS];
	uint64_t frame_bytes[CRUMB_KINDS]; /* over all learners and steps */
	uint64_t down_bytes[CRUMB_KINDS];  /* over all steps; not when exact */
};

static crumb_packer *open_packer(const crumb_codec *codec, size_t s, size_t learner)
{
	const size_t size = crumb_packer_size(codec, slices[s].n);
	crumb_packer *packer = must(aligned_alloc(64, (size + 63) / 64 * 64));

	assert_int_equal(crumb_packer_init(packer, codec, slices[s].n, slices[s].run,
	                                   crumb_exchange_seed(seed, learner, s)),
	                 0);
	return packer;
}

/* owned: one rank takes the mean, and sends it with the policy down; NULL: exactly. */
static struct reference *reference_open(const struct policy *policy, bool owned, const struct policy *down)
{
	struct reference *ref = must(calloc(1, sizeof *ref));

	ref->exact = owned && !down;
	for (size_t s = 0; s < SLICES; s++) {
		ref->codec[s] = crumb_policy_choose(policy, slices[s].kind, slices[s].n);
		for (size_t l = 0; l < LEARNERS; l++)
			ref->packer[l][s] = open_packer(&ref->codec[s], s, l);
		if (owned && down) {
			ref->down_codec[s] = crumb_policy_choose(down, slices[s].kind, slices[s].n);
			ref->down[s] = open_packer(&ref->down_codec[s], s, LEARNERS);
		}
	}
	for (size_t l = 0; l < LEARNERS; l++)
		ref->grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < STEPS; step++)
		ref->mean[step] = must(calloc(total, sizeof(float)));
	return ref;
}

static void reference_close(struct reference *ref)
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

/* Packs values and adds what comes of them to zeros. Returns the frame's length. */
static uint64_t through(crumb_packer *packer, const crumb_codec *codec, size_t n, float *value)
{
	const size_t cap = crumb_bound(codec, n), due = crumb_agree_count(packer);
	float *stat = must(malloc((due + 1) * sizeof *stat));
	uint8_t *frame = must(malloc(cap));

	if (due) {
		assert_int_equal(crumb_measure(packer, value, CRUMB_F32, stat), 0);
		assert_int_equal(crumb_agree(packer, stat, 1), 0);
	}
	const int64_t length = crumb_pack(packer, value, CRUMB_F32, 0, frame, cap);
	memset(value, 0, n * sizeof *value);
	assert_int_equal(crumb_unpack_add(frame, (size_t)length, 1, value, n), length);
	free(stat);
	free(frame);
	return (uint64_t)length;
}

/* With a scaler that all share, and equal shares, the mean is fl(s q / N), q the sum of all learners' -1, 0
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

static void reference_slice(struct reference *ref, size_t s, const float *share, float *mean)
{
	const size_t n = slices[s].n, cap = crumb_bound(&ref->codec[s], n);
	const size_t due = crumb_agree_count(ref->packer[0][s]);
	float *stat = must(malloc((LEARNERS * due + 1) * sizeof *stat));
	float *decoded = must(calloc(LEARNERS * n + 1, sizeof *decoded));
	uint8_t *frame = must(malloc(cap)), *sum = must(malloc(crumb_sum_bound(1, n)));
	bool sums = false; /* whether frames of this codec can be added */

	for (size_t l = 0; l < LEARNERS && due; l++)
		assert_int_equal(crumb_measure(ref->packer[l][s], ref->grad[l] + slices[s].at, CRUMB_F32,
		                               stat + l * due),
		                 0);
	for (size_t l = 0; l < LEARNERS; l++) {
		if (due)
			assert_int_equal(crumb_agree(ref->packer[l][s], stat, LEARNERS), 0);
		const int64_t length =
		        crumb_pack(ref->packer[l][s], ref->grad[l] + slices[s].at, CRUMB_F32, 0, frame, cap);
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
	free(decoded);
	free(sum);
	free(frame);
}

static const float *reference_step(struct reference *ref, const float *share, unsigned step)
{
	for (size_t l = 0; l < LEARNERS; l++)
		make_gradient(ref->grad[l], l, step);
	for (size_t s = 0; s < SLICES; s++)
		reference_slice(ref, s, share, ref->mean[step] + slices[s].at);
	return ref->mean[step];
}

/* ---- ranks as threads ----------------------------------------------------------------------- */

struct job {
	const struct plan *plan;
	const struct policy *policy, *down;
	const float *share;
	unsigned ranks, threads;
	unsigned nan_step; /* when learner nan_learner gives a NaN; NONE: never */
	size_t nan_learner;
	unsigned odd_rank;  /* has another slice table; NONE: nobody */
	unsigned odd_share; /* weights the learners otherwise */
	unsigned leaver;    /* leaves after the first step */
	unsigned sleeper;   /* does not come to the second, and does not say so */
	bool alone;         /* one rank without a transport */
};

struct rank_run {
	const struct job *job;
	struct transport *net;
	int opened, error[STEPS];
	float *mean[STEPS];
	uint64_t packed; /* frames by all its packers */
	double owed;
	struct crumb_exchange_stats stats;
	char why[STEPS][200];
};

static const struct job plain_job = {.share = even_share,
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
			run->net->timeout = job->sleeper == NONE ? 0 : 0.2;
		for (size_t l = 0; l < own; l++) {
			make_gradient(grad[l], first + l, step);
			if (step == job->nan_step && first + l == job->nan_learner)
				grad[l][total / 2] = NAN;
		}
		const float *share = rank == job->odd_share ? uneven_share : job->share;
		run->error[step] = crumb_exchange_mean(x, (const float *const *)grad, share, run->mean[step]);
		snprintf(run->why[step], sizeof run->why[step], "%s", crumb_exchange_why(x));
	}
	run->packed = count_packed(x, own);
	for (size_t l = 0; l < own; l++)
		run->owed += crumb_exchange_owed(x, l);
	crumb_exchange_stats(x, &run->stats);
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
	        .seed = seed,
	        .net = job->alone ? NULL : run->net,
	        .team = team,
	};
	run->opened = crumb_exchange_open(&x, &config, why, sizeof why);
	if (!run->opened)
		rank_steps(run, x);
	crumb_exchange_close(x);
	crumb_team_close(team);
	return NULL;
}

static void run_job(const struct job *job, struct rank_run *run)
{
	struct transport *net[MOST_RANKS];
	pthread_t thread[MOST_RANKS];

	assert_int_equal(crumb_threads_open(net, job->ranks), 0);
	for (unsigned r = 0; r < job->ranks; r++) {
		run[r] = (struct rank_run){.job = job, .net = net[r]};
		for (unsigned step = 0; step < STEPS; step++)
			run[r].mean[step] = must(malloc(total * sizeof(float)));
	}
	for (unsigned r = 0; r < job->ranks; r++)
		assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &run[r]), 0);
	for (unsigned r = 0; r < job->ranks; r++)
		assert_int_equal(pthread_join(thread[r], NULL), 0);
	crumb_threads_close(net, job->ranks);
	assert_null(net[0]);
	for (unsigned r = 0; r < job->ranks; r++)
		assert_int_equal(run[r].opened, 0);
}

static void free_job(struct rank_run *run, unsigned ranks)
{
	for (unsigned r = 0; r < ranks; r++)
		for (unsigned step = 0; step < STEPS; step++)
			free(run[r].mean[step]);
}

static void assert_bits(const float *got, const float *expected, const char *text, const struct job *job)
{
	for (size_t i = 0; i < total; i++)
		if (memcmp(&got[i], &expected[i], sizeof *got))
			fail_msg("%s, %s, %u ranks, %u threads: element %zu is %a, not %a", text,
			         job->plan ? job->plan->name : "default", job->ranks, job->threads, i,
			         (double)got[i], (double)expected[i]);
}

/* ---- laws ----------------------------------------------------------------------------------- */

static void assert_same_bits(const struct job *job, const struct reference *ref, const char *text)
{
	struct rank_run run[MOST_RANKS];
	double owed = 0, expected_owed = 0;
	uint64_t bytes[CRUMB_KINDS] = {0};

	run_job(job, run);
	for (unsigned step = 0; step < STEPS; step++)
		for (unsigned r = 0; r < job->ranks; r++) {
			assert_int_equal(run[r].error[step], 0);
			assert_bits(run[r].mean[step], ref->mean[step], text, job);
		}
	for (size_t l = 0; l < LEARNERS; l++)
		for (size_t s = 0; s < SLICES; s++) {
			const float *residual = crumb_packer_residual(ref->packer[l][s]);
			for (size_t i = 0; residual && i < slices[s].n; i++)
				expected_owed += (double)residual[i] * residual[i];
		}
	for (unsigned r = 0; r < job->ranks; r++) {
		owed += run[r].owed;
		for (int kind = 0; kind < CRUMB_KINDS; kind++) {
			bytes[kind] += run[r].stats.bytes[kind];
			if (job->plan && job->plan->assign && job->down)
				assert_int_equal(run[r].stats.down[kind], ref->down_bytes[kind]);
		}
		assert_int_equal(run[r].stats.link_messages,
		                 STEPS * (job->ranks - 1) * (job->plan ? job->plan->swaps : 2));
	}
	assert_true(fabs(owed - expected_owed) <= 1e-9 * owed);
	assert_memory_equal(bytes, ref->frame_bytes, sizeof bytes);
	free_job(run, job->ranks);
}

static struct reference *reference_of(const struct job *job)
{
	struct reference *ref = reference_open(job->policy, job->plan && job->plan->assign, job->down);

	for (unsigned step = 0; step < STEPS; step++)
		reference_step(ref, job->share, step);
	return ref;
}

/* On any number of ranks and threads, with equal shares and others, and without a transport. */
static void same_bits_of(struct job job, const char *text, bool defaults)
{
	struct reference *ref = reference_of(&job);

	for (job.ranks = 1; job.ranks <= MOST_RANKS; job.ranks++)
		for (job.threads = 1; job.threads <= 3; job.threads++)
			if (defaults || (job.ranks == 3 && job.threads == 2))
				assert_same_bits(&job, ref, text);
	reference_close(ref);
	job.ranks = 2;
	job.threads = 2;
	job.share = uneven_share;
	ref = reference_of(&job);
	assert_same_bits(&job, ref, text);
	job.ranks = 1;
	job.alone = true;
	assert_same_bits(&job, ref, text);
	reference_close(ref);
}

static void same_bits_law(const struct policy *policy, const char *text, bool defaults)
{
	struct job job = plain_job;

	job.policy = policy;
	for (size_t i = 0; (job.plan = crumb_plan_list(i)); i++) {
		job.down = NULL;
		same_bits_of(job, text, defaults);
		job.down = policy;
		if (job.plan->assign)
			same_bits_of(job, text, defaults);
	}
}

static void the_mean_has_the_same_bits_everywhere(void **state)
{
	(void)state;
	for_every_setting(same_bits_law);
}

static void mixed_policies_have_the_same_bits(void **state)
{
	const struct policy policy =
	        parse_policy("conv=adacomp:bin=50;fc=amq:every=1;last=half;lstm=terngrad");

	(void)state;
	same_bits_law(&policy, "a mixed policy", true);
}

/* What every learner gave, weighted, is what was applied and what is owed. */
static void nothing_is_lost_in(const struct plan *plan, const struct policy *policy, const char *text)
{
	enum { LONG = 20 };
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = plan,
	                                             .policy = policy,
	                                             .down = policy,
	                                             .learners = LEARNERS,
	                                             .seed = seed};
	struct crumb_exchange *x;
	char why[200];
	float *grad[LEARNERS], *mean = must(malloc(total * sizeof *mean));
	double *given = must(calloc(total, sizeof *given)), *size = must(calloc(total, sizeof *size));

	assert_int_equal(crumb_exchange_open(&x, &config, why, sizeof why), 0);
	for (size_t l = 0; l < LEARNERS; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < LONG; step++) {
		for (size_t l = 0; l < LEARNERS; l++)
			make_gradient(grad[l], l, step);
		assert_int_equal(crumb_exchange_mean(x, (const float *const *)grad, uneven_share, mean), 0);
		for (size_t i = 0; i < total; i++) {
			given[i] -= mean[i];
			size[i] += fabs((double)mean[i]);
			for (size_t l = 0; l < LEARNERS; l++) {
				given[i] += (double)uneven_share[l] * grad[l][i];
				size[i] += fabs((double)grad[l][i]);
			}
		}
	}
	for (size_t s = 0; s < SLICES; s++) {
		if (!crumb_packer_residual(crumb_exchange_packer(x, 0, s)))
			continue; /* what such a codec loses is its own law */
		for (size_t i = 0; i < slices[s].n; i++) {
			const size_t at = slices[s].at + i;
			crumb_packer *down = crumb_exchange_mean_packer(x, s);
			double owed = down ? crumb_packer_residual(down)[i] : 0;
			for (size_t l = 0; l < LEARNERS; l++)
				owed += (double)uneven_share[l] *
				        crumb_packer_residual(crumb_exchange_packer(x, l, s))[i];
			if (fabs(given[at] - owed) > 1e-5 * size[at])
				fail_msg("%s, %s: slice %zu, element %zu: given - applied is %g, owed %g",
				         plan->name, text, s, i, given[at], owed);
		}
	}
	crumb_exchange_close(x);
	for (size_t l = 0; l < LEARNERS; l++)
		free(grad[l]);
	free(mean);
	free(given);
	free(size);
}

static void nothing_is_lost_law(const struct policy *policy, const char *text, bool defaults)
{
	const struct plan *plan;

	(void)defaults;
	for (size_t i = 0; (plan = crumb_plan_list(i)); i++)
		nothing_is_lost_in(plan, policy, text);
}

static void nothing_is_lost(void **state)
{
	(void)state;
	for_every_setting(nothing_is_lost_law);
}

/* One learner's NaN: every rank skips the step, no packer has packed, and the other steps are as if it had
 * not been. */
static void nan_in(const struct plan *plan, const struct policy *policy, const char *text, bool defaults)
{
	for (unsigned nan_step = 0; nan_step < STEPS; nan_step += defaults ? 1 : STEPS) {
		struct job job = plain_job;
		struct rank_run run[MOST_RANKS];
		struct reference *ref = reference_open(policy, plan->assign, policy);
		job.plan = plan;
		job.policy = job.down = policy;
		job.ranks = 3;
		job.threads = 2;
		job.nan_step = nan_step;
		job.nan_learner = 2;
		run_job(&job, run);
		for (unsigned step = 0; step < STEPS; step++) {
			const float *expected =
			        step == nan_step ? NULL : reference_step(ref, job.share, step);
			for (unsigned r = 0; r < job.ranks; r++) {
				assert_int_equal(run[r].error[step], expected ? 0 : CRUMB_ENONFINITE);
				if (expected)
					assert_bits(run[r].mean[step], expected, text, &job);
				else
					assert_non_null(strstr(run[r].why[step], "rank 2"));
			}
		}
		uint64_t packed = 0;
		for (unsigned r = 0; r < job.ranks; r++) {
			packed += run[r].packed;
			assert_int_equal(run[r].stats.steps, STEPS - 1);
			assert_int_equal(run[r].stats.skipped, 1);
		}
		assert_int_equal(packed, LEARNERS * SLICES * (STEPS - 1));
		free_job(run, job.ranks);
		reference_close(ref);
	}
}

static void nan_law(const struct policy *policy, const char *text, bool defaults)
{
	const struct plan *plan;

	for (size_t i = 0; (plan = crumb_plan_list(i)); i++)
		nan_in(plan, policy, text, defaults);
}

static void a_nan_is_skipped_together(void **state)
{
	(void)state;
	for_every_setting(nan_law);
}

/* Every rank returns the error from step on, and nobody packs any more. */
static void assert_refused(const struct job *job, int error, unsigned step, uint64_t packed)
{
	struct rank_run run[MOST_RANKS];
	uint64_t frames = 0;

	run_job(job, run);
	for (unsigned r = 0; r < job->ranks; r++) {
		for (unsigned k = 0; k < STEPS; k++)
			assert_int_equal(run[r].error[k], k < step ? 0 : error);
		assert_true(r == job->leaver || r == job->sleeper || strlen(run[r].why[step]) > 0);
		frames += run[r].packed;
	}
	assert_int_equal(frames, packed);
	free_job(run, job->ranks);
}

static void another_model_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const struct policy policy = parse_policy(crumb_list(i)->name);
		for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++)
			for (unsigned odd = 0; odd < ranks; odd++) {
				struct job job = plain_job;
				job.policy = &policy;
				job.ranks = ranks;
				job.odd_rank = odd;
				assert_refused(&job, CRUMB_EFRAME, 0, 0);
			}
	}
}

static void other_shares_are_refused(void **state)
{
	const struct policy policy = parse_policy("raw");
	struct job job = plain_job;

	(void)state;
	job.policy = &policy;
	job.ranks = 3;
	job.odd_share = 1;
	assert_refused(&job, CRUMB_EFRAME, 0, 0);
}

/* A rank that leaves ends the others' waiting, whoever it is. */
static void a_leaver_keeps_nobody_waiting(void **state)
{
	const struct policy policy = parse_policy("raw");

	(void)state;
	for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++)
		for (unsigned leaver = 0; leaver < ranks; leaver++) {
			struct job job = plain_job;
			job.policy = &policy;
			job.ranks = ranks;
			job.leaver = leaver;
			assert_refused(&job, CRUMB_EPEER, 1, LEARNERS * SLICES);
		}
}

/* So does one that hangs, but after their timeout. */
static void a_sleeper_keeps_nobody_waiting_for_ever(void **state)
{
	const struct policy policy = parse_policy("raw");
	struct job job = plain_job;

	(void)state;
	job.policy = &policy;
	job.ranks = 3;
	for (job.sleeper = 0; job.sleeper < job.ranks; job.sleeper++)
		assert_refused(&job, CRUMB_EPEER, 1, LEARNERS * SLICES);
}

/* ---- one rank over a transport that lies ---------------------------------------------------- */

struct liar {
	struct transport net;
	unsigned swaps, lie; /* how many there were; which one is touched */
	size_t at;           /* the touched byte, modulo the length */
	uint8_t flip;        /* what happens to it; 0: the message ends there */
	bool pad;            /* the message gets one byte more instead; if it has frames, the last one */
	uint8_t *message;
};

/* Lengthens the last frame by the byte that follows it, in a message that is otherwise as it should be. */
static void pad_last_frame(uint8_t *message)
{
	struct message_head head;
	uint8_t *table = message + sizeof head;
	uint64_t length;

	memcpy(&length, table + (SLICES - 1) * sizeof length, sizeof length);
	length++;
	memcpy(table + (SLICES - 1) * sizeof length, &length, sizeof length);
	memcpy(&head, message, sizeof head);
	head.sum = crumb_hash(0, table, SLICES * sizeof length);
	memcpy(message, &head, sizeof head);
}

static int liar_swap(struct transport *net, const crumb_span *out, crumb_span *in)
{
	struct liar *liar = (struct liar *)net;

	in[0] = out[0];
	if (liar->swaps++ != liar->lie)
		return 0;
	const size_t at = liar->at % out[0].len;
	const size_t len = liar->pad ? out[0].len + 1 : liar->flip ? out[0].len : at;
	free(liar->message);
	liar->message =
	        must(malloc(len + !len)); /* no longer than what is shown: a sanitizer sees who reads on */
	memcpy(liar->message, out[0].data, len < out[0].len ? len : out[0].len);
	if (liar->pad)
		liar->message[len - 1] = 0;
	else if (liar->flip)
		liar->message[at] ^= liar->flip;
	if (liar->pad && liar->at)
		pad_last_frame(liar->message);
	in[0] = (crumb_span){liar->message, len};
	return 0;
}

static void liar_leave(struct transport *net) { (void)net; }

static struct team *pair; /* of two threads, which cut a slice */

static void lie(const struct plan *plan, const struct policy *policy, const char *text, struct liar liar)
{
	liar.net = (struct transport){.ranks = 1, .swap = liar_swap, .leave = liar_leave};
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = plan,
	                                             .policy = policy,
	                                             .learners = 1,
	                                             .seed = seed,
	                                             .net = &liar.net,
	                                             .team = liar.at % 2 ? pair : NULL};
	const float share = 1;
	struct crumb_exchange *x;
	char why[200];
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
	const float *const grads[] = {grad};

	make_gradient(grad, 0, 0);
	assert_int_equal(crumb_exchange_open(&x, &config, why, sizeof why), 0);
	const int error = crumb_exchange_mean(x, grads, &share, mean);
	if (error >= 0)
		fail_msg("%s, %s: swap %u, byte %zu ^ %d, pad %d goes unnoticed", plan->name, text, liar.lie,
		         liar.at, liar.flip, liar.pad);
	assert_true(strlen(crumb_exchange_why(x)) > 0);
	assert_int_equal(crumb_exchange_mean(x, grads, &share, mean), error); /* final */
	crumb_exchange_close(x);
	free(liar.message);
	free(grad);
	free(mean);
}

/* A flipped bit, a cut, or a byte too many, in any place of any message, is an error and no more than that.
 */
static void damage_in(const struct plan *plan, const struct policy *policy, const char *text, bool defaults)
{
	for (unsigned swap = 0; swap < plan->swaps; swap++) {
		for (size_t at = 0; at < (defaults ? 200 : 20); at++)
			lie(plan, policy, text,
			    (struct liar){.lie = swap, .at = at, .flip = (uint8_t)(1u << at % 8)});
		for (size_t k = 0; k < 20; k++) {
			const size_t at = (size_t)crumb_exchange_seed(3, swap, k);
			lie(plan, policy, text,
			    (struct liar){.lie = swap, .at = at, .flip = (uint8_t)(1u << k % 8)});
			lie(plan, policy, text, (struct liar){.lie = swap, .at = at});
		}
		lie(plan, policy, text, (struct liar){.lie = swap});
		lie(plan, policy, text, (struct liar){.lie = swap, .pad = true});
	}
	for (unsigned swap = 1; swap < plan->swaps; swap++)
		lie(plan, policy, text, (struct liar){.lie = swap, .pad = true, .at = 1});
}

static void damage_law(const struct policy *policy, const char *text, bool defaults)
{
	const struct plan *plan;

	for (size_t i = 0; (plan = crumb_plan_list(i)); i++)
		damage_in(plan, policy, text, defaults);
}

static void damage_is_an_error(void **state)
{
	(void)state;
	pair = must(crumb_team_open(2));
	for_every_setting(damage_law);
	crumb_team_close(pair);
}

/* ---- randomness ----------------------------------------------------------------------------- */

/* The variance of the mean over learners that all have the same gradient, summed over its elements. */
static double variance(const struct policy *policy, size_t learners)
{
	enum { DRAWS = 30, MOST = 16 };
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .policy = policy,
	                                             .learners = learners,
	                                             .seed = seed};
	struct crumb_exchange *x;
	char why[200];
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
	double *sum = must(calloc(total, sizeof *sum)), *squares = must(calloc(total, sizeof *squares));
	const float *grads[MOST];
	float share[MOST];
	double result = 0;

	make_gradient(grad, 0, 0);
	for (size_t l = 0; l < learners; l++) {
		grads[l] = grad;
		share[l] = 1 / (float)learners;
	}
	assert_int_equal(crumb_exchange_open(&x, &config, why, sizeof why), 0);
	for (unsigned step = 0; step < DRAWS; step++) {
		assert_int_equal(crumb_exchange_mean(x, grads, share, mean), 0);
		for (size_t i = 0; i < total; i++) {
			sum[i] += mean[i];
			squares[i] += (double)mean[i] * mean[i];
		}
	}
	for (size_t i = 0; i < total; i++)
		result += squares[i] / DRAWS - sum[i] / DRAWS * (sum[i] / DRAWS);
	crumb_exchange_close(x);
	free(grad);
	free(mean);
	free(sum);
	free(squares);
	return result;
}

/* Learners round independently: with one seed for all, averaging them would not help. */
static void random_errors_average_out(void **state)
{
	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const struct policy policy = parse_policy(crumb_list(i)->name);
		if (!(crumb_list(i)->flags & CRUMB_RANDOM))
			continue;
		const double one = variance(&policy, 1);
		assert_true(one > 0);
		for (size_t learners = 2; learners <= 16; learners *= 2) {
			const double ratio = one / (variance(&policy, learners) * (double)learners);
			if (!(ratio > 0.9 && ratio < 1.1))
				fail_msg(
				        "%s: the variance of the mean of %zu learners is %g of what it should be",
				        crumb_list(i)->name, learners, 1 / ratio);
		}
	}
}

/* ---- what it says about itself -------------------------------------------------------------- */

static void stats_count(void **state)
{
	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const struct policy policy = parse_policy(crumb_list(i)->name);
		const struct crumb_exchange_config config = {.slices = slices,
		                                             .slice_count = SLICES,
		                                             .policy = &policy,
		                                             .learners = 1,
		                                             .seed = seed};
		const float share = 1;
		struct crumb_exchange_stats stats;
		struct crumb_exchange *x;
		char why[200];
		float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
		const float *const grads[] = {grad};
		uint64_t n[CRUMB_KINDS] = {0}, nonzero[CRUMB_KINDS] = {0};

		assert_int_equal(crumb_exchange_open(&x, &config, why, sizeof why), 0);
		for (unsigned step = 0; step < 12; step++) {
			make_gradient(grad, 0, step);
			assert_int_equal(crumb_exchange_mean(x, grads, &share, mean), 0);
			for (size_t s = 0; s < SLICES && step % 10 == 0; s++)
				for (size_t k = 0; k < slices[s].n; k++)
					nonzero[slices[s].kind] += mean[slices[s].at + k] != 0;
		}
		for (size_t s = 0; s < SLICES; s++)
			n[slices[s].kind] += slices[s].n;
		crumb_exchange_stats(x, &stats);
		assert_int_equal(stats.steps, 12);
		assert_int_equal(stats.skipped, 0);
		for (int kind = 0; kind < CRUMB_KINDS; kind++) {
			assert_int_equal(stats.dense[kind], 12 * 4 * n[kind]);
			assert_int_equal(stats.elements[kind], 2 * n[kind]);
			assert_true(stats.sent[kind] >= nonzero[kind] && stats.sent[kind] <= 2 * n[kind]);
			assert_true(stats.bytes[kind] >= 12 * (n[kind] > 0) * CRUMB_HEADER_BYTES);
		}
		crumb_exchange_reset_stats(x);
		crumb_exchange_stats(x, &stats);
		assert_int_equal(stats.steps, 0);
		assert_int_equal(stats.bytes[CRUMB_FC], 0);
		crumb_exchange_close(x);
		free(grad);
		free(mean);
	}
}

static void a_wrong_slice_table_is_refused(void **state)
{
	const struct policy policy = parse_policy("raw");

	(void)state;
	for (int fault = 0; fault < 5; fault++) {
		struct crumb_slice wrong[SLICES];
		struct crumb_exchange *x = NULL;
		char why[200] = "";
		memcpy(wrong, slices, sizeof wrong);
		struct transport net = {.rank = fault == 4, .ranks = 1};
		const struct crumb_exchange_config config = {.slices = wrong,
		                                             .slice_count = SLICES,
		                                             .policy = &policy,
		                                             .learners = fault == 3 ? 0 : 1,
		                                             .net = &net};
		if (fault == 0)
			wrong[4].at++;
		if (fault == 1)
			wrong[0].n--;
		if (fault == 2)
			wrong[5].kind = CRUMB_KINDS;
		assert_int_equal(crumb_exchange_open(&x, &config, why, sizeof why), CRUMB_EINVAL);
		assert_null(x);
		assert_true(strlen(why) > 0);
	}
}

/* What is cut covers what was there, in order, in parts that are short enough, nearly equal and whole runs.
 */
static void slices_are_cut(void **state)
{
	(void)state;
	for (size_t longest = 0; longest < 5000; longest = 3 * longest + 1) {
		struct crumb_slice *cut = must(calloc(total + SLICES, sizeof *cut));
		const size_t parts = crumb_slices_cut(slices, SLICES, longest, cut);
		size_t part = 0;
		assert_int_equal(crumb_slices_cut(slices, SLICES, longest, NULL), parts);
		for (size_t s = 0; s < SLICES; s++) {
			const size_t end = slices[s].at + slices[s].n,
			             run = slices[s].run ? slices[s].run : 1;
			size_t at = slices[s].at, most = 0, least = slices[s].n;
			do {
				assert_true(part < parts);
				assert_int_equal(cut[part].at, at);
				assert_int_equal(cut[part].run, slices[s].run);
				assert_int_equal(cut[part].kind, slices[s].kind);
				at += cut[part].n;
				assert_true(at == end || cut[part].n % run == 0);
				assert_true(!longest || cut[part].n < longest + run + slices[s].n % run);
				most = cut[part].n > most ? cut[part].n : most;
				least = cut[part].n < least ? cut[part].n : least;
				part++;
			} while (at < end);
			assert_int_equal(at, end);
			assert_true(most - least <= run + slices[s].n % run);
		}
		assert_int_equal(part, parts);
		free(cut);
	}
}

/* Whatever tells the senders of two messages apart, both are named. */
static void refusals_name_both_sides(void **state)
{
	static const struct {
		size_t at;
		int error;
		const char *both[2];
	} faults[] = {
	        {offsetof(struct message_head, crumb),
	         CRUMB_EVERSION,
	         {"rank 3 runs crumb 0.1.", "here 0.1.0"}},
	        {offsetof(struct message_head, format), CRUMB_EVERSION, {"rank 3 runs", "here"}},
	        {offsetof(struct message_head, step),
	         CRUMB_EFRAME,
	         {"rank 3 sent a message of step 6", "of rank 2"}},
	        {offsetof(struct message_head, phase),
	         CRUMB_EFRAME,
	         {"rank 3 sent a message of step 7, phase", "of rank 2"}},
	        {offsetof(struct message_head, model),
	         CRUMB_EFRAME,
	         {"rank 3 trains another model", "than rank 2"}},
	        {offsetof(struct message_head, table),
	         CRUMB_EFRAME,
	         {"rank 3 has another slice table", "than rank 2"}},
	        {offsetof(struct message_head, setup),
	         CRUMB_EFRAME,
	         {"rank 3 has another plan", "than rank 2"}},
	        {offsetof(struct message_head, shares),
	         CRUMB_EFRAME,
	         {"rank 3 weights the learners otherwise", "than rank 2"}},
	};
	struct message_head mine = {
	        .phase = MESSAGE_UP, .rank = 2, .step = 7, .model = 1, .table = 2, .setup = 3, .shares = 4};
	char why[CRUMB_WHY_MAX];

	(void)state;
	crumb_message_head(&mine);
	struct message_head its = mine;
	its.rank = 3;
	assert_int_equal(crumb_message_check(&mine, (crumb_span){&its, sizeof its}, 3, why, sizeof why), 0);
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		struct message_head odd = its;
		((uint8_t *)&odd)[faults[i].at] ^= 1;
		assert_int_equal(
		        crumb_message_check(&mine, (crumb_span){&odd, sizeof odd}, 3, why, sizeof why),
		        faults[i].error);
		for (int side = 0; side < 2; side++)
			if (!strstr(why, faults[i].both[side]))
				fail_msg("\"%s\" does not say \"%s\"", why, faults[i].both[side]);
		assert_non_null(strstr(why, "step 7"));
	}
}

static void learners_are_divided(void **state)
{
	const struct policy policy = parse_policy("raw");

	(void)state;
	for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
		size_t next = 0;
		for (unsigned r = 0; r < ranks; r++) {
			struct transport net = {.rank = r, .ranks = ranks};
			const struct crumb_exchange_config config = {.slices = slices,
			                                             .slice_count = SLICES,
			                                             .policy = &policy,
			                                             .learners = LEARNERS,
			                                             .net = &net};
			struct crumb_exchange *x;
			size_t first, count;
			char why[200];
			assert_int_equal(crumb_exchange_open(&x, &config, why, sizeof why), 0);
			crumb_exchange_learners(x, &first, &count);
			assert_int_equal(first, next);
			assert_true(count >= LEARNERS / ranks && count <= (LEARNERS + ranks - 1) / ranks);
			next += count;
			crumb_exchange_close(x);
		}
		assert_int_equal(next, LEARNERS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_mean_has_the_same_bits_everywhere),
	        cmocka_unit_test(mixed_policies_have_the_same_bits),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(a_nan_is_skipped_together),
	        cmocka_unit_test(another_model_is_refused),
	        cmocka_unit_test(other_shares_are_refused),
	        cmocka_unit_test(a_leaver_keeps_nobody_waiting),
	        cmocka_unit_test(a_sleeper_keeps_nobody_waiting_for_ever),
	        cmocka_unit_test(damage_is_an_error),
	        cmocka_unit_test(random_errors_average_out),
	        cmocka_unit_test(stats_count),
	        cmocka_unit_test(a_wrong_slice_table_is_refused),
	        cmocka_unit_test(learners_are_divided),
	        cmocka_unit_test(slices_are_cut),
	        cmocka_unit_test(refusals_name_both_sides),
	};
	for (size_t s = 0; s < SLICES; s++) {
		slices[s].at = total;
		total += slices[s].n;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
