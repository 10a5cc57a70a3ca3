"""crumb_ref_encode: an encoder of the frames of doc/FORMAT.md, format 1, in plain Python, from that document alone.

With the same gradients, settings and seed it writes the same bytes as the library.

SPDX-License-Identifier: MIT
"""
import math
import operator
import struct
from array import array
from itertools import repeat, zip_longest

from crumb_ref import (BITS, CODECS, HEADER, SHARED, SUM, ceil_div, checksum, crc32c, each, fl, need, symbol_bytes,
                       usable)


# ---- arithmetic -----------------------------------------------------------------------------------------------------

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


# ---- payloads -------------------------------------------------------------------------------------------------------

def write_raw(grad, _residual):
    return 0, struct.pack(f"<{len(grad)}f", *grad)


def write_half(grad, _residual, type):
    if type == "f16":
        return 1, struct.pack(f"<{len(grad)}e", *(max(-65504.0, min(65504.0, g)) for g in grad))
    bits = struct.unpack(f"<{len(grad)}I", write_raw(grad, None)[1])
    return 0, struct.pack(f"<{len(grad)}H", *(b + 0x7FFF + (b >> 16 & 1) >> 16 for b in bits))


def write_twobit(grad, residual, threshold):
    codes = bytearray(4 * ceil_div(len(grad), 16))
    for i, x in enumerate(each(operator.add, residual, grad)):
        code = 3 if x >= threshold else 2 if x <= -threshold else 0
        residual[i] = x - threshold if code == 3 else x + threshold if code == 2 else x
        codes[i // 4] |= code << 6 - 2 * (i % 4)
    return 0, struct.pack("<f", threshold) + codes


def buckets_of(grad, bucket):
    size = bucket or max(1, len(grad))
    return [grad[at:at + size] for at in range(0, len(grad), size)]


def terngrad_bound(grad, clip):
    """Where the elements of one bucket are clipped."""
    differences = each(operator.sub, grad, repeat(grad[0]))
    mean = sum_f32(differences) / len(grad)
    variance = sum_f32(each(operator.mul, differences, differences)) / len(grad) - mean * mean
    bound = fl(clip * math.sqrt(variance)) if 0 < variance < math.inf else 0
    return bound or math.inf


def terngrad_scalers(grad, clip, bucket):
    """The learner's own scalers, one for every bucket."""
    return [min(max(map(abs, g)), terngrad_bound(g, clip)) for g in buckets_of(grad, bucket)]


def write_terngrad(grad, _residual, clip, bucket, shared, coding, seed, step, agreed):
    scalers = agreed if shared else terngrad_scalers(grad, clip, bucket)
    u = uniforms(seed, step, len(grad))
    digits = []
    for g, s in zip(buckets_of(grad, bucket), scalers):
        bound, up = terngrad_bound(g, clip), 2.0**64 if s < 2.0**-100 else 1.0
        for x, product in zip(g, each(operator.mul, u[len(digits):], repeat(s * up, len(g)))):
            digits.append(0 if product >= min(abs(x), bound) * up else 1 if x > 0 else 2)
    head = struct.pack(f"<II{len(scalers)}f", bucket, 1, *scalers)
    write_digits = write_bits if coding == "bits" else write_trits
    return (BITS if coding == "bits" else 0) | (SHARED if shared else 0), head + write_digits(digits)


def write_trits(digits):
    digits = digits + [0] * (-len(digits) % 80)
    coded = bytearray()
    for block in range(0, len(digits), 80):
        for j in range(block, block + 16):
            v = 81 * digits[j] + 27 * digits[j + 16] + 9 * digits[j + 32] + 3 * digits[j + 48] + digits[j + 64]
            coded.append(ceil_div(256 * v, 243))
    return coded


def write_bits(digits):
    coded = bytearray(4 * ceil_div(len(digits), 16))
    for i, digit in enumerate(digits):
        coded[i // 4] |= digit << 2 * (i % 4)
    return coded


def write_planes(numbers, learners):
    planes = (2 * learners).bit_length()
    numbers = [q + learners for q in numbers] + [0] * (-len(numbers) % 16)
    words = [sum((numbers[group + l] >> j & 1) << l for l in range(16))
             for group in range(0, len(numbers), 16) for j in range(planes)]
    return struct.pack(f"<{len(words)}H", *words)


def write_adacomp(grad, residual, bin, factor):
    owed = each(operator.add, residual, grad)
    lifted = each(operator.add, owed, each(operator.mul, repeat(fl(factor - 1)), grad))
    starts = range(0, len(grad), bin)
    greatest = [max(map(abs, owed[start:start + bin])) for start in starts]
    total = 0.0
    for run in range(0, len(greatest), 1024):
        run_sum = 0.0
        for m in greatest[run:run + 1024]:
            run_sum += m
        total += run_sum
    scale = fl(total / len(greatest)) if greatest else 0.0
    width = symbol_bytes(bin)
    last, sign = 1 << 8 * width - 2, 1 << 8 * width - 1
    symbols = []
    residual[:] = owed
    for start, m in zip(starts, greatest):
        sent = [i for i in range(start, min(start + bin, len(grad)))
                if abs(lifted[i]) >= m and owed[i] != 0 and m > 0]
        for i in sent:
            symbols.append(i - start | (sign if owed[i] < 0 else 0) | (last if i == sent[-1] else 0))
            residual[i] = owed[i] - (scale if owed[i] > 0 else -scale)
        if not sent:
            symbols.append(2 * last - 1)
    return 0, struct.pack(f"<fI{len(symbols)}{ {1: 'B', 2: 'H', 4: 'I'}[width]}", scale, bin, *symbols)


# ---- frames ---------------------------------------------------------------------------------------------------------

def seal(codec_id, flags, n, payload):
    """The frame of a payload."""
    header = HEADER.pack(b"CRMB", 1, codec_id, flags, n, len(payload), checksum(payload), 0)[:28]
    return header + struct.pack("<I", crc32c(header)) + payload


WRITERS = {"raw": write_raw, "half": write_half, "twobit": write_twobit, "terngrad": write_terngrad,
           "adacomp": write_adacomp}


def encode(spec, grad, residual, seed, step, agreed=None):
    """The frame of a gradient, an array("f"). spec: a dict of "codec" and the settings of that codec's write_ function.
    residual: an array("f"), moved on in place; the codecs without one ignore it. agreed: the scalers of all buckets, of
    terngrad with shared scalers: the greatest of every learner's terngrad_scalers()."""
    settings = dict(spec)
    name = settings.pop("codec")
    need(all(map(usable, grad)), "the gradient is not finite")
    if name == "terngrad":
        settings.update(seed=seed, step=step, agreed=agreed)
    flags, payload = WRITERS[name](grad, residual, **settings)
    if not grad:
        flags, payload = 0, b""
    return seal(next(i for i, codec in CODECS.items() if codec.name == name), flags, len(grad), payload)


def encode_sum(numbers, bucket, scalers, learners):
    """The frame of terngrad frames under the same scalers. numbers: the sum of every element's q."""
    if not numbers:
        return seal(4, 0, 0, b"")
    payload = struct.pack(f"<II{len(scalers)}f", bucket, learners, *scalers) + write_planes(numbers, learners)
    return seal(4, SUM | SHARED, len(numbers), payload)
