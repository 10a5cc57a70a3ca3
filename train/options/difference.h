/* The first line in which two texts differ.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DIFFERENCE_H
#define DIFFERENCE_H

#include <string.h>

struct difference {
	const char *a, *b; /* where the line begins; both have ended if the texts are equal */
	int a_length, b_length;
};

static inline struct difference difference_find(const char *a, const char *b)
{
	size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
	while (m == n && a[m] && b[n] && memcmp(a, b, m) == 0) {
		a += m + 1;
		b += n + 1;
		m = strcspn(a, "\n");
		n = strcspn(b, "\n");
	}
	return (struct difference){a, b, (int)m, (int)n};
}

#endif
