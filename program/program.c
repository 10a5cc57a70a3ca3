/* Messages, exit statuses and memory of programs.
 *
 * SPDX-License-Identifier: MIT */
#include "program/program.h"
#include "exchange/policy.h"
#include "program/hint.h"
#include "program/status_line.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void program_begin(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
			           fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* takes the lowest free */
	signal(SIGXFSZ, SIG_IGN); /* then a write beyond the limit fails with EFBIG */
}

void program_print(FILE *to, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		const bool above_ascii = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0; /* in UTF-8 */
		fputc(*c < ' ' || *c == 0x7f || above_ascii ? '?' : *c, to);
		c += above_ascii;
	}
}

static void say(const char *before, const char *format, va_list args)
{
	char line[8192];
	vsnprintf(line, sizeof line, format, args);
	status_line_clear();
	fputs(before, stderr);
	program_print(stderr, line);
	fputc('\n', stderr);
}

void program_say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("", format, args);
	va_end(args);
}

int program_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("crumb: ", format, args);
	va_end(args);
	return STATUS_FAILED;
}

void program_caret(const char *text, const char *bad)
{
	fputs("  ", stderr);
	program_print(stderr, text);
	fputs("\n  ", stderr);
	for (const char *c = text; c < bad; c++)
		if ((*c & 0xc0) != 0x80) /* one column for all bytes of a UTF-8 character */
			fputc(' ', stderr);
	fputs("^\n", stderr);
}

static int refuse_spec(int error, const char *spec, const char *bad,
                       void (*hint)(const char *spec, const char *bad))
{
	program_fail("%s", crumb_strerror(error));
	program_caret(spec, bad);
	hint(spec, bad);
	fputs("\"crumb list\" shows the codecs and their keys.\n", stderr);
	return STATUS_USAGE;
}

int program_spec(crumb_codec *codec, const char *spec)
{
	const char *bad = spec;
	const int error = crumb_parse(codec, spec, &bad);
	return error ? refuse_spec(error, spec, bad, hint_spec) : STATUS_OK;
}

int program_policy(struct policy *policy, const char *text)
{
	const char *bad = text;
	const int error = crumb_policy_parse(policy, text, &bad);
	return error ? refuse_spec(error, text, bad, hint_policy) : STATUS_OK;
}

void *program_memory(size_t size)
{
	enum { LINE = 64, HUGE_PAGE = 1 << 21 };
	const size_t alignment = size < HUGE_PAGE ? LINE : HUGE_PAGE;
	const size_t padded = (size + !size + alignment - 1) / alignment * alignment;
	void *memory = padded ? aligned_alloc(alignment, padded) : NULL;
	if (!memory)
		program_fail("not enough memory for %zu bytes", size);
	else if (alignment == HUGE_PAGE)
		madvise(memory, padded, MADV_HUGEPAGE); /* a hint: nothing depends on it */
	return memory;
}

int program_finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return program_fail("standard output: %s", strerror(errno));
	return status;
}

const char *program_isa(size_t i)
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
