"""crumb_ref_payloads: the payloads of doc/FORMAT.md, section 4, read.

A read_ function takes flags, n > 0 and the bytes, and returns facts (a dict), where (the numbers of the elements that
carry a value) and products (a function of the weight: the f32 products to add to those).

SPDX-License-Identifier: MIT
"""
import math
import struct
from array import array
from collections import namedtuple

from crumb_ref_coded import read_gaps, read_gaps_and_codes, read_huffman, read_rans, read_symbols
from crumb_ref_levels import EVEN, POWERS, TABLE, bits_of, code_bytes, levels_of, read_codes
from crumb_ref_numbers import ceil_div, fl, need, negative, usable

Codec = namedtuple("Codec", "name knows_flags read")


def need_length(payload, length):
    need(len(payload) == length, f"a payload of {len(payload)} bytes instead of {length}")


def products_of(values):
    """values: None where a code names 0, which adds +0 whatever the weight."""
    return lambda weight: array("f", (0.0 if value is None else weight * value for value in values))


def scaled_products_of(scalers, numbers):
    """The same, of one scaler and one number for every element."""
    return lambda weight: array("f", (0.0 if number is None else fl(weight * scaler) * number
                                      for scaler, number in zip(scalers, numbers)))


# ---- 4. Payloads: raw, half -----------------------------------------------------------------------------------------

def read_raw(_flags, n, payload):
    need_length(payload, 4 * n)
    values = struct.unpack(f"<{n}f", payload)
    need(all(map(usable, values)), "a value is not usable")
    return {}, range(n), products_of(values)


def read_half(flags, n, payload):
    need_length(payload, 2 * n)
    if flags == 1:
        values = struct.unpack(f"<{n}e", payload)
    else:
        values = struct.unpack(f"<{n}f", b"".join(b"\0\0" + payload[at:at + 2] for at in range(0, 2 * n, 2)))
    need(all(map(usable, values)), "a value is not usable")
    return {"type": "f16" if flags else "bf16"}, range(n), products_of(values)


# ---- twobit ---------------------------------------------------------------------------------------------------------

def read_twobit(_flags, n, payload):
    need_length(payload, 4 + 4 * ceil_div(n, 16))
    threshold, = struct.unpack_from("<f", payload)
    need(usable(threshold) and threshold > 0, "the threshold is not usable and above 0")
    codes = [byte >> shift & 3 for byte in payload[4:] for shift in (6, 4, 2, 0)]
    need(1 not in codes, "code 01")
    need(not any(codes[n:]), "an unused bit is not 0")
    value_of_code = None, None, -threshold, threshold
    return {"threshold": threshold}, range(n), products_of([value_of_code[code] for code in codes[:n]])


# ---- terngrad -------------------------------------------------------------------------------------------------------

BITS, BLOCKS, TERNARY_GAPS, SHARED, SUM = 1, 2, 3, 4, 0x100
NUMBER_OF_DIGIT = None, 1, -1
DIGITS_OF_BYTE = {}  # of the well-formed bytes of trits
for byte in range(256):
    if 243 * byte % 256 < 243:
        rest, digits = byte, []
        for _ in range(5):
            digits.append(3 * rest >> 8)
            rest = 3 * rest % 256
        DIGITS_OF_BYTE[byte] = digits


def knows_terngrad_flags(flags):
    return flags & ~(3 | SHARED | SUM) == 0 and (not flags & SUM or flags == SUM | SHARED)


def scalers_of_elements(n, bucket, scalers):
    return [scalers[i // (bucket or n)] for i in range(n)]


def read_terngrad(flags, n, payload):
    need(len(payload) >= 8, "no room for bucket and learners")
    bucket, learners = struct.unpack_from("<II", payload)
    need(bucket % 16 == 0 and bucket <= 2**20, f"buckets of {bucket}")
    need(1 <= learners <= (32767 if flags & SUM else 1), f"{learners} learners")
    buckets = ceil_div(n, bucket or n)
    need(len(payload) >= 8 + 4 * buckets, "no room for the scalers")
    scalers = struct.unpack_from(f"<{buckets}f", payload, 8)
    need(all(usable(s) and not negative(s) for s in scalers), "a scaler is negative or not usable")
    coded = payload[8 + 4 * buckets:]
    facts = {"bucket": bucket, "learners": learners, "shared": bool(flags & SHARED),
             "coding": "sum" if flags & SUM else ("trits", "bits", "blocks", "gaps")[flags & 3], "scalers": scalers}
    if flags & 3 == TERNARY_GAPS:
        where, signs = read_gaps(coded, n)
        scalers = [scalers[i // (bucket or n)] for i in where]
        return facts, where, scaled_products_of(scalers, [1 if plus else -1 for plus in signs])
    read_numbers = read_planes if flags & SUM else (read_trits, read_bits, read_blocks)[flags & 3]
    numbers = read_numbers(n, coded, learners)
    return facts, range(n), scaled_products_of(scalers_of_elements(n, bucket, scalers), numbers)


def read_trits(n, coded, _learners):
    need_length(coded, 16 * ceil_div(n, 80))
    digits = [0] * (5 * len(coded))
    for at, byte in enumerate(coded):
        need(byte in DIGITS_OF_BYTE, f"byte {byte} is not of trits")
        block, j = divmod(at, 16)
        digits[80 * block + j:80 * block + 80:16] = DIGITS_OF_BYTE[byte]
    need(not any(digits[n:]), "an element past the last is not 0")
    return [NUMBER_OF_DIGIT[d] for d in digits[:n]]


def read_bits(n, coded, _learners):
    need_length(coded, 4 * ceil_div(n, 16))
    digits = digits_of_bits(coded)
    need(3 not in digits, "digit 3")
    need(not any(digits[n:]), "an unused bit is not 0")
    return [NUMBER_OF_DIGIT[d] for d in digits[:n]]


def digits_of_bits(coded):
    return [byte >> shift & 3 for byte in coded for shift in (0, 2, 4, 6)]


def read_blocks(n, coded, _learners):
    return [NUMBER_OF_DIGIT[d] for d in read_symbols(coded, n, 3, 4, digits_of_bits, read_rans)]


def read_planes(n, coded, learners):
    planes = (2 * learners).bit_length()  # ceil(log2(2 learners + 1))
    need_length(coded, 2 * planes * ceil_div(n, 16))
    words = struct.unpack(f"<{len(coded) // 2}H", coded)
    numbers = [sum((words[at + j] >> l & 1) << j for j in range(planes))
               for at in range(0, len(words), planes) for l in range(16)]
    need(max(numbers) <= 2 * learners, "a number is above twice the learners")
    need(not any(numbers[n:]), "an element past the last is not 0")
    return [number - learners for number in numbers[:n]]


# ---- adacomp --------------------------------------------------------------------------------------------------------

BINS_GAPS = 1


def symbol_bytes(bin):
    return 1 if bin <= 63 else 2 if bin <= 16383 else 4


def read_adacomp(flags, n, payload):
    need(len(payload) >= 8, "no room for scale and bin")
    if flags & BINS_GAPS:
        return read_bins_gaps(n, payload)
    scale, bin = struct.unpack_from("<fI", payload)
    need(math.isfinite(scale) and not negative(scale), "the scale is negative or not finite")
    need(1 <= bin <= 2**24, f"bins of {bin}")
    width = symbol_bytes(bin)
    need(len(payload) % width == 0, "part of a symbol")
    offset_bits = 8 * width - 2
    no_offset = 2**offset_bits - 1
    where, values, bins, b, least = [], [], ceil_div(n, bin), 0, 0
    for symbol, in struct.iter_unpack({1: "<B", 2: "<H", 4: "<I"}[width], payload[8:]):
        need(b < bins, "a symbol after the last bin")
        sign, last, offset = symbol >> offset_bits + 1, symbol >> offset_bits & 1, symbol & no_offset
        if not (offset == no_offset and last and not sign and least == 0):
            need(offset >= least, "offsets do not increase")
            need(offset < min(bin, n - b * bin), "an offset outside its bin")
            where.append(b * bin + offset)
            values.append(-scale if sign else scale)
        least = 0 if last else offset + 1
        b += last
    need(b == bins, "a bin is missing")
    return {"scale": scale, "bin": bin, "sent": len(where)}, where, products_of(values)


def read_bins_gaps(n, payload):
    scale, = struct.unpack_from("<f", payload)
    need(math.isfinite(scale) and not negative(scale), "the scale is negative or not finite")
    where, signs = read_gaps(payload[4:], n)
    return {"scale": scale, "sent": len(where)}, where, products_of([scale if plus else -scale for plus in signs])


# ---- sign, onebit ---------------------------------------------------------------------------------------------------

def read_sign(_flags, n, payload):
    need_length(payload, 4 + 2 * ceil_div(n, 16))
    scale, = struct.unpack_from("<f", payload)
    need(math.isfinite(scale) and not negative(scale), "the scale is negative or not finite")
    bits = [byte >> shift & 1 for byte in payload[4:] for shift in range(8)]
    need(not any(bits[n:]), "an unused bit is not 0")
    return {"scale": scale}, range(n), products_of([-scale if bit else scale for bit in bits[:n]])


def read_onebit(_flags, n, payload):
    need_length(payload, 4 * ceil_div(n, 32))
    bits = [byte >> 7 - shift & 1 for byte in payload for shift in range(8)]
    need(not any(bits[n:]), "an unused bit is not 0")
    return {}, range(n), products_of([1.0 if bit else -1.0 for bit in bits[:n]])


# ---- strom, topk ----------------------------------------------------------------------------------------------------

MAP, EXACT, GAPS = 1, 2, 4


def read_signs(flags, n, coded):
    """The elements that are sent, and of each whether it is plus."""
    if flags & GAPS:
        return read_gaps(coded, n)
    if flags & MAP:
        need_length(coded, 4 * ceil_div(n, 16))
        codes = [byte >> shift & 3 for byte in coded for shift in (0, 2, 4, 6)]
        need(3 not in codes, "code 3")
        need(not any(codes[n:]), "an unused bit is not 0")
        where = [i for i, code in enumerate(codes) if code]
        return where, [codes[i] == 1 for i in where]
    need(len(coded) % 4 == 0, "part of a word")
    words = struct.unpack(f"<{len(coded) // 4}I", coded)
    where = [word >> 1 for word in words]
    need_elements(where, n)
    return where, [bool(word & 1) for word in words]


def need_elements(where, n):
    need(all(a < b for a, b in zip(where, where[1:])), "elements do not increase")
    need(not where or where[-1] < n, "an element past the last")


def read_strom(flags, n, payload):
    need(len(payload) >= 4, "no room for the threshold")
    threshold, = struct.unpack_from("<f", payload)
    need(usable(threshold) and threshold > 0, "the threshold is not usable and above 0")
    where, signs = read_signs(flags, n, payload[4:])
    values = [threshold if plus else -threshold for plus in signs]
    return {"threshold": threshold, "sent": len(where)}, where, products_of(values)


def read_topk(flags, n, payload):
    if flags & EXACT:
        need(len(payload) % 8 == 0, "not a whole number of elements and values")
        k = len(payload) // 8
        where, values = struct.unpack_from(f"<{k}I", payload), struct.unpack_from(f"<{k}f", payload, 4 * k)
        need_elements(where, n)
        need(all(map(math.isfinite, values)), "a value is not finite")
        return {"sent": k}, where, products_of(values)
    need(len(payload) >= 8, "no room for the means")
    plus_mean, minus_mean = struct.unpack_from("<2f", payload)
    need(0 <= plus_mean < math.inf, "plus is negative or not finite")
    need(-math.inf < minus_mean <= 0, "minus is positive or not finite")
    where, signs = read_signs(flags, n, payload[8:])
    facts = {"plus": plus_mean, "minus": minus_mean, "sent": len(where)}
    return facts, where, products_of([plus_mean if plus else minus_mean for plus in signs])


# ---- chunk ----------------------------------------------------------------------------------------------------------

EXACT_BITS = 32


def read_chunk(_flags, n, payload):
    need(n < 2**32, f"{n} elements")
    need(payload, "no room for the bits of a code")
    bits = payload[0]
    need(2 <= bits <= 8 or bits == EXACT_BITS, f"codes of {bits} bits")
    count = 0 if bits == EXACT_BITS else 2**bits
    need(len(payload) >= 1 + 4 * count, "no room for the levels")
    levels = struct.unpack_from(f"<{count}f", payload, 1)
    where, codes = read_gaps_and_codes(payload[1 + 4 * count:], n, bits)
    values = [levels[code] for code in codes] if levels else struct.unpack(f"<{len(codes)}f",
                                                                           struct.pack(f"<{len(codes)}I", *codes))
    need(all(map(math.isfinite, (*levels, *values))), "a value is not finite")
    return {"bits": bits, "levels": levels, "sent": len(where)}, where, products_of(values)


# ---- dgc ------------------------------------------------------------------------------------------------------------

def read_dgc(_flags, n, payload):
    need(n < 2**32, f"{n} elements")
    where, codes = read_gaps_and_codes(payload, n, EXACT_BITS)
    values = struct.unpack(f"<{len(codes)}f", struct.pack(f"<{len(codes)}I", *codes))
    need(all(map(math.isfinite, values)), "a value is not finite")
    return {"sent": len(where)}, where, products_of(values)


# ---- block ----------------------------------------------------------------------------------------------------------

FOUR_BITS = 1


def read_block(flags, n, payload):
    need(len(payload) >= 4, "no room for the elements of a block")
    block, = struct.unpack_from("<I", payload)
    need(block % 32 == 0 and 32 <= block <= 2**15, f"blocks of {block}")
    at, scales, numbers = 4, [], []
    for first in range(0, n, block):
        m = min(block, n - first)
        size = 16 * ceil_div(m, 32) if flags & FOUR_BITS else m
        need(len(payload) >= at + 4 + size, "a block is cut short")
        scale, = struct.unpack_from("<f", payload, at)
        need(usable(scale) and not negative(scale), "a scale is negative or not usable")
        codes = payload[at + 4:at + 4 + size]
        if flags & FOUR_BITS:
            codes = [codes[16 * (l // 32) + l % 16] >> 4 * (l // 16 % 2) & 15 for l in range(2 * size)]
            need(not any(codes[m:]), "an unused bit is not 0")
        half = 8 if flags & FOUR_BITS else 128
        numbers += [(code ^ half) - half for code in codes[:m]]
        scales += [scale] * m
        at += 4 + size
    need_length(payload, at)
    return {"block": block}, range(n), scaled_products_of(scales, numbers)


# ---- seide ----------------------------------------------------------------------------------------------------------

def read_seide(_flags, n, payload):
    need(len(payload) >= 8, "no room for the column")
    column, = struct.unpack_from("<Q", payload)
    need(1 <= column <= n, f"columns of {column}")
    columns = ceil_div(n, column)
    lengths = column, n - (columns - 1) * column
    column_bytes, last_bytes = (2 * ceil_div(length, 16) for length in lengths)
    need_length(payload, 8 + 8 * columns + (columns - 1) * column_bytes + last_bytes)
    levels = struct.unpack_from(f"<{2 * columns}f", payload, 8)
    need(all(map(math.isfinite, levels)), "a level is not finite")
    values = []
    for c in range(columns):
        coded = payload[8 + 8 * columns + c * column_bytes:][:column_bytes]
        bits = [byte >> shift & 1 for byte in coded for shift in range(8)]
        length = lengths[c == columns - 1]
        need(not any(bits[length:]), "an unused bit is not 0")
        values += (levels[2 * c + bit] for bit in bits[:length])
    return {"column": column, "levels": levels}, range(n), products_of(values)


# ---- qsgd, nuqsgd, natural, alq, amq, zipml -------------------------------------------------------------------------

HUFFMAN, ENTROPY = 1, 2


def read_levels(flags, n, payload):
    need(len(payload) >= 8, "no room for bucket, number of levels and form")
    bucket, count, form = struct.unpack_from("<IHH", payload)
    bits, buckets = bits_of(count), ceil_div(n, bucket or n)
    need(bucket % 128 == 0 and 128 <= bucket <= 2**15, f"buckets of {bucket}")
    need(2 <= bits <= 8 and count >= 2**bits - 1, f"{count} levels")
    need(form in (EVEN, POWERS, TABLE), f"levels of form {form}")
    shape_length = {EVEN: 0, POWERS: 1, TABLE: count}[form]
    codes_at = 8 + 4 * shape_length + 4 * buckets
    need(not flags or count <= 16, f"{count} levels as symbols")
    if flags:
        need(len(payload) >= codes_at, "no room for the norms")
    else:
        need_length(payload, codes_at + code_bytes(n, bits))
    shape = array("f", struct.unpack_from(f"<{shape_length}f", payload, 8))
    levels = levels_of(form, count, shape)
    need(levels[0] == -1 and levels[-1] == 1, "levels that are not from -1 to 1")
    need(all(a < b for a, b in zip(levels, levels[1:])), "levels that do not increase")
    norms = struct.unpack_from(f"<{buckets}f", payload, 8 + 4 * shape_length)
    need(all(math.isfinite(s) and not negative(s) for s in norms), "a norm is negative or not finite")
    codes = read_coded_levels(flags, n, count, payload[codes_at:]) if flags else read_codes(n, bits, payload[codes_at:])
    need(max(codes) < count, "a code of no level")
    facts = {"bucket": bucket, "form": ("even", "powers", "table")[form], "shape": shape.tolist(),
             "levels": levels.tolist(), "norms": norms}
    return facts, range(n), scaled_products_of(scalers_of_elements(n, bucket, norms), [levels[code] for code in codes])


def read_coded_levels(flags, n, count, coded):
    bits = bits_of(count)
    symbols = read_symbols(coded, 128 * ceil_div(n, 128), count, 2 * bits,
                           lambda fixed: read_codes(8 * len(fixed) // bits, bits, fixed),
                           read_huffman if flags == HUFFMAN else read_rans)
    need(not any(symbols[n:]), "a symbol past the last is not 0")
    return symbols[:n]


CODECS = {
    1: Codec("raw", lambda flags: flags == 0, read_raw),
    2: Codec("half", lambda flags: flags <= 1, read_half),
    3: Codec("twobit", lambda flags: flags == 0, read_twobit),
    4: Codec("terngrad", knows_terngrad_flags, read_terngrad),
    5: Codec("adacomp", lambda flags: flags <= BINS_GAPS, read_adacomp),
    6: Codec("sign", lambda flags: flags == 0, read_sign),
    7: Codec("local", lambda flags: flags <= BINS_GAPS, read_adacomp),
    8: Codec("onebit", lambda flags: flags == 0, read_onebit),
    9: Codec("strom", lambda flags: flags in (0, MAP, GAPS), read_strom),
    10: Codec("topk", lambda flags: flags in (0, MAP, EXACT, GAPS), read_topk),
    11: Codec("seide", lambda flags: flags == 0, read_seide),
    12: Codec("qsgd", lambda flags: flags <= ENTROPY, read_levels),
    13: Codec("nuqsgd", lambda flags: flags <= ENTROPY, read_levels),
    14: Codec("natural", lambda flags: flags <= ENTROPY, read_levels),
    15: Codec("alq", lambda flags: flags <= ENTROPY, read_levels),
    16: Codec("amq", lambda flags: flags <= ENTROPY, read_levels),
    17: Codec("zipml", lambda flags: flags <= ENTROPY, read_levels),
    18: Codec("chunk", lambda flags: flags == 0, read_chunk),
    19: Codec("block", lambda flags: flags <= FOUR_BITS, read_block),
    20: Codec("dgc", lambda flags: flags == 0, read_dgc),
}
