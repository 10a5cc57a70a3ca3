/* Training against its definition: stochastic gradient descent, written out.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "train/data/drawn_digits.h"
#include "train/data/random.h"
#include "train/layers/init.h"
#include "train/split.h"
#include "train/train.h"
#include "train/worker.h"

static const struct layer one_layer[] = {{.type = LAYER_FC, .units = 10}};
static const struct model model = {.name = "one", .layers = one_layer, .layer_count = 1};

enum { TESTED = WORKER_MOST + 3 }; /* samples: one micro-batch and part of another */

struct problem {
	struct data data;
	struct net net;
};

static void problem_open(struct problem *p, size_t samples)
{
	char why[256] = "";
	*p = (struct problem){0};
	assert_int_equal(drawn_digits_make(&p->data, false, samples, TESTED, why, sizeof why), 0);
	p->data.mean = 37;
	p->data.scale = 1.0f / 60;
	assert_int_equal(net_open(&p->net, &model, p->data.shape, why, sizeof why), 0);
}

/* Trains, with raw gradients unless the options name a codec. The report's loss is the last epoch's, before
 * its steps. */
static struct report train_report(const struct problem *p, struct options *options)
{
	char why[256] = "";
	struct report run;
	struct log log = {0};
	if (!options->codec[0].text)
		options->codec[0].text = "raw";
	options->model = &model;
	options->data = "digits";
	options->plan = crumb_plan_find("gather");
	options->down_exact = true;
	assert_int_equal(crumb_policy_parse(&options->codec[0].policy, options->codec[0].text, NULL), 0);
	const struct train_setting setting = {options, &p->data, &p->net, NULL, NULL, &log, NULL};
	if (train_run(&setting, 0, &run, why, sizeof why) < 0)
		fail_msg("%s", why);
	return run;
}

static double train(const struct problem *p, struct options *options)
{
	return train_report(p, options).loss;
}

/* Descends by all samples at once, an epoch a step. Returns the last loss. */
static double descend(const struct problem *p, const struct options *options)
{
	const size_t n = p->net.parameters, samples = p->data.train.count;
	float *param = malloc(n * sizeof *param), *grad = malloc(n * sizeof *grad);
	double *velocity = calloc(n, sizeof *velocity), loss = 0;
	uint32_t *index = malloc(samples * sizeof *index);
	struct worker *worker = worker_open(&p->net, &p->data);
	assert_true(param && grad && velocity && index && worker);
	for (size_t i = 0; i < samples; i++)
		index[i] = (uint32_t)i;
	init_parameters(&p->net, options->seed, param);
	for (size_t epoch = 0; epoch < options->epochs; epoch++) {
		const double rate = schedule_rate(&options->schedule, options->lr, (double)epoch,
		                                  (double)options->epochs) *
		                    schedule_warmup(options->warmup, (double)epoch + 1);
		assert_int_equal(worker_gradient(worker, param, index, samples, NULL, grad, &loss, NULL), 0);
		for (size_t i = 0; i < n; i++) {
			velocity[i] = options->momentum * velocity[i] + grad[i] +
			              options->weight_decay * (double)param[i];
			param[i] = (float)(param[i] - rate * velocity[i]);
		}
	}
	worker_close(worker);
	free(param);
	free(grad);
	free(velocity);
	free(index);
	return loss;
}

/* Splits five samples among three learners: two of them have twice the third's share. */
static void follows_descent(bool decay_first)
{
	static struct options options;
	struct problem p;
	problem_open(&p, 5);
	options = (struct options){
	        .learners = 3, .batch = 5, .lr = 0.01, .momentum = 0.9, .weight_decay = 0.5, .seed = 1};
	options.decay_first = decay_first;
	options.warmup = 3;
	assert_int_equal(schedule_parse(&options.schedule, "step:every=2,factor=0.1", NULL), 0);
	for (options.epochs = 1; options.epochs <= 5; options.epochs++)
		assert_float_equal(train(&p, &options), descend(&p, &options), 1e-4);
	data_close(&p.data);
}

static void training_is_descent(void **state)
{
	(void)state;
	follows_descent(false);
}

static void decay_before_the_exchange_is_decay_after_it(void **state)
{
	(void)state;
	follows_descent(true);
}

/* A codec that sends nothing holds decay back, too, if that is in the gradient. */
static void decay_first_is_compressed(void **state)
{
	(void)state;
	static struct options options;
	struct problem p;
	problem_open(&p, 5);
	net_flatten(&p.net); /* a short slice of biases would go raw */
	options = (struct options){.learners = 3, .batch = 5, .lr = 0.1, .weight_decay = 0.5, .seed = 1};
	options.codec[0].text = "twobit:threshold=1e6";
	for (size_t first = 0; first < 2; first++) {
		double loss[2];
		options.decay_first = first;
		for (size_t i = 0; i < 2; i++) {
			options.epochs = 1 + 2 * i;
			loss[i] = train(&p, &options);
		}
		assert_int_equal(fabs(loss[1] - loss[0]) < 1e-6, first);
	}
	data_close(&p.data);
}

/* Outer steps that take over what the learners' weights have moved by are ordinary training: of one learner
 * with any optimizer, however many steps it takes alone, and of several that take one, with an optimizer that
 * is linear. */
static void outer_steps_can_be_ordinary(void **state)
{
	(void)state;
	static struct options options;
	static const struct {
		const char *optimizer;
		size_t learners, local_steps;
	} cases[] = {{"sgd", 1, 1},  {"sgd", 1, 3},   {"sgd", 1, 100}, {"adam", 1, 1},
	             {"adam", 1, 4}, {"adamw", 1, 3}, {"sgd", 3, 1},   {"rmsprop:epsilon=0.1", 1, 2}};
	struct problem p;
	problem_open(&p, 24);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double loss[2];
		for (size_t local = 0; local < 2; local++) {
			options = (struct options){.learners = cases[i].learners,
			                           .batch = 6,
			                           .epochs = 4,
			                           .lr = 0.002,
			                           .momentum = 0.9,
			                           .weight_decay = 0.1,
			                           .clip_norm = cases[i].learners == 1 ? 5 : 0,
			                           .seed = 1,
			                           .local_steps = local ? cases[i].local_steps : 0,
			                           .outer_lr = 1};
			assert_int_equal(optimizer_parse(&options.optimizer, cases[i].optimizer, NULL), 0);
			loss[local] = train(&p, &options);
		}
		assert_true(loss[0] < 2.5);
		assert_float_equal(loss[0], loss[1], 1e-5);
	}
	data_close(&p.data);
}

/* An epoch of seven steps, three of them taken alone: three exchanges, after the third, the sixth and the
 * last. */
static void exchanges_are_counted(void **state)
{
	(void)state;
	static struct options options;
	static const char *const codecs[] = {"raw", "half"};
	struct problem p;
	problem_open(&p, 42);
	net_flatten(&p.net);
	for (size_t i = 0; i < 2; i++) {
		options = (struct options){
		        .learners = 3, .batch = 6, .epochs = 3, .lr = 0.002, .momentum = 0.9};
		options.codec[0].text = codecs[i];
		options.local_steps = 3;
		options.outer_lr = 0.7;
		options.outer_momentum = 0.5;
		const struct report run = train_report(&p, &options);
		const double floats = 9.0 * (double)p.net.parameters * sizeof(float) / (double)(1 + i);
		assert_int_equal(run.stats.steps, 9);
		assert_int_equal(run.stats.skipped, 0);
		assert_true((double)run.bytes > floats && (double)run.bytes < 1.01 * floats);
		assert_true(run.loss < 2.5);
	}
	data_close(&p.data);
}

/* Trains at a rate near 0: the loss then shows which samples an epoch took in its one step. */
static void epochs_are_shuffled(void **state)
{
	(void)state;
	static struct options options;
	struct problem p;
	double loss[4];
	problem_open(&p, 24);
	options = (struct options){.learners = 1, .batch = 16, .lr = 1e-30};
	for (options.seed = 1; options.seed <= 2; options.seed++)
		for (options.epochs = 1; options.epochs <= 2; options.epochs++)
			loss[2 * (options.seed - 1) + options.epochs - 1] = train(&p, &options);
	assert_true(fabs(loss[0] - loss[1]) > 1e-3); /* both begin with the same weights */
	assert_true(fabs(loss[2] - loss[3]) > 1e-3);
	data_close(&p.data);
}

/* Compares a batch's loss and gradient with the means of its samples'; so it does not matter which learner
 * has a sample. */
static double is_mean_of_samples(struct worker *worker, const struct net *net, const float *param,
                                 const uint32_t *index, size_t samples)
{
	const size_t n = net->parameters;
	float *grad = malloc(n * sizeof *grad), *one = malloc(n * sizeof *one);
	double *sum = calloc(n, sizeof *sum), loss, own, mean = 0;
	assert_true(grad && one && sum);
	for (size_t i = 0; i < samples; i++) {
		assert_int_equal(worker_gradient(worker, param, index + i, 1, NULL, one, &own, NULL), 0);
		mean += own / (double)samples;
		for (size_t k = 0; k < n; k++)
			sum[k] += one[k] / (double)samples;
	}
	assert_int_equal(worker_gradient(worker, param, index, samples, NULL, grad, &loss, NULL), 0);
	assert_float_equal(loss, mean, 1e-5);
	for (size_t k = 0; k < n; k++)
		assert_float_equal(grad[k], sum[k], 1e-5);
	free(grad);
	free(one);
	free(sum);
	return loss;
}

static void a_samples_dropout_is_its_own(void **state)
{
	(void)state;
	enum { SAMPLES = 3 };
	static const struct layer layers[] = {{.type = LAYER_RELU}, {.type = LAYER_FC, .units = 10}};
	const struct model dropped = {.name = "dropped", .layers = layers, .layer_count = 2};
	const uint32_t index[SAMPLES] = {4, 0, 2};
	struct problem p;
	char why[256];
	problem_open(&p, 5);
	assert_int_equal(net_open(&p.net, &dropped, p.data.shape, why, sizeof why), 0);
	p.net.dropout = 0.5f;
	float *param = malloc(p.net.parameters * sizeof *param);
	struct worker *worker = worker_open(&p.net, &p.data);
	assert_true(param && worker);
	init_parameters(&p.net, 1, param);
	worker_epoch(worker, 1, 1);
	const double loss = is_mean_of_samples(worker, &p.net, param, index, SAMPLES);
	worker_epoch(worker, 1, 2);
	assert_true(fabs(is_mean_of_samples(worker, &p.net, param, index, SAMPLES) - loss) > 1e-3);
	worker_close(worker);
	free(param);
	data_close(&p.data);
}

/* Compares more samples than a micro-batch has with the same ones one by one, in training and in a test. */
static void micro_batches_are_added_up(void **state)
{
	(void)state;
	enum { SAMPLES = 2 * WORKER_MOST + 7 };
	struct problem p;
	problem_open(&p, SAMPLES);
	float *param = malloc(p.net.parameters * sizeof *param);
	uint32_t index[SAMPLES];
	struct worker *worker = worker_open(&p.net, &p.data);
	assert_true(param && worker);
	init_parameters(&p.net, 1, param);
	for (uint32_t i = 0; i < SAMPLES; i++)
		index[i] = SAMPLES - 1 - i;
	is_mean_of_samples(worker, &p.net, param, index, SAMPLES);

	struct worker_score all, one, sum = {0};
	for (size_t i = 0; i < TESTED; i++) {
		assert_int_equal(worker_test(worker, param, i, 1, &one), 0);
		sum.errors += one.errors;
		sum.loss += one.loss;
	}
	assert_int_equal(worker_test(worker, param, 0, TESTED, &all), 0);
	assert_int_equal(all.errors, sum.errors);
	assert_true(fabs(all.loss - sum.loss) < 1e-5 * sum.loss);
	worker_close(worker);
	free(param);
	data_close(&p.data);
}

static void parts_are_even(void **state)
{
	(void)state;
	for (size_t parts = 1; parts < 10; parts++)
		for (size_t n = 0; n < 30; n++) {
			size_t next = 0;
			for (size_t i = 0; i < parts; i++) {
				assert_int_equal(split_first(n, parts, i), next);
				assert_true(split_size(n, parts, i) == n / parts ||
				            (split_size(n, parts, i) == n / parts + 1 && i < n % parts));
				next += split_size(n, parts, i);
			}
			assert_int_equal(next, n);
		}
}

/* Tests the six orders of three samples by chi-square, 5 degrees of freedom: within 5 standard deviations. */
static void orders_are_equally_likely(void **state)
{
	(void)state;
	enum { DRAWS = 6000 };
	int seen[27] = {0};
	for (uint64_t seed = 0; seed < DRAWS; seed++) {
		uint32_t order[3];
		struct random random = random_stream(seed, RANDOM_SHUFFLE, 1);
		random_order(&random, order, 3);
		seen[9 * order[0] + 3 * order[1] + order[2]]++;
	}
	double chi = 0;
	int orders = 0;
	for (int i = 0; i < 27; i++) {
		orders += seen[i] > 0;
		chi += seen[i] ? pow(seen[i] - DRAWS / 6.0, 2) / (DRAWS / 6.0) : 0;
	}
	assert_int_equal(orders, 6);
	assert_true(chi < 5 + 5 * sqrt(10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(training_is_descent),
	        cmocka_unit_test(decay_before_the_exchange_is_decay_after_it),
	        cmocka_unit_test(decay_first_is_compressed),
	        cmocka_unit_test(outer_steps_can_be_ordinary),
	        cmocka_unit_test(exchanges_are_counted),
	        cmocka_unit_test(epochs_are_shuffled),
	        cmocka_unit_test(a_samples_dropout_is_its_own),
	        cmocka_unit_test(micro_batches_are_added_up),
	        cmocka_unit_test(parts_are_even),
	        cmocka_unit_test(orders_are_equally_likely),
	};
	return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
