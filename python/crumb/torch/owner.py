"""The model and the process group to which a parameter in one of DDP's buckets belongs.

SPDX-License-Identifier: MIT"""
import gc
from typing import Optional, Tuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def _has(module, parameter):
    return any(own is parameter for own in module.parameters())


def _holders(parameter):
    """Returns every DDP of this process that has the parameter: a bucket does not say which one it is of."""
    return [ddp for ddp in gc.get_objects()
            if issubclass(type(ddp), DistributedDataParallel) and "module" in ddp._modules and _has(ddp, parameter)]


def group_of(ddp: DistributedDataParallel, given: Optional[dist.ProcessGroup]) -> dist.ProcessGroup:
    """Returns the group of this DDP. Raises ValueError if another one is given."""
    if given is not None and given is not ddp.process_group:
        raise ValueError("crumb: process_group is not the one over which DistributedDataParallel averages")
    return ddp.process_group


def owner_of(parameter: torch.Tensor, model: Optional[torch.nn.Module], given: Optional[dist.ProcessGroup]
             ) -> Tuple[torch.nn.Module, dist.ProcessGroup]:
    """Returns the module inside DDP, and DDP's group. model, given: those passed to the hook; without any DDP, a
    model's group is the given or the default one. Raises RuntimeError if the parameter is not the model's."""
    holders = [model] if isinstance(model, DistributedDataParallel) else _holders(parameter)
    if model is not None and not _has(model, parameter):
        raise RuntimeError("crumb: DDP has a parameter that the hook's model did not have")
    if not holders and model is not None:
        return model, given if given is not None else dist.distributed_c10d._get_default_group()
    groups = {group_of(ddp, given) for ddp in holders}
    if len(groups) != 1:
        raise RuntimeError(f"crumb: {len(holders)} DistributedDataParallel have this parameter, over {len(groups)} "
                           "groups: pass the right one to hook")
    return holders[-1].module, groups.pop()
