/* The exchange: whatever the ranks, threads and codecs, the mean has the bits of plain crumb calls, one after
 * another. Plans that know nodes have test_tiers.c.
 *
 * SPDX-License-Identifier: MIT */
#include "tests/exchange_cases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/plan.h"
#include "exchange/transport.h"

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

	ref->extras = job->extras;
	for (unsigned step = 0; step < STEPS; step++)
		reference_step(ref, job->share, step);
	return ref;
}

/* Compares on any number of ranks, with equal weights and others, and without a transport. */
static void same_bits_of(struct job job, const char *text, bool defaults)
{
	struct reference *ref = reference_of(&job);

	for (job.ranks = 1; job.ranks <= MOST_RANKS; job.ranks++) {
		job.threads = 1 + (job.ranks + 1) % 3; /* 3 ranks have 2 */
		if (defaults || job.ranks == 3)
			assert_same_bits(&job, ref, text);
	}
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

/* A codec's default setting is tried in every plan that does not know nodes, the others in shard alone, where
 * all ranks pack means. */
static bool is_tried_in(const struct plan *plan, bool defaults)
{
	const struct plan *shard = crumb_plan_find("shard");

	assert_non_null(shard);
	return defaults || plan == shard;
}

static void same_bits_law(const struct policy *policy, const char *text, bool defaults)
{
	struct job job = plain_job;

	job.policy = policy;
	for (size_t i = 0; (job.plan = crumb_plan_list(i)) && !job.plan->between; i++) {
		if (!is_tried_in(job.plan, defaults))
			continue;
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

/* Statistics of further gradients are those of as many learners, each learner's after another's; a slice that
 * is not finite adds zeros. */
static void further_gradients_are_learners(void **state)
{
	const struct policy policy =
	        parse_policy("conv=alq:every=1;fc=amq:every=2;lstm,last=terngrad:shared=1;embedding=half");
	struct job job = plain_job;

	(void)state;
	job.policy = &policy;
	for (job.extras = 1; job.extras <= 3; job.extras += 2)
		for (size_t i = 0; (job.plan = crumb_plan_list(i)) && !job.plan->between; i++)
			same_bits_of(job, "further gradients", true);
}

/* The weighted gradients of all steps are the means that were applied, and the residuals. */
static void nothing_is_lost_in(const struct plan *plan, const struct policy *policy, const char *text)
{
	enum { LONG = 20 };
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = plan,
	                                             .policy = policy,
	                                             .down = policy,
	                                             .learners = LEARNERS,
	                                             .seed = CASE_SEED};
	struct crumb_exchange *x;
	char why[200];
	float *grad[LEARNERS], *mean = must(malloc(total * sizeof *mean));
	double *given = must(calloc(total, sizeof *given)), *size = must(calloc(total, sizeof *size));

	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (size_t l = 0; l < LEARNERS; l++)
		grad[l] = must(malloc(total * sizeof(float)));
	for (unsigned step = 0; step < LONG; step++) {
		for (size_t l = 0; l < LEARNERS; l++)
			make_gradient(grad[l], l, step);
		assert_int_equal(crumb_exchange_step(x, (const float *const *)grad, uneven_share, mean), 0);
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
		if (!crumb_packer_residual(crumb_exchange_packer(x, 0, s)) || strstr(text, "decay=") ||
		    has_momentum(crumb_packer_codec(crumb_exchange_packer(x, 0, s))))
			continue; /* a codec without a residual loses something, by its own law, as does one
			             that decays, and one with momentum sends more */
		for (size_t i = 0; i < slices[s].n; i++) {
			const size_t at = slices[s].at + i;
			crumb_packer *down = crumb_exchange_mean_packer(x, s);
			double owed = down ? crumb_packer_residual(down)[i] : 0;
			for (size_t l = 0; l < LEARNERS; l++)
				owed += (double)uneven_share[l] *
				        crumb_packer_residual(crumb_exchange_packer(x, l, s))[i];
			if (fabs(given[at] - owed) > 1e-5 * size[at])
				fail_msg("%s, %s: slice %zu, element %zu: given - applied is %g, residual %g",
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

	for (size_t i = 0; (plan = crumb_plan_list(i)) && !plan->between; i++)
		if (is_tried_in(plan, defaults))
			nothing_is_lost_in(plan, policy, text);
}

static void nothing_is_lost(void **state)
{
	(void)state;
	for_every_setting(nothing_is_lost_law);
}

/* Weighted sums of legal gradients may be above 2^120, which is limited where the mean is packed again. */
static void means_above_the_limit_end_nothing(void **state)
{
	static const char *const specs[] = {"raw", "chunk", "sign", "qsgd"};
	const float share[] = {0.5f, 0.5f, 0.5f};
	const struct plan *plan;
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));

	(void)state;
	for (size_t i = 0; i < total; i++)
		grad[i] = 0x1p120f;
	for (size_t c = 0; c < sizeof specs / sizeof *specs; c++)
		for (size_t i = 0; (plan = crumb_plan_list(i)) && !plan->between; i++) {
			const struct policy policy = parse_policy(specs[c]);
			const struct crumb_exchange_config config = {.slices = slices,
			                                             .slice_count = SLICES,
			                                             .plan = plan,
			                                             .policy = &policy,
			                                             .down = &policy,
			                                             .learners = 3,
			                                             .seed = CASE_SEED};
			struct crumb_exchange *x;
			char why[200];
			assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
			for (int step = 0; step < 40; step++)
				if (crumb_exchange_step(x, (const float *const[]){grad, grad, grad}, share,
				                        mean))
					fail_msg("%s, %s, step %d: %s", plan->name, specs[c], step,
					         crumb_exchange_why(x));
			crumb_exchange_close(x);
		}
	free(grad);
	free(mean);
}

/* ---- randomness ----------------------------------------------------------------------------- */

enum { MANY = 16 }; /* learners */

/* Returns the variance of the mean over learners with the same gradient, summed over its elements. */
static double variance(const struct policy *policy, size_t learners)
{
	enum { DRAWS = 30 };
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .policy = policy,
	                                             .learners = learners,
	                                             .seed = CASE_SEED};
	struct crumb_exchange *x;
	char why[200];
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
	double *sum = must(calloc(total, sizeof *sum)), *squares = must(calloc(total, sizeof *squares));
	const float *grads[MANY];
	float share[MANY];
	double result = 0;

	make_gradient(grad, 0, 0);
	for (size_t l = 0; l < learners; l++) {
		grads[l] = grad;
		share[l] = 1 / (float)learners;
	}
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (unsigned step = 0; step < DRAWS; step++) {
		assert_int_equal(crumb_exchange_step(x, grads, share, mean), 0);
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
		if (!(crumb_list(i)->flags & CRUMB_CODEC_RANDOM))
			continue;
		const double one = variance(&policy, 1);
		assert_true(one > 0);
		const double ratio = one / (variance(&policy, MANY) * MANY);
		if (!(ratio > 0.9 && ratio < 1.1))
			fail_msg("%s: the variance of the mean of %d learners is %g of what it should be",
			         crumb_list(i)->name, MANY, 1 / ratio);
	}
}

/* ---- statistics and slices ------------------------------------------------------------------ */

static void stats_count(void **state)
{
	(void)state;
	for (size_t i = 0; crumb_list(i); i++) {
		const struct policy policy = parse_policy(crumb_list(i)->name);
		const struct crumb_exchange_config config = {.slices = slices,
		                                             .slice_count = SLICES,
		                                             .policy = &policy,
		                                             .learners = 1,
		                                             .seed = CASE_SEED};
		const float share = 1;
		struct exchange_stats stats;
		struct crumb_exchange *x;
		char why[200];
		float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
		const float *const grads[] = {grad};
		uint64_t n[CRUMB_KINDS] = {0}, nonzero[CRUMB_KINDS] = {0};

		assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
		for (unsigned step = 0; step < 12; step++) {
			make_gradient(grad, 0, step);
			assert_int_equal(crumb_exchange_step(x, grads, &share, mean), 0);
			for (size_t s = 0; s < SLICES && step % 10 == 0; s++)
				for (size_t k = 0; k < slices[s].n; k++)
					nonzero[slices[s].kind] += mean[slices[s].at + k] != 0;
		}
		for (size_t s = 0; s < SLICES; s++)
			n[slices[s].kind] += slices[s].n;
		crumb_exchange_read_stats(x, &stats);
		assert_int_equal(stats.steps, 12);
		assert_int_equal(stats.skipped, 0);
		for (int kind = 0; kind < CRUMB_KINDS; kind++) {
			assert_int_equal(stats.dense[kind], 12 * 4 * n[kind]);
			assert_int_equal(stats.elements[kind], 2 * n[kind]);
			assert_true(stats.sent[kind] >= nonzero[kind] && stats.sent[kind] <= 2 * n[kind]);
			assert_true(stats.bytes[kind] >= 12 * (n[kind] > 0) * CRUMB_HEADER_BYTES);
		}
		crumb_exchange_reset_stats(x);
		crumb_exchange_read_stats(x, &stats);
		assert_int_equal(stats.steps, 0);
		assert_int_equal(stats.bytes[CRUMB_FC], 0);
		crumb_exchange_close(x);
		free(grad);
		free(mean);
	}
}

/* Parts cover the slices in order, and are short enough, nearly equal and whole runs. */
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

static void learners_are_divided(void **state)
{
	const struct policy policy = parse_policy("raw");

	(void)state;
	for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
		size_t next = 0;
		for (unsigned r = 0; r < ranks; r++) {
			struct crumb_exchange_net net = {.rank = r, .ranks = ranks};
			const struct crumb_exchange_config config = {.slices = slices,
			                                             .slice_count = SLICES,
			                                             .policy = &policy,
			                                             .learners = LEARNERS,
			                                             .net = &net};
			struct crumb_exchange *x;
			size_t first, count;
			char why[200];
			assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
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
	        cmocka_unit_test(further_gradients_are_learners),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(means_above_the_limit_end_nothing),
	        cmocka_unit_test(random_errors_average_out),
	        cmocka_unit_test(stats_count),
	        cmocka_unit_test(slices_are_cut),
	        cmocka_unit_test(learners_are_divided),
	};
	place_slices();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
