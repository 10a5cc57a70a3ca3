/* What the commands of the crumb tool share: their option tables, messages and exit statuses.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMMAND_H
#define COMMAND_H

#include <crumb.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* One row of a command's table; --help is printed from it. */
struct option_info {
	int id;            /* a lower-case letter is the short option too; others count from OPTION_LONG */
	const char *name;  /* the long option, without its dashes; NULL ends the table */
	const char *value; /* what the option takes, such as "SPEC"; NULL: nothing */
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
        bench_command, plan_command;

/* The next option's id, its value in *value; OPTION_END when only operands are left, argv[optind] the first
 * of them; OPTION_BAD after a message. --help prints the table and ends the program. */
int command_option(const struct command *command, int argc, char **argv, const char **value);

/* Print "crumb: ..." to stderr; the second points to --help as well. */
int command_fail(const char *format, ...) __attribute__((format(printf, 1, 2))); /* STATUS_FAILED */
int command_usage(const struct command *command, const char *format, ...)
        __attribute__((format(printf, 2, 3))); /* STATUS_USAGE */

/* Parses a spec; a wrong one is shown with a caret under the offending character. STATUS_OK or STATUS_USAGE.
 */
int command_spec(crumb_codec *codec, const char *spec);

/* What crumb_list says of a codec. */
const crumb_codec_info *command_codec(const crumb_codec *codec);

/* The same for a spec or the rules of a policy (exchange/policy.h). */
struct policy;
int command_policy(struct policy *policy, const char *text);

/* Parses a decimal number that an option takes. STATUS_OK, or STATUS_USAGE after a message. */
int command_number(const struct command *command, const char *option, const char *text, uint64_t *number);

/* size bytes, 64-byte aligned, not initialised, to be freed, on huge pages where the system grants them;
 * never NULL for 0 bytes. NULL after a message. */
void *command_memory(size_t size);

/* The status to exit with: STATUS_FAILED after a message when standard output could not be written. */
int command_finish(int status);

/* The names of the instruction sets that crumb_set_isa takes on this machine; NULL past the last one. */
const char *command_isa(size_t i);

#endif
