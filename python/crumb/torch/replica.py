"""FSDP2's mean over replicas (HSDP), with error feedback. SPDX-License-Identifier: MIT"""
from importlib import import_module
from typing import Any, Optional

import torch
import torch.distributed as dist

from crumb.codec import Codec
from crumb.policy import Policy
from crumb.torch.state import State


def need_fsdp(method: str) -> None:
    """Raises RuntimeError if PyTorch's FSDPModule lacks a method, or is not there."""
    try:
        fsdp: Any = import_module("torch.distributed.fsdp")  # here, because it takes long
    except (ImportError, ValueError):  # ValueError: PyTorch 1.13's own, with Python 3.11
        fsdp = None
    if not hasattr(getattr(fsdp, "FSDPModule", None), method):
        raise RuntimeError(f"crumb: this takes FSDPModule.{method}, as in PyTorch 2.13, and PyTorch is "
                           f"{torch.__version__} here")


class OneBucket:
    """Stands for DDP's bucket, the only one of a step. flat: the parameters' gradients, one after another."""

    def __init__(self, parameters, flat):
        self.parameters, self.buffer = lambda: parameters, lambda: flat

    @staticmethod
    def index():
        return 0

    @staticmethod
    def is_last():
        return True


class Replica:
    """A hook for one FSDP module. state: as the one of crumb.torch.hook, with state_dict, load_state_dict, rescale,
    undo_step and stats; a rank's checkpoint is of its own shard, and is loaded by a rank that has this shard."""

    def __init__(self, group: dist.ProcessGroup, codec: Codec, seed: int):
        self._module = torch.nn.Module()  # has the shard's parameter, without memory, from the first call on
        self._parameter: Optional[torch.nn.Parameter] = None
        # A parameter of one axis is a bias to a policy, whatever is in it.
        self.state = State(self._module, Policy(f"bias={codec}"), seed, group, 1, None)

    def __call__(self, shard: torch.Tensor) -> None:
        """Replaces a shard of the gradient by its mean over the group; returns when the current stream has it."""
        if self._parameter is None:
            self._parameter = torch.nn.Parameter(torch.empty(shard.numel(), dtype=shard.dtype, device="meta"))
            self._module.register_parameter("shard", self._parameter)
        if self._parameter.numel() != shard.numel():
            raise RuntimeError(f"crumb: a replica's hook is for one FSDP module, with {self._parameter.numel()} "
                               f"elements on this rank, and now there are {shard.numel()}: make a hook for each "
                               "module; if a step leaves parameters out, call set_reduce_scatter_unused_params(True)")
        self.state.reduce(OneBucket([self._parameter], shard)).wait()

    def undo(self) -> None:
        """Takes the last call back: what is owed is what it was before. For a step whose means are thrown away, which a
        hook sees only if its own shard's mean is not finite: GradScaler skips a step for any module's shard."""
        self.state.undo_step()


def replica(group: dist.ProcessGroup, policy: str, *, seed: int = 0) -> Replica:
    """Returns a hook for FSDPModule.set_all_reduce_hook, which averages the module's shards over replicas. Every module
    needs one of its own:

        mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("replicate", "shard"))
        fully_shard(model, mesh=mesh["shard"])
        model.set_all_reduce_hook(crumb.torch.replica(mesh["replicate"].get_group(), "topk:fraction=0.01", seed=0))

    The model is sharded on the shard axis alone: over both axes, FSDP2 itself would average the replicas before. A
    module of which a step leaves parameters out wants set_reduce_scatter_unused_params(True), or what one parameter
    owes might be added to another one.

    group: the ranks that have the same shard. policy: one codec's spec, "adacomp:bin=500"; the residual has the size of
        the rank's shard. FSDP2 passes all of a module's parameters as one tensor, so they cannot have different codecs.
    seed: of random rounding; the same on all ranks of the group, and another one for each module.

    Raises ValueError if the spec is invalid, RuntimeError on a PyTorch without FSDP2. A call raises as hook's does."""
    need_fsdp("set_all_reduce_hook")
    try:
        codec = Codec(policy)
    except ValueError as error:
        raise ValueError(f"crumb: a replica takes one codec for all parameters of a module: {error}") from None
    return Replica(group, codec, seed)
