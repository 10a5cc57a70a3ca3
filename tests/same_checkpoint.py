"""Exits with 1 unless two checkpoints are the same, but for reports with their seconds: same_checkpoint.py ONE OTHER.
SPDX-License-Identifier: MIT"""
import struct
import sys


def blocks(path):
    """Returns the file's blocks, each after its length; before them is a magic, after them a checksum."""
    with open(path, "rb") as file:
        data, at, found = file.read()[:-4], 8, []
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        found.append(data[at + 8:at + 8 + size])
        at += 8 + size
    assert at == len(data) and len(found) > 6, f"{path}: no checkpoint"
    return found[:2] + found[3:]  # the third one is the report


sys.exit(blocks(sys.argv[1]) != blocks(sys.argv[2]))
