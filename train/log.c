/* Events as JSON Lines.
 *
 * SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int failed(const struct log *log, char *why, size_t cap)
{
	snprintf(why, cap, "%s: %s", log->options->log, errno ? strerror(errno) : "cannot be written");
	return -1;
}

int log_open(struct log *log, const struct options *options, char *why, size_t cap)
{
	*log = (struct log){.options = options};
	if (!options->log)
		return 0;
	errno = 0;
	log->file = fopen(options->log, "w");
	return log->file ? 0 : failed(log, why, cap);
}

static void put_string(FILE *to, const char *text)
{
	fputc('"', to);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else if (*c < 0x20)
			fprintf(to, "\\u%04x", *c);
		else
			fputc(*c, to);
	}
	fputc('"', to);
}

/* JSON has no infinity and no NaN. */
static void put_number(FILE *to, const char *key, double value)
{
	if (isfinite(value))
		fprintf(to, ", \"%s\": %.10g", key, value);
	else
		fprintf(to, ", \"%s\": null", key);
}

static void put_head(const struct log *log, const char *event, const char *codec)
{
	const struct options *o = log->options;
	fprintf(log->file, "{\"event\": \"%s\", \"codec\": ", event);
	put_string(log->file, codec);
	fprintf(log->file, ", \"model\": ");
	put_string(log->file, o->model->name);
	fprintf(log->file, ", \"data\": ");
	put_string(log->file, o->data);
	fprintf(log->file, ", \"learners\": %zu, \"batch\": %zu, \"seed\": %llu", o->learners, o->batch,
	        (unsigned long long)o->seed);
}

static void put_ratios(FILE *to, const struct crumb_exchange_stats *stats)
{
	put_number(to, "ratio", report_ratio(stats));
	fprintf(to, ", \"ratio_by_kind\": {");
	const char *comma = "";
	for (int kind = 0; kind < CRUMB_KINDS; kind++) {
		if (stats->bytes[kind] == 0)
			continue;
		fprintf(to, "%s\"%s\": %.10g", comma, crumb_kind_name(kind), report_kind_ratio(stats, kind));
		comma = ", ";
	}
	fprintf(to, "}");
}

static void put_report(FILE *to, const struct report *r)
{
	fprintf(to, ", \"epoch\": %zu", r->epoch);
	put_number(to, "loss", r->loss);
	put_number(to, "error", r->error);
	fprintf(to, ", \"bytes\": %llu", (unsigned long long)r->bytes);
	put_ratios(to, &r->stats);
	put_number(to, "sent", report_sent(&r->stats));
	put_number(to, "residual_norm", r->residual_norm);
	fprintf(to, ", \"steps\": %llu, \"skipped\": %llu", (unsigned long long)r->stats.steps,
	        (unsigned long long)r->stats.skipped);
	fprintf(to, ", \"seconds\": {\"compute\": %.6f, \"pack\": %.6f, \"swap\": %.6f, \"unpack\": %.6f",
	        r->compute_seconds, r->stats.check_seconds + r->stats.pack_seconds, r->stats.swap_seconds,
	        r->stats.unpack_seconds);
	fprintf(to, ", \"wall\": %.6f}", r->wall_seconds);
}

static int end_line(struct log *log, char *why, size_t cap)
{
	errno = 0;
	fprintf(log->file, "}\n");
	return fflush(log->file) || ferror(log->file) ? failed(log, why, cap) : 0;
}

int log_epoch(struct log *log, const char *codec, const struct report *epoch, char *why, size_t cap)
{
	if (!log->file)
		return 0;
	put_head(log, "epoch", codec);
	put_report(log->file, epoch);
	fprintf(log->file, ", \"epoch_bytes\": %llu", (unsigned long long)report_bytes(&epoch->stats));
	return end_line(log, why, cap);
}

int log_done(struct log *log, const char *codec, const struct report *run, char *why, size_t cap)
{
	if (!log->file)
		return 0;
	put_head(log, "done", codec);
	put_report(log->file, run);
	return end_line(log, why, cap);
}

int log_close(struct log *log, char *why, size_t cap)
{
	if (!log->file)
		return 0;
	errno = 0;
	const int result = fclose(log->file);
	log->file = NULL;
	return result ? failed(log, why, cap) : 0;
}
