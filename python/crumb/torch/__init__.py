"""Gradient compression for PyTorch's DistributedDataParallel, in one line:

    ddp.register_comm_hook(*crumb.torch.hook(ddp, "conv=adacomp:bin=50;fc=adacomp:bin=500"))

SPDX-License-Identifier: MIT
"""
from typing import Any, Callable, Mapping, Optional, Tuple, Union

import torch
import torch.distributed as dist

from crumb.policy import Policy
from crumb.torch.lane import thread_count
from crumb.torch.outer import Outer
from crumb.torch.plan import GATHER, PLANS
from crumb.torch.replica import replica
from crumb.torch.scatter import reduce_scatter
from crumb.torch.state import State
from crumb.torch.trainers import AllRanks, register

__all__ = ["AllRanks", "Outer", "State", "hook", "reduce_scatter", "register", "replica"]


def _reduce(state: State, bucket: dist.GradBucket, *_: Any) -> torch.futures.Future[torch.Tensor]:
    if not isinstance(state, State):
        raise TypeError(f"crumb: the hook wants the state that came with it, not {type(state).__name__}")
    if not hasattr(bucket, "parameters"):
        raise TypeError("crumb: the hook is for DistributedDataParallel's buckets, which neither FSDP1 gives it nor "
                        "torch.compile with optimize_ddp='python_reducer'")
    return state.reduce(bucket)


def hook(model: Union[torch.nn.Module, str, None] = None, policy: Optional[str] = None, *,
         compression_params: Optional[Mapping[str, Any]] = None, seed: int = 0,
         process_group: Optional[dist.ProcessGroup] = None, threads: Optional[int] = None,
         scaler: Any = None, plan: Optional[str] = None, down: Optional[str] = None) -> Tuple[State, Callable]:
    """Returns (state, hook) for register_comm_hook. Sends nothing: the ranks meet in the first step.

    model: DDP or the module in it, with gradients of float32, float16 or bfloat16. It may be left out, as in
        hook("terngrad"), also before init_process_group; the state then finds DDP at its first bucket.
    policy: the codec of each parameter, by its kind: one spec for all weights, "adacomp:bin=500", or rules
        KIND[,KIND...]=SPEC joined by ';' for conv, fc, lstm, embedding, bias, batchnorm and last; see crumb.policy.
        last and embedding without a rule are as fc. Weights that an embedding shares with the head are an embedding;
        attention's matrices are fc, and scales and shifts of PyTorch's own normalisations are batchnorm; those of a
        class of yours are a bias. dgc has momentum itself: the optimizer's, or Adam's beta1, is then 0.
    compression_params: MXNet's, instead of a policy: {"type": "2bit", "threshold": t}. MXNet compresses sums over a
        worker's samples, PyTorch's gradients are means: MXNet's 0.5 is 0.5 / samples here.
    seed: of random rounding; the same on all ranks.
    process_group: DDP's; needed only where DDP cannot be found.
    threads: the number of threads that pack and unpack; by default one a CPU, at most four.
    plan: gather, every rank averages all frames, or shard, the rank that owns a part averages it and packs the mean
        again (crumb.torch.plan has both in full); by default that with fewer bytes through the busiest rank, or
        that of a state which was loaded and is of as many ranks.
    down: the policy of means in the plan shard, of codecs without residual: down="block" beside the policy "block"
        sends a quarter of a float32 all-reduce's bytes on any number of ranks. Without it means are packed as gradients
        are if the codec has a residual, or else sent as they are. What the policy leaves raw has no packed mean.
    scaler: a GradScaler; if its scale changes, what is owed is rescaled. Without it call the state's rescale. A state
        that was saved with a scaler can go on without one, and one of a loss that was not scaled with one.

    The state has state_dict, load_state_dict, rescale, undo_step and stats. It is for one DDP's group: for a DDP over
    another group make a new one, and load the list of all ranks' states. Raises ValueError if the policy is invalid.
    The first step raises ValueError on all ranks if policy, seed or the parameters' names differ, and TypeError for
    gradients of another type. Sparse gradients are averaged plainly. Those of a GPU (torch.cuda) are copied
    to the CPU's memory, packed and sent over gloo there, also if DDP uses NCCL, and the mean is copied back."""
    if isinstance(model, str) and policy is None:
        model, policy = None, model
    if down is not None and plan == GATHER:
        raise ValueError("crumb: in the plan gather no mean is sent, and down is of means")
    if plan not in (None, *PLANS):
        raise ValueError(f"crumb: the plan is {' or '.join(PLANS)}, not {plan!r}")
    if (policy is None) == (compression_params is None):
        raise ValueError("crumb: hook wants a policy or compression_params, one of them")
    for what, kind, value in (("model", torch.nn.Module, model), ("policy", str, policy),
                              ("compression_params", Mapping, compression_params), ("seed", int, seed),
                              ("threads", int, threads), ("down", str, down)):
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"crumb: the {what} is of type {type(value).__name__}")
    if scaler is not None and not hasattr(scaler, "get_scale"):
        raise TypeError(f"crumb: the scaler is of type {type(scaler).__name__}, which has no get_scale")
    assert not isinstance(model, str)  # for mypy
    chosen = Policy(policy) if policy is not None else Policy.from_params(compression_params or {})
    means = Policy(down) if down is not None else None
    if means and any(codec.info.residual for codec in means.codecs.values()):
        raise ValueError(f"crumb: down is of codecs without residual, and this is {down}")
    if means and all(codec.info.name == "raw" for codec in chosen.codecs.values()):
        raise ValueError(f"crumb: down is of parameters that the policy packs, and {policy} packs none")
    return State(model, chosen, seed, process_group, thread_count(threads), scaler,
                 plan, means), _reduce
