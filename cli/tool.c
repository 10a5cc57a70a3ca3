/* crumb: the command-line tool. This file finds the command; each command has its own.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "program/nearest.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct command help_command;
static const struct command *const commands[] = {
        &list_command,  &pack_command, &unpack_command, &peek_command, &compare_command,
        &bench_command, &plan_command, &report_command, &help_command,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to)
{
	fputs("usage: crumb COMMAND [OPTION]... [FILE]...\n"
	      "send less gradient: compress, expand and look at gradients\n\n",
	      to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->brief);
	fputs("\n\"crumb COMMAND --help\" shows a command's options; \"crumb --version\" the version.\n"
	      "The file name - means standard input or output. Exit status: 0, 1 (failed), 2 (usage).\n",
	      to);
}

/* Returns the command of that name; NULL after a message. */
static const struct command *find(const char *name)
{
	struct nearest nearest = {.word = name, .length = strlen(name)};
	for (size_t i = 0; i < COMMANDS; i++) {
		if (!strcmp(name, commands[i]->name))
			return commands[i];
		nearest_try(&nearest, commands[i]->name);
	}
	program_fail("there is no command \"%s\"", name);
	fputs("Try \"crumb --help\".\n", stderr);
	nearest_say(&nearest, "");
	return NULL;
}

static int help(int argc, char **argv)
{
	const char *value;
	if (command_option(&help_command, argc, argv, &value) != OPTION_END)
		return STATUS_USAGE;
	if (argc - optind > 1)
		return command_usage(&help_command, "it takes one command, not %d", argc - optind);
	if (optind == argc) {
		print_usage(stdout);
		return STATUS_OK;
	}
	const struct command *const command = find(argv[optind]);
	char option[] = "--help", *arguments[] = {argv[optind], option, NULL};
	optind = 0; /* glibc and musl begin anew */
	return command ? command->run(2, arguments) : STATUS_USAGE;
}

static const struct option_info no_options[] = {{0, NULL, NULL, NULL}};
static const struct command help_command = {
        "help", "[COMMAND]", "show this, or the options of a command", NULL, no_options, help,
};

static void print_version(void)
{
	printf("crumb %s, frame format %d, instruction set %s of", crumb_version(), CRUMB_FORMAT,
	       crumb_isa());
	for (size_t i = 0; program_isa(i); i++)
		printf(" %s", program_isa(i));
	putchar('\n');
}

int main(int argc, char **argv)
{
	program_begin();
	if (argc < 2) {
		print_usage(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_usage(stdout);
		return program_finish(STATUS_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		print_version();
		return program_finish(STATUS_OK);
	}
	const int error = crumb_self_check();
	if (error)
		return program_fail("%s", crumb_strerror(error));
	const struct command *const command = find(argv[1]);
	return command ? program_finish(command->run(argc - 1, argv + 1)) : STATUS_USAGE;
}
