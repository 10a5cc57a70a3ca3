"""A parameter's packer, and a copy of it from before the step. SPDX-License-Identifier: MIT"""
import ctypes
from typing import Optional

import torch

from crumb.codec import Codec
from crumb.packer import Packer

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def is_zero(values: torch.Tensor) -> bool:
    """Returns true if all bits of a contiguous tensor are 0. Ends at the first that is not."""
    at, size = values.data_ptr(), values.numel() * values.element_size()
    return size == 0 or (ctypes.string_at(at, 1) == b"\0" and _memcmp(at, at + 1, size - 1) == 0)


class Slot:
    """n, run, seed: as in Packer. plain: this parameter is averaged without packing. owed: the packer's residual, or
    None."""

    def __init__(self, name: str, codec: Codec, n: int, run: int, seed: int):
        self.name, self.n = name, n
        self.packer = Packer(codec, n, seed, run)
        self.raw = codec == Codec("raw")
        self.plain = False
        residual = self.packer.residual if n else None
        self.owed = None if residual is None else torch.frombuffer(residual, dtype=torch.float32)
        self._before = ctypes.create_string_buffer(self.packer.size)
        self._step: Optional[int] = None

    def remember(self, step: int) -> None:
        """Copies the packer before its first change in the step; does nothing if called again in this step."""
        if self._step != step:
            ctypes.memmove(self._before, self.packer.address, self.packer.size)
            self._step = step

    def restore(self, step: int) -> None:
        """Resets the packer to its copy from before the step; does nothing if the step has not changed it."""
        if self._step == step:
            ctypes.memmove(self.packer.address, self._before, self.packer.size)

    def settle(self, gradient: torch.Tensor, step: int) -> None:
        """Moves what is owed into a gradient that is averaged plainly; as much of it as the gradient's type holds."""
        if self.owed is None or is_zero(self.owed):
            return
        self.remember(step)
        self.owed += gradient
        most = torch.finfo(gradient.dtype).max
        gradient.copy_(self.owed.clamp(-most, most))
        self.owed -= gradient

    def load(self, packer: Packer) -> None:
        """Takes over the state of a packer of the same codec and n, from a checkpoint."""
        ctypes.memmove(self.packer.address, packer.address, packer.size)
        self._step = None
