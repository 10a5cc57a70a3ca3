/* Running crumb-report, the program in Python that writes pages (python/crumb_report).
 *
 * SPDX-License-Identifier: MIT */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Starts crumb-report, the one beside this program or else the one that $PATH has, which writes the page of
 * files, NULL at the end. input: its standard input, which "-" names, from the first byte on; NULL: that of
 * this program. Returns its process, which report_page_end waits for; -1 with the reason in why. */
pid_t report_page_begin(const char *page, const char *const *files, FILE *input, char *why, size_t cap);

/* Waits. Returns 0, 1 (failed) or 2 (wrong usage); crumb-report has told standard error why. */
int report_page_end(pid_t process);

#endif
