"""crumb_ref_coded: entropy coding, sections 5 and 6 of doc/FORMAT.md: blocks of symbols, and gaps between elements.

A stream of bits is a Python integer: its first bit is the lowest.

SPDX-License-Identifier: MIT
"""
import heapq
import math
import struct
from itertools import accumulate

from crumb_ref_numbers import ceil_div, need

RUN, STREAMS, STORED, JOINED, MOST_JOINED = 4096, 4, 0xFFFF, 0x8000, 64
TOTAL, STATES, LOW = 4096, 32, 2**15
LONGEST = 11


class Bits:
    """Bits that are read one after another from bytes, all of which have to be used."""

    def __init__(self, coded):
        self.bits, self.left = int.from_bytes(coded, "little"), 8 * len(coded)

    def take(self, count):
        need(count <= self.left, "bits are missing")
        taken = self.bits & (1 << count) - 1
        self.bits >>= count
        self.left -= count
        return taken

    def end(self):
        need(self.left < 8, "bytes are left over")
        need(self.bits == 0, "an unused bit is not 0")


def bytes_of(pieces):
    """Pairs of value and number of bits, one after another."""
    bits, at = 0, 0
    for value, count in pieces:
        bits |= value << at
        at += count
    return bits.to_bytes(ceil_div(at, 8), "little")


# ---- 5. Blocks of symbols: where they are ---------------------------------------------------------------------------

def block_elements(width):
    """width: bytes of a group's fixed-width codes."""
    return 2**15 // (width * RUN * STREAMS // 16) * RUN * STREAMS


def read_symbols(coded, n, count, width, read_fixed, read_block):
    """n symbols below count, and zeros up to a multiple of 16, which are cut off. read_fixed(bytes): the symbols of
    fixed-width codes. read_block: read_rans or read_huffman."""
    symbols, at = [], 0
    while len(symbols) < n:
        need(len(coded) >= at + 2, "a block's mark is missing")
        size, = struct.unpack_from("<H", coded, at)
        at += 2
        blocks = 1
        if JOINED < size < STORED:
            blocks = size - JOINED
            need(read_block is read_rans and 2 <= blocks <= MOST_JOINED, "blocks that are not joined")
            need(len(symbols) + (blocks - 1) * block_elements(width) < n, "a block past the last")
            need(len(coded) >= at + 2, "the size of joined blocks is missing")
            size, = struct.unpack_from("<H", coded, at)
            at += 2
        groups = ceil_div(min(n - len(symbols), blocks * block_elements(width)), 16)
        if size == STORED and blocks == 1:
            size = width * groups
            need(len(coded) >= at + size, "a block is cut short")
            block = read_fixed(coded[at:at + size])
            need(max(block) < count, "a symbol that there is not")
        else:
            need(size < (width * groups if blocks == 1 else JOINED), "a coded block is not shorter")
            need(len(coded) >= at + size, "a block is cut short")
            block = read_block(coded[at:at + size], 16 * groups, count)
        at += size
        symbols += block
    need(at == len(coded), "bytes after the last block")
    need(not any(symbols[n:]), "a symbol past the last is not 0")
    return symbols[:n]


def write_symbols(symbols, count, width, write_fixed, write_block):
    blocks = [symbols[first:first + block_elements(width)] for first in range(0, len(symbols), block_elements(width))]
    if blocks:
        blocks[-1] += [0] * (-len(blocks[-1]) % 16)
    coded = b""
    for together in joined(blocks, count) if write_block is write_rans else [[block] for block in blocks]:
        if len(together) > 1:
            shorter = write_rans(sum(together, []), count)
            if len(shorter) < min(JOINED, sum(len(write_fixed(block)) for block in together)):
                coded += struct.pack("<HH", JOINED + len(together), len(shorter)) + shorter
                continue
        for block in together:
            fixed, shorter = write_fixed(block), write_block(block, count)
            if len(shorter) < len(fixed):
                coded += struct.pack("<H", len(shorter)) + shorter
            else:
                coded += struct.pack("<H", STORED) + fixed
    return coded


def joined(blocks, count):
    """Returns the blocks in groups, each of which is coded together."""
    together = []
    for block in blocks:
        if together and len(together[-1]) < MOST_JOINED:
            head = 4096 * 8 * (2 * count + 4 * STATES)
            apart = rans_cost(sum(together[-1], []), count) + rans_cost(block, count) + head
            both = rans_cost(sum(together[-1], block), count)
            if both <= apart and both <= 4096 * 8 * JOINED:
                together[-1].append(block)
                continue
        together.append([block])
    return together


# ---- rANS -----------------------------------------------------------------------------------------------------------

def read_rans(coded, n, count):
    need(len(coded) >= 2 * count + 4 * STATES and len(coded) % 2 == 0, "no room for frequencies and states")
    frequencies = struct.unpack_from(f"<{count}H", coded)
    need(sum(frequencies) == TOTAL, "frequencies do not add up")
    begins = list(accumulate(frequencies, initial=0))
    symbol_of = [j for j, f in enumerate(frequencies) for _ in range(f)]
    states = list(struct.unpack_from(f"<{STATES}I", coded, len(coded) - 4 * STATES))
    need(all(LOW <= x < 2**31 for x in states), "a state is out of range")
    words = [word for word, in struct.iter_unpack("<H", coded[2 * count:len(coded) - 4 * STATES])][::-1]
    symbols = []
    for i in range(n):
        x = states[i % STATES]
        j = symbol_of[x % TOTAL]
        symbols.append(j)
        x = frequencies[j] * (x // TOTAL) + x % TOTAL - begins[j]
        if x < LOW:
            need(words, "a word is missing")
            x = x * 2**16 + words.pop()
        states[i % STATES] = x
    need(not words, "a word is left over")
    need(all(x == LOW for x in states), "a state does not end where it began")
    return symbols


def rans_frequencies(symbols, count):
    counts = [symbols.count(j) for j in range(count)]
    frequencies = [max(1, (2 * TOTAL * c + len(symbols)) // (2 * len(symbols))) if c else 0 for c in counts]
    frequencies[counts.index(max(counts))] += TOTAL - sum(frequencies)
    return frequencies


def rans_cost(symbols, count):
    """Bits of words, nearly, in units of 2^-12."""
    return sum(symbols.count(j) * (12 * 4096 - math.floor(4096 * math.log2(f)))
               for j, f in enumerate(rans_frequencies(symbols, count)) if f)


def write_rans(symbols, count):
    frequencies = rans_frequencies(symbols, count)
    begins = list(accumulate(frequencies, initial=0))
    states, words = [LOW] * STATES, []
    for i in reversed(range(len(symbols))):
        x, f = states[i % STATES], frequencies[symbols[i]]
        if x >= f * 2**19:
            words.append(x % 2**16)
            x //= 2**16
        states[i % STATES] = x // f * TOTAL + x % f + begins[symbols[i]]
    return struct.pack(f"<{count}H{len(words)}H{STATES}I", *frequencies, *reversed(words), *states)


# ---- Huffman --------------------------------------------------------------------------------------------------------

def canonical(lengths):
    """Of each symbol that has a length: its code, to be written from the lowest bit on."""
    codes, at = {}, 0
    for length, j in sorted((length, j) for j, length in enumerate(lengths) if length):
        first_bits = at >> LONGEST - length
        codes[j] = int(f"{first_bits:0{length}b}"[::-1], 2)
        at += 2**(LONGEST - length)
    need(at == 2**LONGEST, "the lengths are not those of a code")
    return codes


def runs_of(n, stream):
    return [range(first, min(first + RUN, n)) for first in range(stream * RUN, n, STREAMS * RUN)]


def read_huffman(coded, n, count):
    length_bytes = ceil_div(count, 2)
    start = length_bytes + 2 * (STREAMS - 1)
    need(len(coded) >= start, "no room for lengths and sizes")
    lengths = [byte >> shift & 15 for byte in coded[:length_bytes] for shift in (0, 4)]
    need(max(lengths) <= LONGEST, "a code is too long")
    need(not any(lengths[count:]), "a length of no symbol")
    symbol_of = {(lengths[j], code): j for j, code in canonical(lengths).items()}
    symbols = [0] * n
    sizes = struct.unpack_from(f"<{STREAMS - 1}H", coded, length_bytes)
    need(start + sum(sizes) <= len(coded), "streams are cut short")
    for stream in range(STREAMS):
        size = sizes[stream] if stream < STREAMS - 1 else len(coded) - start
        bits = Bits(coded[start:start + size])
        start += size
        for run in runs_of(n, stream):
            for i in run:
                length, code = 0, 0
                while (length, code) not in symbol_of:
                    code |= bits.take(1) << length
                    length += 1
                symbols[i] = symbol_of[length, code]
        bits.end()
    return symbols


def huffman_lengths(counts):
    if sum(map(bool, counts)) == 1:
        counts[1 if counts[0] else 0] = 1
    while True:
        lengths, nodes = [0] * len(counts), [(c, j, [j]) for j, c in enumerate(counts) if c]
        heapq.heapify(nodes)
        for number in range(16, 32):
            if len(nodes) == 1:
                break
            first, second = heapq.heappop(nodes), heapq.heappop(nodes)
            for j in first[2] + second[2]:
                lengths[j] += 1
            heapq.heappush(nodes, (first[0] + second[0], number, first[2] + second[2]))
        if max(lengths) <= LONGEST:
            return lengths
        counts = [ceil_div(c, 2) for c in counts]


def write_huffman(symbols, count):
    lengths = huffman_lengths([symbols.count(j) for j in range(count)])
    codes = canonical(lengths)
    streams = [bytes_of((codes[symbols[i]], lengths[symbols[i]]) for run in runs_of(len(symbols), stream) for i in run)
               for stream in range(STREAMS)]
    head = bytes_of((length, 4) for length in lengths)
    return head + struct.pack("<3H", *(min(0xFFFF, len(s)) for s in streams[:-1])) + b"".join(streams)


# ---- 6. Gaps --------------------------------------------------------------------------------------------------------

def read_gaps(coded, n):
    """The elements that are sent, and of each whether it is plus."""
    where, codes = read_gaps_and_codes(coded, n, 1)
    return where, [code == 0 for code in codes]


def read_gaps_and_codes(coded, n, width):
    """The elements that are sent, and the code of each, width bits."""
    need(len(coded) >= 5, "no room for count and parameter")
    count, k = struct.unpack_from("<IB", coded)
    need(k <= 31, f"parameter {k}")
    bits, where, codes, following = Bits(coded[5:]), [], [], 0
    for _ in range(count):
        need(bits.bits, "a gap has no end")
        zeros = (bits.bits & -bits.bits).bit_length() - 1
        bits.take(zeros + 1)
        at = following + (zeros << k) + bits.take(k)
        need(at < n, "an element past the last")
        where.append(at)
        codes.append(bits.take(width))
        following = at + 1
    bits.end()
    return where, codes


def write_gaps(signs, n):
    """signs: a dict from element to whether it is plus, in order."""
    return write_gaps_and_codes({at: not plus for at, plus in signs.items()}, n, 1)


def write_gaps_and_codes(codes, n, width):
    """codes: a dict from element to its code of width bits, in order."""
    k = 0
    while k < 31 and 25 * len(codes) * 2**k < 6 * (2 * n - len(codes)):
        k += 1
    if not codes:
        return struct.pack("<IB", 0, 0)
    pieces, following = [], 0
    for at, code in codes.items():
        gap = at - following
        pieces.append((1 << (gap >> k), (gap >> k) + 1))
        pieces.append((gap & (1 << k) - 1, k))
        pieces.append((code, width))
        following = at + 1
    return struct.pack("<IB", len(codes), k) + bytes_of(pieces)
