"""Less gradient for PyTorch's DistributedDataParallel, in one line:

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


def hook(model: torch.nn.Module, policy: Optional[str] = None, *, compression_params: Optional[Mapping[str, Any]] = None,
         seed: int = 0, process_group: Optional[dist.ProcessGroup] = None,
         threads: Optional[int] = None) -> Tuple[State, Callable]:
    """State and hook, for register_comm_hook. All ranks call it, after init_process_group and in the same order.

    model: the module, or DDP around it, with gradients of float32, float16 or bfloat16 on the CPU.
    policy: which codec which parameters get: one for all weights, "adacomp:bin=500", or rules KIND[,KIND...]=SPEC joined by
        ';', the kinds being conv, fc, lstm, embedding, bias, batchnorm and last; crumb.policy has the details.
    compression_params: MXNet's, in place of a policy: {"type": "2bit", "threshold": 0.5}.
    seed: from which random codecs round. threads: that pack and unpack; at most four, one a CPU, if not given.
    process_group: the ranks of DDP's, if they are not all; the hook then sends over it, and otherwise over a group of its own.

    The state has state_dict, load_state_dict and stats. ValueError: the text is no policy, or ranks differ."""
    if (policy is None) == (compression_params is None):
        raise ValueError("crumb: hook wants a policy or compression_params, one of them")
    chosen = Policy(policy) if policy is not None else Policy.from_params(compression_params or {})
    return State(model, chosen, seed, process_group, threads or min(4, os.cpu_count() or 1)), _reduce
