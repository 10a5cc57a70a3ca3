/* crumb compare: the bits, the error and the speed of codecs on given gradients.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "exchange/policy.h"
#include "exchange/seconds.h"
#include "measure/learner.h"
#include "measure/timing.h"
#include "program/json.h"
#include "program/npy.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_DTYPE = OPTION_LONG, OPTION_JSON };
static const struct option_info options[] = {
        {'c', "codec", "SPEC", "compare this one; may be repeated (every codec, and settings of note)"},
        {OPTION_DTYPE, "dtype", "bf16", "the arrays are of u2 or V2 that hold bfloat16"},
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a gradient and codec; crumb report draws them"},
        {0, NULL, NULL, NULL},
};

/* Settings from papers, measured beside every codec's defaults. */
static const char *const settings[] = {
        "half:type=f16",
        "terngrad:clip=0",
        "terngrad:shared=1",
        "terngrad:coding=entropy",
        "adacomp:bin=50",
        "adacomp:bin=50,coding=entropy",
        "local:bin=50",
        "topk:value=exact",
        "topk:fraction=0.01",
        "topk:fraction=0.01,coding=entropy",
        "qsgd:bits=2,norm=max",
        "qsgd:bits=3,bucket=8192,norm=max,zero=0",
        "qsgd:bits=3,bucket=8192,coding=entropy,norm=max,zero=0",
        "nuqsgd:bits=3,bucket=8192,zero=0",
        "alq:coding=huffman",
        "alq:coding=entropy",
        "alq:normalized=1",
        "amq:normalized=1",
};
enum { SETTINGS = sizeof settings / sizeof *settings };

enum { SEEDS = 3, ROUNDS = 7 };

struct gradient {
	const char *path;
	struct npy npy;
	float *decoded; /* n elements: of the codec at hand */
	float *widened; /* the elements in f32 where they are not; else NULL */
	const float *value;
};

/* Measurements of one codec on one gradient: means over the seeds; NaN: no such number. */
struct outcome {
	size_t seeds;
	double bits;   /* of the whole frame, by element */
	double error;  /* squared distance, divided by the gradient's squared norm */
	double cosine; /* of the angle between gradient and decoded frame */
	double sent;   /* share of the elements */
	double pack_gbps, unpack_gbps;
};

struct request {
	crumb_codec *codec; /* free() it */
	size_t codecs;
	bool bf16, json;
};

static void add_distance(struct outcome *outcome, const struct gradient *grad)
{
	double squares = 0, decoded_squares = 0, product = 0, error = 0;
	for (size_t i = 0; i < grad->npy.n; i++) {
		const double g = grad->value[i], q = grad->decoded[i];
		squares += g * g;
		decoded_squares += q * q;
		product += g * q;
		error += (q - g) * (q - g);
	}
	outcome->error += error / squares;
	outcome->cosine += product / sqrt(squares * decoded_squares);
}

/* Packs and unpacks the gradient once. Returns the frame's length or an error of crumb.h. */
static int64_t pack_once(struct outcome *outcome, const struct gradient *grad, struct learner *learner)
{
	crumb_frame_info frame;
	const size_t n = grad->npy.n;
	int64_t length = learner_pack(learner, grad->npy.data, grad->npy.dtype, 0);
	if (length >= 0)
		length = crumb_peek(&frame, learner->frame, (size_t)length);
	if (length < 0)
		return length;
	memset(grad->decoded, 0, n * sizeof *grad->decoded);
	outcome->bits += 8 * (double)length / (double)n;
	outcome->sent += (double)frame.sent / (double)n;
	length = crumb_unpack_add(learner->frame, (size_t)length, 1, grad->decoded, n);
	if (length >= 0)
		add_distance(outcome, grad);
	return length;
}

/* Times repeated packing and unpacking. */
static int64_t time_rounds(struct outcome *outcome, const struct gradient *grad, struct learner *learner)
{
	double pack[ROUNDS], unpack[ROUNDS];
	const size_t n = grad->npy.n, repeats = timing_repeats(n);
	int64_t result = 0;
	for (int round = 0; round < ROUNDS; round++) {
		const double start = timing_now();
		for (size_t i = 0; i < repeats && result >= 0; i++)
			result = learner_pack(learner, grad->npy.data, grad->npy.dtype, CRUMB_KNOWN_FINITE);
		const double packed = timing_now();
		for (size_t i = 0; i < repeats && result >= 0; i++)
			result = crumb_unpack_add(learner->frame, learner->cap, 0.125f, grad->decoded, n);
		pack[round] = 4e-9 * (double)(n * repeats) / (packed - start);
		unpack[round] = 4e-9 * (double)(n * repeats) / (timing_now() - packed);
	}
	outcome->pack_gbps = crumb_seconds_median(pack, ROUNDS);
	outcome->unpack_gbps = crumb_seconds_median(unpack, ROUNDS);
	return result;
}

static int compare(struct outcome *outcome, const struct gradient *grad, const crumb_codec *codec)
{
	*outcome =
	        (struct outcome){.seeds = crumb_codec_info_of(codec)->flags & CRUMB_CODEC_RANDOM ? SEEDS : 1};
	int status = STATUS_OK;
	for (size_t seed = 1; seed <= outcome->seeds && !status; seed++) {
		struct learner learner;
		status = learner_open(&learner, codec, grad->npy.n, seed);
		int64_t result = status ? 0 : pack_once(outcome, grad, &learner);
		if (!status && result >= 0 && seed == outcome->seeds)
			result = time_rounds(outcome, grad, &learner);
		if (result < 0)
			status = program_fail("%s: %s", grad->path, crumb_strerror((int)result));
		learner_close(&learner);
	}
	double *const mean[] = {&outcome->bits, &outcome->error, &outcome->cosine, &outcome->sent};
	for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
		*mean[i] /= (double)outcome->seeds;
	return status;
}

/* ---- gradients ---- */

/* Converts the elements to f32 through a raw frame. */
static int widen(struct gradient *grad)
{
	struct learner learner;
	const size_t n = grad->npy.n;
	const crumb_codec raw = crumb_policy_choose(NULL, CRUMB_CONV, n);
	int status = learner_open(&learner, &raw, n, 0);
	if (!status && !(grad->widened = program_memory(n * sizeof *grad->widened)))
		status = STATUS_FAILED;
	if (!status) {
		memset(grad->widened, 0, n * sizeof *grad->widened);
		learner_pack(&learner, grad->npy.data, grad->npy.dtype, CRUMB_KNOWN_FINITE);
		crumb_unpack_add(learner.frame, learner.cap, 1, grad->widened, n);
		grad->value = grad->widened;
	}
	learner_close(&learner);
	return status;
}

static int open_gradient(struct gradient *grad, const char *path, bool bf16)
{
	*grad = (struct gradient){.path = path};
	if (npy_read(&grad->npy, path, bf16))
		return STATUS_FAILED;
	const int error = crumb_finite(grad->npy.data, grad->npy.n, grad->npy.dtype);
	if (error)
		return npy_fail(&grad->npy, path, error);
	if (!grad->npy.n)
		return program_fail("%s: no element in it", path);
	if (!(grad->decoded = program_memory(grad->npy.n * sizeof *grad->decoded)))
		return STATUS_FAILED;
	grad->value = grad->npy.data;
	return grad->npy.dtype == CRUMB_F32 ? STATUS_OK : widen(grad);
}

static void close_gradient(struct gradient *grad)
{
	free(grad->npy.file.data);
	free(grad->decoded);
	free(grad->widened);
}

/* ---- output ---- */

static void print_head(const struct gradient *grad, bool first)
{
	fputs(first ? "" : "\n", stdout);
	program_print(stdout, grad->path);
	printf(": %zu elements\n%-40s %8s %10s %8s %7s %7s %7s\n", grad->npy.n, "codec", "bits", "error",
	       "cosine", "sent %", "pack", "unpack");
}

static void print_number(int width, const char *format, double value)
{
	char text[32] = "-";
	if (isfinite(value))
		snprintf(text, sizeof text, format, value);
	printf(" %*s", width, text);
}

static void print_text(const char *spec, const struct outcome *outcome)
{
	printf("%-40s", spec);
	print_number(8, "%.4g", outcome->bits);
	print_number(10, "%.3e", outcome->error);
	print_number(8, "%.5f", outcome->cosine);
	print_number(7, "%.3g", 100 * outcome->sent);
	print_number(7, "%.2f", outcome->pack_gbps);
	print_number(7, "%.2f", outcome->unpack_gbps);
	putchar('\n');
}

static void print_json(const struct gradient *grad, const char *spec, const struct outcome *outcome)
{
	fputs("{\"file\": ", stdout);
	json_string(stdout, grad->path);
	json_string_member(stdout, "codec", spec);
	printf(", \"n\": %zu, \"seeds\": %zu", grad->npy.n, outcome->seeds);
	json_double_member(stdout, "bits_per_element", outcome->bits);
	json_double_member(stdout, "error", outcome->error);
	json_double_member(stdout, "cosine", outcome->cosine);
	json_double_member(stdout, "sent", outcome->sent);
	printf(", \"pack_gbps\": %.4g, \"unpack_gbps\": %.4g}\n", outcome->pack_gbps, outcome->unpack_gbps);
}

/* ---- the command ---- */

static int compare_codecs(const struct request *request, const struct gradient *grad, bool first)
{
	int status = STATUS_OK;
	if (!request->json)
		print_head(grad, first);
	for (size_t i = 0; i < request->codecs && !status; i++) {
		char spec[CRUMB_SPEC_MAX];
		struct outcome outcome;
		crumb_print(&request->codec[i], spec, sizeof spec);
		status = compare(&outcome, grad, &request->codec[i]);
		if (!status && request->json)
			print_json(grad, spec, &outcome);
		else if (!status)
			print_text(spec, &outcome);
		fflush(stdout);
	}
	return status;
}

static int read_arguments(struct request *request, int argc, char **argv)
{
	const char *value;
	for (int id; (id = command_option(&compare_command, argc, argv, &value)) != OPTION_END;) {
		int status = STATUS_OK;
		if (id == 'c')
			status = program_spec(&request->codec[request->codecs++], value);
		else if (id == OPTION_DTYPE && strcmp(value, "bf16") != 0)
			status = command_usage(&compare_command,
			                       "--dtype takes bf16 only; f4 and f2 say it themselves");
		else if (id == OPTION_DTYPE)
			request->bf16 = true;
		else if (id == OPTION_JSON)
			request->json = true;
		else
			status = STATUS_USAGE;
		if (status)
			return status;
	}
	if (optind == argc)
		return command_usage(&compare_command, "it takes at least one gradient");
	return STATUS_OK;
}

/* Fills in every codec at its defaults and in its published settings. */
static void fill_codecs(struct request *request)
{
	const crumb_codec_info *info;
	for (size_t i = 0; (info = crumb_list(i)); i++) {
		crumb_parse(&request->codec[request->codecs++], info->name, NULL);
		for (size_t k = 0; k < SETTINGS; k++)
			if (strcspn(settings[k], ":") == strlen(info->name) &&
			    !strncmp(settings[k], info->name, strlen(info->name)))
				crumb_parse(&request->codec[request->codecs++], settings[k], NULL);
	}
}

static int run(int argc, char **argv)
{
	struct request request = {.codecs = 0};
	size_t most = (size_t)argc;
	while (crumb_list(most))
		most++;
	request.codec = calloc(most + SETTINGS, sizeof *request.codec);
	int status = request.codec ? STATUS_OK : program_fail("not enough memory");
	if (!status)
		status = read_arguments(&request, argc, argv);
	if (!status && !request.codecs)
		fill_codecs(&request);
	for (int i = optind; i < argc && !status; i++) {
		struct gradient grad;
		status = open_gradient(&grad, argv[i], request.bf16);
		if (!status)
			status = compare_codecs(&request, &grad, i == optind);
		close_gradient(&grad);
	}
	free(request.codec);
	return status;
}

const struct command compare_command = {
        "compare",
        "GRAD.npy... [-c SPEC]... [--dtype bf16] [--json]",
        "show what codecs make of gradients: size, error, speed",
        "bits: of the whole frame, an element. error: squared, by the gradient's squared norm. cosine: of the angle "
        "between\n"
        "the gradient and what is decoded. A codec with a residual is measured at its first step, with nothing owed; a "
        "random\n"
        "one with the seeds 1, 2 and 3, of which the mean is shown; one that adapts, adapted to this gradient.\n"
        "pack, unpack: GB/s of f32 on one thread, packing the same gradient again and again; medians over CPU time.\n",
        options,
        run,
};
