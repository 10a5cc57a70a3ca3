/* The exchange when something is wrong: whatever fails, every rank gets the error and none waits in vain.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "tests/exchange_cases.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exchange/message.h"
#include "exchange/plan.h"
#include "exchange/team.h"
#include "exchange/transport.h"

/* ---- one rank of several ------------------------------------------------------------------------ */

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
		job.extras = ref->extras = 1; /* a step that is skipped leaves none behind */
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

	for (size_t i = 0; (plan = crumb_plan_list(i)) && !plan->between; i++)
		nan_in(plan, policy, text, defaults);
}

static void a_nan_is_skipped_together(void **state)
{
	(void)state;
	for_every_setting(nan_law);
}

/* Rank 1 of two reads what rank 0 has sent until some time after rank 0 has given it up, and begun to close.
 */
struct reader {
	struct crumb_exchange_net *net;
	atomic_bool given_up;
};

static void *slow_reader(void *arg)
{
	struct reader *reader = arg;
	struct crumb_exchange_net *net = reader->net;
	uint8_t byte = 1;
	const crumb_span out[2] = {{&byte, 1}, {&byte, 1}};
	const crumb_span nothing[2] = {{NULL, 0}, {NULL, 0}};
	crumb_span in[2];
	int wrong = net->swap(net, out, in);

	for (int more = 50; more > 0; more -= atomic_load(&reader->given_up)) {
		nanosleep(&(struct timespec){0, 2000000}, NULL);
		wrong |= *(const volatile uint8_t *)in[0].data != 7;
	}
	wrong |= net->swap(net, nothing, in) != CRUMB_EPEER;
	net->close(net);
	return wrong ? net : NULL;
}

static void memory_that_is_read_stays(void **state)
{
	struct crumb_exchange_net *net[2];
	struct reader other = {0};
	uint8_t *byte = must(malloc(1));
	const crumb_span out[2] = {{byte, 1}, {byte, 1}};
	const crumb_span nothing[2] = {{NULL, 0}, {NULL, 0}};
	crumb_span in[2];
	pthread_t reader;
	void *wrong;

	(void)state;
	*byte = 7;
	assert_int_equal(crumb_exchange_threads(net, 2), 0);
	other.net = net[1];
	assert_int_equal(pthread_create(&reader, NULL, slow_reader, &other), 0);
	net[0]->timeout = INFINITY;
	assert_int_equal(net[0]->swap(net[0], out, in), 0);
	net[0]->timeout = 0.05;
	assert_int_equal(net[0]->swap(net[0], nothing, in), CRUMB_EPEER);
	atomic_store(&other.given_up, true);
	assert_true(net[0]->close(net[0]));
	*byte = 0;
	free(byte);
	pthread_join(reader, &wrong);
	assert_null(wrong);
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
		struct job job = plain_job;
		job.policy = &policy;
		job.ranks = 3;
		for (job.odd_rank = 0; job.odd_rank < job.ranks; job.odd_rank++)
			assert_refused(&job, CRUMB_EFRAME, 0, 0);
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

/* A rank that hangs does so, too, but after their timeout. */
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
	struct crumb_exchange_net net;
	unsigned swaps, lie; /* swaps so far, and the one whose message is damaged */
	size_t at;           /* the damaged byte, modulo the length */
	uint8_t flip;        /* its bits that flip; 0: the message ends there */
	bool pad; /* instead, the message gets one byte more; if at is not 0, its last frame does */
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
	head.sum = crumb_message_hash(0, table, SLICES * sizeof length);
	memcpy(message, &head, sizeof head);
}

static int liar_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct liar *liar = (struct liar *)net;

	in[0] = out[0];
	if (liar->swaps++ != liar->lie)
		return 0;
	const size_t at = liar->at % out[0].len;
	const size_t len = liar->pad ? out[0].len + 1 : liar->flip ? out[0].len : at;
	free(liar->message);
	liar->message =
	        must(malloc(len + !len)); /* no longer than its span: a sanitizer notices reads past it */
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

static void liar_leave(struct crumb_exchange_net *net) { (void)net; }

static struct team *pair; /* two threads, which cut a slice */
static float *first_gradient, *mean;

static void lie(const struct plan *plan, const struct policy *policy, const char *text, struct liar liar)
{
	liar.net = (struct crumb_exchange_net){.ranks = 1, .swap = liar_swap, .leave = liar_leave};
	const struct crumb_exchange_config config = {.slices = slices,
	                                             .slice_count = SLICES,
	                                             .plan = plan,
	                                             .policy = policy,
	                                             .learners = 1,
	                                             .seed = CASE_SEED,
	                                             .net = &liar.net,
	                                             .team = liar.at % 2 ? pair : NULL};
	const float share = 1;
	struct crumb_exchange *x;
	char why[200];
	const float *const grads[] = {first_gradient};

	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	const int error = crumb_exchange_step(x, grads, &share, mean);
	if (error >= 0)
		fail_msg("%s, %s: swap %u, byte %zu ^ %d, pad %d goes unnoticed", plan->name, text, liar.lie,
		         liar.at, liar.flip, liar.pad);
	assert_true(strlen(crumb_exchange_why(x)) > 0);
	assert_int_equal(crumb_exchange_step(x, grads, &share, mean), error); /* final */
	crumb_exchange_close(x);
	free(liar.message);
}

/* A flipped bit, a cut, or a byte too many, anywhere in any message, is an error and does no harm. */
static void damage_in(const struct plan *plan, const struct policy *policy, const char *text)
{
	for (unsigned swap = 0; swap < plan->swaps; swap++) {
		for (size_t at = 0; at < (!strcmp(text, "raw") ? 200 : 20); at++)
			lie(plan, policy, text,
			    (struct liar){.lie = swap, .at = at, .flip = (uint8_t)(1u << at % 8)});
		for (size_t k = 0; k < 10; k++) {
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

	for (size_t i = 0; defaults && (plan = crumb_plan_list(i)) && !plan->between; i++)
		damage_in(plan, policy, text);
}

static void damage_is_an_error(void **state)
{
	(void)state;
	pair = must(crumb_team_open(2));
	first_gradient = must(malloc(total * sizeof *first_gradient));
	mean = must(malloc(total * sizeof *mean));
	make_gradient(first_gradient, 0, 0);
	for_every_setting(damage_law);
	free(first_gradient);
	free(mean);
	crumb_team_close(pair);
}

/* ---- one rank over a transport that ends ---------------------------------------------------------- */

struct ending {
	struct crumb_exchange_net net;
	unsigned swaps, last; /* swaps so far, and how many succeed */
	bool damages;         /* messages of step 0 are cut short, later ones tell of a NaN of rank 0 */
	uint8_t message[sizeof(struct message_head)];
	char farewell[160];
};

static int ending_swap(struct crumb_exchange_net *net, const crumb_span *out, crumb_span *in)
{
	struct ending *ending = (struct ending *)net;
	struct message_head head;

	if (ending->swaps++ >= ending->last) {
		snprintf(net->why, sizeof net->why, "rank 7 has left");
		return CRUMB_EPEER;
	}
	in[net->rank] = out[net->rank];
	if (!ending->damages || !out[0].len)
		return 0;
	struct outgoing nan = {ending->message, 0, sizeof head};
	memcpy(&head, out[0].data, sizeof head);
	head.rank = 0;
	head.error = CRUMB_ENONFINITE;
	crumb_message_seal(&head, &nan);
	in[0] = (crumb_span){ending->message, head.step > 0 ? sizeof head : sizeof head - 1};
	return 0;
}

static void ending_leave(struct crumb_exchange_net *net)
{
	struct ending *ending = (struct ending *)net;

	memcpy(ending->farewell, net->why, sizeof net->why);
}

static bool ending_close(struct crumb_exchange_net *net)
{
	(void)net;
	return true;
}

static struct ending ending_after(unsigned last)
{
	return (struct ending){.net = {.ranks = 1,
	                               .shares_memory = true,
	                               .swap = ending_swap,
	                               .leave = ending_leave,
	                               .close = ending_close},
	                       .last = last};
}

/* A transport may end after a step has its mean; whenever it does, later steps fail and say why. */
static void a_transport_that_has_ended_says_why(void **state)
{
	const struct plan *plan;
	const float share = 1;
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
	const float *const grads[] = {grad};

	(void)state;
	make_gradient(grad, 0, 0);
	for (size_t p = 0; (plan = crumb_plan_list(p)) && !plan->between; p++)
		for (unsigned last = 0; last <= plan->swaps; last++) {
			struct ending ending = ending_after(last);
			const struct crumb_exchange_config config = {.slices = slices,
			                                             .slice_count = SLICES,
			                                             .plan = plan,
			                                             .learners = 1,
			                                             .net = &ending.net};
			struct crumb_exchange *x;
			char why[200];
			assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
			crumb_exchange_step(x, grads, &share, mean);
			for (int step = 1; step < 3; step++) {
				assert_int_equal(crumb_exchange_step(x, grads, &share, mean), CRUMB_EPEER);
				assert_non_null(strstr(crumb_exchange_why(x), "rank 7 has left"));
			}
			crumb_exchange_close(x);
		}
	free(grad);
	free(mean);
}

/* A rank that has failed alone does not skip a step that another one's NaN has ended. */
static void an_error_stays_whatever_others_say(void **state)
{
	const float shares[] = {0.5f, 0.5f};
	float *grad = must(malloc(total * sizeof *grad)), *mean = must(malloc(total * sizeof *mean));
	const float *const grads[] = {grad};
	struct ending ending = ending_after(1000);
	const struct crumb_exchange_config config = {
	        .slices = slices, .slice_count = SLICES, .learners = 2, .net = &ending.net};
	struct exchange_stats stats;
	struct crumb_exchange *x;
	char why[200];

	(void)state;
	ending.net.rank = 1;
	ending.net.ranks = 2;
	ending.damages = true;
	make_gradient(grad, 0, 0);
	assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), 0);
	for (int step = 0; step < 3; step++)
		assert_int_equal(crumb_exchange_step(x, grads, shares, mean), CRUMB_EFRAME);
	crumb_exchange_read_stats(x, &stats);
	assert_int_equal(stats.skipped, 0);
	crumb_exchange_close(x);
	free(grad);
	free(mean);
}

/* Who leaves says what is wrong. */
static void a_farewell_says_why(void **state)
{
	const struct crumb_exchange_slice slice = {100, 0, "fc"};
	const struct crumb_exchange_options options = {.overlap = 1};
	struct ending ending = ending_after(1000);
	struct crumb_exchange *x;
	float grad[100] = {0}, other[100] = {0}, mean[100];
	char why[CRUMB_EXCHANGE_WHY_MAX];

	(void)state;
	ending.net.any_thread = true;
	assert_int_equal(crumb_exchange_open(&x, &ending.net, &slice, 1, &options, why, sizeof why), 0);
	assert_int_equal(crumb_exchange_ready(x, grad, mean, 50), 0);
	assert_int_equal(crumb_exchange_mean(x, other, mean), CRUMB_EINVAL);
	crumb_exchange_close(x);
	assert_non_null(strstr(ending.farewell, "other arrays"));
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void a_wrong_slice_table_is_refused(void **state)
{
	const struct policy policy = parse_policy("raw");

	(void)state;
	for (int fault = 0; fault < 5; fault++) {
		struct crumb_slice wrong[SLICES];
		struct crumb_exchange *x = NULL;
		char why[200] = "";
		memcpy(wrong, slices, sizeof wrong);
		struct crumb_exchange_net net = {.rank = fault == 4, .ranks = 1};
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
		assert_int_equal(crumb_exchange_start(&x, &config, why, sizeof why), CRUMB_EINVAL);
		assert_null(x);
		assert_true(strlen(why) > 0);
	}
}

/* A refusal names both ranks, whatever differs. */
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
	        {offsetof(struct message_head, weights),
	         CRUMB_EFRAME,
	         {"rank 3 weights the learners otherwise", "than rank 2"}},
	};
	struct message_head mine = {
	        .phase = MESSAGE_UP, .rank = 2, .step = 7, .model = 1, .table = 2, .setup = 3, .weights = 4};
	char why[CRUMB_EXCHANGE_WHY_MAX];

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_transport_that_has_ended_says_why),
	        cmocka_unit_test(an_error_stays_whatever_others_say),
	        cmocka_unit_test(a_farewell_says_why),
	        cmocka_unit_test(a_nan_is_skipped_together),
	        cmocka_unit_test(memory_that_is_read_stays),
	        cmocka_unit_test(another_model_is_refused),
	        cmocka_unit_test(other_shares_are_refused),
	        cmocka_unit_test(a_leaver_keeps_nobody_waiting),
	        cmocka_unit_test(a_sleeper_keeps_nobody_waiting_for_ever),
	        cmocka_unit_test(damage_is_an_error),
	        cmocka_unit_test(a_wrong_slice_table_is_refused),
	        cmocka_unit_test(refusals_name_both_sides),
	};
	place_slices();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
