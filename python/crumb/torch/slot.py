"""A parameter's packer, and the way back to where it was before the step. SPDX-License-Identifier: MIT"""
import ctypes
from typing import Optional

import torch

from crumb.codec import Codec
from crumb.packer import Packer


class Slot:
    """run: as in Packer. plain: this parameter is not packed any more, nor owes anything."""

    def __init__(self, name: str, codec: Codec, n: int, run: int, seed: int):
        self.name, self.n = name, n
        self.packer = Packer(codec, n, seed, run)
        self.raw = codec == Codec("raw")
        self.plain = False
        self._before = ctypes.create_string_buffer(self.packer.size)
        self._step: Optional[int] = None

    def remember(self, step: int) -> None:
        """The packer as it is now, unless the step has begun."""
        if self._step != step:
            ctypes.memmove(self._before, self.packer.address, self.packer.size)
            self._step = step

    def restore(self, step: int) -> None:
        """As it was before the step, if the step has touched it."""
        if self._step == step:
            ctypes.memmove(self.packer.address, self._before, self.packer.size)

    def settle(self, gradient: torch.Tensor) -> None:
        """What is owed goes into the gradient, which is about to be sent as it is, here and from now on."""
        self.plain = True
        if self.packer.residual is not None:
            owed = torch.frombuffer(self.packer.residual, dtype=torch.float32)
            gradient += owed
            owed.zero_()

    def load(self, packer: Packer, plain: bool) -> None:
        ctypes.memmove(self.packer.address, packer.address, packer.size)
        self.plain = plain
        self._step = None
