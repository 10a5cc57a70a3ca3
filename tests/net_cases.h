/* Small networks that have every kind of layer between them, and steps that tests of networks share. What
 * fails here fails the test.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NET_CASES_H
#define NET_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "nets/net.h"
#include "train/layers/pass.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Each with the shape of input that it is for; every_window's is one of several heights. */
enum { EVERY_LAYER, EVERY_WINDOW, BLOCKS, RECURRENT, TRANSFORMER, TIED_TRANSFORMER, SMALL_MODELS };
extern const struct model small_model[SMALL_MODELS];

/* Fills with values between -range and range; a pure function. */
void fill(float *to, size_t n, uint64_t seed, float range);
float *new_floats(size_t n); /* zeros; free() frees them */

void open_net(struct net *net, const struct model *model, struct shape input);
struct pass *open_pass(const struct net *net, size_t batch); /* of training; pass_close closes it */

#endif
