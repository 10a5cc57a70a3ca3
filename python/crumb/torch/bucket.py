"""One of DDP's buckets: its parameters' slots, and the message that carries their frames.

SPDX-License-Identifier: MIT"""
import ctypes
import struct
import time
from typing import Container, List, Optional, Sequence, Set, Tuple

import torch

from crumb.error import NonFinite, check
from crumb.library import BF16, F16, F32, lib
from crumb.torch.slot import Slot, is_zero

PACKED, NONFINITE, FAILED = range(3)  # status of a rank's bucket, in its message
# Mark of a slot in it: a frame follows; none, and the slot is averaged plainly; none, as this rank's gradient is 0.
_FRAME, _PLAIN, _NOTHING = range(3)
_HEAD = struct.Struct("<4sIQ")  # magic, status, bytes of the message; then a mark, one byte, a slot, and the frames
_MAGIC = b"CRMT"
_KINDS = {torch.float32: F32, torch.float16: F16, torch.bfloat16: BF16}
_TEXT = 512  # bytes that any message may have: a failed rank says why
_TASK = 1 << 16  # elements: a thread packs shorter parameters in one task


def share(n: int, width: int, ranks: int) -> int:
    """Returns the bytes that a rank sends in a ring all-reduce of n elements of width bytes, divided by its peers."""
    return 2 * n * width // ranks


class Bucket:
    """A bucket of the same parameters in every step.

    In the methods: flat is the bucket's gradient, one axis, one parameter after another; which are indices of slots;
    step is the number of the training step. Raw slots are packed only while all frames of the bucket together may stay
    within a ring all-reduce's bytes (raw_too): averaging raw slots plainly loses nothing.

    A slot that owes, and whose gradient is 0 on this rank, is neither packed nor settled: DDP throws away the mean of a
    parameter that no rank has used, and with it would go what was owed. still, in the methods, are indices of slots
    that are frozen: whatever stands in their place in flat counts as 0."""

    def __init__(self, slots: Sequence[Slot], dtype: torch.dtype, ranks: int):
        if dtype not in _KINDS:
            raise TypeError(f"crumb takes gradients of float32, float16 or bfloat16, and those of {slots[0].name} are "
                            f"{dtype}")
        self.slots, self.ranks, self.dtype = slots, ranks, dtype
        self.kind, self.width = _KINDS[dtype], torch.empty(0, dtype=dtype).element_size()
        self.n = sum(slot.n for slot in slots)
        self.at, self._room_at = [], []
        at, room = 0, self._body()
        for slot in slots:
            self.at.append(at)
            self._room_at.append(room)
            at += slot.n
            room += slot.packer.bound
        self._most = self._body() + share(self.n, self.width, ranks)
        self.raw_too = not all(slot.packer.codec.info.fixed for slot in slots) or room <= self._most
        self._room = torch.empty(max(room, self._body() + _TEXT), dtype=torch.uint8)
        size = max(self._most, self._body() + _TEXT)
        self.inbox = [torch.empty(size, dtype=torch.uint8) for _ in range(ranks - 1)]
        self._length = [0] * len(slots)

    def _body(self):
        return _HEAD.size + len(self.slots)

    def framed(self) -> List[int]:
        """Returns the indices of the slots that are packed in this step; the others are averaged plainly."""
        return [i for i, slot in enumerate(self.slots) if not slot.plain and (self.raw_too or not slot.raw)]

    def tasks(self, which: Sequence[int]) -> List[Sequence[int]]:
        """Returns these slots cut into tasks for threads, each of at least _TASK elements but the last."""
        runs, first, n = [], 0, 0
        for last, i in enumerate(which):
            n += self.slots[i].n
            if n >= _TASK or last + 1 == len(which):
                runs.append(which[first:last + 1])
                first, n = last + 1, 0
        return runs

    def part(self, flat: torch.Tensor, i: int) -> torch.Tensor:
        """Returns slot i's elements of flat, a view."""
        return flat[self.at[i]:self.at[i] + self.slots[i].n]

    def silent(self, i: int, flat: torch.Tensor, still: Container[int]) -> bool:
        """Returns true if slot i owes, and nothing is to be sent of it, as this rank's gradient is 0."""
        return self.slots[i].owed is not None and (i in still or is_zero(self.part(flat, i)))

    def restore(self, step: int) -> None:
        """Resets all packers to their state from before the step."""
        for slot in self.slots:
            slot.restore(step)

    # ---- before it is sent ----

    def measure(self, which: Sequence[int], flat: torch.Tensor, step: int) -> torch.Tensor:
        """Returns these slots' shared statistics, one float32 axis; NaNs for a slot whose gradient is not finite."""
        return torch.cat([self._measure(self.slots[i], self.part(flat, i), step) for i in which])

    def _measure(self, slot, part, step):
        slot.remember(step)
        stat = torch.empty(slot.packer.agree_count)
        if stat.numel():
            try:
                check(lib.crumb_measure(slot.packer.address, part.data_ptr(), part.numel(), self.kind, stat.data_ptr()))
            except NonFinite:
                stat.fill_(float("nan"))
        return stat

    def agree(self, which: Sequence[int], stats: torch.Tensor) -> None:
        """Passes the shared statistics of all ranks, [rank][float] as from measure, to these slots' packers."""
        at = 0
        for packer in [self.slots[i].packer for i in which]:
            mine = stats[:, at:at + packer.agree_count].contiguous()
            at += packer.agree_count
            if mine.numel():
                check(lib.crumb_agree(packer.address, mine.data_ptr(), self.ranks))

    def pack(self, which: Sequence[int], flat: torch.Tensor, still: Container[int], step: int) -> Tuple[int, float]:
        """Packs these slots up to the first non-finite one. Returns PACKED or NONFINITE, and the seconds taken."""
        began = time.perf_counter()
        room = self._room.data_ptr()
        status = PACKED
        for i in which:
            slot = self.slots[i]
            if self.silent(i, flat, still):
                self._length[i] = 0
                continue
            slot.remember(step)
            try:
                address = self.part(flat, i).data_ptr()
                self._length[i] = slot.packer.pack_at(address, self.kind, room + self._room_at[i], slot.packer.bound)
            except NonFinite:
                status = NONFINITE
                break
        return status, time.perf_counter() - began

    def message(self, status: int, which: Sequence[int], text: str = "") -> torch.Tensor:
        """Returns this rank's message, bytes valid until the next pack. If status is PACKED it carries these slots'
        frames, except those that would make it longer than a ring all-reduce's; if FAILED, the text."""
        marks = bytearray([_PLAIN] * len(self.slots))
        room, end = self._room.data_ptr(), self._body()
        if status == PACKED:
            fits = [i for i in which
                    if self.slots[i].raw or self._length[i] <= share(self.slots[i].n, self.width, self.ranks)]
            if end + sum(self._length[i] for i in fits) > self._most:
                fits = [i for i in fits if not self.slots[i].raw]
            for i in fits:
                marks[i] = _FRAME if self._length[i] else _NOTHING
                ctypes.memmove(room + end, room + self._room_at[i], self._length[i])
                end += self._length[i]
        elif status == FAILED:
            said = text.encode()[:_TEXT]
            ctypes.memmove(room + end, said, len(said))
            end += len(said)
        ctypes.memmove(room, _HEAD.pack(_MAGIC, status, end) + marks, self._body())
        return self._room[:end]

    # ---- after all messages have arrived ----

    def read(self, message: torch.Tensor, rank: int) -> Tuple[int, List[Optional[Tuple[int, int]]]]:
        """Returns a rank's status and every slot's (address, length) of its frame: length 0 if its gradient is 0, None
        if it is to be averaged plainly. The addresses point into the message. Raises RuntimeError if the message is
        damaged or says that the rank has failed."""
        base, size = message.data_ptr(), message.numel()
        magic, status, end = _HEAD.unpack(ctypes.string_at(base, _HEAD.size))
        if magic != _MAGIC or not self._body() <= end <= size:
            raise RuntimeError(f"crumb: rank {rank} sent no message of this hook")
        if status == FAILED:
            said = ctypes.string_at(base + self._body(), end - self._body()).decode(errors="replace")
            raise RuntimeError(f"crumb: rank {rank} has failed: {said}")
        at, frames = self._body(), []
        for i, mark in enumerate(ctypes.string_at(base + _HEAD.size, len(self.slots))):
            length = 0
            if mark == _FRAME:
                length = lib.crumb_frame_length(base + at, end - at)
                if not 0 <= length <= end - at:
                    raise RuntimeError(f"crumb: rank {rank} sent a frame of {self.slots[i].name} "
                                       "that is cut short or damaged")
            frames.append(None if mark == _PLAIN else (base + at, length))
            at += length
        return status, frames

    def unpack(self, which: Sequence[int], frames: List[List[Tuple[int, int]]], flat: torch.Tensor, step: int) -> int:
        """Replaces these slots' parts of flat by the mean of all ranks' frames, summed in rank order. Returns how many
        of them passed the largest number of flat's type: every rank then goes on to owe what is above it.

        frames: [rank][slot], as read returns them. Raises Error if a frame is damaged."""
        passed = 0
        for i in which:
            slot, part = self.slots[i], self.part(flat, i)
            total = part if part.dtype == torch.float32 else torch.empty(len(part))
            address = total.data_ptr()
            ctypes.memset(address, 0, 4 * len(part))
            for theirs in frames:
                if theirs[i][1]:
                    check(lib.crumb_unpack_add(*theirs[i], 1 / self.ranks, address, len(part)), slot.name)
            if total is not part:
                part.copy_(total)
                if not part.isfinite().all():
                    passed += 1
                    self._carry(slot, total, part, step)
        return passed

    @staticmethod
    def _carry(slot, total, part, step):
        if slot.owed is not None:
            slot.remember(step)
            most = torch.finfo(part.dtype).max
            slot.owed += total - total.clamp(-most, most)
            part.copy_(total.clamp(-most, most))

    def stop_packing(self, which: Set[int], step: int) -> None:
        """Averages these slots plainly in this step and all later ones, as some rank's frames of them were too long.

        Resets their packers to before the step. One raw slot stops all raw slots."""
        for i in which:
            self.slots[i].restore(step)
            if self.slots[i].raw:
                self.raw_too = False
            else:
                self.slots[i].plain = True

    def settle(self, which: Sequence[int], flat: torch.Tensor, still: Container[int], step: int) -> None:
        """Moves what these slots, which are averaged plainly, owe into flat."""
        for i in which:
            if not self.silent(i, flat, still):
                self.slots[i].settle(self.part(flat, i), step)
