/* crumb plan: would it help? Steps by the closed form of exchange/cost.h, codecs as fast as they are here.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/catalogue.h"
#include "cli/command.h"
#include "measure/json.h"
#include "cli/quantity.h"
#include "cli/plan_estimate.h"

#include "exchange/auto/cost.h"
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include "exchange/plan.h"
#include "exchange/policy.h"
#include "nets/sizes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_NODES = OPTION_LONG,
	OPTION_GPUS,
	OPTION_LINK,
	OPTION_LATENCY,
	OPTION_INSIDE,
	OPTION_COMPUTE,
	OPTION_BATCH,
	OPTION_DOWN,
	OPTION_PLAN,
	OPTION_JSON
};
static const struct option_info options[] = {
        {'m', "model", "NAME", "one of the networks below"},
        {OPTION_NODES, "nodes", "NODES", "machines, a rank each; may be repeated"},
        {OPTION_GPUS, "gpus", "GPUS", "of one node, averaged before anything is sent (1)"},
        {OPTION_LINK, "link", "RATE", "bits a second of a node's port, such as 1G; may be repeated"},
        {OPTION_LATENCY, "latency", "TIME", "of one message, such as 1ms (25us)"},
        {OPTION_INSIDE, "inside", "RATE", "bits a second between a node's GPUs (as if it cost nothing)"},
        {OPTION_COMPUTE, "compute", "SPEED",
         "of one GPU, such as 95img/s; or the time of a batch, 337ms; measure: here"},
        {OPTION_BATCH, "batch", "SAMPLES", "of one GPU (32)"},
        {'c', "codec", "SPEC", "codec or policy; may be repeated (every codec, at its defaults)"},
        {OPTION_DOWN, "down", "SPEC", "of the mean on its way back (exact: f32, or sums of agreed integers)"},
        {OPTION_PLAN, "plan", "NAME", "gather, shard or server; may be repeated (the fastest)"},
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a codec and plan"},
        {0, NULL, NULL, NULL},
};

static const struct unit rates[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {NULL, 0}};
static const struct unit times[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const struct unit speeds[] = {{"img/s", 1}, {NULL, 0}};

/* ---- plans ---------------------------------------------------------------------------------- */

enum way { GATHER, SHARD, SERVER, PLANS };
static const char *const plan_names[PLANS] = {"gather", "shard", "server"};

/* The largest share of the network that one of the owners of its slices has, as plan shard cuts them. NAN:
 * not enough memory. */
static double heaviest_share(const struct sizes *sizes, size_t owners)
{
	const size_t longest = crumb_plan_find(plan_names[SHARD])->longest;
	struct crumb_slice whole[SIZES_MOST];
	for (size_t i = 0; i < sizes->count; i++)
		whole[i] = sizes->tensor[i].slice;
	const size_t count = crumb_slices_cut(whole, sizes->count, longest, NULL);
	struct crumb_slice *part = calloc(count + 1, sizeof *part);
	if (part)
		crumb_slices_cut(whole, sizes->count, longest, part);
	const double share = part ? crumb_slices_share(part, count, owners) : NAN;
	free(part);
	return share;
}

/* ---- what was asked for --------------------------------------------------------------------- */

struct request {
	const char *model;
	struct sizes sizes;
	uint64_t *nodes; /* free() these three, and up's */
	double *link;    /* bits a second */
	size_t node_counts, links;
	uint64_t gpus, batch;
	double latency, inside, compute; /* compute: seconds, or 0: not said */
	double speed;                    /* samples a second, or 0: not said */
	bool measure;                    /* compute is to be measured */
	const char **up_text;
	struct policy *up;
	size_t ups;
	const char *down_text; /* NULL: exact */
	struct policy down;
	bool plan[PLANS], any_plan, json;
};

/* ---- answers -------------------------------------------------------------------------------- */

/* One way to exchange on one cluster. */
struct answer {
	const char *codec, *plan;
	uint64_t nodes;
	double link;
	struct crumb_cost_frames up, down; /* down: of plans that have it */
	struct crumb_load load;
	struct crumb_cost cost;
	struct crumb_rates pays;
	double step, speedup;
};

static struct crumb_cluster cluster_of(const struct request *r, uint64_t nodes, double link)
{
	return (struct crumb_cluster){.nodes = (unsigned)nodes,
	                              .gpus = (unsigned)r->gpus,
	                              .network_rate = link / 8,
	                              .network_latency = r->latency,
	                              .gpu_rate = r->inside / 8,
	                              .host_rate = INFINITY};
}

static double dense_bytes(const struct request *r) { return 4.0 * (double)r->sizes.parameters; }

static void answer_cost(struct answer *answer, const struct request *r)
{
	const struct crumb_cluster cluster = cluster_of(r, answer->nodes, answer->link);
	answer->cost = crumb_cost_step(&cluster, &answer->load, r->compute, dense_bytes(r));
	answer->step = crumb_cost_total(&answer->cost);
}

static struct answer answer_plain(const struct request *r, uint64_t nodes, double link)
{
	struct answer answer = {
	        .codec = "raw", .plan = "all-reduce", .nodes = nodes, .link = link, .speedup = 1};
	answer.load = crumb_cost_ring((unsigned)nodes, dense_bytes(r));
	answer.up.bytes = dense_bytes(r);
	answer_cost(&answer, r);
	return answer;
}

static struct answer answer_plan(const struct request *r, const struct answer *plain, const char *codec,
                                 enum way plan, double share, const struct crumb_cost_frames *up,
                                 const struct crumb_cost_frames *down)
{
	struct answer answer = *plain;
	answer.codec = codec;
	answer.plan = plan_names[plan];
	answer.up = *up;
	answer.load = plan == GATHER ? crumb_cost_gather((unsigned)plain->nodes, up)
	                             : crumb_cost_owner((unsigned)plain->nodes, share, up, down);
	if (plan != GATHER)
		answer.down = *down;
	answer_cost(&answer, r);
	answer.speedup = plain->step / answer.step;
	answer.pays = crumb_cost_pays(&answer.cost, answer.load.bytes, &plain->cost, plain->load.bytes);
	return answer;
}

static double samples_per_second(const struct request *r, const struct answer *answer)
{
	return (double)(answer->nodes * r->gpus * r->batch) / answer->step;
}

/* ---- printing ------------------------------------------------------------------------------- */

static const char *print_rate(char *dst, double bits)
{
	if (!isfinite(bits))
		return strcpy(dst, "any rate");
	quantity_print(dst, bits, rates);
	return strcat(dst, "b/s");
}

static const char *print_pays(char *dst, const struct crumb_rates *pays)
{
	char rate[40];
	if (pays->below == 0)
		return strcpy(dst, "never");
	if (pays->above > 0)
		snprintf(dst, 48, "above %s", print_rate(rate, 8 * pays->above));
	else if (isfinite(pays->below))
		snprintf(dst, 48, "below %s", print_rate(rate, 8 * pays->below));
	else
		return strcpy(dst, "always");
	return dst;
}

static void print_head(const struct request *r, uint64_t nodes, double link, int width)
{
	char rate[40], latency[40], bytes[40];
	printf("%s: %zu parameters, %sB of gradient. ", r->model, r->sizes.parameters,
	       quantity_print(bytes, dense_bytes(r), rates));
	printf("%" PRIu64 " nodes of %" PRIu64 " GPUs, %s, %s\n\n", nodes, r->gpus, print_rate(rate, link),
	       quantity_print(latency, r->latency, times));
	printf("%-*s %-10s %9s %8s %9s %9s %9s %8s  %-8s %s\n", width, "codec", "plan", "port", "compute",
	       "exchange", "step", "samples/s", "speed-up", "binds", "pays");
}

static void print_text(const struct request *r, const struct answer *a, int width)
{
	char bytes[40], compute[40], exchange[40], step[40], pays[48];
	printf("%-*s %-10s %8sB %8s %9s %9s %9.1f %8.2f  %-8s %s\n", width, a->codec, a->plan,
	       quantity_print(bytes, a->load.bytes, rates), quantity_print(compute, a->cost.compute, times),
	       quantity_print(exchange, a->step - a->cost.compute, times),
	       quantity_print(step, a->step, times), samples_per_second(r, a), a->speedup,
	       crumb_cost_binding(&a->cost), a->plan[0] == 'a' ? "" : print_pays(pays, &a->pays));
}

static void print_field(const char *name, double value)
{
	printf(", \"%s\": ", name);
	json_double(stdout, value);
}

static void print_json(const struct request *r, const struct answer *a)
{
	fputs("{\"model\": ", stdout);
	json_string(stdout, r->model);
	printf(", \"nodes\": %" PRIu64 ", \"gpus\": %" PRIu64 ", \"batch\": %" PRIu64, a->nodes, r->gpus,
	       r->batch);
	print_field("link", a->link);
	print_field("latency", r->latency);
	fputs(", \"codec\": ", stdout);
	json_string(stdout, a->codec);
	fputs(", \"plan\": ", stdout);
	json_string(stdout, a->plan);
	print_field("dense_bytes", dense_bytes(r));
	print_field("up_bytes", round(a->up.bytes));
	print_field("down_bytes", round(a->down.bytes));
	print_field("port_bytes", round(a->load.bytes));
	printf(", \"seconds\": {\"compute\": ");
	json_double(stdout, a->cost.compute);
	print_field("codec", a->cost.codec);
	print_field("inside", a->cost.inside);
	print_field("latency", a->cost.latency);
	print_field("wire", a->cost.wire);
	fputs("}", stdout);
	print_field("step", a->step);
	print_field("samples_per_second", samples_per_second(r, a));
	print_field("speedup", a->speedup);
	printf(", \"binds\": \"%s\"", crumb_cost_binding(&a->cost));
	print_field("pays_above", 8 * a->pays.above);
	print_field("pays_below", 8 * a->pays.below); /* null: however fast */
	fputs("}\n", stdout);
}

static void print_verdict(const struct answer *best, const struct answer *plain)
{
	if (best->speedup >= 1.005)
		printf("\n%s in plan %s: %.3g times the speed of plain all-reduce.\n", best->codec,
		       best->plan, best->speedup);
	else
		printf("\nNo codec helps here: of a step with plain all-reduce, %.3g %% is compute.\n",
		       100 * plain->cost.compute / plain->step);
}

/* ---- the work ------------------------------------------------------------------------------- */

static int width_of(const struct request *r)
{
	int width = (int)strlen("codec");
	for (size_t i = 0; i < r->ups; i++)
		width = (int)strlen(r->up_text[i]) > width ? (int)strlen(r->up_text[i]) : width;
	return width;
}

/* All ways on one cluster: the plans that were named, or each codec's fastest. */
static int answer_cluster(const struct request *r, const struct catalogue *catalogue, uint64_t nodes,
                          double link)
{
	const int width = width_of(r);
	const struct answer plain = answer_plain(r, nodes, link);
	const double share[PLANS] = {0, heaviest_share(&r->sizes, (size_t)nodes), 1};
	crumb_codec raw;
	struct answer best = plain;
	if (isnan(share[SHARD]))
		return program_fail("not enough memory");
	crumb_parse(&raw, "raw", NULL);
	const struct price *const uncompressed = catalogue_find(catalogue, &raw);
	if (!r->json)
		print_head(r, nodes, link, width);
	r->json ? print_json(r, &plain) : print_text(r, &plain, width);
	for (size_t i = 0; i < r->ups; i++) {
		const struct crumb_cost_frames up = catalogue_weigh(catalogue, &r->up[i], &r->sizes);
		const struct crumb_cost_frames down =
		        r->down_text ? catalogue_weigh(catalogue, &r->down, &r->sizes)
		                     : catalogue_weigh_exact(catalogue, &r->up[i], uncompressed, &r->sizes,
		                                             (size_t)nodes);
		struct answer fastest = {.step = INFINITY};
		for (enum way plan = 0; plan < PLANS; plan++) {
			const struct answer answer =
			        answer_plan(r, &plain, r->up_text[i], plan, share[plan], &up, &down);
			if (r->any_plan && r->plan[plan])
				r->json ? print_json(r, &answer) : print_text(r, &answer, width);
			if ((!r->any_plan || r->plan[plan]) && answer.step < fastest.step)
				fastest = answer;
		}
		if (!r->any_plan)
			r->json ? print_json(r, &fastest) : print_text(r, &fastest, width);
		best = fastest.step < best.step ? fastest : best;
	}
	if (!r->json)
		print_verdict(&best, &plain);
	return STATUS_OK;
}

static int answer_request(const struct request *r)
{
	struct catalogue catalogue = {0};
	crumb_codec raw;
	crumb_parse(&raw, "raw", NULL);
	int status = catalogue_add(&catalogue, &raw);
	for (size_t i = 0; i < r->ups && !status; i++)
		status = catalogue_add_policy(&catalogue, &r->up[i], &r->sizes);
	if (!status && r->down_text)
		status = catalogue_add_policy(&catalogue, &r->down, &r->sizes);
	for (size_t l = 0; l < r->links && !status; l++)
		for (size_t n = 0; n < r->node_counts && !status; n++) {
			if (!r->json && l + n)
				putchar('\n');
			status = answer_cluster(r, &catalogue, r->nodes[n], r->link[l]);
		}
	free(catalogue.priced);
	return status;
}

/* ---- options -------------------------------------------------------------------------------- */

/* One to many. */
static int read_count(uint64_t *count, const char *option, const char *text)
{
	const uint64_t most = 100000;
	const int status = command_number(&plan_command, option, text, count);
	if (!status && (*count < 1 || *count > most))
		return command_usage(&plan_command, "%s takes 1 to %" PRIu64, option, most);
	return status;
}

static int read_quantity(double *value, const char *option, const char *text, const struct unit *units,
                         const char *example)
{
	if (!quantity_parse(value, text, units))
		return command_usage(&plan_command, "%s takes a number such as %s, not \"%s\"", option,
		                     example, text);
	return STATUS_OK;
}

/* A rate that something can pass at. */
static int read_rate(double *value, const char *option, const char *text)
{
	const int status = read_quantity(value, option, text, rates, "1G");
	return !status && *value < 1
	               ? command_usage(&plan_command, "%s takes at least 1 bit a second", option)
	               : status;
}

static int read_compute(struct request *r, const char *text)
{
	r->measure = !strcmp(text, "measure");
	if (r->measure)
		return STATUS_OK;
	if (quantity_parse(&r->speed, text, speeds)) {
		r->compute = 0;
		if (r->speed > 0)
			return STATUS_OK;
	}
	r->speed = 0;
	if (quantity_parse(&r->compute, text, times) && r->compute > 0)
		return STATUS_OK;
	return command_usage(&plan_command,
	                     "--compute takes a speed or a time, such as 95img/s or 337ms, not \"%s\"", text);
}

static int read_plan(struct request *r, const char *name)
{
	for (int plan = 0; plan < PLANS; plan++)
		if (!strcmp(name, plan_names[plan])) {
			r->plan[plan] = r->any_plan = true;
			return STATUS_OK;
		}
	return command_usage(&plan_command, "there is no plan \"%s\"", name);
}

static int read_model(struct request *r, const char *name)
{
	r->model = name;
	return sizes_find(&r->sizes, name) ? command_usage(&plan_command, "there is no network \"%s\"", name)
	                                   : STATUS_OK;
}

static int read_option(struct request *r, int id, const char *value)
{
	switch (id) {
	case 'm':
		return read_model(r, value);
	case 'c':
		r->up_text[r->ups] = value;
		return program_policy(&r->up[r->ups++], value);
	case OPTION_DOWN:
		r->down_text = value;
		return program_policy(&r->down, value);
	case OPTION_NODES:
		return read_count(&r->nodes[r->node_counts++], "--nodes", value);
	case OPTION_LINK:
		return read_rate(&r->link[r->links++], "--link", value);
	case OPTION_GPUS:
		return read_count(&r->gpus, "--gpus", value);
	case OPTION_BATCH:
		return read_count(&r->batch, "--batch", value);
	case OPTION_LATENCY:
		return read_quantity(&r->latency, "--latency", value, times, "25us");
	case OPTION_INSIDE:
		return read_rate(&r->inside, "--inside", value);
	case OPTION_COMPUTE:
		return read_compute(r, value);
	case OPTION_PLAN:
		return read_plan(r, value);
	case OPTION_JSON:
		r->json = true;
		return STATUS_OK;
	default:
		return STATUS_USAGE;
	}
}

/* What has to be said, and what need not. */
static int complete(struct request *r)
{
	const crumb_codec_info *info;
	if (!r->model)
		return command_usage(&plan_command, "-m NAME is missing");
	if (!r->node_counts)
		return command_usage(&plan_command, "--nodes NODES is missing");
	if (!r->links)
		return command_usage(&plan_command, "--link RATE is missing");
	if (r->speed > 0)
		r->compute = (double)r->batch / r->speed;
	if (r->compute == 0 && !r->measure)
		return command_usage(&plan_command, "--compute SPEED is missing");
	if (!r->ups)
		for (; (info = crumb_list(r->ups)); r->ups++) {
			r->up_text[r->ups] = info->name;
			crumb_policy_parse(&r->up[r->ups], info->name, NULL);
		}
	return STATUS_OK;
}

static int read_arguments(struct request *r, int argc, char **argv)
{
	const char *value;
	for (int id; (id = command_option(&plan_command, argc, argv, &value)) != OPTION_END;) {
		const int status = read_option(r, id, value);
		if (status)
			return status;
	}
	if (optind < argc)
		return command_usage(&plan_command, "it takes no file: %s", argv[optind]);
	return complete(r);
}

/* What codecs are measured on, and the table's networks. */
static char notes[512];

static void fill_notes(void)
{
	const char *name, *brief;
	int length = snprintf(
	        notes, sizeof notes,
	        "A step is compute, and then the exchange: nothing overlaps. Codecs are measured here, on "
	        "one thread.\n"
	        "Their gradients are made up: how sparse codecs do on yours, crumb-train tells.\n"
	        "What is measured in place comes from mpirun -n NODES crumb-train --estimate, which prints options for this.\n"
	        "Networks:");
	for (size_t i = 0; (name = sizes_list(i, &brief)) && length < (int)sizeof notes; i++)
		length +=
		        snprintf(notes + length, sizeof notes - (size_t)length, "%s %s", i ? "," : "", name);
	if (length < (int)sizeof notes)
		snprintf(notes + length, sizeof notes - (size_t)length, ".\n");
}

static int run(int argc, char **argv)
{
	static struct request r = {.gpus = 1, .batch = 32, .latency = 25e-6, .inside = INFINITY};
	size_t most = (size_t)argc;
	fill_notes();
	while (crumb_list(most))
		most++;
	r.nodes = calloc((size_t)argc, sizeof *r.nodes);
	r.link = calloc((size_t)argc, sizeof *r.link);
	r.up_text = calloc(most, sizeof *r.up_text);
	r.up = calloc(most, sizeof *r.up);
	int status = r.nodes && r.link && r.up_text && r.up ? STATUS_OK : program_fail("not enough memory");
	if (!status)
		status = read_arguments(&r, argc, argv);
	if (!status && r.measure)
		status = estimate_compute(&r.compute, r.model, r.batch);
	if (!status)
		status = answer_request(&r);
	free(r.up);
	free(r.up_text);
	free(r.link);
	free(r.nodes);
	return status;
}

const struct command plan_command = {
        "plan",
        "-m NAME --nodes NODES --link RATE --compute SPEED [OPTION]...",
        "predict how long a training step takes with each codec, and without",
        notes,
        options,
        run,
};
