/* crumb peek: describes frames.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "program/file.h"
#include "program/json.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPTION_JSON = OPTION_LONG };
static const struct option_info options[] = {
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a frame"},
        {0, NULL, NULL, NULL},
};

static void print_json(const char *path, size_t at, const crumb_frame_info *frame)
{
	char spec[CRUMB_SPEC_MAX];
	crumb_print(&frame->codec, spec, sizeof spec);
	fputs("{\"file\": ", stdout);
	json_string(stdout, path);
	printf(", \"at\": %zu", at);
	json_string_member(stdout, "codec", spec);
	printf(", \"n\": %" PRIu64 ", \"bytes\": %" PRIu64, frame->n, frame->bytes);
	json_double_member(stdout, "bits_per_element", 8.0 * (double)frame->bytes / (double)frame->n);
	printf(", \"sent\": %" PRIu64 ", \"ok\": true", frame->sent);
	for (size_t i = 0; i < frame->facts; i++)
		json_double_member(stdout, frame->fact[i].name, frame->fact[i].value);
	fputs("}\n", stdout);
}

static void print_text(const char *path, const crumb_frame_info *frame)
{
	char spec[CRUMB_SPEC_MAX];
	crumb_print(&frame->codec, spec, sizeof spec);
	program_print(stdout, path);
	printf(": %s, %" PRIu64 " elements in %" PRIu64 " bytes", spec, frame->n, frame->bytes);
	if (frame->n)
		printf(" (%.4g bits each), %.3g %% sent", 8.0 * (double)frame->bytes / (double)frame->n,
		       100.0 * (double)frame->sent / (double)frame->n);
	for (size_t i = 0; i < frame->facts; i++)
		printf(", %s %.6g", frame->fact[i].name, frame->fact[i].value);
	putchar('\n');
}

static int show_bad(const char *path, size_t at, const char *why, bool json)
{
	if (!json)
		return program_fail("%s: at byte %zu: %s", path, at, why);
	fputs("{\"file\": ", stdout);
	json_string(stdout, path);
	printf(", \"at\": %zu, \"ok\": false", at);
	json_string_member(stdout, "error", why);
	fputs("}\n", stdout);
	return STATUS_FAILED;
}

/* Prints a file's frames up to the first damaged one, after which frame lengths cannot be trusted. */
static int show(const char *path, bool json)
{
	struct file file;
	if (file_read(&file, path))
		return json ? show_bad(path, 0, "cannot be read", json) : STATUS_FAILED;
	int status = file.size ? STATUS_OK : show_bad(path, 0, "no frame in it", json);
	for (size_t at = 0; at < file.size && !status;) {
		crumb_frame_info frame;
		const int64_t length = crumb_peek(&frame, file.data + at, file.size - at);
		if (length < 0)
			status = show_bad(path, at, crumb_strerror((int)length), json);
		else if (json)
			print_json(path, at, &frame);
		else
			print_text(path, &frame);
		at += length > 0 ? (size_t)length : 0;
	}
	free(file.data);
	return status;
}

static int run(int argc, char **argv)
{
	bool json = false;
	const char *value;
	for (int id; (id = command_option(&peek_command, argc, argv, &value)) != OPTION_END;) {
		if (id == OPTION_BAD)
			return STATUS_USAGE;
		json = true;
	}
	if (optind == argc)
		return command_usage(&peek_command, "it takes at least one file of frames");
	int status = STATUS_OK;
	for (int i = optind; i < argc; i++)
		if (show(argv[i], json))
			status = STATUS_FAILED;
	return status;
}

const struct command peek_command = {
        "peek", "[--json] FRAME...", "check frames and show what they carry", NULL, options, run,
};
