/* crumb: the command-line tool. This file finds the command; each command has its own.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&list_command, &pack_command,    &unpack_command,
                                                 &peek_command, &compare_command, &bench_command,
                                                 &plan_command};
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
	if (argc < 2) {
		print_usage(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help")) {
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
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i]->name))
			return program_finish(commands[i]->run(argc - 1, argv + 1));
	fprintf(stderr, "crumb: there is no command \"%s\"\nTry \"crumb --help\".\n", argv[1]);
	return STATUS_USAGE;
}
