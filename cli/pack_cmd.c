/* crumb pack: a gradient in, one frame out; a state file carries the packer from step to step.
 *
 * Nothing may be lost when a step fails, so the new state and then the frame are first written in full under
 * temporary names; the frame takes its name before the state does. Cut off between the two, the old state and
 * the same gradient give the same frame again. A frame on standard output cannot be taken back: when only the
 * state fails after it, the exit status says so, and the step is to be repeated.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "measure/learner.h"
#include "program/file.h"
#include "program/file_lock.h"
#include "program/npy.h"
#include "program/status_line.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_SEED = OPTION_LONG, OPTION_STATE, OPTION_DTYPE };
static const struct option_info options[] = {
        {'c', "codec", "SPEC", "NAME or NAME:KEY=VALUE,KEY=VALUE; see \"crumb list\""},
        {'o', "output", "OUT", "the frame's file"},
        {OPTION_SEED, "seed", "N", "what a new packer's randomness starts from (0)"},
        {OPTION_STATE, "state", "FILE", "carries the packer from step to step; made if absent"},
        {OPTION_DTYPE, "dtype", "bf16", "the array is of u2 or V2 that hold bfloat16"},
        {0, NULL, NULL, NULL},
};

struct request {
	const char *spec, *in, *out, *state;
	uint64_t seed;
	bool bf16;
	crumb_codec codec;
};

struct packer {
	crumb_packer *block;
	size_t size;
};

/* Loads the state file's packer, and refuses one that is not for this codec and n. */
static int load_packer(struct packer *packer, const struct request *request, size_t n)
{
	struct file file;
	if (file_read(&file, request->state))
		return STATUS_FAILED;
	*packer = (struct packer){(crumb_packer *)file.data, file.size};
	const int error = crumb_packer_check(packer->block, packer->size);
	if (error)
		return program_fail("%s: %s", request->state, crumb_strerror(error));

	char has[CRUMB_SPEC_MAX], wants[CRUMB_SPEC_MAX];
	crumb_print(crumb_packer_codec(packer->block), has, sizeof has);
	crumb_print(&request->codec, wants, sizeof wants);
	if (strcmp(has, wants) != 0)
		return program_fail("%s is the state of %s, not of %s", request->state, has, wants);
	if (crumb_packer_count(packer->block) != n)
		return program_fail("%s is the state of %zu elements, and %s has %zu", request->state,
		                    crumb_packer_count(packer->block), request->in, n);
	return STATUS_OK;
}

static int open_packer(struct packer *packer, const struct request *request, size_t n)
{
	bool exists = false;
	*packer = (struct packer){NULL, 0};
	if (request->state && file_exists(&exists, request->state))
		return STATUS_FAILED;
	if (exists)
		return load_packer(packer, request, n);
	packer->size = crumb_packer_size(&request->codec, n);
	packer->block = program_memory(packer->size);
	if (!packer->block)
		return STATUS_FAILED;
	const int error = crumb_packer_init(packer->block, &request->codec, n, 0, request->seed);
	return error ? program_fail("%s: %s", request->in, crumb_strerror(error)) : STATUS_OK;
}

static int write_settled(struct output *output, const char *path, const void *data, size_t size)
{
	return output_open(output, path) || output_write(output, data, size) || output_settle(output);
}

static int save(const struct request *request, const struct packer *packer, const void *frame, size_t length)
{
	struct output out = {.fd = -1}, state = {.fd = -1};
	int status = STATUS_OK;
	if (request->state)
		status = write_settled(&state, request->state, packer->block, packer->size);
	if (!status)
		status = write_settled(&out, request->out, frame, length) || output_commit(&out);
	if (!status && request->state)
		status = output_commit(&state);
	output_close(&out);
	output_close(&state);
	return status;
}

static int pack(const struct request *request, const struct npy *grad)
{
	struct packer packer;
	struct learner learner = {.cap = crumb_bound(&request->codec, grad->n)};
	int status = open_packer(&packer, request, grad->n);
	learner.packer = packer.block;
	if (!status && !(learner.frame = program_memory(learner.cap)))
		status = STATUS_FAILED;
	if (!status) {
		const int64_t length = learner_pack(&learner, grad->data, grad->dtype, 0);
		status = length < 0 ? npy_fail(grad, request->in, (int)length)
		                    : save(request, &packer, learner.frame, (size_t)length);
	}
	learner_close(&learner);
	return status;
}

static int read_arguments(struct request *request, int argc, char **argv)
{
	const char *value;
	for (int id; (id = command_option(&pack_command, argc, argv, &value)) != OPTION_END;) {
		switch (id) {
		case 'c':
			if (request->spec)
				return command_usage(&pack_command, "one --codec, and not %s and %s",
				                     request->spec, value);
			request->spec = value;
			break;
		case 'o':
			request->out = value;
			break;
		case OPTION_SEED:
			if (command_number(&pack_command, "--seed", value, &request->seed))
				return STATUS_USAGE;
			break;
		case OPTION_STATE:
			request->state = value;
			break;
		case OPTION_DTYPE:
			if (strcmp(value, "bf16") != 0)
				return command_usage(&pack_command,
				                     "--dtype takes bf16 only; f4 and f2 say it themselves");
			request->bf16 = true;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	if (argc - optind != 1)
		return command_usage(&pack_command, "it takes one gradient, not %d", argc - optind);
	request->in = argv[optind];
	if (!request->spec)
		return command_usage(&pack_command, "-c SPEC is missing");
	if (!request->out)
		return command_usage(&pack_command, "-o OUT is missing");
	if (request->state && (!strcmp(request->state, "-") || !file_replaceable(request->state)))
		return command_usage(&pack_command, "--state takes a file that can be replaced, not %s",
		                     request->state);
	if (request->state &&
	    (file_same(request->state, request->out) || file_same(request->state, request->in)))
		return command_usage(&pack_command, "--state has to be a file of its own: %s",
		                     request->state);
	if (file_same(request->in, request->out))
		return command_usage(&pack_command, "the frame would replace the gradient: %s", request->out);
	return program_spec(&request->codec, request->spec);
}

/* Takes the state's lock, and says so if it has to wait for it. */
static int lock_state(struct file_lock *lock, const char *state)
{
	if (!file_lock_take(lock, state, false))
		return STATUS_OK;
	int failed = -1;
	if (errno == EWOULDBLOCK) {
		status_line("waiting for another process with this state");
		failed = file_lock_take(lock, state, true);
		status_line_clear();
	}
	return failed ? program_fail("%s cannot be locked: %s", state, strerror(errno)) : STATUS_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.seed = 0};
	int status = read_arguments(&request, argc, argv);
	if (status)
		return status;
	struct npy grad;
	if (npy_read(&grad, request.in, request.bf16))
		return STATUS_FAILED;
	struct file_lock lock = {0};
	if (request.state)
		status = lock_state(&lock, request.state);
	if (!status)
		status = pack(&request, &grad);
	file_lock_release(&lock);
	free(grad.file.data);
	return status;
}

const struct command pack_command = {
        "pack",
        "-c SPEC [--seed N] [--state FILE] [--dtype bf16] IN.npy -o OUT",
        "compress a gradient into one frame",
        "IN.npy is an array of f4 or f2, of any shape, in C order. A state file that exists brings its own seed.\n"
        "Processes with one state file wait for each other, by a lock on FILE.lock.\n"
        "The frame is on the disk before the state moves on: when a step fails, repeat it with the same gradient.\n",
        options,
        run,
};
