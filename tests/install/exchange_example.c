/* Averages a gradient over ranks, of which this is the only one. SPDX-License-Identifier: MIT */
#include <crumb_exchange.h>
#include <stdio.h>

int main(void)
{
	const struct crumb_exchange_slice slice = {1000, 0, "fc"};
	struct crumb_exchange_options options = {0};
	struct crumb_exchange *exchange;
	float grad[1000] = {0.75f, -0.5f, 0.125f, 0};
	char why[CRUMB_EXCHANGE_WHY_MAX];
	options.policy = "twobit:threshold=0.5";
	if (crumb_exchange_open(&exchange, NULL, &slice, 1, &options, why, sizeof why)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (crumb_exchange_mean(exchange, grad, grad)) {
		fprintf(stderr, "%s\n", crumb_exchange_why(exchange));
		return 1;
	}
	printf("%g %g %g %g\n", grad[0], grad[1], grad[2], grad[3]);
	crumb_exchange_close(exchange);
	return 0;
}
