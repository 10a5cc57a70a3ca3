"""Frames: checking, describing and decoding them. SPDX-License-Identifier: MIT"""
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Union

from crumb.codec import Codec
from crumb.error import check
from crumb.library import ENONFINITE, FrameStruct, lib
from crumb.memory import accumulator, elements, octets


@dataclass(frozen=True)
class Frame:
    """The description of a frame. codec: with the keys that the frame carries; others, and those out of a key's range,
    at their defaults. n: elements. bytes: of the whole frame. sent: elements that decode to something other than 0.
    facts: numbers from the payload, such as a scaler, by name."""

    codec: Codec
    n: int
    bytes: int
    sent: int
    facts: Dict[str, float]


def peek(frame: Any) -> Frame:
    """Returns the description of a frame, which is checked as in unpack_add. frame: bytes; more may follow the frame.

    Raises Error if it is damaged or no frame."""
    found = FrameStruct()
    with octets(frame) as (address, size):
        check(lib.crumb_peek(byref(found), address, size))
    facts = {fact.name.decode(): fact.value for fact in found.fact[:found.facts]}
    return Frame(Codec.from_struct(found.codec), found.n, found.bytes, found.sent, facts)


def unpack_add(frames: Union[Any, Iterable[Any]], weight: float, out: Any) -> None:
    """Adds weight * decoded frame to out, one frame after another. On zeros, N frames and weight 1/N give their mean.

    frames: one frame, or a list or tuple of them. out: a writable, C-contiguous array of n float32, of any shape.
    Raises Error if a frame is damaged or of other than n elements; the frames before it have then been added, it has
    not."""
    with accumulator(out) as (total, n):
        for frame in frames if isinstance(frames, (list, tuple)) else [frames]:
            with octets(frame) as (address, size):
                check(lib.crumb_unpack_add(address, size, weight, total, n))


def finite(gradient: Any, dtype: Optional[str] = None) -> bool:
    """Returns True if no element is NaN, infinite or of magnitude above 2^120, as Packer.pack requires."""
    with elements(gradient, dtype) as (address, n, kind):
        status = lib.crumb_finite(address, n, kind)
    return status != ENONFINITE and check(status) == 0
