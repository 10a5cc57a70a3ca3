"""Gradient compression for PyTorch's DistributedDataParallel, in one line:

    ddp.register_comm_hook(*crumb.torch.hook(model, "conv=adacomp:bin=50;fc=adacomp:bin=500"))

SPDX-License-Identifier: MIT
"""
import os
from typing import Any, Callable, Mapping, Optional, Tuple

import torch
import torch.distributed as dist

from crumb.policy import Policy
from crumb.torch.state import State

__all__ = ["State", "hook"]


def _reduce(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    return state.reduce(bucket)


def hook(model: torch.nn.Module, policy: Optional[str] = None, *,
         compression_params: Optional[Mapping[str, Any]] = None, seed: int = 0,
         process_group: Optional[dist.ProcessGroup] = None, threads: Optional[int] = None) -> Tuple[State, Callable]:
    """Returns (state, hook) for register_comm_hook. All ranks call it, after init_process_group and in the same order.

    model: the module, or DDP around it, with gradients of float32, float16 or bfloat16 on the CPU.
    policy: the codec of each parameter, by its kind: one spec for all weights, "adacomp:bin=500", or rules
        KIND[,KIND...]=SPEC joined by ';' for conv, fc, lstm, embedding, bias, batchnorm and last; see crumb.policy.
    compression_params: MXNet's, instead of a policy: {"type": "2bit", "threshold": 0.5}.
    seed: of random rounding; the same on all ranks.
    process_group: DDP's, unless that is the default one. The hook sends over it; for None it makes a group of its own.
    threads: the number of threads that pack and unpack; by default one a CPU, at most four.

    The state has state_dict, load_state_dict and stats. Raises ValueError if the policy is invalid or if model, policy
    or seed differ between ranks, TypeError for gradients of another type."""
    if (policy is None) == (compression_params is None):
        raise ValueError("crumb: hook wants a policy or compression_params, one of them")
    chosen = Policy(policy) if policy is not None else Policy.from_params(compression_params or {})
    return State(model, chosen, seed, process_group, threads or min(4, os.cpu_count() or 1)), _reduce
