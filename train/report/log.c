/* Events as JSON Lines.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "train/report/log.h"
#include "exchange/auto/tuner.h"
#include "program/file_lock.h"
#include "program/json.h"
#include "train/options/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct log *log, char *why, size_t cap)
{
	snprintf(why, cap, "%s: %s", log->path, errno ? strerror(errno) : "cannot be written");
	return -1;
}

int log_open(struct log *log, const struct options *options, unsigned rank, unsigned ranks, char *why,
             size_t cap)
{
	*log = (struct log){.options = options, .rank = rank, .ranks = ranks};
	if (!options->log)
		return 0;
	struct stat info;
	snprintf(log->path, sizeof log->path, "%s", options->log);
	if (rank > 0 && (stat(log->path, &info) < 0 || S_ISREG(info.st_mode))) /* not /dev/null.1 */
		snprintf(log->path, sizeof log->path, "%s.%u", options->log, rank);
	const bool regular = stat(log->path, &info) < 0 || S_ISREG(info.st_mode);
	const int mode = regular ? O_RDWR | O_CREAT | O_CLOEXEC : O_WRONLY | O_CLOEXEC;
	const int fd = open(log->path, mode, 0666);
	log->file = fd < 0 ? NULL : fdopen(fd, regular ? "r+" : "w");
	if (!log->file)
		return failed(log, why, cap);
	if (regular && file_lock_open(fd, false) < 0 && !file_lock_unknown(errno)) {
		snprintf(why, cap, "%s: %s", log->path,
		         errno == EWOULDBLOCK ? "another run is writing there" : strerror(errno));
		fclose(log->file);
		return -1;
	}
	log->command = command_line(options->words);
	if (!log->command) {
		fclose(log->file);
		snprintf(why, cap, "out of memory");
		return -1;
	}
	log->end = regular && fseek(log->file, 0, SEEK_END) == 0 ? ftell(log->file) : -1;
	return 0;
}

static int cut(struct log *log, long end, char *why, size_t cap)
{
	errno = 0;
	log->begun = true;
	if (!log->file || log->end < 0)
		return 0;
	log->end = end;
	return ftruncate(fileno(log->file), end) < 0 || fseek(log->file, end, SEEK_SET) < 0
	               ? failed(log, why, cap)
	               : 0;
}

/* Returns true if the file is empty or begins with an event. */
static bool is_log(const struct log *log)
{
	static const char event[] = "{\"event\": ";
	char first[sizeof event] = "";
	return log->end <= 0 ||
	       (fseek(log->file, 0, SEEK_SET) == 0 && fread(first, 1, sizeof event - 1, log->file) > 0 &&
	        strcmp(first, event) == 0);
}

int log_begin(struct log *log, char *why, size_t cap)
{
	if (!log->file || is_log(log))
		return cut(log, 0, why, cap);
	snprintf(why, cap, "%s is a file, and not a log: remove it, or name another", log->path);
	return -1;
}

/* Returns true if a line ends at this byte. */
static bool ends_a_line(FILE *file, long end)
{
	return fseek(file, end - 1, SEEK_SET) == 0 && fgetc(file) == '\n';
}

static int refuse(const struct log *log, char *why, size_t cap)
{
	snprintf(why, cap, "%s is not the log of the run that is to be resumed", log->path);
	return -1;
}

/* Returns true if a line is of a run's end, or of an epoch above `most`. */
static bool is_beyond(const char *line, size_t most)
{
	static const char done[] = "{\"event\": \"done\"", epoch[] = "{\"event\": \"epoch\"";
	const char *number = strstr(line, ", \"epoch\": ");
	return strncmp(line, done, sizeof done - 1) == 0 ||
	       (strncmp(line, epoch, sizeof epoch - 1) == 0 && number &&
	        strtoul(strchr(number, ':') + 1, NULL, 10) > most);
}

int log_begin_anew(struct log *log, size_t most, char *why, size_t cap)
{
	bool beyond = false;
	size_t room = 0;
	char *line = NULL;
	if (log->file && !is_log(log))
		return refuse(log, why, cap);
	if (log->file && log->end > 0) {
		fseek(log->file, 0, SEEK_SET);
		while (!beyond && getline(&line, &room, log->file) > 0)
			beyond = is_beyond(line, most);
		free(line);
	}
	if (!beyond)
		return log_begin(log, why, cap);
	snprintf(why, cap, "%s has epochs of a run, but %s no checkpoint of it: remove it, or name another",
	         log->options->log, log->options->checkpoint);
	return -1;
}

int log_resume(struct log *log, long end, char *why, size_t cap)
{
	if (!log->file || log->end <= 0)
		return cut(log, log->end, why, cap);
	if (!is_log(log) || log->end < end || (end > 0 && !ends_a_line(log->file, end)))
		return refuse(log, why, cap);
	return cut(log, end > 0 ? end : log->end, why, cap);
}

static void put_head(const struct log *log, const char *event, const char *codec)
{
	const struct options *o = log->options;
	const bool tuned = crumb_script_meant(codec);
	fprintf(log->file, "{\"event\": \"%s\"", event);
	json_string_member(log->file, "codec", codec);
	json_string_member(log->file, "model", o->model->name);
	json_string_member(log->file, "data", o->data);
	json_string_member(log->file, "plan", tuned ? "auto" : o->plan->name);
	json_string_member(log->file, "down", tuned ? "auto" : o->down_text);
	fprintf(log->file, ", \"ranks\": %u, \"rank\": %u, \"learners\": %zu, \"batch\": %zu, \"seed\": %llu",
	        log->ranks, log->rank, o->learners, o->batch, (unsigned long long)o->seed);
}

static void put_by_kind(FILE *to, const char *name, const struct exchange_stats *stats,
                        double (*of_kind)(const struct exchange_stats *, enum crumb_kind))
{
	const char *comma = "";
	fprintf(to, ", \"%s\": {", name);
	for (int kind = 0; kind < CRUMB_KINDS; kind++)
		if (stats->bytes[kind] > 0) {
			fprintf(to, "%s\"%s\": ", comma, crumb_kind_name(kind));
			json_double(to, of_kind(stats, kind));
			comma = ", ";
		}
	fprintf(to, "}");
}

/* Writes how stale gradients were, with plan async. */
static void put_async(FILE *to, const struct exchange_stats *stats)
{
	uint64_t pushes = 0, sum = 0, most = 0;
	for (uint64_t bin = 0; bin < CRUMB_STALENESS_BINS; bin++) {
		pushes += stats->staleness[bin];
		sum += bin * stats->staleness[bin];
		most = stats->staleness[bin] > 0 ? bin : most;
	}
	fprintf(to, ", \"async\": {\"pushes\": %llu", (unsigned long long)pushes);
	json_double_member(to, "staleness", pushes > 0 ? (double)sum / (double)pushes : 0);
	fprintf(to, ", \"histogram\": [");
	for (uint64_t bin = 0; bin <= most; bin++)
		fprintf(to, "%s%llu", bin > 0 ? ", " : "", (unsigned long long)stats->staleness[bin]);
	fprintf(to, "], \"ahead\": %llu, \"waiting\": %.6f}", (unsigned long long)stats->ahead,
	        stats->held_seconds);
}

static void put_report(FILE *to, const struct report *r, bool async)
{
	fprintf(to, ", \"epoch\": %zu", r->epoch);
	json_double_member(to, "loss", r->loss);
	json_double_member(to, "error", r->error);
	json_double_member(to, "test_loss", r->test_loss);
	fprintf(to, ", \"bytes\": %llu, \"down_bytes\": %llu", (unsigned long long)r->bytes,
	        (unsigned long long)r->down_bytes);
	json_double_member(to, "ratio", report_ratio(&r->stats));
	put_by_kind(to, "ratio_by_kind", &r->stats, report_kind_ratio);
	json_double_member(to, "sent", report_sent(&r->stats));
	put_by_kind(to, "sent_by_kind", &r->stats, report_kind_sent);
	json_double_member(to, "residual_norm", r->residual_norm);
	fprintf(to, ", \"link\": {\"out\": %llu, \"in\": %llu, \"messages\": %llu}",
	        (unsigned long long)r->stats.link_out, (unsigned long long)r->stats.link_in,
	        (unsigned long long)r->stats.link_messages);
	fprintf(to, ", \"steps\": %llu, \"skipped\": %llu", (unsigned long long)r->stats.steps,
	        (unsigned long long)r->stats.skipped);
	if (async)
		put_async(to, &r->stats);
	fprintf(to, ", \"seconds\": {\"compute\": %.6f, \"pack\": %.6f, \"swap\": %.6f, \"unpack\": %.6f",
	        r->compute_seconds, r->stats.check_seconds + r->stats.pack_seconds, r->stats.swap_seconds,
	        r->stats.unpack_seconds);
	if (!async)
		fprintf(to, ", \"wait\": %.6f", r->wait_seconds);
	fprintf(to, ", \"wall\": %.6f}", r->wall_seconds);
}

static int end_line(struct log *log, char *why, size_t cap)
{
	errno = 0;
	fprintf(log->file, "}\n");
	if (fflush(log->file) || ferror(log->file))
		return failed(log, why, cap);
	if (log->end >= 0)
		log->end = ftell(log->file);
	return 0;
}

int log_settle(struct log *log, char *why, size_t cap)
{
	errno = 0;
	if (log->file && log->end >= 0 && fsync(fileno(log->file)) < 0 && errno != EINVAL)
		return failed(log, why, cap);
	return 0;
}

/* Writes a line that the next event overwrites; all later lines are at least as long. */
int log_step(struct log *log, const char *codec, size_t epoch, size_t step, char *why, size_t cap)
{
	if (!log->file || log->end < 0)
		return 0;
	errno = 0;
	put_head(log, "step", codec);
	fprintf(log->file, ", \"epoch\": %zu, \"step\": %zu}\n", epoch, step);
	return fflush(log->file) || fseek(log->file, log->end, SEEK_SET) ? failed(log, why, cap) : 0;
}

static void put_spread(FILE *to, const char *name, const struct spread *spread)
{
	fprintf(to, ", \"%s\": {", name);
	for (size_t k = 0; k < SPREAD_PERCENTILES; k++)
		if (spread_permille[k] < 1000)
			fprintf(to, "\"p%g\": %.10g, ", spread_permille[k] / 10.0, spread->percentile[k]);
		else
			fprintf(to, "\"max\": %.10g", spread->percentile[k]);
	json_double_member(to, "zeros", spread->zeros);
	fprintf(to, ", \"histogram\": [");
	for (size_t i = 0; i < SPREAD_BINS; i++)
		fprintf(to, "%s%llu", i > 0 ? ", " : "", (unsigned long long)spread->bin[i]);
	fprintf(to, "]}");
}

static void put_layer(FILE *to, const struct layer_probe *layer)
{
	char codec[CRUMB_SPEC_MAX];
	crumb_print(&layer->codec, codec, sizeof codec);
	fprintf(to, "{\"slice\": %zu, \"kind\": \"%s\", \"codec\": \"%s\"", layer->slice,
	        crumb_kind_name(layer->kind), codec);
	json_double_member(to, "sent", layer->sent);
	json_double_member(to, "bin_sent", layer->bin_sent);
	json_double_member(to, "error", layer->error);
	json_double_member(to, "variance", layer->variance);
	put_spread(to, "gradient", &layer->gradient);
	put_spread(to, "arrived", &layer->arrived);
	if (layer->owes)
		put_spread(to, "residual", &layer->residual);
	if (layer->clips) {
		put_spread(to, "clipped", &layer->clipped);
		json_double_member(to, "clip_length", layer->clip_length);
		json_double_member(to, "clip_cosine", layer->clip_cosine);
	}
	fprintf(to, "}");
}

int log_probe(struct log *log, const char *codec, size_t epoch, size_t step, const struct arrived *arrived,
              const struct layer_probe *layer, size_t layers, char *why, size_t cap)
{
	FILE *to = log->file;
	if (!to)
		return 0;
	put_head(log, "probe", codec);
	fprintf(to, ", \"epoch\": %zu, \"step\": %zu", epoch, step);
	if (arrived) {
		fprintf(to, ", \"arrived\": {\"slope\": ");
		json_double(to, arrived->slope);
		json_double_member(to, "cosine", arrived->cosine);
		json_double_member(to, "drift", arrived->drift);
		fprintf(to, "}");
	}
	fprintf(to, ", \"layers\": [");
	for (size_t i = 0; i < layers; i++) {
		fputs(i > 0 ? ", " : "", to);
		put_layer(to, &layer[i]);
	}
	fprintf(to, "]");
	return end_line(log, why, cap);
}

void log_failed(struct log *log, const char *codec, size_t step, const char *reason)
{
	if (!log->file || !log->begun)
		return;
	put_head(log, "failed", codec);
	fprintf(log->file, ", \"step\": %zu", step);
	json_string_member(log->file, "why", reason);
	char late[512]; /* the run's own failure is the one to be told */
	end_line(log, late, sizeof late);
}

int log_epoch(struct log *log, const char *codec, const struct report *epoch, char *why, size_t cap)
{
	if (!log->file)
		return 0;
	put_head(log, "epoch", codec);
	put_report(log->file, epoch, log->options->plan->serves && log->rank == 0);
	fprintf(log->file, ", \"epoch_bytes\": %llu",
	        (unsigned long long)report_bytes(&epoch->stats, log->options->learners));
	json_string_member(log->file, "command", log->command);
	return end_line(log, why, cap);
}

int log_done(struct log *log, const char *codec, const struct report *run, char *why, size_t cap)
{
	if (!log->file)
		return 0;
	put_head(log, "done", codec);
	put_report(log->file, run, log->options->plan->serves && log->rank == 0);
	json_string_member(log->file, "command", log->command);
	return end_line(log, why, cap);
}

int log_divided(struct log *log, const char *codec, size_t epoch, size_t step, size_t learners,
                unsigned ranks, char *why, size_t cap)
{
	FILE *to = log->file;
	if (!to)
		return 0;
	put_head(log, "divided", codec);
	fprintf(to, ", \"epoch\": %zu, \"step\": %zu, \"from\": {\"ranks\": %u, \"learners\": %zu}", epoch,
	        step, ranks, learners);
	return end_line(log, why, cap);
}

int log_lost(struct log *log, const char *codec, size_t epoch, size_t step, unsigned rank, char *why,
             size_t cap)
{
	FILE *to = log->file;
	if (!to)
		return 0;
	put_head(log, "lost", codec);
	fprintf(to, ", \"epoch\": %zu, \"step\": %zu, \"lost\": %u", epoch, step, rank);
	return end_line(log, why, cap);
}

int log_choice(struct log *log, const char *codec, const struct crumb_tuned *choice, char *why, size_t cap)
{
	FILE *to = log->file;
	if (!to)
		return 0;
	put_head(log, "choice", codec);
	fprintf(to, ", \"step\": %llu, \"chosen\": {\"plan\": \"%s\"", (unsigned long long)choice->step,
	        choice->plan);
	json_string_member(to, "down", choice->down);
	json_string_member(to, "up", choice->up);
	fprintf(to, "}, \"seconds\": {\"measured\": %.6f", choice->measured);
	json_double_member(to, "predicted", choice->predicted);
	json_double_member(to, "raw", choice->plain);
	json_double_member(to, "compute", choice->compute);
	fprintf(to, "}, \"link\": {\"latency\": %.9f", choice->latency);
	json_double_member(to, "rate", 8 * choice->rate);
	fprintf(to, "}");
	json_string_member(to, "script", choice->script);
	return end_line(log, why, cap);
}

int log_close(struct log *log, char *why, size_t cap)
{
	if (!log->file)
		return 0;
	free(log->command);
	errno = 0;
	const int result = fclose(log->file);
	log->file = NULL;
	return result ? failed(log, why, cap) : 0;
}
