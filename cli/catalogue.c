/* The cost of one gradient under a policy.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/catalogue.h"
#include "cli/command.h"
#include "program/status_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct price *find(const struct catalogue *catalogue, const crumb_codec *codec)
{
	for (size_t i = 0; i < catalogue->count; i++)
		if (!memcmp(&catalogue->priced[i].codec, codec, sizeof *codec))
			return &catalogue->priced[i].price;
	return NULL;
}

static int add(struct catalogue *catalogue, const crumb_codec *codec)
{
	if (find(catalogue, codec))
		return STATUS_OK;
	struct priced *grown = realloc(catalogue->priced, (catalogue->count + 1) * sizeof *grown);
	if (!grown)
		return program_fail("not enough memory");
	catalogue->priced = grown;
	char spec[CRUMB_SPEC_MAX];
	crumb_print(codec, spec, sizeof spec);
	status_line("measuring %s", spec);
	grown[catalogue->count].codec = *codec;
	const int status = price_measure(&grown[catalogue->count].price, codec);
	catalogue->count += !status;
	status_line_clear();
	return status;
}

int catalogue_add_policy(struct catalogue *catalogue, const struct policy *policy, const struct sizes *sizes)
{
	int status = STATUS_OK;
	for (size_t i = 0; i < sizes->count && !status; i++) {
		const struct crumb_slice *slice = &sizes->tensor[i];
		const crumb_codec codec = crumb_policy_choose(policy, slice->kind, slice->n);
		status = add(catalogue, &codec);
	}
	return status;
}

static void add_frame(struct crumb_cost_frames *frames, const struct price *price, size_t n)
{
	frames->bytes += CRUMB_HEADER_BYTES + price->bytes * (double)n;
	frames->pack += price->pack * (double)n;
	frames->unpack += price->unpack * (double)n;
}

struct crumb_cost_frames catalogue_weigh(const struct catalogue *catalogue, const struct policy *policy,
                                         const struct sizes *sizes)
{
	struct crumb_cost_frames frames = {0};
	for (size_t i = 0; i < sizes->count; i++) {
		const struct crumb_slice *slice = &sizes->tensor[i];
		const crumb_codec codec = crumb_policy_choose(policy, slice->kind, slice->n);
		add_frame(&frames, find(catalogue, &codec), slice->n);
	}
	return frames;
}

struct crumb_cost_frames catalogue_weigh_exact(const struct catalogue *catalogue, const struct policy *up,
                                               const struct sizes *sizes, size_t ranks)
{
	const double sum_bits = ceil(log2(2 * (double)ranks + 1));
	struct crumb_cost_frames frames = {0};
	for (size_t i = 0; i < sizes->count; i++) {
		const struct crumb_slice *slice = &sizes->tensor[i];
		const crumb_codec codec = crumb_policy_choose(up, slice->kind, slice->n);
		const struct price *price = find(catalogue, &codec);
		if (!price->sums || ranks > CRUMB_MAX_FRAMES) {
			const crumb_codec raw = crumb_policy_choose(NULL, slice->kind, slice->n);
			add_frame(&frames, find(catalogue, &raw), slice->n);
			continue;
		}
		frames.bytes += CRUMB_HEADER_BYTES + sum_bits / 8 * (double)slice->n;
		frames.unpack += price->unpack * (double)slice->n;
	}
	return frames;
}
