/* crumb plan: would it help? Steps by the closed form of exchange/auto/cost.h, with the speed of codecs here.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/plan_estimate.h"
#include "cli/plan_page.h"
#include "cli/plan_print.h"
#include "program/nearest.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_NODES = OPTION_LONG,
	OPTION_RANKS,
	OPTION_GPUS,
	OPTION_LINK,
	OPTION_LATENCY,
	OPTION_INSIDE,
	OPTION_COMPUTE,
	OPTION_BATCH,
	OPTION_DOWN,
	OPTION_PLAN,
	OPTION_JSON,
	OPTION_REPORT
};
static const struct option_info options[] = {
        {'m', "model", "NAME", "a network, or a number of parameters, such as 1.3B"},
        {OPTION_NODES, "nodes", "NODES", "machines; may be repeated"},
        {OPTION_RANKS, "ranks", "RANKS", "of one node, which share its port (1)"},
        {OPTION_GPUS, "gpus", "GPUS", "of one rank, averaged before anything is sent (1)"},
        {OPTION_LINK, "link", "RATE", "bits a second of a node's port, such as 1G; may be repeated"},
        {OPTION_LATENCY, "latency", "TIME", "of one message, such as 1ms (25us)"},
        {OPTION_INSIDE, "inside", "RATE",
         "bits a second between a node's GPUs, or ranks (as if it cost nothing)"},
        {OPTION_COMPUTE, "compute", "SPEED",
         "of one GPU, such as 95img/s; or the time of a batch, 337ms; measure: here"},
        {OPTION_BATCH, "batch", "SAMPLES", "of one GPU (32)"},
        {'c', "codec", "SPEC", "codec or policy; may be repeated (every codec, at its defaults)"},
        {OPTION_DOWN, "down", "SPEC", "of the mean on its way back (exact: f32, or sums of agreed integers)"},
        {OPTION_PLAN, "plan", "NAME",
         "gather, shard, server, tiers, tiers-shard or async; may be repeated (the fastest, never async)"},
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a codec and plan"},
        {OPTION_REPORT, "report", "PAGE.html",
         "a page, too: a step's time over every link, and where codecs break even"},
        {0, NULL, NULL, NULL},
};

static const struct unit counts[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},  {"m", 1e6},  {"M", 1e6},
                                     {"b", 1e9}, {"B", 1e9}, {"t", 1e12}, {"T", 1e12}, {NULL, 0}};
static const struct unit speeds[] = {{"img/s", 1}, {NULL, 0}};

/* The answers of one cluster as they are printed. */
struct printed {
	const struct request *request;
	struct answer plain, best,
	        async; /* best: of all those that can be chosen by time; async: of that plan */
};

static void print_answer(void *context, const struct answer *answer)
{
	struct printed *printed = context;
	if (!answer->aside)
		plan_print(printed->request, answer);
	if (!strcmp(answer->plan, "all-reduce")) {
		printed->plain = printed->best = printed->async = *answer;
		return;
	}
	struct answer *best = !strcmp(answer->plan, plan_names[ASYNC]) ? &printed->async : &printed->best;
	if (answer->step < best->step)
		*best = *answer;
}

static int print_cluster(const struct request *r, const struct catalogue *catalogue, uint64_t nodes,
                         double link)
{
	struct printed printed = {.request = r};
	if (!r->json)
		plan_print_head(r, nodes, link);
	if (!answer_cluster(r, catalogue, nodes, link, print_answer, &printed))
		return program_fail("not enough memory");
	if (!r->json)
		plan_print_verdict(&printed.best, &printed.async, &printed.plain);
	return STATUS_OK;
}

static int answer_request(const struct request *r)
{
	struct catalogue catalogue = {0};
	int status = catalogue_add_policy(&catalogue, NULL, &r->sizes);
	for (size_t i = 0; i < r->ups && !status; i++)
		status = catalogue_add_policy(&catalogue, &r->up[i], &r->sizes);
	if (!status && r->down_text)
		status = catalogue_add_policy(&catalogue, &r->down, &r->sizes);
	for (size_t l = 0; l < r->links && !status; l++)
		for (size_t n = 0; n < r->node_counts && !status; n++) {
			if (!r->json && l + n)
				putchar('\n');
			status = print_cluster(r, &catalogue, r->nodes[n], r->link[l]);
		}
	if (!status && r->page)
		status = plan_page(r, &catalogue);
	free(catalogue.priced);
	return status;
}

/* ---- options -------------------------------------------------------------------------------- */

enum { MOST_RANKS = 1000000 };
static const double MOST_PARAMETERS = 1e12;

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

static int read_rate(double *value, const char *option, const char *text)
{
	const int status = read_quantity(value, option, text, plan_rates, "1G");
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
	if (quantity_parse(&r->compute, text, plan_times) && r->compute > 0)
		return STATUS_OK;
	return command_usage(&plan_command,
	                     "--compute takes a speed or a time, such as 95img/s or 337ms, not \"%s\"", text);
}

static int refuse_name(const char *what, const struct nearest *nearest)
{
	const int status = command_usage(&plan_command, "there is no %s \"%s\"", what, nearest->word);
	nearest_say(nearest, "");
	return status;
}

static int read_plan(struct request *r, const char *name)
{
	struct nearest nearest = {.word = name, .length = strlen(name)};
	for (int plan = 0; plan < PLANS; plan++) {
		if (!strcmp(name, plan_names[plan])) {
			r->plan[plan] = r->any_plan = true;
			return STATUS_OK;
		}
		nearest_try(&nearest, plan_names[plan]);
	}
	return refuse_name("plan", &nearest);
}

static int read_model(struct request *r, const char *name)
{
	struct nearest nearest = {.word = name, .length = strlen(name)};
	const char *known;
	double parameters;
	r->model = name;
	if (!sizes_find(&r->sizes, name))
		return STATUS_OK;
	if (quantity_parse(&parameters, name, counts)) {
		const double whole = round(parameters);
		if (whole < 1 || whole > MOST_PARAMETERS || fabs(parameters - whole) > 1e-6 * whole)
			return command_usage(&plan_command,
			                     "a network has 1 to 1T parameters, a whole number, not %s",
			                     name);
		sizes_count(&r->sizes, (size_t)whole);
		return STATUS_OK;
	}
	for (size_t i = 0; (known = sizes_list(i)); i++)
		nearest_try(&nearest, known);
	return refuse_name("network", &nearest);
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
		r->down_text = strcmp(value, "exact") ? value : NULL;
		return r->down_text ? program_policy(&r->down, value) : STATUS_OK;
	case OPTION_NODES:
		return read_count(&r->nodes[r->node_counts++], "--nodes", value);
	case OPTION_LINK:
		return read_rate(&r->link[r->links++], "--link", value);
	case OPTION_RANKS:
		return read_count(&r->ranks, "--ranks", value);
	case OPTION_GPUS:
		return read_count(&r->gpus, "--gpus", value);
	case OPTION_BATCH:
		return read_count(&r->batch, "--batch", value);
	case OPTION_LATENCY:
		return read_quantity(&r->latency, "--latency", value, plan_times, "25us");
	case OPTION_INSIDE:
		return read_rate(&r->inside, "--inside", value);
	case OPTION_COMPUTE:
		return read_compute(r, value);
	case OPTION_PLAN:
		return read_plan(r, value);
	case OPTION_JSON:
		r->json = true;
		return STATUS_OK;
	case OPTION_REPORT:
		r->page = value;
		return STATUS_OK;
	default:
		return STATUS_USAGE;
	}
}

/* Refuses what plan async cannot have. */
static int check_async(const struct request *r)
{
	for (size_t n = 0; n < r->node_counts; n++)
		if (r->nodes[n] * r->ranks < 2)
			return command_usage(&plan_command, "plan async needs two ranks: one is the server");
	for (size_t i = 0; i < r->ups; i++)
		if (!answer_can_be_async(r, i))
			return command_usage(
			        &plan_command,
			        "plan async is not for %s, whose learners agree before they pack",
			        crumb_policy_agrees(&r->up[i]) ? r->up_text[i] : r->down_text);
	return STATUS_OK;
}

/* Refuses a policy whose rules are for no slice of the network. */
static int check_rules(const struct request *r, const char *policy)
{
	const unsigned named = crumb_policy_named(policy), kinds = crumb_policy_with_fc(named, named);
	bool any = false;
	for (size_t i = 0; i < r->sizes.count; i++)
		any = any || kinds >> r->sizes.tensor[i].kind & 1;
	return any || !kinds ? STATUS_OK
	                     : command_usage(&plan_command, "no tensor of %s is for a rule of %s", r->model,
	                                     policy);
}

/* Refuses a request that lacks an option, and fills in the codecs if none is named. */
static int complete(struct request *r)
{
	const crumb_codec_info *info;
	if (!r->model)
		return command_usage(&plan_command, "-m NAME is missing");
	if (!r->node_counts)
		return command_usage(&plan_command, "--nodes NODES is missing");
	if (!r->links)
		return command_usage(&plan_command, "--link RATE is missing");
	for (size_t n = 0; n < r->node_counts; n++)
		if (r->nodes[n] * r->ranks > MOST_RANKS)
			return command_usage(&plan_command,
			                     "%" PRIu64 " nodes of %" PRIu64 " ranks are more than %u ranks",
			                     r->nodes[n], r->ranks, MOST_RANKS);
	for (size_t n = 0; n < r->node_counts; n++)
		if (r->nodes[n] == 1 && r->ranks > 1)
			return command_usage(&plan_command,
			                     "ranks of one node use no link: take --gpus, or nodes");
	for (size_t i = 0; i < r->ups; i++)
		if (check_rules(r, r->up_text[i]))
			return STATUS_USAGE;
	if (r->down_text && check_rules(r, r->down_text))
		return STATUS_USAGE;
	if (r->page && !strcmp(r->page, "-"))
		return command_usage(&plan_command, "--report wants the name of a file");
	if (r->speed > 0)
		r->compute = (double)r->batch / r->speed;
	if (r->compute == 0 && !r->measure)
		return command_usage(&plan_command, "--compute SPEED is missing");
	if (!r->ups)
		for (size_t i = 0; (info = crumb_list(i)); i++) {
			r->up_text[r->ups] = info->name;
			crumb_policy_parse(&r->up[r->ups], info->name, NULL);
			r->ups += !(r->plan[ASYNC] && crumb_policy_agrees(&r->up[r->ups]));
		}
	return r->plan[ASYNC] ? check_async(r) : STATUS_OK;
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

static char notes[1024];

static void fill_notes(void)
{
	const char *name;
	int length = snprintf(
	        notes, sizeof notes,
	        "A step is compute, and then the exchange: nothing overlaps. Codecs are measured here, on "
	        "one thread.\n"
	        "Their gradients are made up: how sparse codecs do on yours, crumb-train tells.\n"
	        "A number of parameters stands for one fully connected layer.\n"
	        "What is measured in place comes from mpirun -n NODES crumb-train --estimate, which prints options "
	        "for this.\n"
	        "Networks:");
	for (size_t i = 0; (name = sizes_list(i)) && length < (int)sizeof notes; i++)
		length +=
		        snprintf(notes + length, sizeof notes - (size_t)length, "%s %s", i ? "," : "", name);
	if (length < (int)sizeof notes)
		snprintf(notes + length, sizeof notes - (size_t)length, ".\n");
}

static int run(int argc, char **argv)
{
	static struct request r = {.ranks = 1, .gpus = 1, .batch = 32, .latency = 25e-6, .inside = INFINITY};
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
