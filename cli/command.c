/* Option tables, messages and exit statuses of the crumb tool.
 *
 * SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <policy.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_OPTIONS = 16, OPTION_HELP = OPTION_LONG - 1 };

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
	printf("      --%-20s %s\n", "help", "print this and exit");
	if (command->notes)
		printf("\n%s", command->notes);
}

/* letter: the option's id where it is known, a letter where an unknown one is short, else 0. */
static void refuse_option(const struct command *command, const char *word, int letter, const char *shorts)
{
	if (!letter)
		command_usage(command, "%s is no option here", word);
	else if (letter < OPTION_LONG && !strchr(shorts, letter))
		command_usage(command, "-%c is no option here", letter);
	else if (strchr(word, '='))
		command_usage(command, "%s: it takes no value", word);
	else
		command_usage(command, "%s needs a value", word);
}

int command_option(const struct command *command, int argc, char **argv, const char **value)
{
	struct option longs[MOST_OPTIONS + 2] = {{"help", no_argument, NULL, OPTION_HELP}};
	char shorts[2 * MOST_OPTIONS + 1] = "";
	size_t count = 1, letters = 0;
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
	if (id == OPTION_HELP) {
		print_help(command);
		exit(command_finish(STATUS_OK));
	}
	if (id == '?')
		refuse_option(command, argv[optind - 1], optopt, shorts);
	*value = optarg;
	return id;
}

int command_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("crumb: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return STATUS_FAILED;
}

int command_usage(const struct command *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "crumb %s: ", command->name);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\nTry \"crumb %s --help\".\n", command->name);
	va_end(args);
	return STATUS_USAGE;
}

/* With a caret under the first offending character of spec. */
static int refuse_spec(int error, const char *spec, const char *bad)
{
	fprintf(stderr, "crumb: %s\n  %s\n  ", crumb_strerror(error), spec);
	for (const char *c = spec; c < bad; c++)
		if ((*c & 0xc0) != 0x80) /* one column for all bytes of a UTF-8 character */
			fputc(*c == '\t' ? '\t' : ' ', stderr);
	fputs("^\n\"crumb list\" shows the codecs and their keys.\n", stderr);
	return STATUS_USAGE;
}

const crumb_codec_info *command_codec(const crumb_codec *codec)
{
	const crumb_codec_info *info;
	for (size_t i = 0; (info = crumb_list(i)) && info->id != codec->id;)
		i++;
	return info;
}

int command_spec(crumb_codec *codec, const char *spec)
{
	const char *bad = spec;
	const int error = crumb_parse(codec, spec, &bad);
	return error ? refuse_spec(error, spec, bad) : STATUS_OK;
}

int command_policy(struct policy *policy, const char *text)
{
	const char *bad = text;
	const int error = crumb_policy_parse(policy, text, &bad);
	return error ? refuse_spec(error, text, bad) : STATUS_OK;
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

void *command_memory(size_t size)
{
	enum { LINE = 64, HUGE_PAGE = 1 << 21 };
	const size_t alignment = size < HUGE_PAGE ? LINE : HUGE_PAGE;
	const size_t padded = (size + !size + alignment - 1) / alignment * alignment;
	void *memory = padded ? aligned_alloc(alignment, padded) : NULL;
	if (!memory)
		command_fail("not enough memory for %zu bytes", size);
	else if (alignment == HUGE_PAGE)
		madvise(memory, padded, MADV_HUGEPAGE); /* a wish: nothing depends on it */
	return memory;
}

int command_finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return command_fail("standard output: %s", strerror(errno));
	return status;
}

const char *command_isa(size_t i)
{
	static const char *const names[] = {"portable", "sse2", "avx2", "avx512", "neon"};
	const char *const current = crumb_isa();
	const char *found = NULL;
	for (size_t k = 0; k < sizeof names / sizeof *names && !found; k++)
		if (!crumb_set_isa(names[k]) && i-- == 0)
			found = names[k];
	crumb_set_isa(current);
	return found;
}
