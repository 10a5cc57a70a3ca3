/* The page of crumb plan: rows of JSON, of which crumb-report makes it.
 *
 * SPDX-License-Identifier: MIT */
#include "cli/plan_page.h"
#include "cli/plan_print.h"
#include "program/program.h"
#include "program/report_page.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SLOWEST_LINK 1e7 /* bits a second */
#define FASTEST_LINK 1e11
enum { LINKS_A_DECADE = 8 };

struct rows {
	FILE *to;
	const struct request *request;
	bool swept;
};

static void write_row(void *context, const struct answer *answer)
{
	const struct rows *rows = context;
	if (!answer->aside)
		plan_print_json(rows->to, rows->request, answer, rows->swept);
}

static bool write_asked(struct rows *rows, const struct catalogue *catalogue)
{
	const struct request *r = rows->request;
	for (size_t n = 0; n < r->node_counts; n++)
		for (size_t l = 0; l < r->links; l++)
			if (!answer_cluster(r, catalogue, r->nodes[n], r->link[l], write_row, rows))
				return false;
	return true;
}

/* Links evenly spaced on a logarithmic axis, at least from the slowest to the fastest that were asked about.
 */
static bool write_swept(struct rows *rows, const struct catalogue *catalogue)
{
	const struct request *r = rows->request;
	double slowest = SLOWEST_LINK, fastest = FASTEST_LINK;
	for (size_t l = 0; l < r->links; l++) {
		slowest = fmin(slowest, r->link[l]);
		fastest = fmax(fastest, r->link[l]);
	}
	const int intervals = (int)ceil(LINKS_A_DECADE * log10(fastest / slowest));
	rows->swept = true;
	for (size_t n = 0; n < r->node_counts; n++)
		for (int i = 0; i <= intervals; i++) {
			const double link = slowest * pow(fastest / slowest, (double)i / intervals);
			if (!answer_cluster(r, catalogue, r->nodes[n], link, write_row, rows))
				return false;
		}
	return true;
}

int plan_page(const struct request *r, const struct catalogue *catalogue)
{
	char why[256];
	struct rows rows = {.to = tmpfile(), .request = r};
	if (!rows.to)
		return program_fail("a temporary file: %s", strerror(errno));
	int status = write_asked(&rows, catalogue) && write_swept(&rows, catalogue)
	                     ? STATUS_OK
	                     : program_fail("not enough memory");
	if (!status && (fflush(rows.to) || ferror(rows.to)))
		status = program_fail("a temporary file: %s", strerror(errno));
	if (!status) {
		const pid_t process = report_page_begin(r->page, (const char *const[]){"-", NULL}, rows.to,
		                                        why, sizeof why);
		status = process < 0 ? program_fail("%s", why) : report_page_end(process);
	}
	(void)fclose(rows.to);
	return status;
}
