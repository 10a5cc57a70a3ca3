"""A parameter's packer, and a copy of it from before the step. SPDX-License-Identifier: MIT"""
import ctypes
from typing import Optional

import torch

from crumb.codec import Codec
from crumb.packer import Packer


class Slot:
    """n, run, seed: as in Packer. plain: this parameter is averaged without packing; its residual is zero."""

    def __init__(self, name: str, codec: Codec, n: int, run: int, seed: int):
        self.name, self.n = name, n
        self.packer = Packer(codec, n, seed, run)
        self.raw = codec == Codec("raw")
        self.plain = False
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

    def stop_packing(self, gradient: torch.Tensor) -> None:
        """Moves the residual into the gradient, n elements. From now on this parameter is averaged without packing."""
        self.plain = True
        if self.packer.residual is not None:
            residual = torch.frombuffer(self.packer.residual, dtype=torch.float32)
            gradient += residual
            residual.zero_()

    def load(self, packer: Packer, plain: bool) -> None:
        """Takes over the state of a packer of the same codec and n, from a checkpoint."""
        ctypes.memmove(self.packer.address, packer.address, packer.size)
        self.plain = plain
        self._step = None
