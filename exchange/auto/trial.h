/* The prices of codecs on this machine and on these gradients: the longest tensor of each kind is packed and
 * decoded beside the exchange, which does not notice.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRIAL_H
#define TRIAL_H

#include "exchange/auto/choose.h"

enum { TRIAL_STEPS = 4, TRIAL_MOST = 16 }; /* steps of auto's window; most steps of a trial */

struct trial;

/* NULL if there is no memory. */
struct trial *crumb_trial_open(const struct crumb_auto_setting *setting, const struct crumb_slice *slices,
                               size_t count);
void crumb_trial_close(struct trial *trial); /* NULL is fine */

/* Times the codecs on one step's gradient; at most TRIAL_MOST times. */
void crumb_trial_step(struct trial *trial, const float *grad);

/* Writes the prices: the median of the timed steps' seconds, and the bytes of the last; without a trial
 * (NULL) or a timed step all but raw are too dear. */
void crumb_trial_prices(const struct trial *trial, struct crumb_auto_measured *measured);

#endif
