/* The tuner: an exchange that measures, and at stated steps makes the choice of choose.h, the same on all
 * ranks.
 *
 * Steps go raw until the first choice, before step 4 (counted from 0); it may change before steps 40, 400,
 * 4000 and so on. In the four steps before each, codecs are timed on the gradient; then the link is probed,
 * which takes seconds, and learners tell each other their measurements, and all take the slowest. Measured
 * times differ from day to day; so a choice has a text, which as a script takes the same steps again without
 * measuring.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TUNER_H
#define TUNER_H

#include "exchange/exchange.h"
#include "exchange/auto/script.h"

struct crumb_tuner;

/* Opens a tuner and its exchange. config: slices are the network's, uncut; policy, plan and down are ignored.
 * script is copied. Returns 0, or an error and a line in why. */
int crumb_tuner_open(struct crumb_tuner **tuner, struct crumb_exchange **exchange,
                     const struct crumb_exchange_config *config, const struct crumb_script *script, char *why,
                     size_t cap);
void crumb_tuner_close(struct crumb_tuner *tuner); /* before its exchange; NULL is fine */

/* May change the exchange. All ranks call it before each crumb_exchange_step, with the same gradients.
 * Returns 1 after a choice, else 0; or an error, final as crumb_exchange_step's, and a line in why. */
int crumb_tuner_step(struct crumb_tuner *tuner, const float *const *grad, char *why, size_t cap);

/* The choice in use, since which step, and why. The tuner owns the texts. */
struct crumb_tuned {
	uint64_t step;
	const char *plan, *down, *up;      /* as crumb-train takes them */
	double measured, predicted, plain; /* seconds of a step: with the former choice, with this, all raw */
	double compute, rate, latency;     /* measured; rate: of a raw gradient, bytes a second */
	const char *script;                /* all choices so far */
	char line[512];                    /* the choice in words */
};
const struct crumb_tuned *crumb_tuner_tell(const struct crumb_tuner *tuner);

/* Returns the policy of gradients in use. */
const struct policy *crumb_tuner_policy(const struct crumb_tuner *tuner);

#endif
