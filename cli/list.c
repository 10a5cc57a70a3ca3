/* crumb list: every codec and its keys.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "program/json.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

enum { OPTION_JSON = OPTION_LONG };
static const struct option_info options[] = {
        {OPTION_JSON, "json", NULL, "JSON Lines: one object a codec"},
        {0, NULL, NULL, NULL},
};

static void print_json_key(const crumb_key_info *key)
{
	fputs("{\"name\": ", stdout);
	json_string(stdout, key->name);
	json_string_member(stdout, "brief", key->brief);
	fputs(", \"default\": ", stdout);
	json_float(stdout, key->default_value);
	fputs(", \"min\": ", stdout);
	json_float(stdout, key->min);
	fputs(", \"max\": ", stdout);
	json_float(stdout, key->max);
	fputs(", \"step\": ", stdout);
	json_float(stdout, key->step);
	for (size_t i = 0; key->choices && key->choices[i]; i++) {
		fputs(i ? ", " : ", \"choices\": [", stdout);
		json_string(stdout, key->choices[i]);
	}
	fputs(key->choices ? "]}" : "}", stdout);
}

static const struct {
	unsigned flag;
	const char *name, *text; /* in JSON, and in text */
} properties[] = {
        {CRUMB_CODEC_RESIDUAL, "residual", "residual"}, {CRUMB_CODEC_RANDOM, "random", "random"},
        {CRUMB_CODEC_FIXED, "fixed", "fixed length"},   {CRUMB_CODEC_AGREES, "agrees", "agrees"},
        {CRUMB_CODEC_MOMENTUM, "momentum", "momentum"},
};

static void print_json(const crumb_codec_info *codec)
{
	fputs("{\"name\": ", stdout);
	json_string(stdout, codec->name);
	printf(", \"id\": %u", (unsigned)codec->id);
	json_string_member(stdout, "brief", codec->brief);
	fputs(", \"keys\": [", stdout);
	for (size_t k = 0; k < codec->keys; k++) {
		fputs(k ? ", " : "", stdout);
		print_json_key(&codec->key[k]);
	}
	putchar(']');
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
		printf(", \"%s\": %s", properties[i].name,
		       codec->flags & properties[i].flag ? "true" : "false");
	fputs("}\n", stdout);
}

static void print_text_key(const crumb_key_info *key)
{
	const bool number = !key->choices || key->step == 0;
	char value[128], range[128] = "";
	size_t length = 0;
	if (number)
		length = (size_t)snprintf(range, sizeof range, "%.8g .. %.8g", (double)key->min,
		                          (double)key->max);
	for (size_t i = 0; key->choices && key->choices[i] && length < sizeof range; i++)
		length += (size_t)snprintf(range + length, sizeof range - length, "%s%s", length ? "|" : "",
		                           key->choices[i]);
	if (number)
		snprintf(value, sizeof value, "%s=%.6g", key->name, (double)key->default_value);
	else
		snprintf(value, sizeof value, "%s=%s", key->name, key->choices[(size_t)key->default_value]);
	printf("    %-18s %-22s %s\n", value, range, key->brief);
}

static void print_text(const crumb_codec_info *codec)
{
	printf("%-10s %s", codec->name, codec->brief);
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
		if (codec->flags & properties[i].flag)
			printf(" [%s]", properties[i].text);
	putchar('\n');
	for (size_t k = 0; k < codec->keys; k++)
		print_text_key(&codec->key[k]);
}

static int run(int argc, char **argv)
{
	bool json = false;
	const char *value;
	for (int id; (id = command_option(&list_command, argc, argv, &value)) != OPTION_END;) {
		if (id == OPTION_BAD)
			return STATUS_USAGE;
		json = true;
	}
	if (optind < argc)
		return command_usage(&list_command, "it takes no file: %s", argv[optind]);
	const crumb_codec_info *codec;
	for (size_t i = 0; (codec = crumb_list(i)); i++)
		(json ? print_json : print_text)(codec);
	return STATUS_OK;
}

const struct command list_command = {
        "list",
        "[--json]",
        "show every codec with its keys, their defaults and ranges",
        "residual: the packer keeps what was not sent. random: a frame depends on the packer's seed. fixed length:\n"
        "frames of as many elements have one, at the default coding. agrees: with some settings learners share\n"
        "statistics before they pack. momentum: the packer has it, and the optimizer then has none.\n",
        options,
        run,
};
