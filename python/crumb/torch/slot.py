"""The packer of a parameter, or of a part of it, and a copy of it from before the step. SPDX-License-Identifier: MIT"""
import ctypes
from typing import Optional

import torch

from crumb.codec import Codec
from crumb.packer import Packer
from crumb.torch.plan import Part

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def is_zero(values: torch.Tensor) -> bool:
    """Returns true if all bits of a contiguous tensor are 0. Ends at the first that is not."""
    at, size = values.data_ptr(), values.numel() * values.element_size()
    return size == 0 or (ctypes.string_at(at, 1) == b"\0" and _memcmp(at, at + 1, size - 1) == 0)


class Kept:
    """A packer that can go back to its state from before the step. owed, velocity: its own, or None."""

    def __init__(self, packer: Packer):
        self.packer = packer
        self.owed, self.velocity = (torch.frombuffer(floats, dtype=torch.float32) if packer.n and floats else None
                                    for floats in (packer.residual, packer.velocity))
        self._before = ctypes.create_string_buffer(packer.size)
        self._scaled = [one for floats in (self.owed, self.velocity) if floats is not None
                        for one in (floats, self._copy_of(floats))]
        self._step: Optional[int] = None

    @property
    def memory(self) -> int:
        """Bytes."""
        return self.packer.size + len(self._before)

    def _copy_of(self, floats):
        return torch.frombuffer(self._before, dtype=torch.float32, count=floats.numel(),
                                offset=floats.data_ptr() - self.packer.address)

    def remember(self, step: int) -> None:
        """Copies the packer before its first change in the step; does nothing if called again in this step."""
        if self._step != step:
            ctypes.memmove(self._before, self.packer.address, self.packer.size)
            self._step = step

    def restore(self, step: int) -> None:
        """Resets the packer to its copy from before the step; does nothing if the step has not changed it."""
        if self._step == step:
            ctypes.memmove(self.packer.address, self._before, self.packer.size)

    def rescale(self, factor: float) -> None:
        """Multiplies what is owed, and the velocity, also those to which restore goes back."""
        for floats in self._scaled:
            floats *= factor

    def load(self, packer: Packer) -> None:
        """Takes over the state of a packer, from a checkpoint. Raises ValueError if it is of another codec or n."""
        if (packer.codec, packer.n) != (self.packer.codec, self.packer.n):
            raise ValueError(f"it is {packer}, and this one is {self.packer}")
        ctypes.memmove(self.packer.address, packer.address, packer.size)
        self._step = None

    def inherit_steps(self, packer: Packer) -> None:
        """Takes over from a packer of another rank its steps, which a warm-up counts, and owes nothing."""
        self.load(packer)
        for floats in self.owed, self.velocity:
            if floats is not None:
                floats.zero_()


class Slot(Kept):
    """A part of a parameter.

    down: the codec of the mean; raw: it is not packed. seed: as in Packer. mean_seed: of the packer of the mean, on the
    rank that owns the part; None elsewhere. plain: this part is averaged without packing. packs_mean: the mean is
    packed. mean: what keeps its packer, or None."""

    def __init__(self, part: Part, codec: Codec, down: Codec, seed: int, mean_seed: Optional[int] = None):
        super().__init__(Packer(codec, part.n, seed, part.run))
        self.name, self.at, self.n, self.owner = part.name, part.at, part.n, part.owner
        self.raw = codec == Codec("raw")
        self.plain = False
        self.packs_mean = down != Codec("raw")
        self.mean = None
        if mean_seed is not None and self.packs_mean:
            self.mean = Kept(Packer(down, part.n, mean_seed, part.run))

    @property
    def memory(self) -> int:
        """Bytes of both packers and their copies."""
        return super().memory + (self.mean.memory if self.mean else 0)

    def restore(self, step: int) -> None:
        """Resets both packers."""
        super().restore(step)
        if self.mean:
            self.mean.restore(step)

    def settle(self, gradient: torch.Tensor, step: int, ranks: int) -> None:
        """Moves what is owed into a gradient that is averaged plainly; as much of it as the gradient's type holds. One
        rank's gradient counts for 1 / ranks of what the mean owes."""
        if self.owed is None:
            return
        self.remember(step)
        if self.mean and self.mean.owed is not None:
            self.mean.remember(step)
            self.owed += ranks * self.mean.owed
            self.mean.owed.zero_()
        if is_zero(self.owed):
            return
        if not bool(gradient.isfinite().all()):
            return  # nor is the mean then
        self.owed += gradient
        most = torch.finfo(gradient.dtype).max
        gradient.copy_(self.owed.clamp(-most, most))
        self.owed -= gradient

    def rescale(self, factor: float) -> None:
        """As Kept's, of both packers."""
        super().rescale(factor)
        if self.mean:
            self.mean.rescale(factor)
