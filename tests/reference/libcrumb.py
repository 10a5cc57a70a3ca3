"""libcrumb: the library's public functions for Python, through ctypes.

SPDX-License-Identifier: MIT
"""
import ctypes
import os
import random
from array import array

LIB = ctypes.CDLL(os.environ["SHARED"])
DTYPES = "f32", "f16", "bf16"
GUARD = 256  # bytes behind what the library may write
MAX_KEYS = 10  # CRUMB_MAX_KEYS
ISAS = "portable", "sse2", "avx2", "avx512", "neon"


class Codec(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("value", ctypes.c_float * MAX_KEYS)]


class Span(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("len", ctypes.c_size_t)]


def declare():
    pointer, size, whole = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
    for name, result, *arguments in (
            ("parse", ctypes.c_int, pointer, ctypes.c_char_p, pointer),
            ("packer_size", size, pointer, size),
            ("packer_init", ctypes.c_int, pointer, pointer, size, size, ctypes.c_uint64),
            ("packer_residual", pointer, pointer), ("packer_velocity", pointer, pointer),
            ("agree_count", size, pointer),
            ("measure", ctypes.c_int, pointer, ctypes.c_char_p, size, ctypes.c_int, pointer),
            ("agree", ctypes.c_int, pointer, pointer, size),
            ("bound", size, pointer, size),
            ("pack", whole, pointer, ctypes.c_char_p, size, ctypes.c_int, ctypes.c_uint, pointer, size),
            ("unpack_add", whole, ctypes.c_char_p, size, ctypes.c_float, pointer, size),
            ("sum", whole, pointer, size, pointer, size),
            ("sum_bound", size, size, size),
            ("set_isa", ctypes.c_int, ctypes.c_char_p)):
        function = getattr(LIB, "crumb_" + name)
        function.restype, function.argtypes = result, arguments


declare()


def address(floats):
    return floats.buffer_info()[0]


def is_here(isa):
    return LIB.crumb_set_isa(isa.encode()) == 0


HERE, chance = [isa.encode() for isa in ISAS if is_here(isa)], random.Random(1)


def change_isa():
    """Chooses the instruction set of the next call."""
    LIB.crumb_set_isa(chance.choice(HERE))


class Packer:
    """Gradients are bytes of dtype, one of DTYPES."""

    def __init__(self, spec, n, seed, dtype, run=0):
        self.what = f"{spec}, {n} {dtype}, seed {seed}, run {run}"
        self.codec, self.n, self.dtype = Codec(), n, DTYPES.index(dtype)
        status = LIB.crumb_parse(ctypes.byref(self.codec), spec.encode(), None)
        assert status == 0, f"crumb_parse: {status}, {spec}"
        self.size = LIB.crumb_packer_size(ctypes.byref(self.codec), n)
        self.memory = ctypes.create_string_buffer(b"\xA5" * (self.size + 63 + GUARD), self.size + 63 + GUARD)
        self.at = ctypes.addressof(self.memory) + 63 & ~63
        status = LIB.crumb_packer_init(self.at, ctypes.byref(self.codec), n, run, seed)
        assert status == 0, f"crumb_packer_init: {status}"

    def residual(self):
        """An array, or None if the codec keeps nothing."""
        at = LIB.crumb_packer_residual(self.at)
        return array("f", ctypes.string_at(at, 4 * self.n)) if at else None

    def velocity(self):
        """An array, or None if the codec has no momentum."""
        at = LIB.crumb_packer_velocity(self.at)
        return array("f", ctypes.string_at(at, 4 * self.n)) if at else None

    def measure(self, gradient):
        """What this learner has to say before it packs; empty when nothing is due."""
        stat = array("f", bytes(4 * LIB.crumb_agree_count(self.at)))
        if stat:
            change_isa()
            status = LIB.crumb_measure(self.at, gradient, self.n, self.dtype, address(stat))
            assert status == 0, f"crumb_measure: {status}"
        return stat

    def agree(self, stats):
        """stats: what measure() said, one of every learner."""
        everything = array("f", [x for stat in stats for x in stat])
        status = LIB.crumb_agree(self.at, address(everything), len(stats))
        assert status == 0, f"crumb_agree: {status}"

    def pack(self, gradient):
        """The frame, or the error, a negative number."""
        bound = LIB.crumb_bound(ctypes.byref(self.codec), self.n)
        room = ctypes.create_string_buffer(b"\xA5" * (bound + GUARD), bound + GUARD)
        change_isa()
        length = LIB.crumb_pack(self.at, gradient, self.n, self.dtype, 0, room, bound)
        assert room.raw[bound:] == b"\xA5" * GUARD, f"crumb_pack wrote past {bound} bytes: {self.what}"
        end = self.at + self.size
        assert ctypes.string_at(end, GUARD) == b"\xA5" * GUARD, f"crumb_pack wrote past the packer: {self.what}"
        return room.raw[:length] if length >= 0 else length


def unpack_add(data, weight, acc):
    """The length of the frame, or the error."""
    change_isa()
    return LIB.crumb_unpack_add(data, len(data), weight, address(acc), len(acc))


def sum_frames(frames, n):
    """The frame of the sum, or the error."""
    spans = (Span * len(frames))(*(Span(frame, len(frame)) for frame in frames))
    room = ctypes.create_string_buffer(max(1, LIB.crumb_sum_bound(len(frames), n)))
    change_isa()
    length = LIB.crumb_sum(spans, len(frames), room, len(room))
    return room.raw[:length] if length >= 0 else length
