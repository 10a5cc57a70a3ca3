/* Random variations of training images: shifted, mirrored, in other light. A sample's are a pure function of
 * seed, epoch and the sample's number.
 *
 * SPDX-License-Identifier: MIT */
#ifndef AUGMENT_H
#define AUGMENT_H
#include "nets/shape.h"

#include <stdint.h>

/* - none
 * - shift (He et al., CVPR 2016, section 4.2): a random part of the image's own size out of the image with a
 *   border of `pad` black pixels; mirrored with probability 1/2. A test takes the image unchanged.
 * - crop (the program of TernGrad's authors, NeurIPS 2017): a random part of side x side pixels, mirrored
 *   with probability 1/2; plus up to +-brightness (of 255), and contrast around each channel's mean times 1 -
 *   contrast to 1 + contrast. A test takes the middle part unchanged. */
enum augment_type { AUGMENT_NONE, AUGMENT_SHIFT, AUGMENT_CROP };

struct augment {
	enum augment_type type;
	double pad, side, brightness, contrast;
};

/* Parses "none", "shift:pad=4" or "crop:side=24,brightness=63,contrast=0.8"; keys not named take these
 * defaults. 0, or -1 with *bad at the first offending character. */
int augment_parse(struct augment *augment, const char *text, const char **bad);

/* Writes a text that augment_parse makes the same of. */
void augment_write(const struct augment *augment, char *text, size_t cap);

/* Returns the shape of a network's input from images of this shape; of height 0 if they are too small. */
struct shape augment_shape(const struct augment *augment, struct shape image);

/* Writes a network's input from an image, in pixel values from 0 to 255: for a test, or for this sample's
 * number in this epoch. */
void augment_test(const struct augment *augment, struct shape image, const uint8_t *pixel, float *to);
void augment_train(const struct augment *augment, struct shape image, const uint8_t *pixel, uint64_t seed,
                   uint64_t epoch, uint32_t sample, float *to);

#endif
