"""crumb_ref_levels: the codecs of levels of doc/FORMAT.md: where levels lie, which of them an element becomes, and how
their numbers, the codes, lie in bytes.

SPDX-License-Identifier: MIT
"""
import math
import operator
from array import array
from bisect import bisect_right
from itertools import repeat

from crumb_ref_numbers import ceil_div, each, fl, need, negative, sum_f32

EVEN, POWERS, TABLE = range(3)


def bits_of(count):
    """Bits of the code of one of count levels."""
    return (count - 1).bit_length()


def levels_of(form, count, shape):
    """shape: the f32 that a frame carries for its form: of powers the multiplier, of a table all levels."""
    if form == TABLE:
        return shape
    if form == EVEN:
        return array("f", ((2 * k - count + 1) / (count - 1) for k in range(count)))
    multiplier, = shape
    powers = array("f", [1.0])
    while len(powers) < count // 2:
        powers.append(powers[-1] * multiplier)
    return array("f", map(operator.neg, powers)) + array("f", [0.0] * (count % 2)) + powers[::-1]


# ---- elements become codes ------------------------------------------------------------------------------------------

def normalised(grad, norm):
    """Norm and y of one bucket."""
    greatest = max(map(abs, grad))
    if greatest == 0:
        return 0.0, array("f", bytes(4 * len(grad)))
    e = max(-100, math.frexp(greatest)[1] - 1)
    z = each(operator.mul, grad, repeat(2.0**-e))
    s = fl(greatest * 2.0**-e) if norm == "max" else fl(math.sqrt(sum_f32(each(operator.mul, z, z))))
    return fl(s * 2.0**e), each(operator.mul, z, repeat(fl(1 / s)))


def codes_of_even(y, u, count):
    at = each(operator.mul, (min(abs(x), 1.0) for x in y), repeat((count - 1) / 2))
    at = each(operator.add, at, repeat(0.0 if count % 2 else 0.5))
    codes = []
    for x, t, v in zip(y, at, u):
        q = math.floor(t)
        if negative(x):
            codes.append(count // 2 - q - (t - q > 1 - 2.0**-24 - v))
        else:
            codes.append(count // 2 + q + (t - q > v) - (count % 2 == 0))
    return codes


def codes_of_levels(y, u, levels):
    below = [min(max(bisect_right(levels, x) - 1, 0), len(levels) - 2) for x in y]
    gaps = each(operator.sub, levels[1:], levels)
    over = each(operator.sub, y, (levels[k] for k in below))
    bars = each(operator.mul, u, (gaps[k] for k in below))
    return [k + (a > b) for k, a, b in zip(below, over, bars)]


# ---- codes and bytes ------------------------------------------------------------------------------------------------

def layers_of(bits):
    """The bits of the codes that are written for all elements before the rest of them."""
    return [bits] if bits <= 4 else [4, bits - 4]


def block_bytes(groups, bits):
    return 16 * ceil_div(bits * groups, 8)


def code_bytes(n, bits):
    return sum(n // 128 * block_bytes(8, layer) + block_bytes(ceil_div(n % 128, 16), layer)
               for layer in layers_of(bits))


def blocks_of(n, bits):
    """Of each block its groups and its bytes."""
    for start in range(0, n, 128):
        groups = min(8, ceil_div(n - start, 16))
        yield groups, block_bytes(groups, bits)


def read_codes(n, bits, coded):
    """Of exactly code_bytes()."""
    codes, at, shift = [0] * n, 0, 0
    for layer in layers_of(bits):
        parts = []
        for groups, length in blocks_of(n, layer):
            lanes = [int.from_bytes(coded[at + l:at + length:16], "little") for l in range(16)]
            need(not any(x >> layer * groups for x in lanes), "an unused bit is not 0")
            parts += (x >> layer * j & 2**layer - 1 for j in range(groups) for x in lanes)
            at += length
        need(not any(parts[n:]), "an element past the last is not 0")
        codes = [code | part << shift for code, part in zip(codes, parts)]
        shift += layer
    return codes


def write_codes(codes, bits):
    coded, shift = bytearray(), 0
    for layer in layers_of(bits):
        for block, (groups, length) in enumerate(blocks_of(len(codes), layer)):
            lanes = [0] * 16
            for i, code in enumerate(codes[128 * block:128 * block + 128]):
                lanes[i % 16] |= (code >> shift & 2**layer - 1) << layer * (i // 16)
            columns = [x.to_bytes(length // 16, "little") for x in lanes]
            coded += bytes(column[j] for j in range(length // 16) for column in columns)
        shift += layer
    return coded
