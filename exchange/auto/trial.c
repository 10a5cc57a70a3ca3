/* Codecs timed.
 *
 * SPDX-License-Identifier: MIT */
#include "exchange/auto/trial.h"

#include <stdlib.h>
#include <string.h>
#include "exchange/seconds.h"

enum { MOST_ELEMENTS = 1 << 20 }; /* of a tensor: beyond L2 */

/* One kind under one policy. */
struct contest {
	crumb_packer *packer; /* NULL: there is no such tensor, or it goes raw as on the menu's first line */
	uint8_t *frame;
	size_t cap, at, n;
	float *stat;
	double pack[TRIAL_MOST], unpack[TRIAL_MOST], bytes; /* of an element */
	size_t steps;                                       /* timed */
};

struct trial {
	struct contest contest[CRUMB_AUTO_MENU][CRUMB_KINDS];
	float *acc;
};

static bool contest_open(struct contest *c, const crumb_codec *codec, const struct crumb_slice *slice)
{
	c->at = slice->at;
	c->n = slice->n < MOST_ELEMENTS ? slice->n : MOST_ELEMENTS;
	c->cap = crumb_bound(codec, c->n);
	c->packer = crumb_exchange_alloc(crumb_packer_size(codec, c->n));
	c->frame = malloc(c->cap);
	if (!c->packer || !c->frame || crumb_packer_init(c->packer, codec, c->n, slice->run, 1))
		return false;
	c->stat = malloc(sizeof *c->stat * (crumb_agree_count(c->packer) + 1));
	return c->stat;
}

struct trial *crumb_trial_open(const struct crumb_auto_setting *setting, const struct crumb_slice *slices,
                               size_t count)
{
	struct trial *t = calloc(1, sizeof *t);
	bool well = t && (t->acc = calloc(MOST_ELEMENTS, sizeof *t->acc));

	for (int kind = 0; kind < CRUMB_KINDS && well; kind++) {
		const struct crumb_slice *longest = NULL;
		for (size_t s = 0; s < count; s++)
			if ((int)slices[s].kind == kind && (!longest || slices[s].n > longest->n))
				longest = &slices[s];
		for (size_t m = 0; longest && longest->n && m < CRUMB_AUTO_MENU && well; m++) {
			const crumb_codec codec =
			        crumb_policy_choose(&setting->menu[m], (enum crumb_kind)kind, longest->n);
			if (m == 0 || codec.id != setting->menu[0].codec[kind].id)
				well = contest_open(&t->contest[m][kind], &codec, longest);
		}
	}
	if (well)
		return t;
	crumb_trial_close(t);
	return NULL;
}

void crumb_trial_close(struct trial *t)
{
	for (size_t m = 0; t && m < CRUMB_AUTO_MENU; m++)
		for (int kind = 0; kind < CRUMB_KINDS; kind++) {
			free(t->contest[m][kind].packer);
			free(t->contest[m][kind].frame);
			free(t->contest[m][kind].stat);
		}
	if (t)
		free(t->acc);
	free(t);
}

/* A gradient that is not finite is not timed: its step will be skipped. */
static void contest_step(struct contest *c, const float *grad, float *acc)
{
	const double n = (double)c->n, begin = crumb_seconds();

	if (crumb_agree_count(c->packer) &&
	    (crumb_measure(c->packer, grad + c->at, c->n, CRUMB_F32, c->stat) ||
	     crumb_agree(c->packer, c->stat, 1)))
		return;
	const int64_t length = crumb_pack(c->packer, grad + c->at, c->n, CRUMB_F32, 0, c->frame, c->cap);
	const double packed = crumb_seconds();
	if (length < 0)
		return;
	crumb_unpack_add(c->frame, (size_t)length, 0.125f, acc, c->n);
	c->pack[c->steps] = (packed - begin) / n;
	c->unpack[c->steps++] = (crumb_seconds() - packed) / n;
	c->bytes = (double)(length - CRUMB_HEADER_BYTES) / n;
}

void crumb_trial_step(struct trial *t, const float *grad)
{
	for (size_t m = 0; m < CRUMB_AUTO_MENU; m++)
		for (int kind = 0; kind < CRUMB_KINDS; kind++)
			if (t->contest[m][kind].packer)
				contest_step(&t->contest[m][kind], grad, t->acc);
}

static double median(const double *seconds, size_t count)
{
	double sorted[TRIAL_MOST];

	memcpy(sorted, seconds, count * sizeof *sorted);
	return crumb_seconds_median(sorted, count);
}

void crumb_trial_prices(const struct trial *t, struct crumb_auto_measured *measured)
{
	const double too_dear = 1; /* a second an element */

	for (size_t m = 0; m < CRUMB_AUTO_MENU; m++)
		for (int kind = 0; kind < CRUMB_KINDS; kind++) {
			const struct contest *c = t ? &t->contest[m][kind] : NULL;
			struct crumb_auto_price *price = &measured->price[m][kind];
			*price = (struct crumb_auto_price){sizeof(float), m > 0 ? too_dear : 0, 0};
			if (c && c->steps)
				*price = (struct crumb_auto_price){c->bytes, median(c->pack, c->steps),
				                                   median(c->unpack, c->steps)};
			else if (c && !c->packer && m > 0)
				*price = measured->price[0][kind];
		}
}
