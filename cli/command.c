/* Option tables, messages and exit statuses of the crumb tool.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "program/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 16 };

static void print_help(const struct command *command)
{
	printf("usage: crumb %s %s\n%s\n\n", command->name, command->operands, command->brief);
	for (const struct option_info *o = command->options; o->name; o++) {
		char left[64];
		snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->id < OPTION_LONG ? '-' : ' ',
		         o->id < OPTION_LONG ? o->id : ' ', o->id < OPTION_LONG ? "," : " ", o->name,
		         o->value ? " " : "", o->value ? o->value : "");
		printf("  %-26s %s\n", left, o->brief);
	}
	printf("  -h, --%-20s %s\n", "help", "print this and exit");
	if (command->notes)
		printf("\n%s", command->notes);
}

/* Reports an option that getopt refused. letter: its id if known; the letter if an unknown short one; else
 * 0. */
static void refuse_option(const struct command *command, const char *word, int letter, const char *shorts)
{
	if (!letter) {
		struct nearest nearest = {.word = word + 2, .length = strcspn(word + 2, "=")};
		for (const struct option_info *o = command->options; o->name; o++)
			nearest_try(&nearest, o->name);
		nearest_try(&nearest, "help");
		command_usage(command, "%s is no option here", word);
		nearest_say(&nearest, "--");
	} else if (letter < OPTION_LONG && !strchr(shorts, letter))
		command_usage(command, "-%c is no option here", letter);
	else if (strchr(word, '='))
		command_usage(command, "%s: it takes no value", word);
	else
		command_usage(command, "%s needs a value", word);
}

int command_option(const struct command *command, int argc, char **argv, const char **value)
{
	struct option longs[MOST_OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
	char shorts[2 * MOST_OPTIONS + 2] = "h";
	size_t count = 1, letters = 1;
	for (const struct option_info *o = command->options; o->name; o++) {
		longs[count++] =
		        (struct option){o->name, o->value ? required_argument : no_argument, NULL, o->id};
		if (o->id < OPTION_LONG) {
			shorts[letters++] = (char)o->id;
			if (o->value)
				shorts[letters++] = ':';
		}
	}

	opterr = 0;
	const int id = getopt_long(argc, argv, shorts, longs, NULL);
	if (id == 'h') {
		print_help(command);
		exit(program_finish(STATUS_OK));
	}
	if (id == '?')
		refuse_option(command, argv[optind - 1], optopt, shorts);
	*value = optarg;
	return id;
}

int command_usage(const struct command *command, const char *format, ...)
{
	char line[8192];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	program_say("crumb %s: %s", command->name, line);
	fprintf(stderr, "Try \"crumb %s --help\".\n", command->name);
	return STATUS_USAGE;
}

int command_number(const struct command *command, const char *option, const char *text, uint64_t *number)
{
	char *end = NULL;
	errno = 0;
	const unsigned long long value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return command_usage(command, "%s takes a whole number, not \"%s\"", option, text);
	*number = value;
	return STATUS_OK;
}
