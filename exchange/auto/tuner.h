/* An exchange that chooses for itself: measures, and at stated steps agrees with the other ranks on what
 * auto.h makes of it.
 *
 * Steps go raw until the first choice, before step 4 (counted from 0); it may change before steps 40, 400,
 * 4000 and so on. In the four steps before each, codecs are timed on the gradient; then the link is probed,
 * which takes seconds, and learners tell each other what they measured, and all take the slowest. A choice
 * that rests on measured time is another one on another day; so it has a text, which as a script takes the
 * same steps again without measuring.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TUNER_H
#define TUNER_H

#include "exchange/exchange.h"
#include "exchange/auto/script.h"

struct crumb_tuner;

/* config: of an exchange whose slices are the network's, not cut; policy, plan and down are not looked at.
 * Opens the exchange, too. script is copied. 0, or an error and a line in why. */
int crumb_tuner_open(struct crumb_tuner **tuner, struct crumb_exchange **exchange,
                     const struct crumb_exchange_config *config, const struct crumb_script *script, char *why,
                     size_t cap);
void crumb_tuner_close(struct crumb_tuner *tuner); /* before its exchange; NULL is fine */

/* To be called by all ranks before each crumb_exchange_mean, with its gradients; it may change the exchange.
 * 1 after a choice, 0 otherwise; or an error, final as crumb_exchange_mean's, and a line in why. */
int crumb_tuner_step(struct crumb_tuner *tuner, const float *const *grad, char *why, size_t cap);

/* What is in use, since which step, and why. Texts are the tuner's. */
struct crumb_tuned {
	uint64_t step;
	const char *plan, *down, *up;      /* as crumb-train takes them */
	double measured, predicted, plain; /* seconds of a step: with the choice before, with this, all raw */
	double compute, rate, latency;     /* what that rests on; rate: of a raw gradient, bytes a second */
	const char *script;                /* all choices until now */
	char line[512];                    /* the same in words */
};
const struct crumb_tuned *crumb_tuner_tell(const struct crumb_tuner *tuner);

#endif
