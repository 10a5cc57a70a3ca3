/* Learning-rate schedules and their texts.
 *
 * SPDX-License-Identifier: MIT */
#include "train/update/schedule.h"
#include "train/data/choice.h"

#include <math.h>
#include <stddef.h>

#define FIELD(name) offsetof(struct schedule, name)

static const struct choice types[] = {
        [SCHEDULE_CONSTANT] = {"constant", {{0}}},
        [SCHEDULE_STEP] = {"step",
                           {{"every", FIELD(every), 10, 1e-3, 1e6}, {"factor", FIELD(factor), 0.1, 0, 1}}},
        [SCHEDULE_POLY] = {"poly", {{"power", FIELD(power), 1, 0, 100}}},
        [SCHEDULE_COSINE] = {"cosine", {{0}}},
};

int schedule_parse(struct schedule *schedule, const char *text, const char **bad)
{
	struct schedule parsed = {.type = SCHEDULE_CONSTANT};
	const int type = choice_parse(types, sizeof types / sizeof *types, text, &parsed, bad);
	if (type < 0)
		return -1;
	parsed.type = (enum schedule_type)type;
	*schedule = parsed;
	return 0;
}

void schedule_write(const struct schedule *schedule, char *text, size_t cap)
{
	choice_write(&types[schedule->type], schedule, text, cap);
}

double schedule_rate(const struct schedule *schedule, double initial, double epoch, double epochs)
{
	const double pi = 3.14159265358979323846, progress = epoch / epochs;
	switch (schedule->type) {
	case SCHEDULE_STEP:
		return initial * pow(schedule->factor, floor(epoch / schedule->every));
	case SCHEDULE_POLY:
		return initial * pow(1 - progress, schedule->power);
	case SCHEDULE_COSINE:
		return initial * 0.5 * (1 + cos(pi * progress));
	case SCHEDULE_CONSTANT:
		break;
	}
	return initial;
}

bool schedule_has_end(const struct schedule *schedule)
{
	return schedule->type == SCHEDULE_POLY || schedule->type == SCHEDULE_COSINE;
}

double schedule_warmup(double warmup, double epoch) { return epoch < warmup ? epoch / warmup : 1; }
