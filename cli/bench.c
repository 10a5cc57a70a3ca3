/* crumb bench: the speed of codecs on one thread, and of the memory under them.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "measure/speed.h"
#include "program/json.h"
#include "program/status_line.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_ISA = OPTION_LONG, OPTION_JSON };
static const struct option_info options[] = {
        {'c', "codec", "SPEC", "measure this one; may be repeated (every codec, at its defaults)"},
        {'n', "elements", "ELEMENTS", "of the gradient (16777216: far more than caches hold)"},
        {OPTION_ISA, "isa", "NAME", "with this instruction set, or all; may be repeated (the best one)"},
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a codec and instruction set"},
        {0, NULL, NULL, NULL},
};

static const char *const kernel_keys[SPEED_KERNELS] = {
        [SPEED_PACK] = "pack_gbps",  [SPEED_PACK_SAFE] = "pack_safe_gbps", [SPEED_UNPACK] = "unpack_gbps",
        [SPEED_ADD] = "floor_gbps",  [SPEED_READ] = "read_gbps",           [SPEED_SCALE] = "scale_gbps",
        [SPEED_COPY] = "memcpy_gbps"};

static void print_head(size_t n)
{
	printf("GB/s of f32 input, one thread, %zu elements. floor: r += g, read: sum of g, scale: acc *= s\n\n",
	       n);
	printf("%-32s %-9s %7s %7s %7s %8s %7s %7s %7s\n", "codec", "isa", "pack", "safe", "unpack", "floor",
	       "read", "scale", "memcpy");
}

static void print_text(const char *spec, const double *gbps)
{
	printf("%-32s %-9s %7.2f %7.2f %7.2f %8.2f %7.2f %7.2f %7.2f\n", spec, crumb_isa(), gbps[SPEED_PACK],
	       gbps[SPEED_PACK_SAFE], gbps[SPEED_UNPACK], gbps[SPEED_ADD], gbps[SPEED_READ],
	       gbps[SPEED_SCALE], gbps[SPEED_COPY]);
}

static void print_json(const char *spec, const double *gbps, size_t n)
{
	static const enum speed_kernel order[SPEED_KERNELS] = {
	        SPEED_PACK, SPEED_PACK_SAFE, SPEED_UNPACK, SPEED_ADD, SPEED_READ, SPEED_SCALE, SPEED_COPY};
	fputs("{\"codec\": ", stdout);
	json_string(stdout, spec);
	json_string_member(stdout, "isa", crumb_isa());
	printf(", \"n\": %zu, \"threads\": 1", n);
	for (size_t i = 0; i < SPEED_KERNELS; i++)
		printf(", \"%s\": %.4g", kernel_keys[order[i]], gbps[order[i]]);
	fputs("}\n", stdout);
}

/* The measurements that the user asked for, in order. */
struct plan {
	crumb_codec *codec; /* free() them */
	const char **isa;
	size_t codecs, isas;
	uint64_t n;
	bool json;
};

static int run_plan(const struct plan *plan)
{
	struct speed speed = {0};
	if (plan->n > SIZE_MAX / sizeof(float))
		return program_fail("%" PRIu64 " elements are too many for this machine", plan->n);
	status_line("making gradients");
	int status = speed_open(&speed, (size_t)plan->n, NULL);
	if (!status && !plan->json)
		print_head(speed.n);
	const size_t runs = plan->codecs * plan->isas;
	for (size_t run = 0; run < runs && !status; run++) {
		const crumb_codec *codec = &plan->codec[run / plan->isas];
		char spec[CRUMB_SPEC_MAX];
		double gbps[SPEED_KERNELS];
		crumb_print(codec, spec, sizeof spec);
		crumb_set_isa(plan->isa[run % plan->isas]);
		status_line("%zu of %zu: %s, %s", run + 1, runs, spec, crumb_isa());
		status = speed_codec(&speed, codec, gbps);
		status_line_clear();
		if (!status && plan->json)
			print_json(spec, gbps, speed.n);
		else if (!status)
			print_text(spec, gbps);
		fflush(stdout);
	}
	speed_close(&speed);
	return status;
}

static int add_isa(struct plan *plan, const char *name)
{
	if (!strcmp(name, "all")) {
		for (size_t i = 0; program_isa(i); i++)
			plan->isa[plan->isas++] = program_isa(i);
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
			status = program_spec(&plan->codec[plan->codecs++], value);
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

/* Fills in every codec and the best instruction set if the user named none. */
static void fill_plan(struct plan *plan)
{
	const crumb_codec_info *info;
	if (!plan->codecs)
		for (size_t i = 0; (info = crumb_list(i)); i++)
			crumb_parse(&plan->codec[plan->codecs++], info->name, NULL);
	if (!plan->isas)
		plan->isa[plan->isas++] = NULL; /* NULL: the best one */
}

static int run(int argc, char **argv)
{
	struct plan plan = {.n = 1 << 24};
	size_t most_codecs = (size_t)argc, most_isas = 1;
	while (crumb_list(most_codecs))
		most_codecs++;
	while (program_isa(most_isas))
		most_isas++;
	plan.codec = calloc(most_codecs, sizeof *plan.codec);
	plan.isa = calloc(most_isas * (size_t)argc, sizeof *plan.isa);
	int status = plan.codec && plan.isa ? STATUS_OK : program_fail("not enough memory");
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
