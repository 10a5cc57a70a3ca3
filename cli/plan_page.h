/* The page of crumb plan.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_PAGE_H
#define PLAN_PAGE_H

#include "cli/plan_answer.h"

/* Writes the request's page: its answers, and those over other links, for curves. STATUS_OK, or a status of
 * failure after a message. */
int plan_page(const struct request *request, const struct catalogue *catalogue);

#endif
