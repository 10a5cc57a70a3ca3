/* Sums and ratios of the exchange's counters.
 *
 * SPDX-License-Identifier: MIT */
#include "train/report/report.h"

static uint64_t sum(const uint64_t *of_kind)
{
	uint64_t total = 0;
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		total += of_kind[kind];
	return total;
}

static double quotient(uint64_t a, uint64_t b) { return b > 0 ? (double)a / (double)b : 0; }

double report_kind_ratio(const struct exchange_stats *stats, enum crumb_kind kind)
{
	return quotient(stats->dense[kind], stats->bytes[kind]);
}

double report_ratio(const struct exchange_stats *stats)
{
	return quotient(sum(stats->dense), sum(stats->bytes));
}

uint64_t report_bytes(const struct exchange_stats *stats, size_t learners)
{
	return sum(stats->bytes) / learners;
}

uint64_t report_down_bytes(const struct exchange_stats *stats) { return sum(stats->down); }

double report_kind_sent(const struct exchange_stats *stats, enum crumb_kind kind)
{
	return quotient(stats->sent[kind], stats->elements[kind]);
}

double report_sent(const struct exchange_stats *stats)
{
	return quotient(sum(stats->sent), sum(stats->elements));
}

void report_add(struct exchange_stats *total, const struct exchange_stats *part)
{
	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		total->dense[kind] += part->dense[kind];
		total->bytes[kind] += part->bytes[kind];
		total->elements[kind] += part->elements[kind];
		total->sent[kind] += part->sent[kind];
		total->down[kind] += part->down[kind];
	}
	total->link_out += part->link_out;
	total->link_in += part->link_in;
	total->link_messages += part->link_messages;
	total->check_seconds += part->check_seconds;
	total->pack_seconds += part->pack_seconds;
	total->swap_seconds += part->swap_seconds;
	total->unpack_seconds += part->unpack_seconds;
	for (int bin = 0; bin < CRUMB_STALENESS_BINS; bin++)
		total->staleness[bin] += part->staleness[bin];
	total->ahead = part->ahead > total->ahead ? part->ahead : total->ahead;
	total->held_seconds += part->held_seconds;
	total->steps += part->steps;
	total->skipped += part->skipped;
}
