"""crumb_ref_numbers: the arithmetic of doc/FORMAT.md: f32, sums, the random function.

Tensors are array("f"): Python computes in binary64, and storing there rounds to f32. For one +, - or * of f32 that is
the f32 operation, exactly.

SPDX-License-Identifier: MIT
"""
import math
import operator
from array import array
from itertools import repeat, zip_longest

USABLE = 2.0**120


class Refused(Exception):
    """A frame or a gradient that is not taken, and why, in one line."""


def need(holds, why):
    if not holds:
        raise Refused(why)


def fl(x):
    return array("f", (x,))[0]


def each(operation, *operands):
    """The operation element by element, each result rounded to f32."""
    return array("f", map(operation, *operands))


def ceil_div(a, b):
    return -(-a // b)


def usable(x):
    return abs(x) <= USABLE  # false for a NaN


def negative(x):
    return math.copysign(1.0, x) < 0  # true for -0


def sum_f32(values):
    total = 0.0
    for block in range(0, len(values), 4096):
        sums = array("f", [0.0] * 16)
        for row in range(block, min(block + 4096, len(values)), 16):
            sums = array("f", (a if b is None else a + b for a, b in zip_longest(sums, values[row:row + 16])))
        block_sum = sums[0]
        for lane in sums[1:]:
            block_sum = fl(block_sum + lane)
        total += block_sum
    return total


MASK32, MASK64, GOLDEN = 2**32 - 1, 2**64 - 1, 0x9E3779B97F4A7C15


def mix64(x):
    x &= MASK64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


def mix32(x):
    x &= MASK32
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK32
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK32
    return x ^ x >> 16


def uniforms(seed, step, n):
    """u(seed, step, i) of the elements 0 to n - 1, and of those up to a multiple of 16."""
    result = array("f")
    for block in range(ceil_div(n, 4096)):
        k = mix64(seed + GOLDEN)
        k = mix64((k ^ step) + GOLDEN)
        k = mix64((k ^ block) + GOLDEN)
        words = [[mix32(mix32((k & MASK32) + 0x9E3779B9 * (16 * w + l + 1)) ^ k >> 32) for w in range(4)]
                 for l in range(16)]
        for _ in range(ceil_div(min(4096, n - 4096 * block), 16)):
            for lane in words:
                s0, s1, s2, s3 = lane
                result.append((s0 + s3 & MASK32) >> 8)
                t = s1 << 9 & MASK32
                s2 ^= s0
                s3 ^= s1
                s1 ^= s2
                s0 ^= s3
                s2 ^= t
                lane[:] = s0, s1, s2, (s3 << 11 | s3 >> 21) & MASK32
    return each(operator.mul, result, repeat(2.0**-24))
