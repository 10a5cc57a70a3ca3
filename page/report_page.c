/* Running crumb-report.
 *
 * SPDX-License-Identifier: MIT */
#include "page/report_page.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "crumb-report"
enum { MOST_PATH = 4096 };

extern char **environ;

/* Writes the path of the program beside this one. False: there is none. */
static bool find_beside(char path[MOST_PATH + sizeof NAME])
{
	const ssize_t length = readlink("/proc/self/exe", path, MOST_PATH);
	if (length <= 0 || length == MOST_PATH)
		return false;
	path[length] = 0;
	strcpy(strrchr(path, '/') + 1, NAME);
	return access(path, X_OK) == 0;
}

static int spawn(pid_t *process, char *const *words, FILE *input)
{
	char path[MOST_PATH + sizeof NAME];
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	if (input && (fflush(input) || lseek(fileno(input), 0, SEEK_SET) < 0))
		error = errno;
	if (input && !error)
		error = posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
	if (!error)
		error = find_beside(path) ? posix_spawn(process, path, &actions, NULL, words, environ)
		                          : posix_spawnp(process, NAME, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

pid_t report_page_begin(const char *page, const char *const *files, FILE *input, char *why, size_t cap)
{
	size_t count = 0;
	while (files[count])
		count++;
	/* One word, so that a page may have any name. */
	char name[] = NAME, end[] = "--", *output = NULL, **words = calloc(count + 4, sizeof *words);
	pid_t process = -1;
	int error = words && asprintf(&output, "--output=%s", page) >= 0 ? 0 : ENOMEM;
	if (!error) {
		words[0] = name;
		words[1] = output;
		words[2] = end;
		memcpy(words + 3, files, count * sizeof *words);
		error = spawn(&process, words, input);
		free(output);
	}
	free(words);
	if (!error)
		return process;
	if (error == ENOENT)
		snprintf(why, cap, "there is no %s beside this program or in $PATH, or no Python 3 to run it",
		         NAME);
	else
		snprintf(why, cap, "%s: %s", NAME, strerror(error));
	return -1;
}

int report_page_end(pid_t process)
{
	int status;
	while (waitpid(process, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) && WEXITSTATUS(status) <= 2 ? WEXITSTATUS(status) : 1;
}
