/* Answers as text and JSON Lines.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/plan_print.h"
#include "program/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const struct unit plan_rates[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {NULL, 0}};
const struct unit plan_times[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

static const char *print_rate(char *dst, double bits)
{
	if (!isfinite(bits))
		return strcpy(dst, "any rate");
	quantity_print(dst, bits, plan_rates);
	return strcat(dst, "b/s");
}

enum { PAYS = 96 };

static const char *print_pays(char *dst, const struct crumb_rates *pays)
{
	char rate[40], top[40];
	if (pays->below == 0)
		return strcpy(dst, "never");
	if (pays->above > 0 && isfinite(pays->below))
		snprintf(dst, PAYS, "%s to %s", print_rate(rate, 8 * pays->above),
		         print_rate(top, 8 * pays->below));
	else if (pays->above > 0)
		snprintf(dst, PAYS, "above %s", print_rate(rate, 8 * pays->above));
	else if (isfinite(pays->below))
		snprintf(dst, PAYS, "below %s", print_rate(rate, 8 * pays->below));
	else
		return strcpy(dst, "always");
	return dst;
}

static int width_of(const struct request *r)
{
	int width = (int)strlen("codec");
	for (size_t i = 0; i < r->ups; i++)
		width = (int)strlen(r->up_text[i]) > width ? (int)strlen(r->up_text[i]) : width;
	return width;
}

void plan_print_head(const struct request *r, uint64_t nodes, double link)
{
	char rate[40], latency[40], bytes[40];
	printf("%s: %zu parameters, %sB of gradient. ", r->model, r->sizes.parameters,
	       quantity_print(bytes, answer_dense_bytes(r), plan_rates));
	printf("%" PRIu64 " nodes of ", nodes);
	if (r->ranks > 1)
		printf("%" PRIu64 " ranks of ", r->ranks);
	printf("%" PRIu64 " GPUs, %s, %s\n\n", r->gpus, print_rate(rate, link),
	       quantity_print(latency, r->latency, plan_times));
	printf("%-*s %-11s %9s %8s %9s %9s %9s %8s  %-8s %s\n", width_of(r), "codec", "plan", "port",
	       "compute", "exchange", "step", "samples/s", "speed-up", "binds", "pays");
}

static void print_text(const struct answer *a, int width)
{
	char bytes[40], compute[40], exchange[40], step[40], pays[PAYS];
	printf("%-*s %-11s %8sB %8s %9s %9s %9.1f %8.2f  %-8s %s\n", width, a->codec, a->plan,
	       quantity_print(bytes, a->load.bytes, plan_rates),
	       quantity_print(compute, a->cost.compute, plan_times),
	       quantity_print(exchange, a->step - a->cost.compute, plan_times),
	       quantity_print(step, a->step, plan_times), a->samples_per_second, a->speedup,
	       crumb_cost_binding(&a->cost),
	       !strcmp(a->plan, "all-reduce") ? "" : print_pays(pays, &a->pays));
}

void plan_print_json(FILE *to, const struct request *r, const struct answer *a, bool swept)
{
	fputs("{\"model\": ", to);
	json_string(to, r->model);
	fprintf(to,
	        ", \"nodes\": %" PRIu64 ", \"ranks\": %" PRIu64 ", \"gpus\": %" PRIu64
	        ", \"batch\": %" PRIu64,
	        a->nodes, r->ranks, r->gpus, r->batch);
	json_double_member(to, "link", a->link);
	json_double_member(to, "latency", r->latency);
	json_string_member(to, "codec", a->codec);
	json_string_member(to, "plan", a->plan);
	json_double_member(to, "dense_bytes", answer_dense_bytes(r));
	json_double_member(to, "up_bytes", round(a->up.bytes));
	json_double_member(to, "down_bytes", round(a->down.bytes));
	json_double_member(to, "port_bytes", round(a->load.bytes));
	fprintf(to, ", \"seconds\": {\"compute\": ");
	json_double(to, a->cost.compute);
	json_double_member(to, "codec", a->cost.codec);
	json_double_member(to, "inside", a->cost.inside);
	json_double_member(to, "latency", a->cost.latency);
	json_double_member(to, "wire", a->cost.wire);
	fputs("}", to);
	json_double_member(to, "step", a->step);
	json_double_member(to, "samples_per_second", a->samples_per_second);
	json_double_member(to, "speedup", a->speedup);
	fprintf(to, ", \"binds\": \"%s\"", crumb_cost_binding(&a->cost));
	json_double_member(to, "pays_above", 8 * a->pays.above);
	json_double_member(to, "pays_below", 8 * a->pays.below); /* null: at any rate */
	fputs(swept ? ", \"swept\": true}\n" : "}\n", to);
}

void plan_print(const struct request *r, const struct answer *a)
{
	if (r->json)
		plan_print_json(stdout, r, a, false);
	else
		print_text(a, width_of(r));
}

void plan_print_verdict(const struct answer *best, const struct answer *async, const struct answer *plain)
{
	const bool faster = async->speedup >= 1.005 * best->speedup;
	if (best->speedup >= 1.005)
		printf("\n%s in plan %s: %.3g times the speed of plain all-reduce. This is time alone: not every "
		       "codec\ntrains every network (doc/MEASUREMENTS.md).\n",
		       best->codec, best->plan, best->speedup);
	else if (!faster)
		printf("\nNo codec helps here: of a step with plain all-reduce, %.3g %% is compute.\n",
		       100 * plain->cost.compute / plain->step);
	if (faster)
		printf("\n%s in plan async: %.3g times the speed of plain all-reduce. It is no choice by time: "
		       "its gradients\nare stale, which changes the training.\n",
		       async->codec, async->speedup);
}
