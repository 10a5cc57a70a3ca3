/* Learning-rate schedules and their texts.
 *
 * SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct key {
	const char *name;
	size_t offset; /* of a double in struct schedule */
	double fallback, min, max;
};

static const struct {
	const char *name;
	struct key key[2];
} types[] = {
        [SCHEDULE_CONSTANT] = {"constant", {{0}}},
        [SCHEDULE_STEP] = {"step",
                           {{"every", offsetof(struct schedule, every), 10, 1e-3, 1e6},
                            {"factor", offsetof(struct schedule, factor), 0.1, 0, 1}}},
        [SCHEDULE_POLY] = {"poly", {{"power", offsetof(struct schedule, power), 1, 0, 100}}},
        [SCHEDULE_COSINE] = {"cosine", {{0}}},
};

static double *field(struct schedule *schedule, const struct key *key)
{
	return (double *)((char *)schedule + key->offset);
}

static int at_fault(const char **bad, const char *at)
{
	if (bad)
		*bad = at;
	return -1;
}

static int parse_key(struct schedule *schedule, const char **text, const char **bad)
{
	const struct key *key = types[schedule->type].key;
	const size_t length = strcspn(*text, "=,");
	for (int k = 0; k < 2 && key[k].name; k++) {
		if (strlen(key[k].name) != length || memcmp(key[k].name, *text, length) != 0)
			continue;
		if ((*text)[length] != '=')
			return at_fault(bad, *text + length);
		const char *number = *text + length + 1;
		char *end;
		const double value = strtod(number, &end);
		if (end == number || !(value >= key[k].min && value <= key[k].max))
			return at_fault(bad, number);
		*field(schedule, &key[k]) = value;
		*text = end;
		return 0;
	}
	return at_fault(bad, *text);
}

int schedule_parse(struct schedule *schedule, const char *text, const char **bad)
{
	const size_t length = strcspn(text, ":");
	size_t type = 0;
	while (type < sizeof types / sizeof *types &&
	       (strlen(types[type].name) != length || memcmp(types[type].name, text, length) != 0))
		type++;
	if (type == sizeof types / sizeof *types)
		return at_fault(bad, text);
	struct schedule parsed = {.type = (enum schedule_type)type};
	for (int k = 0; k < 2 && types[type].key[k].name; k++)
		*field(&parsed, &types[type].key[k]) = types[type].key[k].fallback;
	for (text += length; *text;) {
		text++; /* past the ':' or ',' */
		if (parse_key(&parsed, &text, bad) < 0)
			return -1;
		if (*text && *text != ',')
			return at_fault(bad, text);
	}
	*schedule = parsed;
	return 0;
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
