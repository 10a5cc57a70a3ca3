/* Option tables, messages and exit statuses, which the commands of the crumb tool share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMMAND_H
#define COMMAND_H

#include "program/program.h"
#include <stdint.h>

/* One row of a command's table; --help is printed from it. */
struct option_info {
	int id;            /* a lower-case letter is also the short option; others count from OPTION_LONG */
	const char *name;  /* the long option, without its dashes; NULL ends the table */
	const char *value; /* the option's argument, such as "SPEC"; NULL: none */
	const char *brief;
};
enum { OPTION_END = -1, OPTION_BAD = '?', OPTION_LONG = 256 };

struct command {
	const char *name;
	const char *operands; /* of the synopsis */
	const char *brief;
	const char *notes; /* printed below the options; NULL: none */
	const struct option_info *options;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns a status */
};

extern const struct command list_command, pack_command, unpack_command, peek_command, compare_command,
        bench_command, plan_command, report_command;

/* Returns the next option's id and its value in *value; OPTION_END when only operands are left, from
 * argv[optind] on; OPTION_BAD after a message. --help and -h print the table and end the program. */
int command_option(const struct command *command, int argc, char **argv, const char **value);

/* Prints "crumb COMMAND: ..." and where --help is to stderr. Returns STATUS_USAGE. */
int command_usage(const struct command *command, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Parses an option's decimal number. STATUS_OK, or STATUS_USAGE after a message. */
int command_number(const struct command *command, const char *option, const char *text, uint64_t *number);

#endif
