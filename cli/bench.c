/* crumb bench: the speed of codecs on one thread, and of the memory under them.
 *
 * A codec and the loops it is compared with run in turns, in one process, so that whatever slows the machine
 * down slows all of them. Time is the thread's CPU time, a figure is the median of its rounds. The gradient
 * is one of several, so that it comes from memory; a hash chooses which, because taking them in order would
 * give every kernel its own.
 *
 * SPDX-License-Identifier: MIT */
#include "command.h"
#include "floor.h"
#include "json.h"
#include "learner.h"
#include "timing.h"
#include "workload.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_ISA = OPTION_LONG, OPTION_JSON };
static const struct option_info options[] = {
        {'c', "codec", "SPEC", "measure this one; may be repeated (every codec, at its defaults)"},
        {'n', "elements", "ELEMENTS", "of the gradient (16777216: far more than caches hold)"},
        {OPTION_ISA, "isa", "NAME", "with this instruction set, or all; may be repeated (the best one)"},
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a codec and instruction set"},
        {0, NULL, NULL, NULL},
};

enum kernel { PACK, READ, PACK_SAFE, FLOOR, UNPACK, SCALE, COPY, KERNELS };
static const char *const kernel_keys[KERNELS] = {"pack_gbps",   "read_gbps",  "pack_safe_gbps", "floor_gbps",
                                                 "unpack_gbps", "scale_gbps", "memcpy_gbps"};
enum { GRADIENTS_LOG2 = 2, GRADIENTS = 1 << GRADIENTS_LOG2, ROUNDS = 21 };
enum { WARM_STEPS = 3, WARM_STEPS_RESIDUAL = 40 };

/* Everything of n elements, allocated once. */
struct bench {
	size_t n, turn;
	float *grad[GRADIENTS], *residual, *acc, *scaled, *copy;
	volatile float sink; /* keeps the compiler from dropping a sum that nobody wants */
};

static const float *next_gradient(struct bench *bench)
{
	return bench->grad[bench->turn++ * UINT64_C(0x9e3779b97f4a7c15) >> (64 - GRADIENTS_LOG2)];
}

static int64_t run_kernel(struct bench *bench, struct learner *learner, enum kernel kernel)
{
	const float *grad = next_gradient(bench);
	switch (kernel) {
	case PACK:
		return learner_pack(learner, grad, CRUMB_F32, CRUMB_KNOWN_FINITE);
	case PACK_SAFE:
		return learner_pack(learner, grad, CRUMB_F32, 0);
	case UNPACK:
		return crumb_unpack_add(learner->frame, learner->cap, 0.125f, bench->acc, bench->n);
	case READ:
		bench->sink = floor_sum(grad, bench->n);
		return 0;
	case FLOOR:
		floor_add(bench->residual, grad, bench->n);
		return 0;
	case SCALE:
		floor_scale(bench->scaled, 1.0f, bench->n);
		return 0;
	case COPY:
		memcpy(bench->copy, grad, bench->n * sizeof *grad);
		return 0;
	case KERNELS:
		break;
	}
	return CRUMB_EINVAL;
}

/* GB/s of f32 input, by kernel. */
static int measure(struct bench *bench, struct learner *learner, int warm_steps, double *gbps)
{
	static double sample[KERNELS][ROUNDS];
	int64_t result = 0;
	for (int step = 0; step < warm_steps && result >= 0; step++)
		result = learner_pack(learner, next_gradient(bench), CRUMB_F32, 0);
	const size_t repeats = timing_repeats(bench->n);
	for (int round = 0; round < ROUNDS; round++)
		for (int k = 0; k < KERNELS; k++) {
			const double start = timing_now();
			for (size_t i = 0; i < repeats && result >= 0; i++)
				result = run_kernel(bench, learner, (enum kernel)k);
			sample[k][round] = 4e-9 * (double)(bench->n * repeats) / (timing_now() - start);
		}
	if (result < 0)
		return command_fail("%s", crumb_strerror((int)result));
	for (int k = 0; k < KERNELS; k++)
		gbps[k] = timing_median(sample[k], ROUNDS);
	return STATUS_OK;
}

static int bench_codec(struct bench *bench, const crumb_codec *codec, double *gbps)
{
	struct learner learner;
	int status = learner_open(&learner, codec, bench->n, 1);
	if (!status)
		status = measure(bench, &learner,
		                 command_codec(codec)->flags & CRUMB_RESIDUAL ? WARM_STEPS_RESIDUAL
		                                                              : WARM_STEPS,
		                 gbps);
	learner_close(&learner);
	return status;
}

static void print_head(size_t n)
{
	printf("GB/s of f32 input, one thread, %zu elements. floor: r += g, read: sum of g, scale: acc *= s\n\n",
	       n);
	printf("%-32s %-9s %7s %7s %7s %8s %7s %7s %7s\n", "codec", "isa", "pack", "safe", "unpack", "floor",
	       "read", "scale", "memcpy");
}

static void print_text(const char *spec, const double *gbps)
{
	printf("%-32s %-9s %7.2f %7.2f %7.2f %8.2f %7.2f %7.2f %7.2f\n", spec, crumb_isa(), gbps[PACK],
	       gbps[PACK_SAFE], gbps[UNPACK], gbps[FLOOR], gbps[READ], gbps[SCALE], gbps[COPY]);
}

static void print_json(const char *spec, const double *gbps, size_t n)
{
	static const enum kernel order[KERNELS] = {PACK, PACK_SAFE, UNPACK, FLOOR, READ, SCALE, COPY};
	fputs("{\"codec\": ", stdout);
	json_string(stdout, spec);
	fputs(", \"isa\": ", stdout);
	json_string(stdout, crumb_isa());
	printf(", \"n\": %zu, \"threads\": 1", n);
	for (size_t i = 0; i < KERNELS; i++)
		printf(", \"%s\": %.4g", kernel_keys[order[i]], gbps[order[i]]);
	fputs("}\n", stdout);
}

static int open_bench(struct bench *bench)
{
	const size_t bytes = bench->n * sizeof(float);
	float **const arrays[] = {&bench->residual, &bench->acc, &bench->scaled, &bench->copy};
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		if (!(*arrays[i] = command_memory(bytes)))
			return STATUS_FAILED;
		workload_gradient(*arrays[i], bench->n, GRADIENTS + i);
	}
	for (size_t i = 0; i < GRADIENTS; i++) {
		if (!(bench->grad[i] = command_memory(bytes)))
			return STATUS_FAILED;
		workload_gradient(bench->grad[i], bench->n, i);
	}
	return STATUS_OK;
}

static void close_bench(struct bench *bench)
{
	for (size_t i = 0; i < GRADIENTS; i++)
		free(bench->grad[i]);
	free(bench->residual);
	free(bench->acc);
	free(bench->scaled);
	free(bench->copy);
}

/* What the user asked for, in order. */
struct plan {
	crumb_codec *codec; /* free() them */
	const char **isa;
	size_t codecs, isas;
	uint64_t n;
	bool json;
};

static int run_plan(const struct plan *plan)
{
	struct bench bench = {.n = (size_t)plan->n};
	const bool progress = isatty(STDERR_FILENO);
	if (plan->n > SIZE_MAX / sizeof(float))
		return command_fail("%" PRIu64 " elements are too many for this machine", plan->n);
	if (progress)
		fputs("\rmaking gradients", stderr);
	int status = open_bench(&bench);
	if (!status && !plan->json)
		print_head(bench.n);
	const size_t runs = plan->codecs * plan->isas;
	for (size_t run = 0; run < runs && !status; run++) {
		const crumb_codec *codec = &plan->codec[run / plan->isas];
		char spec[CRUMB_SPEC_MAX];
		double gbps[KERNELS];
		crumb_print(codec, spec, sizeof spec);
		crumb_set_isa(plan->isa[run % plan->isas]);
		if (progress)
			fprintf(stderr, "\r\033[K%zu of %zu: %s, %s", run + 1, runs, spec, crumb_isa());
		status = bench_codec(&bench, codec, gbps);
		if (progress)
			fputs("\r\033[K", stderr);
		if (!status && plan->json)
			print_json(spec, gbps, bench.n);
		else if (!status)
			print_text(spec, gbps);
		fflush(stdout);
	}
	close_bench(&bench);
	return status;
}

static int add_isa(struct plan *plan, const char *name)
{
	if (!strcmp(name, "all")) {
		for (size_t i = 0; command_isa(i); i++)
			plan->isa[plan->isas++] = command_isa(i);
		return STATUS_OK;
	}
	const int error = crumb_set_isa(name);
	if (error)
		return command_usage(&bench_command, "%s: %s", name, crumb_strerror(error));
	plan->isa[plan->isas++] = name;
	return STATUS_OK;
}

static int read_arguments(struct plan *plan, int argc, char **argv)
{
	const char *value;
	for (int id; (id = command_option(&bench_command, argc, argv, &value)) != OPTION_END;) {
		int status = STATUS_OK;
		if (id == 'c')
			status = command_spec(&plan->codec[plan->codecs++], value);
		else if (id == 'n')
			status = command_number(&bench_command, "-n", value, &plan->n);
		else if (id == OPTION_ISA)
			status = add_isa(plan, value);
		else if (id == OPTION_JSON)
			plan->json = true;
		else
			status = STATUS_USAGE;
		if (status)
			return status;
	}
	if (optind < argc)
		return command_usage(&bench_command, "it takes no file: %s", argv[optind]);
	if (!plan->n)
		return command_usage(&bench_command, "-n takes at least 1");
	return STATUS_OK;
}

/* Where the user named none. */
static void fill_plan(struct plan *plan)
{
	const crumb_codec_info *info;
	if (!plan->codecs)
		for (size_t i = 0; (info = crumb_list(i)); i++)
			crumb_parse(&plan->codec[plan->codecs++], info->name, NULL);
	if (!plan->isas)
		plan->isa[plan->isas++] = NULL; /* the best one */
}

static int run(int argc, char **argv)
{
	struct plan plan = {.n = 1 << 24};
	size_t most_codecs = (size_t)argc, most_isas = 1;
	while (crumb_list(most_codecs))
		most_codecs++;
	while (command_isa(most_isas))
		most_isas++;
	plan.codec = calloc(most_codecs, sizeof *plan.codec);
	plan.isa = calloc(most_isas * (size_t)argc, sizeof *plan.isa);
	int status = plan.codec && plan.isa ? STATUS_OK : command_fail("not enough memory");
	if (!status)
		status = read_arguments(&plan, argc, argv);
	if (!status) {
		fill_plan(&plan);
		status = run_plan(&plan);
	}
	free(plan.codec);
	free(plan.isa);
	return status;
}

const struct command bench_command = {
        "bench",
        "[-c SPEC]... [-n ELEMENTS] [--isa NAME]... [--json]",
        "measure how fast codecs pack and unpack, beside the memory's speed",
        "pack: the input is known to be finite; safe: it is checked. Figures are medians over CPU time.\n",
        options,
        run,
};
