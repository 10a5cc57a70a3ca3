/* Packs a gradient into a frame and decodes it. SPDX-License-Identifier: MIT */
#include <crumb.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	const float grad[4] = {0.75f, -0.5f, 0.125f, 0};
	float sum[4] = {0};
	crumb_codec codec;
	if (crumb_parse(&codec, "twobit:threshold=0.5", NULL))
		return 1;
	const size_t cap = crumb_bound(&codec, 4);
	void *frame = malloc(cap);
	crumb_packer *packer = malloc(crumb_packer_size(&codec, 4));
	if (!frame || !packer || crumb_packer_init(packer, &codec, 4, 0, 1))
		return 1;
	const int64_t length = crumb_pack(packer, grad, 4, CRUMB_F32, 0, frame, cap);
	if (length < 0 || crumb_unpack_add(frame, cap, 1, sum, 4) != length)
		return 1;
	printf("%g %g %g %g\n", sum[0], sum[1], sum[2], sum[3]);
	free(packer);
	free(frame);
}
