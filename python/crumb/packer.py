"""Packers: who remembers. SPDX-License-Identifier: MIT"""
import ctypes
from array import array
from ctypes import byref
from typing import Any, Optional, Sequence, Union

from crumb.codec import Codec
from crumb.error import check
from crumb.library import EINVAL, ELENGTH, KNOWN_FINITE, CodecStruct, lib
from crumb.memory import elements, octets

_ALIGNMENT = 64  # bytes; the library takes less, but is fastest so


class Packer:
    """The memory of one tensor on one worker: what is still owed, the seed, the step. One thread at a time may use it.

    codec: a Codec or its spec. n: elements of the gradient. seed: from which random codecs round; give every worker and
    tensor its own. run: contiguous elements of one output unit (a column of 1-bit SGD); 0: there is no such thing.
    """

    def __init__(self, codec: Union[Codec, str], n: int, seed: int = 0, run: int = 0):
        codec = Codec(codec)
        if n < 0 or run < 0:
            check(EINVAL, f"{n} elements in runs of {run}")
        size = lib.crumb_packer_size(byref(codec.struct), n)
        if not size or not codec.bound(n):
            check(EINVAL, f"{n} elements for {codec}")
        self._allocate(size)
        check(lib.crumb_packer_init(self.address, byref(codec.struct), n, run, seed & (1 << 64) - 1))
        self._describe()

    def _allocate(self, size):
        self._memory = ctypes.create_string_buffer(size + _ALIGNMENT)
        self.size = size
        self.address = -(-ctypes.addressof(self._memory) // _ALIGNMENT) * _ALIGNMENT

    def _describe(self):
        self.codec = Codec.from_struct(lib.crumb_packer_codec(self.address).contents)
        self.n = lib.crumb_packer_count(self.address)
        self.bound = self.codec.bound(self.n)

    # ---- a checkpoint ----

    def to_bytes(self) -> bytes:
        """All that it remembers; from_bytes goes on from there. (pickle and copy work too.)"""
        return ctypes.string_at(self.address, self.size)

    @classmethod
    def from_bytes(cls, data: Any) -> "Packer":
        """The packer that to_bytes wrote; Error if the data are not one, or are damaged."""
        packer = cls.__new__(cls)
        with octets(data) as (source, size):
            packer._allocate(size)
            ctypes.memmove(packer.address, source, size)
        check(lib.crumb_packer_check(packer.address, size))
        packer._describe()
        return packer

    def __reduce__(self):
        return Packer.from_bytes, (self.to_bytes(),)

    # ---- what it knows ----

    @property
    def step(self) -> int:
        """How many frames it has packed."""
        return lib.crumb_packer_step(self.address)

    @property
    def residual(self) -> Optional[memoryview]:
        """What is still owed: n floats in place (numpy.asarray takes them), or None if the codec keeps nothing."""
        at = lib.crumb_packer_residual(self.address)
        if not at:
            return None
        floats = (ctypes.c_float * self.n).from_buffer(self._memory, at - ctypes.addressof(self._memory))
        return memoryview(floats).cast("B").cast("f")

    def __repr__(self) -> str:
        return f"Packer({str(self.codec)!r}, {self.n}), step {self.step}"

    # ---- learners that agree ----

    @property
    def agree_count(self) -> int:
        """How many floats are due before the next pack; mostly 0."""
        return lib.crumb_agree_count(self.address)

    def measure(self, gradient: Any, dtype: Optional[str] = None) -> "array[float]":
        """This learner's agree_count floats. Give those of all learners to agree, on each of them."""
        with elements(gradient, dtype) as (address, n, kind):
            self._check_length(n)
            stat = array("f", bytes(4 * self.agree_count))
            if stat:
                check(lib.crumb_measure(self.address, address, n, kind, stat.buffer_info()[0]))
        return stat

    def agree(self, stats: Sequence["array[float]"]) -> None:
        """stats: what every learner measured, in the same order everywhere."""
        everything = array("f", (x for stat in stats for x in stat))
        if len(everything) != len(stats) * self.agree_count:
            check(EINVAL, f"{len(everything)} floats of {len(stats)} learners, {self.agree_count} of each are due")
        if everything:
            check(lib.crumb_agree(self.address, everything.buffer_info()[0], len(stats)))

    # ---- packing ----

    def pack(self, gradient: Any, dtype: Optional[str] = None) -> bytes:
        """The frame of n elements; the residual and the step move on. NonFinite or Error: nothing has changed."""
        frame = ctypes.create_string_buffer(self.bound)
        length = self.pack_into(gradient, frame, dtype)
        return ctypes.string_at(frame, length)

    def pack_into(self, gradient: Any, out: Any, dtype: Optional[str] = None) -> int:
        """The same into a writable buffer of at least bound bytes, which means nothing after an error; returns the frame's length."""
        with elements(gradient, dtype) as (address, n, kind), octets(out, writable=True) as (room, size):
            self._check_length(n)
            return self.pack_at(address, kind, room, size)

    def pack_at(self, gradient: int, kind: int, out: int, size: int, known_finite: bool = False) -> int:
        """The same with addresses: n elements of enum crumb_dtype kind, and size bytes of room."""
        return check(lib.crumb_pack(self.address, gradient, self.n, kind, KNOWN_FINITE if known_finite else 0, out, size))

    def _check_length(self, n):
        if n != self.n:
            check(ELENGTH, f"{n} elements, and the packer is for {self.n}")
