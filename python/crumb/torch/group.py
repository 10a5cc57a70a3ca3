"""The process group over which messages in the CPU's memory go. SPDX-License-Identifier: MIT"""
from inspect import signature
from typing import Any, Dict
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

_own: "WeakKeyDictionary[dist.ProcessGroup, dist.ProcessGroup]" = WeakKeyDictionary()  # made here


def _carries(group):
    """Returns true if the group sends the CPU's memory over gloo."""
    if not hasattr(group, "_get_backend"):  # PyTorch 1.13
        return dist.get_backend(group) == "gloo"
    try:
        return "gloo" in group._get_backend(torch.device("cpu")).name()
    except RuntimeError:  # it has no backend for the CPU
        return False


def _timeout(group):
    backend = group._get_backend(group._device_types[0]) if hasattr(group, "_device_types") else group
    return getattr(getattr(backend, "options", None), "_timeout", None)


def gloo_of(group: dist.ProcessGroup) -> dist.ProcessGroup:
    """Returns the group itself if it sends the CPU's memory over gloo, as those of NCCL do not; else a gloo group of
    the same ranks, with its timeout, which the first call makes: all ranks of the group have to call.

    Raises ValueError for a part of the world on a PyTorch that cannot make a group without the other ranks."""
    if _carries(group):
        return group
    if group not in _own:
        options: Dict[str, Any] = {"timeout": _timeout(group)} if _timeout(group) else {}
        if "use_local_synchronization" in signature(dist.new_group).parameters:
            options.update(ranks=dist.get_process_group_ranks(group), use_local_synchronization=True)
        elif group.size() != dist.get_world_size():
            raise ValueError("crumb sends over gloo, and to make a gloo group for these ranks alone takes PyTorch 2.1")
        _own[group] = dist.new_group(backend="gloo", **options)
    return _own[group]
