/* A step in segments, so that late layers' slices are on their way while backward is still at early ones. A
 * gradient that is not finite may be seen after some segments were packed: their packers are kept for that.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/plan.h"
#include "exchange/step.h"
#include "exchange/tiers.h"

/* Late layers have most parameters, early ones most of the computation: few segments hide as much as many. 64
 * KiB of f32 take longer on 1 Gbit/s than what each segment adds, its heads and a round trip. */
enum { MOST_SEGMENTS = 4, LEAST = 16384 };

/* Returns how many elements a segment should have at least. Owners that divide a segment are as fast as those
 * that divide all if there is enough of it for each. */
static size_t suitable(const struct crumb_exchange *x)
{
	const size_t owners = !x->plan->longest_slice ? 1 : x->tiers ? x->tiers->nodes : x->ranks;
	size_t longest = 0;

	for (size_t s = 0; s < x->slices; s++)
		longest = x->slice[s].n > longest ? x->slice[s].n : longest;
	return owners > 1 && owners * longest > LEAST ? owners * longest : LEAST;
}

/* Writes each segment's first slice to first, which may be NULL. Returns how many segments there are. */
static size_t cut(const struct crumb_slice *slice, size_t slices, size_t least, size_t *first)
{
	const size_t even = slices_total(slice, slices) / MOST_SEGMENTS, share = even > least ? even : least;
	size_t segments = 1, n = 0;

	for (size_t s = slices; s-- > 0; n += slice[s].n) {
		if (least && n >= share && slice[s].n > 0) {
			segments++;
			n = 0;
		}
		if (first)
			first[segments - 1] = s;
	}
	return segments;
}

bool crumb_segments_open(struct crumb_exchange *x, size_t segment)
{
	const size_t least = !x->overlaps ? 0 : segment ? segment : suitable(x);

	x->segments = cut(x->slice, x->slices, least, NULL);
	x->segment = crumb_exchange_take(x, x->segments * sizeof *x->segment);
	size_t *first = crumb_exchange_take(x, x->segments * sizeof *first);
	if (!x->segment || !first)
		return false;
	first[0] = 0;
	cut(x->slice, x->slices, least, first);
	for (size_t i = 0, end = x->slices; i < x->segments; end = first[i++])
		x->segment[i] = (struct segment){.first = first[i], .count = end - first[i]};
	return true;
}

/* Calls act(kept, packer, size) for each packer of a segment, kept going on by size; NULL: only sizes count.
 * Returns the sum of the sizes. */
static size_t each_packer(struct crumb_exchange *x, const struct segment *segment, uint8_t *kept,
                          void (*act)(uint8_t *kept, crumb_packer *packer, size_t size))
{
	size_t at = 0;

	for (size_t s = segment->first; s < segment->first + segment->count; s++)
		for (size_t l = 0; l <= x->own; l++) {
			const struct slot *slot = l < x->own ? &x->up[l * x->slices + s] : &x->down.slot[s];
			const size_t size = slot->packer ? crumb_packer_size(&slot->codec, x->slice[s].n) : 0;
			if (act && size)
				act(kept + at, slot->packer, size);
			at += size;
		}
	return at;
}

static void keep(uint8_t *kept, crumb_packer *packer, size_t size) { memcpy(kept, packer, size); }

static void restore(uint8_t *kept, crumb_packer *packer, size_t size) { memcpy(packer, kept, size); }

/* One segment votes, so that no packer need be copied; of several only those do whose codecs have to agree.
 */
static void choose_votes(struct crumb_exchange *x, struct segment *segment)
{
	segment->votes = segment->nodes_vote = x->segments == 1;
	for (size_t s = segment->first; s < segment->first + segment->count; s++) {
		segment->votes = segment->votes || crumb_agrees(&x->slice_state[s].codec);
		segment->nodes_vote = segment->nodes_vote || crumb_agrees(crumb_exchange_codec(x, s));
	}
}

bool crumb_segments_ready(struct crumb_exchange *x)
{
	for (size_t i = 0; i < x->segments; i++) {
		struct segment *segment = &x->segment[i];
		choose_votes(x, segment);
		if (segment->votes && i + 1 == x->segments)
			continue; /* after this vote no gradient is unknown */
		segment->kept = crumb_exchange_take(x, each_packer(x, segment, NULL, NULL));
		if (!segment->kept)
			return false;
	}
	return true;
}

void crumb_segment_keep(struct crumb_exchange *x, const struct segment *segment)
{
	if (segment->kept)
		each_packer(x, segment, segment->kept, keep);
	x->packed++;
}

void crumb_segments_restore(struct crumb_exchange *x)
{
	for (size_t i = 0; i < x->packed; i++)
		if (x->segment[i].kept)
			each_packer(x, &x->segment[i], x->segment[i].kept, restore);
	for (size_t i = 0; i < x->own * x->slices; i++)
		x->up[i].length = 0;
}
