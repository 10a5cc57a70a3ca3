/* The tables of published networks.
 *
 * SPDX-License-Identifier: MIT */
#include "nets/published.h"

#define LAYER(...)          \
	{                   \
		__VA_ARGS__ \
	}
/* Filters are size x size over that many channels. */
#define CONV(units, channels, size)   LAYER(CRUMB_CONV, units, (channels) * (size) * (size), THEN_BIAS)
#define NORMED(units, channels, size) LAYER(CRUMB_CONV, units, (channels) * (size) * (size), THEN_NORM)
#define FC(units, inputs)             LAYER(CRUMB_FC, units, inputs, THEN_BIAS)
#define LAST(units, inputs)           LAYER(CRUMB_KIND_LAST, units, inputs, THEN_BIAS)
#define NORM(channels)                LAYER(CRUMB_BATCHNORM, channels, 0, THEN_NORM)
#define EMBEDDING(tokens, channels)   LAYER(CRUMB_EMBEDDING, tokens, channels, THEN_NOTHING)

/* Krizhevsky, Sutskever, Hinton 2012; the second, fourth and fifth convolutions see half of the channels
 * each. */
static const struct published_layer alexnet[] = {
        CONV(96, 3, 11),   CONV(256, 48, 5),      CONV(384, 256, 3), CONV(384, 192, 3),
        CONV(256, 192, 3), FC(4096, 256 * 6 * 6), FC(4096, 4096),    LAST(1000, 4096),
};

/* Simonyan, Zisserman 2015, table 1, column A. */
static const struct published_layer vgg_a[] = {
        CONV(64, 3, 3),        CONV(128, 64, 3),  CONV(256, 128, 3), CONV(256, 256, 3),
        CONV(512, 256, 3),     CONV(512, 512, 3), CONV(512, 512, 3), CONV(512, 512, 3),
        FC(4096, 512 * 7 * 7), FC(4096, 4096),    LAST(1000, 4096),
};

/* Szegedy et al. 2015, table 1, without the auxiliary classifiers; a row each: channels in, 1x1, 3x3 reduce,
 * 3x3, 5x5 reduce, 5x5, pool projection. */
#define INCEPTION(in, one, reduce3, three, reduce5, five, pool)                                \
	CONV(one, in, 1), CONV(reduce3, in, 1), CONV(three, reduce3, 3), CONV(reduce5, in, 1), \
	        CONV(five, reduce5, 5), CONV(pool, in, 1)
static const struct published_layer googlenet[] = {
        CONV(64, 3, 7),
        CONV(64, 64, 1),
        CONV(192, 64, 3),
        INCEPTION(192, 64, 96, 128, 16, 32, 32),
        INCEPTION(256, 128, 128, 192, 32, 96, 64),
        INCEPTION(480, 192, 96, 208, 16, 48, 64),
        INCEPTION(512, 160, 112, 224, 24, 64, 64),
        INCEPTION(512, 128, 128, 256, 24, 64, 64),
        INCEPTION(512, 112, 144, 288, 32, 64, 64),
        INCEPTION(528, 256, 160, 320, 32, 128, 128),
        INCEPTION(832, 256, 160, 320, 32, 128, 128),
        INCEPTION(832, 384, 192, 384, 48, 128, 128),
        LAST(1000, 1024),
};

/* He et al. 2016, table 1: blocks of two 3x3, or of 1x1, 3x3 and 1x1 with four times the channels; the first
 * block of a stage has a projection shortcut if the channels change. */
#define BASIC(in, width)      NORMED(width, in, 3), NORMED(width, width, 3)
#define BOTTLENECK(in, width) NORMED(width, in, 1), NORMED(width, width, 3), NORMED(4 * (width), width, 1)
#define PROJECTION(in, out)   NORMED(out, in, 1)
static const struct published_layer resnet18[] = {
        NORMED(64, 3, 7),     BASIC(64, 64),   BASIC(64, 64),        BASIC(64, 128),  PROJECTION(64, 128),
        BASIC(128, 128),      BASIC(128, 256), PROJECTION(128, 256), BASIC(256, 256), BASIC(256, 512),
        PROJECTION(256, 512), BASIC(512, 512), LAST(1000, 512),
};
static const struct published_layer resnet50[] = {
        NORMED(64, 3, 7),      BOTTLENECK(64, 64),    PROJECTION(64, 256),    BOTTLENECK(256, 64),
        BOTTLENECK(256, 64),   BOTTLENECK(256, 128),  PROJECTION(256, 512),   BOTTLENECK(512, 128),
        BOTTLENECK(512, 128),  BOTTLENECK(512, 128),  BOTTLENECK(512, 256),   PROJECTION(512, 1024),
        BOTTLENECK(1024, 256), BOTTLENECK(1024, 256), BOTTLENECK(1024, 256),  BOTTLENECK(1024, 256),
        BOTTLENECK(1024, 256), BOTTLENECK(1024, 512), PROJECTION(1024, 2048), BOTTLENECK(2048, 512),
        BOTTLENECK(2048, 512), LAST(1000, 2048),
};

/* Radford et al. 2019, the smallest; the head is tied to the token embedding. In a block a norm, attention
 * and its projection, a norm, and two fully connected layers. */
#define FOUR(block) block, block, block, block
#define BLOCK(n)    NORM(n), FC(3 * (n), n), FC(n, n), NORM(n), FC(4 * (n), n), FC(n, 4 * (n))
static const struct published_layer gpt2[] = {
        EMBEDDING(50257, 768), EMBEDDING(1024, 768), FOUR(BLOCK(768)),
        FOUR(BLOCK(768)),      FOUR(BLOCK(768)),     NORM(768),
};

#define LAYERS(table) table, sizeof(table) / sizeof(table[0])

static const struct published networks[] = {
        {"alexnet", LAYERS(alexnet)},   {"vgg-a", LAYERS(vgg_a)},       {"googlenet", LAYERS(googlenet)},
        {"resnet18", LAYERS(resnet18)}, {"resnet50", LAYERS(resnet50)}, {"gpt2", LAYERS(gpt2)},
};

const struct published *published_list(size_t i)
{
	return i < sizeof networks / sizeof networks[0] ? &networks[i] : NULL;
}
