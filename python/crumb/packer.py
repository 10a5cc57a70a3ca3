"""Packers: residual, seed and step of one tensor. SPDX-License-Identifier: MIT"""
import ctypes
import operator
from array import array
from ctypes import byref
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from crumb.codec import Codec
from crumb.error import check
from crumb.library import EINVAL, ELENGTH, KNOWN_FINITE, is_size, lib
from crumb.memory import elements, octets

_ALIGNMENT = 64  # bytes, a cache line; the library accepts less, but is slower then


class Packer:
    """Packs the gradients of one tensor of one learner; keeps its residual, seed and step. Not thread-safe.

    codec: a Codec or its spec. n: elements of the gradient. seed: of random rounding; every learner and tensor should
    have its own. run: consecutive elements that belong to one output unit, the columns of 1-bit SGD (seide); 0: no
    columns. Raises Error if the spec is invalid, or n or run is negative or too large."""

    def __init__(self, codec: Union[Codec, str], n: int, seed: int = 0, run: int = 0):
        codec = Codec(codec)
        if not (is_size(n) and is_size(run)):
            check(EINVAL, f"{n} elements in runs of {run}")
        size = lib.crumb_packer_size(byref(codec.struct), n)
        if not size or not codec.bound(n):
            check(EINVAL, f"{n} elements for {codec}")
        self._allocate(size)
        check(lib.crumb_packer_init(self.address, byref(codec.struct), n, run, operator.index(seed) & (1 << 64) - 1))
        self._describe()

    def _allocate(self, size: int) -> None:
        self._memory = ctypes.create_string_buffer(size + _ALIGNMENT)
        self.size = size
        self.address = -(-ctypes.addressof(self._memory) // _ALIGNMENT) * _ALIGNMENT

    def _describe(self) -> None:
        self.codec = Codec.from_struct(lib.crumb_packer_codec(self.address).contents)
        self.n = lib.crumb_packer_count(self.address)
        self.bound = self.codec.bound(self.n)

    # ---- checkpoints ----

    def to_bytes(self) -> bytes:
        """Returns the whole state, size bytes, for from_bytes. pickle and copy use it."""
        return ctypes.string_at(self.address, self.size)

    @classmethod
    def from_bytes(cls, data: Any) -> "Packer":
        """Returns the packer that to_bytes wrote. Raises Error if the data are damaged or no packer."""
        packer = cls.__new__(cls)
        with octets(data) as (source, size):
            packer._allocate(size)
            ctypes.memmove(packer.address, source, size)
        check(lib.crumb_packer_check(packer.address, size))
        packer._describe()
        return packer

    def __reduce__(self) -> Tuple[Callable[[Any], "Packer"], Tuple[bytes]]:
        return Packer.from_bytes, (self.to_bytes(),)

    # ---- state ----

    @property
    def step(self) -> int:
        """The number of frames packed so far."""
        return lib.crumb_packer_step(self.address)

    @property
    def residual(self) -> "Optional[memoryview[float]]":
        """The residual: n float32, a view of the packer's memory for numpy.asarray; None if the codec has none."""
        return self._floats(lib.crumb_packer_residual(self.address))

    @property
    def velocity(self) -> "Optional[memoryview[float]]":
        """The velocity, likewise; None if the codec has no momentum, or it is 0."""
        return self._floats(lib.crumb_packer_velocity(self.address))

    def _floats(self, at: Optional[int]) -> "Optional[memoryview[float]]":
        if not at:
            return None
        floats = (ctypes.c_float * self.n).from_buffer(self._memory, at - ctypes.addressof(self._memory))
        return memoryview(floats).cast("B").cast("f")

    def __repr__(self) -> str:
        return f"Packer({str(self.codec)!r}, {self.n}), step {self.step}"

    # ---- shared statistics ----

    @property
    def agree_count(self) -> int:
        """Floats of shared statistics that the next pack needs from each learner; 0 for most codecs and steps."""
        return lib.crumb_agree_count(self.address)

    def measure(self, gradient: Any, dtype: Optional[str] = None) -> "array[float]":
        """Returns this learner's shared statistics, agree_count floats. Every learner passes those of all to agree.

        Raises NonFinite if statistics are due and an element is NaN, infinite or of magnitude above 2^120."""
        with elements(gradient, dtype) as (address, n, kind):
            self._check_length(n)
            stat = array("f", bytes(4 * self.agree_count))
            if stat:
                check(lib.crumb_measure(self.address, address, n, kind, stat.buffer_info()[0]))
        return stat

    def agree(self, stats: Sequence["array[float]"]) -> None:
        """Takes all learners' shared statistics, which allows the next pack.

        stats: each learner's agree_count floats, in the same order on all learners. A learner may measure several
            gradients, last the one that it packs; stats then has an entry for each. Raises Error for other lengths
            and before measure, NonFinite for a NaN or an infinity."""
        everything = array("f", (x for stat in stats for x in stat))
        if len(everything) != len(stats) * self.agree_count:
            check(EINVAL, f"{len(everything)} floats of {len(stats)} learners, {self.agree_count} of each are due")
        if everything:
            check(lib.crumb_agree(self.address, everything.buffer_info()[0], len(stats)))

    # ---- packing ----

    def pack(self, gradient: Any, dtype: Optional[str] = None) -> bytes:
        """Returns the frame of a gradient of n elements; updates the residual and the step.

        dtype: "f16" or "bf16" for such floats in an array of uint16. Raises NonFinite if an element is NaN, infinite
        or of magnitude above 2^120, Error for a wrong length or missing shared statistics; then nothing has changed."""
        frame = ctypes.create_string_buffer(self.bound)
        length = self.pack_into(gradient, frame, dtype)
        return ctypes.string_at(frame, length)

    def pack_into(self, gradient: Any, out: Any, dtype: Optional[str] = None) -> int:
        """Packs into out, a writable buffer of at least bound bytes. Returns the frame's length.

        Raises what pack raises; the buffer's contents are then undefined."""
        with elements(gradient, dtype) as (address, n, kind), octets(out, writable=True) as (room, size):
            self._check_length(n)
            return self.pack_at(address, kind, room, size)

    def pack_at(self, gradient: int, kind: int, out: int, size: int, known_finite: bool = False) -> int:
        """Packs n elements at address gradient into size bytes at address out. Returns the frame's length.

        kind: enum crumb_dtype. known_finite: the caller has checked the elements. Raises what pack raises."""
        flags = KNOWN_FINITE if known_finite else 0
        return check(lib.crumb_pack(self.address, gradient, self.n, kind, flags, out, size))

    def _check_length(self, n: int) -> None:
        if n != self.n:
            check(ELENGTH, f"{n} elements, and the packer is for {self.n}")
