"""crumb_ref_encode: an encoder of the frames of doc/FORMAT.md, format 1, in plain Python, from that document alone.

With the same gradients, settings and seed it writes the same bytes as the library.

SPDX-License-Identifier: MIT
"""
import math
import operator
import struct
from array import array
from itertools import repeat

from crumb_ref import HEADER, checksum, crc32c
from crumb_ref_coded import (block_elements, write_gaps, write_gaps_and_codes, write_huffman, write_rans,
                              write_symbols)
from crumb_ref_levels import (EVEN, POWERS, TABLE, bits_of, codes_of_even, codes_of_levels, levels_of, normalised,
                              write_codes)
from crumb_ref_numbers import USABLE, ceil_div, each, fl, need, negative, sum_f32, uniforms, usable
from crumb_ref_payloads import (BINS_GAPS, BITS, BLOCKS, CODECS, ENTROPY, EXACT, EXACT_BITS, FOUR_BITS, GAPS,
                                HUFFMAN, MAP, SHARED, SUM, TERNARY_GAPS, symbol_bytes)


# ---- payloads -------------------------------------------------------------------------------------------------------

def write_raw(grad, _residual):
    return 0, struct.pack(f"<{len(grad)}f", *grad)


def write_half(grad, _residual, type):
    if type == "f16":
        return 1, struct.pack(f"<{len(grad)}e", *(max(-65504.0, min(65504.0, g)) for g in grad))
    bits = struct.unpack(f"<{len(grad)}I", write_raw(grad, None)[1])
    return 0, struct.pack(f"<{len(grad)}H", *(b + 0x7FFF + (b >> 16 & 1) >> 16 for b in bits))


def automatic_threshold(owed, share):
    """The threshold that about this share of the elements reaches."""
    sizes = list(map(abs, owed))
    apart = int(share * len(owed) / 4096) | 1
    sample = [size for i, size in enumerate(sizes) if i // 16 % apart == 0]
    if apart > 1 and max(sample) < 2.0**-129:
        sample = sizes
    sample.sort(reverse=True)
    some = sum(size >= 2.0**-129 for size in sample)
    if not some:
        return 2.0**100
    wanted = min(share * len(sample), some / 2)
    bits, = struct.unpack("<I", struct.pack("<f", sample[math.ceil(wanted) - 1]))
    return max(2.0**-100, min(2.0**100, struct.unpack("<f", struct.pack("<I", bits >> 9 << 9))[0]))


def write_twobit(grad, residual, threshold, share=None):
    if threshold == "auto":
        threshold = automatic_threshold(each(operator.add, residual, grad), share)
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
    flags, coded = write_shortest(digits) if coding == "entropy" else \
        (BITS, write_bits(digits)) if coding == "bits" else (0, write_trits(digits))
    return flags | (SHARED if shared else 0), head + coded


def write_shortest(digits):
    """The shortest of trits, gaps and blocks, the first of these if equal. Gaps are not tried if a tensor of more than
    one block sends more than one element in sixteen."""
    n, signs = len(digits), {i: digit == 1 for i, digit in enumerate(digits) if digit}
    choices = {0: write_trits(digits)}
    if n <= block_elements(4) or len(signs) <= n // 16:
        choices[TERNARY_GAPS] = write_gaps(signs, n)
    choices[BLOCKS] = write_symbols(digits, 3, 4, write_bits, write_rans)
    return min(choices.items(), key=lambda choice: len(choice[1]))


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


def write_bins(owed, residual, bin, coding, sent_of):
    """The payload of adacomp and local. sent_of(elements, greatest): those of a bin that are sent, of its element
    numbers and the greatest magnitude among them, which is above 0."""
    bins = [range(start, min(start + bin, len(owed))) for start in range(0, len(owed), bin)]
    greatest = [max(abs(owed[i]) for i in elements) for elements in bins]
    total = 0.0
    for run in range(0, len(bins), 1024):
        run_sum = 0.0
        for m in greatest[run:run + 1024]:
            run_sum += m
        total += run_sum
    scale = fl(total / len(bins)) if bins else 0.0
    width = symbol_bytes(bin)
    last, sign = 1 << 8 * width - 2, 1 << 8 * width - 1
    symbols, all_sent = [], []
    residual[:] = owed
    for elements, m in zip(bins, greatest):
        sent = sent_of(elements, m) if m > 0 else []
        all_sent += sent
        for i in sent:
            symbols.append(i - elements[0] | (sign if owed[i] < 0 else 0) | (last if i == sent[-1] else 0))
            residual[i] = owed[i] - (scale if owed[i] > 0 else -scale)
        if not sent:
            symbols.append(2 * last - 1)
    plain = struct.pack(f"<fI{len(symbols)}{ {1: 'B', 2: 'H', 4: 'I'}[width]}", scale, bin, *symbols)
    if coding == "entropy":
        coded = struct.pack("<f", scale) + write_gaps({i: owed[i] > 0 for i in all_sent}, len(owed))
        if len(coded) < len(plain):
            return BINS_GAPS, coded
    return 0, plain


def write_adacomp(grad, residual, bin, factor, coding):
    owed = each(operator.add, residual, grad)
    lifted = each(operator.add, owed, each(operator.mul, repeat(fl(factor - 1)), grad))
    return write_bins(owed, residual, bin, coding,
                      lambda elements, m: [i for i in elements if abs(lifted[i]) >= m and owed[i] != 0])


def write_local(grad, residual, bin, coding):
    owed = each(operator.add, residual, grad)
    return write_bins(owed, residual, bin, coding, lambda elements, m: [next(i for i in elements if abs(owed[i]) == m)])


def means(sums_of, counts):
    """fl(sum / count) of each, 0 where there is none; sums_of(factor): the sums of the terms times factor, which is
    2^-32 where the sums of the terms themselves are not all finite."""
    up, sums = 1.0, sums_of(1.0)
    if not all(map(math.isfinite, sums)):
        up, sums = 2.0**32, sums_of(2.0**-32)
    return [fl(total / count * up) if count else 0.0 for total, count in zip(sums, counts)]


def pack_bits(bits, unit, lowest_first):
    """One bit an element, in a multiple of unit bytes."""
    packed = bytearray(unit * ceil_div(len(bits), 8 * unit))
    for i, bit in enumerate(bits):
        packed[i // 8] |= bit << (i % 8 if lowest_first else 7 - i % 8)
    return packed


def write_sign(grad, residual):
    owed = each(operator.add, residual, grad)
    scale, = means(lambda factor: [sum_f32(each(operator.mul, map(abs, owed), repeat(factor)))], [len(owed)])
    bits = [negative(x) for x in owed]
    residual[:] = array("f", (x + scale if bit else x - scale for x, bit in zip(owed, bits)))
    return 0, struct.pack("<f", scale) + pack_bits(bits, 2, True)


def write_onebit(grad, residual, threshold):
    owed = each(operator.add, residual, grad)
    bits = [x > threshold for x in owed]
    residual[:] = array("f", (x - 1 if bit else x + 1 for x, bit in zip(owed, bits)))
    return 0, pack_bits(bits, 4, False)


def write_signs(signs, n, coding):
    """Flags and bytes of a dict from element to whether it is plus, in order."""
    flags, plain = write_list_or_map(signs, n)
    coded = write_gaps(signs, n)
    return (GAPS, coded) if coding == "entropy" and len(coded) < len(plain) else (flags, plain)


def write_list_or_map(signs, n):
    if 4 * len(signs) < 4 * ceil_div(n, 16):
        return 0, struct.pack(f"<{len(signs)}I", *(2 * i + plus for i, plus in signs.items()))
    return MAP, write_bits([0 if i not in signs else 1 if signs[i] else 2 for i in range(n)])


def write_strom(grad, residual, threshold, coding, share=None):
    if threshold == "auto":
        threshold = automatic_threshold(each(operator.add, residual, grad), share)
    signs = {}
    for i, x in enumerate(each(operator.add, residual, grad)):
        if abs(x) >= threshold:
            signs[i] = x > 0
        residual[i] = x if i not in signs else x - threshold if signs[i] else x + threshold
    flags, coded = write_signs(signs, len(grad), coding)
    return flags, struct.pack("<f", threshold) + coded


def write_topk(grad, residual, fraction, value, coding):
    owed = each(operator.add, residual, grad)
    residual[:] = owed
    k = max(1, int(fraction * len(owed)))
    least = max([2.0**-149] + sorted(map(abs, owed), reverse=True)[k - 1:k])
    if value == "exact":
        above = [i for i, x in enumerate(owed) if abs(x) > least]
        equal = [i for i, x in enumerate(owed) if abs(x) == least]
        sent = sorted(above + equal[:k - len(above)])
        for i in sent:
            residual[i] = 0.0
        return EXACT, struct.pack(f"<{len(sent)}I{len(sent)}f", *sent, *(owed[i] for i in sent))
    signs = {i: x > 0 for i, x in enumerate(owed) if abs(x) >= least}
    sides = [[x if x >= least else 0.0 for x in owed], [x if x <= -least else 0.0 for x in owed]]
    plus, minus = means(lambda factor: [sum_f32(each(operator.mul, side, repeat(factor))) for side in sides],
                        [sum(map(bool, side)) for side in sides])
    for i in signs:
        residual[i] = owed[i] - (plus if signs[i] else minus)
    flags, coded = write_signs(signs, len(owed), coding)
    return flags, struct.pack("<2f", plus, minus) + coded


def sum_in_order(values):
    """The sum in double, which sum() of newer Pythons compensates."""
    total = 0.0
    for x in values:
        total += x
    return total


def codes_by_bins(values, count):
    """Codes of the values, by bins that are 6 standard deviations wide together."""
    mean = sum_in_order(values) / len(values)
    squares = sum_in_order((x - mean) * (x - mean) for x in values)
    sigma = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
    width = 6 * sigma / count if sigma else 1.0
    return [int(max(0.0, min(count - 1.0, (x - mean) / width + (count / 2 + 0.5)))) for x in values]


def write_chunk(grad, residual, chunk, keep, bits):
    owed = array("f", (min(max(x, -2.0**124), 2.0**124) for x in each(operator.add, residual, grad)))
    residual[:] = owed
    sent = []
    for first in range(0, len(owed), chunk):
        elements = range(first, min(first + chunk, len(owed)))
        greatest = sorted(elements, key=lambda i: -abs(owed[i]))[:max(1, keep * len(elements) // chunk)]
        sent += sorted(i for i in greatest if owed[i] != 0)
    values = [owed[i] for i in sent]
    if bits == EXACT_BITS:
        levels, codes = (), struct.unpack(f"<{len(sent)}I", struct.pack(f"<{len(sent)}f", *values))
    else:
        codes = codes_by_bins(values, 2**bits) if values else []
        of_code = [[x for x, code in zip(values, codes) if code == level] for level in range(2**bits)]
        levels = [fl(sum_in_order(of) / len(of)) if of else 0.0 for of in of_code]
    for i, code in zip(sent, codes):
        residual[i] = owed[i] - (levels[code] if levels else owed[i])
    gaps = write_gaps_and_codes(dict(zip(sent, codes)), len(owed), bits)
    return 0, struct.pack(f"<B{len(levels)}f", bits, *levels) + gaps


def write_dgc(grad, residual, momentum, fraction, warmup, velocity, step):
    moved = each(operator.add, each(operator.mul, velocity, repeat(momentum)), grad)
    velocity[:] = array("f", (min(max(x, -USABLE), USABLE) for x in moved))
    residual[:] = owed = each(operator.add, residual, velocity)
    share = max(fraction, 0.25 / 4**(4 * step // warmup)) if step < warmup else fraction
    greatest = sorted(range(len(owed)), key=lambda i: -abs(owed[i]))[:max(1, int(share * len(owed)))]
    sent = sorted(i for i in greatest if owed[i] != 0)
    codes = dict(zip(sent, struct.unpack(f"<{len(sent)}I", struct.pack(f"<{len(sent)}f", *(owed[i] for i in sent)))))
    for i in sent:
        residual[i] = velocity[i] = 0.0
    return 0, write_gaps_and_codes(codes, len(owed), EXACT_BITS)


def write_block(grad, _residual, bits, block, rounding, seed, step):
    most, u = (127, 7)[bits == 4], uniforms(seed, step, len(grad))
    payload = struct.pack("<I", block)
    for first in range(0, len(grad), block):
        g = grad[first:first + block]
        greatest = max(2.0**-90, *map(abs, g))
        factor = fl(2**24 * most / greatest)
        codes = []
        for i, product in enumerate(each(operator.mul, map(abs, g), repeat(factor)), first):
            t, h = int(min(product, 2**24 * most)), 2**23 if rounding == "nearest" else int(2**24 * u[i])
            q = (t + h) // 2**24
            codes.append((-q if grad[i] < 0 else q) % 2**bits)
        if bits == 4:
            codes += [0] * (-len(codes) % 32)
            codes = [codes[at + l] | codes[at + l + 16] << 4 for at in range(0, len(codes), 32) for l in range(16)]
        payload += struct.pack("<f", greatest / most) + bytes(codes)
    return (FOUR_BITS if bits == 4 else 0), payload


# ---- frames ---------------------------------------------------------------------------------------------------------

def seal(codec_id, flags, n, payload):
    """The frame of a payload."""
    header = HEADER.pack(b"CRMB", 1, codec_id, flags, n, len(payload), checksum(payload), 0)[:28]
    return header + struct.pack("<I", crc32c(header)) + payload


def seide_levels(x, split, factor):
    """Low and high of a column, and of each element whether it is high; sums are of terms times factor."""
    def sums(terms, bits):
        terms = each(operator.mul, terms, repeat(factor))
        return [sum_f32([term if bit == side else 0.0 for term, bit in zip(terms, bits)]) for side in (False, True)]

    bits = [value >= 0 for value in x]
    low_sum, high_sum = sums(x, bits)
    if split == "zero":
        count = sum(bits)
        low = fl(low_sum / (len(x) - count) / factor) if count < len(x) else 0.0
        high = fl(high_sum / count / factor) if count else 0.0
        return low, high, bits
    mean = fl((low_sum + high_sum) / len(x) / factor)
    bits = [value >= mean for value in x]
    low_sum, high_sum = sums(each(operator.sub, x, repeat(mean)), bits)
    deviation = fl((high_sum - low_sum) / len(x) / factor)
    return fl(mean - deviation), fl(mean + deviation), bits


def write_seide(grad, residual, split, run):
    n = len(grad)
    column = min(n, run * max(1, ceil_div(64, run))) if run else n
    owed = each(operator.add, residual, grad)
    levels, coded = array("f"), b""
    for start in range(0, n, column or 1):
        x = owed[start:start + column]
        low, high, bits = seide_levels(x, split, 1.0)
        if not (math.isfinite(low) and math.isfinite(high)):
            low, high, bits = seide_levels(x, split, 2.0**-32)
        levels.extend((low, high))
        coded += pack_bits(bits, 2, True)
        residual[start:start + column] = array("f", (a - (high if bit else low) for a, bit in zip(x, bits)))
    return 0, struct.pack(f"<Q{len(levels)}f", column, *levels) + coded


def write_levels(grad, form, count, bucket, norm, seed, step, shape, coding):
    if form == POWERS and count == 3:
        shape = array("f", [0.0])
    levels, u = levels_of(form, count, shape), uniforms(seed, step, len(grad))
    norms, codes = [], []
    for g in buckets_of(grad, bucket):
        s, y = normalised(g, norm)
        norms.append(s)
        v = u[len(codes):len(codes) + len(g)]
        codes += codes_of_even(y, v, count) if form == EVEN else codes_of_levels(y, v, levels)
    head = struct.pack(f"<IHH{len(shape) + len(norms)}f", bucket, count, form, *shape, *norms)
    bits = bits_of(count)
    if coding == "fixed":
        return 0, head + write_codes(codes, bits)
    symbols = codes + [0] * (-len(codes) % 128)
    flags, write_block = (HUFFMAN, write_huffman) if coding == "huffman" else (ENTROPY, write_rans)
    return flags, head + write_symbols(symbols, count, 2 * bits, lambda block: write_codes(block, bits), write_block)


def write_qsgd(grad, _residual, bits, bucket, zero, norm, seed, step, coding):
    return write_levels(grad, EVEN, 2**bits - zero, bucket, norm, seed, step, array("f"), coding)


def write_nuqsgd(grad, _residual, bits, bucket, norm, seed, step, coding, zero=1):
    return write_levels(grad, POWERS, 2**bits - zero, bucket, norm, seed, step, array("f", [0.5]), coding)


def write_amq(grad, _residual, bits, bucket, zero, norm, seed, step, shape, coding, **_how_they_are_chosen):
    return write_levels(grad, POWERS, 2**bits - zero, bucket, norm, seed, step, shape, coding)


def write_alq(grad, _residual, bits, bucket, seed, step, shape, coding, zero=0, norm="l2", **_how_they_are_chosen):
    return write_levels(grad, TABLE, 2**bits - zero, bucket, norm, seed, step, shape, coding)


WRITERS = {"raw": write_raw, "half": write_half, "twobit": write_twobit, "terngrad": write_terngrad,
           "adacomp": write_adacomp, "sign": write_sign, "local": write_local, "onebit": write_onebit,
           "strom": write_strom, "topk": write_topk, "seide": write_seide, "chunk": write_chunk, "block": write_block,
           "dgc": write_dgc, "qsgd": write_qsgd, "nuqsgd": write_nuqsgd, "natural": write_nuqsgd, "alq": write_alq,
           "amq": write_amq, "zipml": write_alq}
RANDOM = "terngrad", "qsgd", "nuqsgd", "natural", "alq", "amq", "zipml", "block"


def encode(spec, grad, residual, seed, step, agreed=None, run=0, shape=None, velocity=None):
    """The frame of a gradient, an array("f"). spec: a dict of "codec" and the settings of that codec's write_ function.
    residual: an array("f"), moved on in place; the codecs without one ignore it. agreed: the scalers of all buckets, of
    terngrad with shared scalers: the greatest of every learner's terngrad_scalers(). run: the packer's, for seide.
    shape: where the format leaves the levels to the encoder, alq, amq and zipml: that of levels_of(). velocity: an
    array("f"), of dgc, likewise moved on."""
    settings = dict(spec)
    name = settings.pop("codec")
    need(all(map(usable, grad)), "the gradient is not finite")
    decay = settings.pop("decay", 1)
    if residual and step % 32 == 0:
        residual[:] = array("f", (min(max(x, -USABLE), USABLE) for x in residual))
    if residual:
        residual[:] = each(operator.mul, residual, repeat(decay))
    if name in RANDOM:
        settings.update(seed=seed, step=step)
    if name == "terngrad":
        settings.update(agreed=agreed)
    if name == "dgc":
        settings.update(velocity=velocity, step=step)
    if name in ("alq", "amq", "zipml"):
        settings.update(shape=shape)
    if name == "seide":
        settings.update(run=run)
    flags, payload = WRITERS[name](grad, residual, **settings) if grad else (0, b"")
    return seal(next(i for i, codec in CODECS.items() if codec.name == name), flags, len(grad), payload)


def encode_sum(numbers, bucket, scalers, learners):
    """The frame of terngrad frames under the same scalers. numbers: the sum of every element's q."""
    if not numbers:
        return seal(4, 0, 0, b"")
    payload = struct.pack(f"<II{len(scalers)}f", bucket, learners, *scalers) + write_planes(numbers, learners)
    return seal(4, SUM | SHARED, len(numbers), payload)
