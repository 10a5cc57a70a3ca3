"""crumb_ref: a decoder of the frames of doc/FORMAT.md, format 1, in plain Python, from that document alone.

  crumb_ref.py FRAMES...                prints the header of every frame of the files, and what it carries
  crumb_ref.py --check FRAMES EXPECTED  compares the sum of the frames of one file with a file of f32, bit for bit

It is written to be read beside the document, section by section, and not to be fast. Tensors are array("f"): Python
computes in binary64, and storing there rounds to f32. For one +, - or * of f32 that is the f32 operation, exactly.

SPDX-License-Identifier: MIT
"""
import math
import operator
import struct
import sys
from array import array
from collections import namedtuple
from itertools import repeat

HEADER = struct.Struct("<4sBBHQQII")
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


# ---- 1. Header ------------------------------------------------------------------------------------------------------

def crc_of_byte(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


CRC_OF_BYTE = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_OF_BYTE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def checksum(payload):
    blocks = (payload[at:at + 4096] for at in range(0, len(payload), 4096))
    return crc32c(b"".join(struct.pack("<I", crc32c(block)) for block in blocks))


# ---- 2. Decoding ----------------------------------------------------------------------------------------------------

Codec = namedtuple("Codec", "name knows_flags read")
Frame = namedtuple("Frame", "codec flags n length facts where products")


def parse(data):
    """The frame that data begins with: header fields, facts (a dict), and what it adds to where: products(weight) are
    the f32 products to add to the elements numbered in where. Raises Refused."""
    need(len(data) >= HEADER.size, "cut short in the header")
    magic, version, codec_id, flags, n, p, payload_crc, header_crc = HEADER.unpack_from(data)
    need(magic == b"CRMB", "not a frame")
    need(crc32c(data[:28]) == header_crc, "damaged header")
    need(version == 1, f"format {version}")
    need(codec_id in CODECS, f"unknown codec {codec_id}")
    codec = CODECS[codec_id]
    need(codec.knows_flags(flags), f"{codec.name} has no flags {flags:#06x}")
    need(n < 2**48, f"{n} elements")
    need(p < 2**52, f"{p} bytes of payload")
    need(len(data) >= HEADER.size + p, "cut short in the payload")
    payload = bytes(data[HEADER.size:HEADER.size + p])
    need(checksum(payload) == payload_crc, "damaged payload")
    if n == 0:
        need(p == 0, "a payload of no elements")
        return Frame(codec.name, flags, 0, HEADER.size, {}, range(0), lambda weight: array("f"))
    return Frame(codec.name, flags, n, HEADER.size + p, *codec.read(flags, n, payload))


def decode(data, weight, acc):
    """Adds weight times the frame that data begins with to acc, an array("f"); returns the length of the frame."""
    frame = parse(data)
    weight = fl(weight)
    need(math.isfinite(weight), "the weight is not finite")
    need(len(acc) == frame.n, f"{frame.n} elements instead of {len(acc)}")
    for i, product in zip(frame.where, frame.products(weight)):
        acc[i] += product
    return frame.length


def frames_of(data):
    while data:
        frame = parse(data)
        yield frame, data[:frame.length]
        data = data[frame.length:]


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

BITS, SHARED, SUM = 1, 4, 0x100
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
    coding = flags & 3
    return flags & ~(3 | SHARED | SUM) == 0 and coding <= 1 and (not flags & SUM or flags == SUM | SHARED)


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
    read_numbers = read_planes if flags & SUM else read_bits if flags & BITS else read_trits
    numbers = read_numbers(n, payload[8 + 4 * buckets:], learners)
    facts = {"bucket": bucket, "learners": learners, "shared": bool(flags & SHARED),
             "coding": "sum" if flags & SUM else "bits" if flags & BITS else "trits", "scalers": scalers}
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
    digits = [byte >> shift & 3 for byte in coded for shift in (0, 2, 4, 6)]
    need(3 not in digits, "digit 3")
    need(not any(digits[n:]), "an unused bit is not 0")
    return [NUMBER_OF_DIGIT[d] for d in digits[:n]]


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

def symbol_bytes(bin):
    return 1 if bin <= 63 else 2 if bin <= 16383 else 4


def read_adacomp(_flags, n, payload):
    need(len(payload) >= 8, "no room for scale and bin")
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


CODECS = {
    1: Codec("raw", lambda flags: flags == 0, read_raw),
    2: Codec("half", lambda flags: flags <= 1, read_half),
    3: Codec("twobit", lambda flags: flags == 0, read_twobit),
    4: Codec("terngrad", knows_terngrad_flags, read_terngrad),
    5: Codec("adacomp", lambda flags: flags == 0, read_adacomp),
}


# ---- the command ----------------------------------------------------------------------------------------------------

def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def show(path):
    for frame, data in frames_of(read_file(path)):
        print(f"{path}: {frame.codec}, flags {frame.flags:#06x}, {frame.n} elements, {frame.length} bytes, "
              f"payload {data[24:28][::-1].hex()}, header {data[28:32][::-1].hex()}")
        for name, value in frame.facts.items():
            print(f"  {name} {value}")
        products = frame.products(1.0)
        if products:
            print(f"  {sum(map(bool, products))} values other than 0, from {min(products):.9g} to {max(products):.9g}")


def check(path, expected_path):
    """Whether the frames of a file add up to the expected bits."""
    data, expected = read_file(path), read_file(expected_path)
    acc = array("f", bytes(len(expected) // 4 * 4))
    for _, frame in frames_of(data):
        decode(frame, 1.0, acc)
    return struct.pack(f"<{len(acc)}f", *acc) == expected


def main(arguments):
    try:
        if len(arguments) == 3 and arguments[0] == "--check":
            same = check(*arguments[1:])
            print(f"{arguments[1]}: {'as' if same else 'not as'} expected")
            return 0 if same else 1
        if not arguments or arguments[0].startswith("-"):
            print(__doc__.split("\n\n")[1], file=sys.stderr)
            return 2
        for path in arguments:
            show(path)
    except (OSError, Refused) as error:
        print(f"crumb_ref: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
