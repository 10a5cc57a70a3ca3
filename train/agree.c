/* Ranks swap what they would type.
 *
 * SPDX-License-Identifier: MIT */
#include "train/agree.h"
#include "exchange/transport.h"
#include "program/program.h"
#include "train/options/difference.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT = 8192 };

static char text[TEXT]; /* stays until the next swap */

/* Returns true, after a line of rank 0, if any rank has another text than this one. */
static bool differ(const struct crumb_exchange_net *ranks, const crumb_span *in)
{
	for (unsigned r = 0; r < ranks->ranks; r++) {
		char other[TEXT] = "";
		if (in[r].len > 0)
			memcpy(other, in[r].data, in[r].len < TEXT ? in[r].len : TEXT - 1);
		if (strcmp(other, text) == 0)
			continue;
		const struct difference d = difference_find(other, text);
		if (ranks->rank == 0)
			program_say(
			        "crumb-train: the ranks' options differ: rank %u has \"%.*s\", rank 0 \"%.*s\"",
			        r, d.a_length, d.a, d.b_length, d.b);
		return true;
	}
	return false;
}

/* Sends all ranks the same bytes, which stay until the next swap, and points in[rank] to theirs. 0, or -1
 * with a line in why. */
static int swap(struct crumb_exchange_net *ranks, crumb_span mine, crumb_span *in, char *why, size_t cap)
{
	crumb_span *out = calloc(ranks->ranks, sizeof *out);
	int result = -1;
	for (unsigned r = 0; out && r < ranks->ranks; r++)
		out[r] = mine;
	if (!out || !in) {
		ranks->leave(ranks);
		snprintf(why, cap, "out of memory");
	} else if ((result = ranks->swap(ranks, out, in)) < 0)
		snprintf(why, cap, "%s", ranks->why);
	free(out);
	return result;
}

int agree(const struct options *options, const struct data *data, struct crumb_exchange_net *ranks, char *why,
          size_t cap)
{
	if (!ranks)
		return 0;
	size_t length = options_describe(options, OPTIONS_OF_RANKS, text, sizeof text);
	if (length < sizeof text)
		length += (size_t)snprintf(text + length, sizeof text - length,
		                           "crumb-train %s\n%zu training samples, %zu test samples, "
		                           "checksum %08" PRIx32 "\n",
		                           crumb_version(), data->train.count, data->test.count,
		                           data->checksum);
	if (length >= sizeof text) {
		snprintf(why, cap, "the options have more than %d characters", TEXT);
		ranks->leave(ranks);
		return -1;
	}
	crumb_span *in = calloc(ranks->ranks, sizeof *in);
	int result = swap(ranks, (crumb_span){text, strlen(text)}, in, why, cap);
	if (result == 0 && differ(ranks, in)) {
		/* Nobody ends the job before rank 0 has printed. */
		swap(ranks, (crumb_span){NULL, 0}, in, why, cap);
		*why = 0;
		result = -1;
	}
	free(in);
	return result;
}

int agree_least(struct crumb_exchange_net *ranks, double *value, char *why, size_t cap)
{
	static double mine; /* stays until the next swap */
	if (!ranks)
		return 0;
	double least = mine = *value;
	crumb_span *in = calloc(ranks->ranks, sizeof *in);
	int result = swap(ranks, (crumb_span){&mine, sizeof mine}, in, why, cap);
	for (unsigned r = 0; r < ranks->ranks && result == 0; r++) {
		double other = mine;
		if (in[r].len == sizeof other) {
			memcpy(&other, in[r].data, sizeof other);
		} else {
			snprintf(why, cap, "rank %u sends what is no number", r);
			result = -1;
		}
		least = other < least ? other : least;
	}
	if (result == 0)
		*value = least;
	free(in);
	return result;
}

int agree_meet(struct crumb_exchange_net *ranks, char *why, size_t cap)
{
	double nothing = 0;
	return agree_least(ranks, &nothing, why, cap);
}

int agree_most(struct crumb_exchange_net *ranks, double *value, char *why, size_t cap)
{
	double opposite = -*value;
	const int result = agree_least(ranks, &opposite, why, cap);
	*value = -opposite;
	return result;
}
