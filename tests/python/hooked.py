"""Models whose gradients a check chooses, under DDP with the hook. SPDX-License-Identifier: MIT"""
import torch
from torch.nn.parallel import DistributedDataParallel

import crumb.torch


class Weights(torch.nn.Module):
    """The loss is the sum of all weights times x, so that every gradient is x."""

    def __init__(self, *shapes, dtype=torch.float32):
        super().__init__()
        self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in shapes])

    def forward(self, *gradients):
        return sum((w.float() * x).sum() for w, x in zip(self.w, gradients))


def hooked(policy, *shapes, dtype=torch.float32, group=None, **options):
    ddp = DistributedDataParallel(Weights(*shapes, dtype=dtype), process_group=group)
    state, hook = crumb.torch.hook(policy, **options)
    ddp.register_comm_hook(state, hook)
    return ddp, state


def gradient(step, rank, shape=(400, 10)):
    return torch.randn(shape, generator=torch.Generator().manual_seed(100 * step + rank))


def step(ddp, *gradients):
    ddp.zero_grad()
    ddp(*gradients).backward()
    return ddp.module.w[0].grad.clone()


def owed(state, name="w.0"):
    return torch.frombuffer(state._slots[name].packer.residual, dtype=torch.float32).clone()


class Compiled(torch.nn.Module):
    """Stands for torch.compile's module."""

    def __init__(self, inside):
        super().__init__()
        self._orig_mod = inside

    def forward(self, *gradients):
        return self._orig_mod(*gradients)
