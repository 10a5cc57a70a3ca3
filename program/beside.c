/* The folder of this program, and $PATH.
 *
 * SPDX-License-Identifier: MIT */
#include "program/beside.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PATH = 4096, MOST_NAME = 64 };

extern char **environ;

/* Writes the path of the program beside this one. False: there is none. */
static bool find(char path[MOST_PATH + MOST_NAME], const char *name)
{
	const ssize_t length = readlink("/proc/self/exe", path, MOST_PATH);
	if (length <= 0 || length == MOST_PATH)
		return false;
	path[length] = 0;
	strcpy(strrchr(path, '/') + 1, name);
	return access(path, X_OK) == 0;
}

int beside_start(pid_t *process, const char *const *words, FILE *input, FILE *output)
{
	char path[MOST_PATH + MOST_NAME], *const *argv = (char *const *)words;
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	if (input && (fflush(input) || lseek(fileno(input), 0, SEEK_SET) < 0))
		error = errno;
	if (input && !error)
		error = posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
	if (output && !error)
		error = posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
	if (!error)
		error = find(path, words[0]) ? posix_spawn(process, path, &actions, NULL, argv, environ)
		                             : posix_spawnp(process, words[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int beside_end(pid_t process)
{
	int status;
	while (waitpid(process, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
