/* Gradients by any number of threads: their bits are those of one.
 *
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/team.h"
#include "net_cases.h"
#include "train/data/drawn_digits.h"
#include "train/layers/init.h"
#include "train/split.h"
#include "train/train.h"
#include "train/worker.h"

static void small_data(struct data *data)
{
	char why[256];
	*data = (struct data){0};
	assert_int_equal(drawn_digits_make(data, false, 400, 100, why, sizeof why), 0);
	data->mean = 37;
	data->scale = 1.0f / 60;
}

static size_t threads_now(void)
{
	size_t n = 0;
	DIR *tasks = opendir("/proc/self/task");
	assert_non_null(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks));)
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}

struct crowd {
	struct worker *worker[3];
	const float *param;
	float *grad[8];
	size_t learners;
};

static void crowd_task(void *arg, size_t l, unsigned thread)
{
	enum { BATCH = 100 };
	struct crowd *crowd = arg;
	uint32_t index[BATCH];
	double loss;
	const size_t n = split_size(BATCH, crowd->learners, l);
	for (size_t i = 0; i < n; i++)
		index[i] = (uint32_t)(3 * (split_first(BATCH, crowd->learners, l) + i));
	if (worker_gradient(crowd->worker[thread], crowd->param, index, n, NULL, crowd->grad[l], &loss,
	                    NULL) < 0)
		crowd->grad[l][0] = NAN;
}

/* Computes 8 gradients into `grad`, one after another, on so many threads. */
static void gradients_on(unsigned threads, const struct net *net, const struct data *data, const float *param,
                         float *grad)
{
	struct crowd crowd = {.param = param, .learners = 8};
	struct team *team = crumb_team_open(threads);
	assert_non_null(team);
	for (unsigned i = 0; i < threads; i++)
		assert_non_null(crowd.worker[i] = worker_open(net, data));
	for (size_t l = 0; l < crowd.learners; l++)
		crowd.grad[l] = grad + l * net->parameters;
	const size_t before = threads_now();
	crumb_team_run(team, crowd_task, &crowd, crowd.learners);
	assert_int_equal(threads_now(), before); /* oneDNN has started none */
	for (unsigned i = 0; i < threads; i++)
		worker_close(crowd.worker[i]);
	crumb_team_close(team);
}

static void a_gradient_is_one_threads_work(void **state)
{
	(void)state;
	struct data data;
	struct net net;
	small_data(&data);
	open_net(&net, model_find("lenet"), data.shape);
	float *param = new_floats(net.parameters), *one = new_floats(8 * net.parameters),
	      *many = new_floats(8 * net.parameters);
	init_parameters(&net, 1, param);
	gradients_on(1, &net, &data, param, one);
	for (unsigned threads = 2; threads <= 3; threads++) {
		gradients_on(threads, &net, &data, param, many);
		assert_memory_equal(one, many, 8 * net.parameters * sizeof *one);
	}
	free(param);
	free(one);
	free(many);
	data_close(&data);
}

static void micro_batches_add_up(void **state)
{
	(void)state;
	enum { N = 70 }; /* three micro-batches */
	struct data data;
	struct net net;
	small_data(&data);
	open_net(&net, model_find("lenet"), data.shape);
	float *param = new_floats(net.parameters), *whole = new_floats(net.parameters),
	      *single = new_floats(net.parameters);
	double *sum = calloc(net.parameters, sizeof *sum), loss, losses = 0, norm = 0, difference = 0;
	assert_non_null(sum);
	init_parameters(&net, 1, param);
	struct worker *worker = worker_open(&net, &data);
	assert_non_null(worker);
	uint32_t index[N];
	for (uint32_t i = 0; i < N; i++) {
		index[i] = (7 * i) % 400;
		assert_int_equal(worker_gradient(worker, param, &index[i], 1, NULL, single, &loss, NULL), 0);
		losses += loss / N;
		for (size_t k = 0; k < net.parameters; k++)
			sum[k] += (double)single[k] / N;
	}
	assert_int_equal(worker_gradient(worker, param, index, N, NULL, whole, &loss, NULL), 0);
	assert_float_equal(loss, losses, 1e-5);
	for (size_t k = 0; k < net.parameters; k++) {
		norm += sum[k] * sum[k];
		difference += (sum[k] - whole[k]) * (sum[k] - whole[k]);
	}
	assert_true(norm > 0 && difference < 1e-10 * norm);
	worker_close(worker);
	free(param);
	free(whole);
	free(single);
	free(sum);
	data_close(&data);
}

/* Returns a run's report, which depends on the last bit of every parameter's history: loss and residual are
 * sums over everything. */
static struct report run_on(unsigned threads, const char *policy, const struct data *data,
                            const struct net *net)
{
	static struct options options;
	char why[256] = "";
	struct report run;
	struct log log = {0};
	options = (struct options){.model = net->model,
	                           .data = "digits",
	                           .learners = 7,
	                           .batch = 25,
	                           .epochs = 2,
	                           .lr = 0.02,
	                           .momentum = 0.9,
	                           .seed = 3,
	                           .plan = crumb_plan_find("gather"),
	                           .down_exact = true};
	options.codec[0].text = policy;
	assert_int_equal(crumb_policy_parse(&options.codec[0].policy, policy, NULL), 0);
	struct team *team = crumb_team_open(threads);
	assert_non_null(team);
	const struct train_setting setting = {&options, data, net, team, NULL, &log, NULL};
	if (train_run(&setting, 0, &run, why, sizeof why) < 0)
		fail_msg("%s", why);
	crumb_team_close(team);
	return run;
}

static void training_does_not_depend_on_threads(void **state)
{
	(void)state;
	struct data data;
	struct net net;
	small_data(&data);
	open_net(&net, model_find("lenet"), data.shape);
	const struct report one = run_on(1, "conv=adacomp;fc=terngrad", &data, &net),
	                    many = run_on(3, "conv=adacomp;fc=terngrad", &data, &net);
	assert_true(one.loss > 0 && one.loss < 2.5);
	assert_memory_equal(&one.loss, &many.loss, sizeof one.loss);
	assert_memory_equal(&one.error, &many.error, sizeof one.error);
	assert_memory_equal(&one.residual_norm, &many.residual_norm, sizeof one.residual_norm);
	assert_int_equal(one.bytes, many.bytes);
	data_close(&data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_gradient_is_one_threads_work),
	        cmocka_unit_test(micro_batches_add_up),
	        cmocka_unit_test(training_does_not_depend_on_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
