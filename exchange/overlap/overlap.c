/* A thread that exchanges segments in order as their slices become final, while the caller's threads compute
 * the others. crumb_exchange_step takes over from it. It works without the team, which computes meanwhile.
 * One thread at a time is in the exchange: so the transport needs no lock, only that any thread may call it.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/step.h"
#include "exchange/transport.h"
#include "exchange/why.h"

struct overlap {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct step step;
	bool begun;    /* there is a step */
	bool taken;    /* crumb_exchange_step takes what is left of it */
	bool busy;     /* the thread has a segment */
	bool quit;     /* the thread takes no more */
	size_t next;   /* segment that is the next one */
	int error;     /* of those before it */
	size_t *final; /* [own learner]: first element from which on its gradient is final */
};

/* Returns true if all learners' gradients of the next segment are final. */
static bool may_go(const struct overlap *p)
{
	const struct crumb_exchange *x = p->step.x;

	if (!p->begun || p->taken || p->next == x->segments)
		return false;
	const struct segment *segment = &x->segment[p->next];
	for (size_t l = 0; l < x->own && segment->count; l++)
		if (p->final[l] > x->slice[segment->first].at)
			return false;
	return true;
}

/* The CPU is the callers' until they wait, too. */
static void be_patient(struct crumb_exchange *x, bool patient)
{
	if (x->net)
		x->net->patient = patient;
}

static void *overlap_main(void *arg)
{
	struct overlap *p = arg;

	pthread_mutex_lock(&p->mutex);
	for (;;) {
		while (!p->quit && !may_go(p))
			pthread_cond_wait(&p->changed, &p->mutex);
		if (p->quit)
			break;
		p->busy = true;
		be_patient(p->step.x, true);
		pthread_mutex_unlock(&p->mutex);
		const int error = crumb_step_segment(&p->step, p->next, p->error);
		pthread_mutex_lock(&p->mutex);
		p->error = error;
		p->next++;
		p->busy = false;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

static struct overlap *open(struct crumb_exchange *x)
{
	struct overlap *p = calloc(1, sizeof *p);
	sigset_t all, before;

	if (!p || !(p->final = calloc(x->own + 1, sizeof *p->final))) {
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->step.x = x;
	sigfillset(&all); /* signals are the host's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int error = pthread_create(&p->thread, NULL, overlap_main, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		return p;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mutex);
	free(p->final);
	free(p);
	return NULL;
}

void crumb_overlap_close(struct overlap *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->quit = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mutex);
	free(p->final);
	free(p);
}

int crumb_exchange_begin(struct crumb_exchange *x, const float *const *grad, const float *weight, float *mean)
{
	if (x->failed)
		return x->failed;
	if (!x->overlaps)
		return refuse(x->why, sizeof x->why, CRUMB_EINVAL, "the exchange was opened without overlap");
	if (!x->overlap && !(x->overlap = open(x)))
		return refuse(x->why, sizeof x->why, CRUMB_EMEMORY, "no thread for the exchange");
	struct overlap *p = x->overlap;
	pthread_mutex_lock(&p->mutex);
	p->step = crumb_step_begin(x, grad, weight, mean);
	p->step.team = NULL;
	p->taken = false;
	p->next = 0;
	p->error = 0;
	for (size_t l = 0; l < x->own; l++)
		p->final[l] = SIZE_MAX;
	p->begun = true;
	pthread_cond_broadcast(&p->changed); /* a rank without learners may go at once */
	pthread_mutex_unlock(&p->mutex);
	return 0;
}

void crumb_exchange_final(struct crumb_exchange *x, size_t l, size_t at)
{
	struct overlap *p = x->overlap;

	pthread_mutex_lock(&p->mutex);
	if (at < p->final[l])
		p->final[l] = at;
	if (may_go(p))
		pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
}

bool crumb_overlap_begun(const struct crumb_exchange *x) { return x->overlap && x->overlap->begun; }

int crumb_overlap_finish(struct crumb_exchange *x, const float *const *grad, const float *mean)
{
	struct overlap *p = x->overlap;

	pthread_mutex_lock(&p->mutex);
	p->taken = true;
	be_patient(x, false);
	while (p->busy)
		pthread_cond_wait(&p->changed, &p->mutex);
	p->begun = false;
	pthread_mutex_unlock(&p->mutex);
	if (mean != p->step.mean || (x->own && memcmp(grad, p->step.grad, x->own * sizeof *grad) != 0))
		p->error = crumb_step_fail(x, CRUMB_EINVAL, "the step has begun with other arrays");
	p->step.team = x->team;
	while (p->next < x->segments)
		p->error = crumb_step_segment(&p->step, p->next++, p->error);
	return crumb_step_end(&p->step, p->error);
}
