/* MXNet's notation of a codec: {"type":"2bit","threshold":0.5}, or {'type':'2bit', 'threshold':0.5} in
 * Python.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXNET_H
#define MXNET_H

#define MXNET_SPEC_MAX 64

/* Translates MXNet's compression parameters into a codec's spec: type none, 1bit or 2bit, and a threshold, a
 * number or, as MXNet has announced, "auto", which crumb's codec judges. Other types and keys are refused. 0,
 * or -1 with *bad at the first offending character. */
int mxnet_spec(const char *json, char spec[MXNET_SPEC_MAX], const char **bad);

#endif
