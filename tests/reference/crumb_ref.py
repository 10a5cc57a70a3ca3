"""crumb_ref: a decoder of the frames of doc/FORMAT.md, format 1, in plain Python, from that document alone.

  crumb_ref.py FRAMES...                prints the header of every frame of the files, and what it carries
  crumb_ref.py --check FRAMES EXPECTED  compares the sum of the frames of one file with a file of f32, bit for bit

It is written to be read beside the document, section by section, and not to be fast.

SPDX-License-Identifier: MIT
"""
import math
import struct
import sys
from array import array
from collections import namedtuple

from crumb_ref_numbers import Refused, fl, need
from crumb_ref_payloads import CODECS

HEADER = struct.Struct("<4sBBHQQII")
Frame = namedtuple("Frame", "codec flags n length facts where products")


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
    need(not n or codec.knows_flags(flags), f"{codec.name} has no flags {flags:#06x}")
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


# ---- the command ----------------------------------------------------------------------------------------------------

def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def read_frames(path):
    try:
        return list(frames_of(read_file(path)))
    except Refused as refusal:
        raise Refused(f"{path}: {refusal}") from None


def show(path):
    for frame, data in read_frames(path):
        print(f"{path}: {frame.codec}, flags {frame.flags:#06x}, {frame.n} elements, {frame.length} bytes, "
              f"payload {data[24:28][::-1].hex()}, header {data[28:32][::-1].hex()}")
        for name, value in frame.facts.items():
            print(f"  {name} {value}")
        products = frame.products(1.0)
        if products:
            print(f"  {sum(map(bool, products))} values other than 0, from {min(products):.9g} to {max(products):.9g}")


def check(path, expected_path):
    """Whether the frames of a file add up to the expected bits."""
    expected = read_file(expected_path)
    acc = array("f", bytes(len(expected) // 4 * 4))
    for _, data in read_frames(path):
        decode(data, 1.0, acc)
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
