"""One of DDP's buckets: its parameters' slots, their packing, and the mean. SPDX-License-Identifier: MIT"""
import ctypes
import time
from typing import Container, Iterable, List, Optional, Sequence, Set, Tuple

import torch

from crumb.error import NonFinite, check
from crumb.library import BF16, F16, F32, lib
from crumb.torch import message
from crumb.torch.message import NONFINITE, PACKED, Place
from crumb.torch.slot import Slot, is_zero

_KINDS = {torch.float32: F32, torch.float16: F16, torch.bfloat16: BF16}
_TASK = 1 << 16  # elements: a thread packs shorter parameters in one task


class Bucket:
    """A bucket of the same parameters in every step, in the plan gather.

    In the methods: flat is the bucket's gradient, one axis, one parameter after another; which are indices of slots;
    step is the number of the training step. Raw slots are packed only while all frames of the bucket together may stay
    within a ring all-reduce's bytes (raw_too): averaging raw slots plainly loses nothing.

    DDP throws away the mean of a parameter that no rank has used, and with it would go what was owed. Therefore a
    slot that owes is neither packed nor settled if its gradient is 0 on this rank, nor settled if this rank has not
    used it; and slots that no rank has used are restored: what stands in their place in flat is an earlier step's
    gradient, or 0. frozen, in the methods, are indices of slots that are frozen: whatever stands in their place in
    flat counts as 0."""

    def __init__(self, slots: Sequence[Slot], dtype: torch.dtype, rank: int, ranks: int):
        if dtype not in _KINDS:
            raise TypeError(f"crumb takes gradients of float32, float16 or bfloat16, and those of {slots[0].name} are "
                            f"{dtype}")
        self.slots, self.rank, self.ranks, self.dtype = slots, rank, ranks, dtype
        self.kind, self.width = _KINDS[dtype], torch.empty(0, dtype=dtype).element_size()
        self.n = sum(slot.n for slot in slots)
        self.names = [slot.name for slot in slots]
        self.at, self._room_at = [], []
        at, room = 0, message.body(len(slots))
        for slot in slots:
            self.at.append(at)
            self._room_at.append(room)
            at += slot.n
            room += self._place(slot)
        packed = room - message.body(len(slots))
        self._room = message.room(len(slots), packed)
        self._length = [0] * len(slots)
        self._open(packed)

    def _open(self, packed):
        """Makes room for messages. packed: the most bytes of all frames."""
        self._most = self.limit(self.n)
        self.raw_too = not all(slot.packer.codec.info.fixed for slot in self.slots) or packed <= self._most
        self.inbox = [message.room(len(self.slots), self._most) for _ in range(self.ranks - 1)]

    @property
    def memory(self) -> int:
        """Bytes of all messages."""
        return sum(map(len, self._rooms()))

    def _rooms(self):
        return [self._room, *self.inbox]

    def _place(self, slot):
        """Returns the bytes of the slot's place in the room."""
        return slot.packer.bound

    def limit(self, n: int) -> int:
        """Returns the most bytes of a frame of n elements: those that a rank sends of them in a ring all-reduce to all
        peers, divided by their number."""
        return 2 * n * self.width // self.ranks

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

    def silent(self, i: int, flat: torch.Tensor, frozen: Container[int]) -> bool:
        """Returns true if slot i owes, and nothing is to be sent of it, as this rank's gradient is 0."""
        return self.slots[i].owed is not None and (i in frozen or is_zero(self.part(flat, i)))

    def restore(self, step: int, which: Optional[Iterable[int]] = None) -> None:
        """Resets the packers of these slots, by default of all, to their state from before the step."""
        for i in range(len(self.slots)) if which is None else which:
            self.slots[i].restore(step)

    # ---- before it is sent ----

    def measure(self, which: Sequence[int], flat: torch.Tensor, step: int) -> torch.Tensor:
        """Returns these slots' shared statistics, one float32 axis; NaNs for a slot whose gradient is not finite."""
        return torch.cat([self._measure(self.slots[i], self.part(flat, i), step) for i in which])

    def _measure(self, slot, part, step):
        slot.remember(step)
        stat = torch.empty(slot.packer.agree_count, dtype=torch.float32, device="cpu")
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

    def pack(self, which: Sequence[int], flat: torch.Tensor, frozen: Container[int], step: int) -> Tuple[int, float]:
        """Packs these slots up to the first non-finite one. Returns PACKED or NONFINITE, and the seconds taken."""
        began = time.perf_counter()
        status = PACKED
        for i in which:
            slot = self.slots[i]
            if self.silent(i, flat, frozen):
                self._length[i] = 0
                continue
            slot.remember(step)
            try:
                address, room = self.part(flat, i).data_ptr(), self._room.data_ptr() + self._room_at[i]
                self._length[i] = slot.packer.pack_at(address, self.kind, room, slot.packer.bound)
            except NonFinite:
                status = NONFINITE
                break
        return status, time.perf_counter() - began

    def _fitting(self, which):
        """Returns the places of these slots' frames, by slot, except of those that are too long."""
        return {i: (self._room.data_ptr() + self._room_at[i], self._length[i]) for i in which
                if self.slots[i].raw or self._length[i] <= self.limit(self.slots[i].n)}

    def messages(self, status: int, which: Sequence[int], unused: Iterable[int],
                 text: str = "") -> List[torch.Tensor]:
        """Returns this rank's message to each rank, valid until the next pack. If status is PACKED it has these slots'
        frames, except those that would make it longer than a ring all-reduce's; if FAILED, the text. unused: indices
        of the slots that this rank's backward has not used."""
        frames = self._fitting(which)
        if sum(length for _, length in frames.values()) > self._most:
            frames = {i: place for i, place in frames.items() if not self.slots[i].raw}
        return [message.write(self._room, status, len(self.slots), frames, text, unused)] * self.ranks

    # ---- after all messages have arrived ----

    def read(self, theirs: torch.Tensor, rank: int) -> Tuple[int, List[Optional[Place]]]:
        """Returns a rank's status and every slot's frame, as message.read does, which see for errors."""
        return message.read(theirs, rank, self.names, lambda i, at, left: lib.crumb_frame_length(at, left))

    def total(self, i: int, frames: Sequence[Sequence[Place]], total: torch.Tensor) -> None:
        """Sets total, float32, to the mean of all ranks' frames of slot i, summed in rank order. frames: [rank][slot].
        Raises Error if a frame is damaged."""
        address = total.data_ptr()
        ctypes.memset(address, 0, 4 * len(total))
        for theirs in frames:
            if theirs[i][1]:
                check(lib.crumb_unpack_add(*theirs[i], 1 / len(frames), address, len(total)), self.names[i])

    def unpack(self, which: Sequence[int], frames: Sequence[Sequence[Place]], flat: torch.Tensor, step: int) -> int:
        """Replaces these slots' parts of flat by the mean of frames. Returns how many of them passed the largest number
        of flat's type: every rank then goes on to owe what is above it. frames: as for total."""
        return sum(self._take(i, frames, self.part(flat, i), step) for i in which)

    def _take(self, i, frames, part, step):
        total = part if part.dtype == torch.float32 else torch.empty(len(part), dtype=torch.float32, device="cpu")
        self.total(i, frames, total)
        if total is part:
            return False
        part.copy_(total)
        if part.isfinite().all():
            return False
        slot = self.slots[i]
        if slot.owed is not None:
            slot.remember(step)
            most = torch.finfo(part.dtype).max
            slot.owed += total - total.clamp(-most, most)
            part.copy_(total.clamp(-most, most))
        return True

    def stop_packing(self, which: Set[int], step: int) -> None:
        """Averages these slots plainly in this step and all later ones, as some rank's frames of them were too long.

        Resets their packers to before the step. One raw slot stops all raw slots."""
        for i in which:
            self.slots[i].restore(step)
            if self.slots[i].raw:
                self.raw_too = False
            else:
                self.slots[i].plain = True

    def settle(self, which: Sequence[int], flat: torch.Tensor, frozen: Container[int], step: int) -> None:
        """Moves what these slots, which are averaged plainly, owe into flat."""
        for i in which:
            if not self.silent(i, flat, frozen):
                self.slots[i].settle(self.part(flat, i), step, self.ranks)


class SharedBucket(Bucket):
    """A bucket in the plan shard: a slot's frames go to its owner, and the mean's frame from there to all. Raw slots
    are averaged plainly, which is the same plan."""

    def _open(self, packed):
        owned = [0] * self.ranks  # bytes
        for slot in self.slots:
            if slot.owner is not None:
                owned[slot.owner] += self.limit(slot.n)
        self.raw_too = False
        count = len(self.slots)
        self._out = [message.room(count, size) for size in owned]
        self._mean_out = message.room(count, owned[self.rank])
        self.inbox = [message.room(count, owned[self.rank]) for _ in range(self.ranks - 1)]
        self.mean_inbox = [message.room(count, size) for rank, size in enumerate(owned) if rank != self.rank]

    def _rooms(self):
        return [*super()._rooms(), *self._out, self._mean_out, *self.mean_inbox]

    def _place(self, slot):
        return max(slot.packer.bound, slot.mean.packer.bound if slot.mean else 0, self.limit(slot.n))

    def limit(self, n: int) -> int:
        """Returns the most bytes of a frame of n elements: there and back they are those of a ring all-reduce."""
        return n * self.width

    def messages(self, status: int, which: Sequence[int], unused: Iterable[int],
                 text: str = "") -> List[torch.Tensor]:
        """As Bucket's, but a rank gets the frames of its own slots only. Of those of others it gets none, as if the
        gradient were 0, and learns which of them are averaged plainly."""
        frames = self._fitting(which)
        return [message.write(out, status, len(self.slots), {
            i: place if self.slots[i].owner == rank else (0, 0) for i, place in frames.items()}, text, unused)
            for rank, out in enumerate(self._out)]

    def owned(self, which: Sequence[int]) -> List[int]:
        """Returns those of these slots that this rank averages."""
        return [i for i in which if self.slots[i].owner == self.rank]

    def average(self, which: Sequence[int], frames: Sequence[Sequence[Place]], step: int) -> int:
        """Averages these slots of this rank's, and packs the means. Returns PACKED, or NONFINITE if one is not finite.

        frames: as for total. The slots have been packed and sent: their places in the room are free."""
        for i in which:
            slot, room = self.slots[i], self._room.data_ptr() + self._room_at[i]
            if not any(theirs[i][1] for theirs in frames):
                self._length[i] = 0
                continue
            mean = torch.empty(slot.n, dtype=torch.float32, device="cpu")
            super().total(i, frames, mean)
            if slot.mean is None:
                mean = mean.to(self.dtype)
                self._length[i] = slot.n * self.width
                ctypes.memmove(room, mean.data_ptr(), self._length[i])
                continue
            slot.mean.remember(step)
            packer = slot.mean.packer
            try:
                packer.agree([packer.measure(mean)])
                self._length[i] = packer.pack_at(mean.data_ptr(), F32, room, packer.bound)
            except NonFinite:
                return NONFINITE
        return PACKED

    def mean_message(self, status: int, which: Sequence[int], text: str = "") -> torch.Tensor:
        """Returns this rank's message to all ranks about the means of its slots."""
        return message.write(self._mean_out, status, len(self.slots), self._fitting(self.owned(which)), text)

    def read_mean(self, theirs: torch.Tensor, rank: int) -> Tuple[int, List[Optional[Place]]]:
        """As read, of a mean_message."""
        return message.read(theirs, rank, self.names, self._measured)

    def _measured(self, i, at, left):
        slot = self.slots[i]
        return lib.crumb_frame_length(at, left) if slot.packs_mean else slot.n * self.width

    def _take(self, i, frames, part, step):
        """frames: of one rank, the owner."""
        address, length = frames[0][i]
        if self.slots[i].packs_mean or not length:
            return super()._take(i, frames, part, step)
        ctypes.memmove(part.data_ptr(), address, length)
        return part.dtype != torch.float32 and not part.isfinite().all()
