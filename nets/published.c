/* The tables of published networks.
 *
 * SPDX-License-Identifier: MIT */
#include "nets/published.h"

/* These follow a layer's name. Filters are size x size over that many channels. */
#define CONV(units, channels, size)   CRUMB_CONV, units, (channels) * (size) * (size), THEN_BIAS
#define NORMED(units, channels, size) CRUMB_CONV, units, (channels) * (size) * (size), THEN_NORM
#define FC(units, inputs)             CRUMB_FC, units, inputs, THEN_BIAS
#define LAST(units, inputs)           CRUMB_KIND_LAST, units, inputs, THEN_BIAS
#define LAYER(...)          \
	{                   \
		__VA_ARGS__ \
	}

/* Krizhevsky, Sutskever, Hinton 2012; conv2, conv4 and conv5 see half of the channels each. */
static const struct published_layer alexnet[] = {
        {"conv1", CONV(96, 3, 11)},   {"conv2", CONV(256, 48, 5)},  {"conv3", CONV(384, 256, 3)},
        {"conv4", CONV(384, 192, 3)}, {"conv5", CONV(256, 192, 3)}, {"fc6", FC(4096, 256 * 6 * 6)},
        {"fc7", FC(4096, 4096)},      {"fc8", LAST(1000, 4096)},
};

/* Simonyan, Zisserman 2015, table 1, column A. */
static const struct published_layer vgg_a[] = {
        {"conv1", CONV(64, 3, 3)},    {"conv2", CONV(128, 64, 3)},  {"conv3", CONV(256, 128, 3)},
        {"conv4", CONV(256, 256, 3)}, {"conv5", CONV(512, 256, 3)}, {"conv6", CONV(512, 512, 3)},
        {"conv7", CONV(512, 512, 3)}, {"conv8", CONV(512, 512, 3)}, {"fc9", FC(4096, 512 * 7 * 7)},
        {"fc10", FC(4096, 4096)},     {"fc11", LAST(1000, 4096)},
};

/* Szegedy et al. 2015, table 1, a row each: channels in, 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool
 * projection. */
#define INCEPTION(name, in, one, reduce3, three, reduce5, five, pool)                                        \
	LAYER(name ".1x1", CONV(one, in, 1)), LAYER(name ".3x3_reduce", CONV(reduce3, in, 1)),               \
	        LAYER(name ".3x3", CONV(three, reduce3, 3)),                                                 \
	        LAYER(name ".5x5_reduce", CONV(reduce5, in, 1)), LAYER(name ".5x5", CONV(five, reduce5, 5)), \
	        LAYER(name ".pool", CONV(pool, in, 1))
static const struct published_layer googlenet[] = {
        {"conv1", CONV(64, 3, 7)},
        {"conv2.reduce", CONV(64, 64, 1)},
        {"conv2", CONV(192, 64, 3)},
        INCEPTION("3a", 192, 64, 96, 128, 16, 32, 32),
        INCEPTION("3b", 256, 128, 128, 192, 32, 96, 64),
        INCEPTION("4a", 480, 192, 96, 208, 16, 48, 64),
        INCEPTION("4b", 512, 160, 112, 224, 24, 64, 64),
        INCEPTION("4c", 512, 128, 128, 256, 24, 64, 64),
        INCEPTION("4d", 512, 112, 144, 288, 32, 64, 64),
        INCEPTION("4e", 528, 256, 160, 320, 32, 128, 128),
        INCEPTION("5a", 832, 256, 160, 320, 32, 128, 128),
        INCEPTION("5b", 832, 384, 192, 384, 48, 128, 128),
        {"fc", LAST(1000, 1024)},
};

/* He et al. 2016, table 1: blocks of two 3x3, or of 1x1, 3x3 and 1x1 with four times the channels; the first
 * block of a stage has a projection shortcut if the channels change. */
#define BASIC(name, in, width) \
	LAYER(name ".a", NORMED(width, in, 3)), LAYER(name ".b", NORMED(width, width, 3))
#define BOTTLENECK(name, in, width)                                                        \
	LAYER(name ".a", NORMED(width, in, 1)), LAYER(name ".b", NORMED(width, width, 3)), \
	        LAYER(name ".c", NORMED(4 * (width), width, 1))
#define PROJECTION(name, in, out) LAYER(name ".projection", NORMED(out, in, 1))
static const struct published_layer resnet18[] = {
        {"conv1", NORMED(64, 3, 7)}, BASIC("conv2_1", 64, 64),        BASIC("conv2_2", 64, 64),
        BASIC("conv3_1", 64, 128),   PROJECTION("conv3_1", 64, 128),  BASIC("conv3_2", 128, 128),
        BASIC("conv4_1", 128, 256),  PROJECTION("conv4_1", 128, 256), BASIC("conv4_2", 256, 256),
        BASIC("conv5_1", 256, 512),  PROJECTION("conv5_1", 256, 512), BASIC("conv5_2", 512, 512),
        {"fc", LAST(1000, 512)},
};
static const struct published_layer resnet50[] = {
        {"conv1", NORMED(64, 3, 7)},       BOTTLENECK("conv2_1", 64, 64),    PROJECTION("conv2_1", 64, 256),
        BOTTLENECK("conv2_2", 256, 64),    BOTTLENECK("conv2_3", 256, 64),   BOTTLENECK("conv3_1", 256, 128),
        PROJECTION("conv3_1", 256, 512),   BOTTLENECK("conv3_2", 512, 128),  BOTTLENECK("conv3_3", 512, 128),
        BOTTLENECK("conv3_4", 512, 128),   BOTTLENECK("conv4_1", 512, 256),  PROJECTION("conv4_1", 512, 1024),
        BOTTLENECK("conv4_2", 1024, 256),  BOTTLENECK("conv4_3", 1024, 256), BOTTLENECK("conv4_4", 1024, 256),
        BOTTLENECK("conv4_5", 1024, 256),  BOTTLENECK("conv4_6", 1024, 256), BOTTLENECK("conv5_1", 1024, 512),
        PROJECTION("conv5_1", 1024, 2048), BOTTLENECK("conv5_2", 2048, 512), BOTTLENECK("conv5_3", 2048, 512),
        {"fc", LAST(1000, 2048)},
};

/* Radford et al. 2019, the smallest; the head is tied to the token embedding. */
#define NORM(channels) CRUMB_BATCHNORM, channels, 0, THEN_NORM
#define TRANSFORMER(name, channels)                                                                      \
	LAYER(name ".norm1", NORM(channels)), LAYER(name ".attention", FC(3 * (channels), channels)),    \
	        LAYER(name ".projection", FC(channels, channels)), LAYER(name ".norm2", NORM(channels)), \
	        LAYER(name ".fc1", FC(4 * (channels), channels)),                                        \
	        LAYER(name ".fc2", FC(channels, 4 * (channels)))
static const struct published_layer gpt2[] = {
        {"tokens", CRUMB_EMBEDDING, 50257, 768, THEN_NOTHING},
        {"positions", CRUMB_EMBEDDING, 1024, 768, THEN_NOTHING},
        TRANSFORMER("block1", 768),
        TRANSFORMER("block2", 768),
        TRANSFORMER("block3", 768),
        TRANSFORMER("block4", 768),
        TRANSFORMER("block5", 768),
        TRANSFORMER("block6", 768),
        TRANSFORMER("block7", 768),
        TRANSFORMER("block8", 768),
        TRANSFORMER("block9", 768),
        TRANSFORMER("block10", 768),
        TRANSFORMER("block11", 768),
        TRANSFORMER("block12", 768),
        {"norm", NORM(768)},
};

#define LAYERS(table) table, sizeof(table) / sizeof(table[0])

static const struct published networks[] = {
        {"alexnet", "AlexNet in two halves, 8 layers", LAYERS(alexnet)},
        {"vgg-a", "VGG's 11 layers", LAYERS(vgg_a)},
        {"googlenet", "GoogLeNet without its auxiliary classifiers", LAYERS(googlenet)},
        {"resnet18", "ResNet of 18 layers", LAYERS(resnet18)},
        {"resnet50", "ResNet of 50 layers", LAYERS(resnet50)},
        {"gpt2", "GPT-2's smallest, 12 blocks of 768 channels", LAYERS(gpt2)},
};

const struct published *published_list(size_t i)
{
	return i < sizeof networks / sizeof networks[0] ? &networks[i] : NULL;
}
