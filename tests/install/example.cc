// Packs a gradient into a frame and decodes it. SPDX-License-Identifier: MIT
#include <crumb.h>
#include <iostream>
#include <vector>

int main()
{
	const std::vector<float> grad{0.75f, -0.5f, 0.125f, 0};
	std::vector<float> sum(grad.size());
	crumb_codec codec;
	if (crumb_parse(&codec, "twobit:threshold=0.5", nullptr))
		return 1;
	std::vector<char> frame(crumb_bound(&codec, grad.size()));
	std::vector<char> memory(crumb_packer_size(&codec, grad.size()));
	const auto packer = reinterpret_cast<crumb_packer *>(memory.data());
	if (crumb_packer_init(packer, &codec, grad.size(), 0, 1))
		return 1;
	const auto length = crumb_pack(packer, grad.data(), grad.size(), CRUMB_F32, 0, frame.data(), frame.size());
	if (length < 0 || crumb_unpack_add(frame.data(), frame.size(), 1, sum.data(), sum.size()) != length)
		return 1;
	for (const float value : sum)
		std::cout << value << ' ';
	std::cout << '\n';
}
