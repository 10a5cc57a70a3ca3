"""Frames: what travels. SPDX-License-Identifier: MIT"""
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Union

from crumb.codec import Codec
from crumb.error import check
from crumb.library import ENONFINITE, FrameStruct, lib
from crumb.memory import accumulator, elements, octets


@dataclass(frozen=True)
class Frame:
    """What a frame says of itself. codec: with the keys that it carries, the others at their defaults. n: elements. bytes:
    of the whole frame. sent: elements whose code is not that of zero. facts: what it carries for its decoder."""

    codec: Codec
    n: int
    bytes: int
    sent: int
    facts: Dict[str, float]


def peek(frame: Any) -> Frame:
    """Checks a frame, as unpack_add does, and says what it is. frame: bytes, and whatever follows them. Error if it is none."""
    found = FrameStruct()
    with octets(frame) as (address, size):
        check(lib.crumb_peek(byref(found), address, size))
    facts = {fact.name.decode(): fact.value for fact in found.fact[:found.facts]}
    return Frame(Codec.from_struct(found.codec), found.n, found.bytes, found.sent, facts)


def unpack_add(frames: Union[Any, Iterable[Any]], weight: float, out: Any) -> None:
    """out += weight * decoded, one frame after another: decoding is this on zeros, a mean of N is N frames and 1/N.

    frames: one frame, or a list or tuple of them. out: a writable, C-contiguous array of n float32, of any shape. Error: a
    frame is damaged or of another length; it has changed nothing, those before it have been added."""
    with accumulator(out) as (total, n):
        for frame in frames if isinstance(frames, (list, tuple)) else [frames]:
            with octets(frame) as (address, size):
                check(lib.crumb_unpack_add(address, size, weight, total, n))


def finite(gradient: Any, dtype: Optional[str] = None) -> bool:
    """Whether Packer.pack would take the gradient, so that workers can vote before they pack."""
    with elements(gradient, dtype) as (address, n, kind):
        status = lib.crumb_finite(address, n, kind)
    return status != ENONFINITE and check(status) == 0
