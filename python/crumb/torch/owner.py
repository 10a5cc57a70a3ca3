"""The model and the process group to which a parameter in one of DDP's buckets belongs.

SPDX-License-Identifier: MIT"""
import weakref
from typing import List, Optional, Tuple

import torch
import torch.distributed as dist
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parallel import DistributedDataParallel


def _has(module, parameter):
    return any(own is parameter for own in module.parameters())


def _groups():
    """Returns the number of process groups that this rank is in."""
    world = getattr(dist.distributed_c10d, "_world", None)  # PyTorch 1.13 has none
    return len(world.pg_map if world else dist.distributed_c10d._pg_map)


class Owner:
    """model, group: as passed to the hook, or None. A bucket does not say which DDP it is of: unless model is one, this
    notes every DDP that runs forward until find is called. Raises ValueError if the group is not DDP's,
    or if DDP may leave out the last bucket."""

    def __init__(self, model: Optional[torch.nn.Module], group: Optional[dist.ProcessGroup]):
        self._model = weakref.ref(model) if model is not None else lambda: None
        self._group = group
        self.leaves_out = False  # after find: true if DDP's backward may leave parameters out
        self._seen: List[weakref.ref] = []
        seen = self._seen

        def note(module, _):
            if not isinstance(module, DistributedDataParallel):  # replicate(), or DDP's forward() called by itself
                module = getattr(DistributedDataParallel, "_active_ddp_module", None)
            if module is not None and not (seen and seen[-1]() is module):
                seen[:] = [*(ref for ref in seen if ref() not in (None, module)), weakref.ref(module)]
        if isinstance(model, DistributedDataParallel):
            self._group_of(model)
            self._watch = lambda: None
        else:
            self._watch = weakref.finalize(self, register_module_forward_pre_hook(note).remove)

    def _group_of(self, ddp):
        if getattr(ddp, "skip_all_reduce_unused_params", False):
            raise ValueError("crumb: DistributedDataParallel with skip_all_reduce_unused_params does not tell a hook "
                             "which bucket is the last: leave the option out")
        if getattr(ddp, "_delay_all_reduce_params", None):
            raise ValueError("crumb: DistributedDataParallel with delay_all_reduce_named_params does not wait for "
                             "their means, which with a hook may come after backward: leave the option out")
        if self._group is not None and self._group is not ddp.process_group:
            raise ValueError("crumb: process_group is not the one over which DistributedDataParallel averages")
        return ddp.process_group

    def find(self, parameter: torch.Tensor) -> Tuple[torch.nn.Module, dist.ProcessGroup]:
        """Returns the module inside the DDP that has this parameter, and the DDP's group. If no DDP has run forward,
        these are the hook's model and group, or the only group. Raises RuntimeError if the model lacks it, or if there
        are several groups."""
        model = self._model()
        if model is not None and not _has(model, parameter):
            raise RuntimeError("crumb: DDP has a parameter that the hook's model did not have")
        seen = [model] if isinstance(model, DistributedDataParallel) else [ref() for ref in self._seen]
        holders = [ddp for ddp in seen if ddp is not None and _has(ddp, parameter)]
        if holders:
            self._watch()
            ddp = holders[-1]
            self.leaves_out = bool(ddp.find_unused_parameters)
            inside = ddp.module
            if isinstance(inside, torch.nn.ParameterList):  # all that replicate() wraps: it has neither names nor kinds
                if model is None:
                    raise RuntimeError("crumb: replicate() tells a hook no names of parameters: pass it the model")
                inside = model
            return inside, self._group_of(ddp)
        if model is None:
            raise RuntimeError("crumb: no DistributedDataParallel with these gradients has run: pass it to the hook")
        if self._group is None and _groups() > 1:
            raise RuntimeError("crumb: no DistributedDataParallel with these gradients has run, and there are several "
                               "groups: pass it to the hook, or process_group")
        self._watch()
        return model, self._group if self._group is not None else dist.distributed_c10d._get_default_group()
