/* The table of plans.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "exchange/plan.h"

extern const struct plan crumb_plan_gather, crumb_plan_shard, crumb_plan_server, crumb_plan_tiers,
        crumb_plan_tiers_shard, crumb_plan_async;

static const struct plan *const plans[] = {&crumb_plan_gather, &crumb_plan_shard,       &crumb_plan_server,
                                           &crumb_plan_tiers,  &crumb_plan_tiers_shard, &crumb_plan_async};

const struct plan *crumb_plan_list(size_t i) { return i < sizeof plans / sizeof plans[0] ? plans[i] : NULL; }

const struct plan *crumb_plan_find(const char *name)
{
	const struct plan *plan;

	for (size_t i = 0; (plan = crumb_plan_list(i)); i++)
		if (!strcmp(name, plan->name) || (plan->alias && !strcmp(name, plan->alias)))
			return plan;
	return NULL;
}
