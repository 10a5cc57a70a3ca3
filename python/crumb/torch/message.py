"""A rank's message about a bucket: a head, a mark for each slot, and the slots' frames. SPDX-License-Identifier: MIT"""
import ctypes
import struct
from typing import Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import torch

PACKED, NONFINITE, FAILED = range(3)  # status of a rank's bucket
# Mark of a slot: a frame follows; none, and the slot is averaged plainly; none, as this rank's gradient is 0.
_FRAME, _PLAIN, _NOTHING = range(3)
_UNUSED = 4  # is added to the mark if this rank's backward has not used the parameter
_HEAD = struct.Struct("<4sIQ")  # magic, status, bytes of the message
_MAGIC = b"CRMT"
_TEXT = 512  # bytes that any message may have: a failed rank says why

Place = Tuple[int, int]  # address and length; of length 0 if there is nothing


def room(slots: int, frames: int) -> torch.Tensor:
    """Returns a place for a message about so many slots whose frames have at most so many bytes."""
    return torch.empty(body(slots) + max(frames, _TEXT), dtype=torch.uint8, device="cpu")


def body(slots: int) -> int:
    """Returns the bytes before the first frame."""
    return _HEAD.size + slots


def write(out: torch.Tensor, status: int, slots: int, frames: Dict[int, Place], text: str = "",
          unused: Iterable[int] = ()) -> torch.Tensor:
    """Returns a message, the first bytes of out. If status is PACKED it has these frames, by slot in ascending order,
    and all other slots are to be averaged plainly; if FAILED, the text. Frames may lie in out, in this order, none of
    them before its place in the message. unused: indices of the slots that this rank's backward has not used."""
    marks, end, address = bytearray([_PLAIN] * slots), body(slots), out.data_ptr()
    if status == PACKED:
        for i, (frame, length) in frames.items():
            marks[i] = _FRAME if length else _NOTHING
            if frame != address + end:
                ctypes.memmove(address + end, frame, length)
            end += length
    elif status == FAILED:
        said = text.encode()[:_TEXT]
        ctypes.memmove(address + end, said, len(said))
        end += len(said)
    for i in unused:
        marks[i] |= _UNUSED
    ctypes.memmove(address, _HEAD.pack(_MAGIC, status, end) + marks, body(slots))
    return out[:end]


def read(message: torch.Tensor, rank: int, names: Sequence[str],
         measure: Callable[[int, int, int], int]) -> Tuple[int, List[Optional[Place]]]:
    """Returns a rank's status, and every slot's frame in the message; None if the slot is to be averaged plainly.

    names: the slots'. measure: returns the length of slot i's frame from an address and the bytes that there are.
    Raises RuntimeError if the message is damaged or says that the rank has failed."""
    base, size, start = message.data_ptr(), message.numel(), body(len(names))
    magic, status, end = _HEAD.unpack(ctypes.string_at(base, _HEAD.size))
    if magic != _MAGIC or not start <= end <= size:
        raise RuntimeError(f"crumb: rank {rank} sent no message of this hook")
    if status == FAILED:
        said = ctypes.string_at(base + start, end - start).decode(errors="replace")
        raise RuntimeError(f"crumb: rank {rank} has failed: {said}")
    at, frames = start, []
    for i, mark in enumerate(_marks(message, len(names))):
        length, mark = 0, mark & ~_UNUSED
        if mark == _FRAME:
            length = measure(i, base + at, end - at)
            if not 0 <= length <= end - at:
                raise RuntimeError(f"crumb: rank {rank} sent a frame of {names[i]} that is cut short or damaged")
        frames.append(None if mark == _PLAIN else (base + at, length))
        at += length
    return status, frames


def _marks(message, slots):
    return ctypes.string_at(message.data_ptr() + _HEAD.size, slots)


def unused_by_all(messages: Iterable[torch.Tensor], slots: int) -> Set[int]:
    """Returns the indices of the slots that no rank's backward has used. messages: all ranks', which read has taken."""
    marks = [_marks(message, slots) for message in messages]
    return {i for i in range(slots) if all(theirs[i] & _UNUSED for theirs in marks)}
