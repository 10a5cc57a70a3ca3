"""Outer steps (DiLoCo): ranks step alone, and average what their weights have moved by. SPDX-License-Identifier: MIT"""
import warnings
from typing import Any, Callable, Dict, Mapping, Optional

import torch
import torch.distributed as dist

from crumb.policy import Policy
from crumb.torch.lane import thread_count
from crumb.torch.replica import OneBucket
from crumb.torch.state import State


class Outer:
    """An optimizer that exchanges once in a while (Douillard et al. 2023, algorithm 1).

        outer = crumb.torch.Outer(model, torch.optim.AdamW(model.parameters()), "adacomp", every=30)
        for x, y in batches:
            outer.zero_grad()
            loss(model(x), y).backward()
            outer.step()

    Each rank trains its own copy of the model, which is not in DDP. Every `every` steps the ranks average, through the
    policy's codecs, how far their weights have moved since the last exchange; the mean is the gradient of SGD with
    Nesterov momentum on the weights of that time, which then are the weights of all ranks. What the codecs do not send
    is kept for the next exchange.

    model: its parameters that are trained are float32, on one device, and stay the same ones. On making an Outer all
        ranks take the weights of the group's first one, also those that are frozen; buffers, such as batch
        normalisation's statistics, stay each rank's own.
    inner: the optimizer of those parameters, for the steps between; a learning rate schedule goes to it, and so does a
        GradScaler: scaler.step(inner), and outer.exchange() after every `every` of these, which the caller counts.
    policy: as of crumb.torch.hook. lr, momentum: of the outer SGD. process_group: any; by default, all ranks.
    seed: of random rounding; the same on all ranks. threads: that pack and unpack; by default one a CPU, at most four.

    A mean that is not finite is not used: all ranks go back to the weights of the last exchange, with a warning, and
    `skipped` counts it; where the inner optimizer's state is not finite either, it begins anew. Raises ValueError if an
    argument is invalid or differs between the ranks, and what State.reduce raises."""

    def __init__(self, model: torch.nn.Module, inner: torch.optim.Optimizer, policy: str, *, every: int,
                 lr: float = 0.7, momentum: float = 0.9, process_group: Optional[dist.ProcessGroup] = None,
                 seed: int = 0, threads: Optional[int] = None):
        if every < 1 or not lr > 0 or not 0 <= momentum < 1:
            raise ValueError(f"crumb: an outer step wants every >= 1, lr > 0 and 0 <= momentum < 1, "
                             f"not {every}, {lr} and {momentum}")
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            raise ValueError("crumb: an outer step wants the model without DDP, which exchanges at every step")
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not self._parameters or any(one.dtype != torch.float32 for one in self._parameters):
            raise ValueError("crumb: an outer step wants parameters that are trained, all of float32")
        group = process_group if process_group is not None else dist.distributed_c10d._get_default_group()
        self._model = model  # the state refers to it weakly
        self.inner, self.every, self.lr, self.momentum = inner, every, lr, momentum
        self._group = group
        self.state = State(model, Policy(policy), seed, group, thread_count(threads), None)
        self.steps = self.skipped = 0
        self._weights = self._flat()
        mine = torch.tensor([every, lr, momentum], dtype=torch.float64, device=self._weights.device)
        everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
        dist.all_gather(everyone, mine, group=group)
        for rank, theirs in enumerate(everyone):
            if not torch.equal(theirs, everyone[0]):
                raise ValueError(f"crumb: every, lr and momentum are {everyone[0].tolist()} on rank 0 of the group and "
                                 f"{theirs.tolist()} on rank {rank}")
        first = dist.distributed_c10d.get_global_rank(group, 0)
        dist.broadcast(self._weights, first, group=group)
        self._set(self._weights)
        for frozen in (parameter for parameter in model.parameters() if not parameter.requires_grad):
            whole = frozen.detach().contiguous()
            dist.broadcast(whole, first, group=group)
            frozen.data.copy_(whole)
        self._velocity = torch.zeros_like(self._weights)

    def _flat(self) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self._parameters])

    def _set(self, weights: torch.Tensor) -> None:
        at = 0
        for parameter in self._parameters:
            parameter.data.copy_(weights[at:at + parameter.numel()].view_as(parameter))
            at += parameter.numel()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As the inner optimizer's."""
        self.inner.zero_grad(set_to_none=set_to_none)

    def step(self, closure: Optional[Callable[[], float]] = None) -> Optional[float]:
        """Takes an inner step, and an exchange if it is one of every `every`. Returns what the inner step returns."""
        loss = self.inner.step(closure) if closure else self.inner.step()
        self.steps += 1
        if self.steps % self.every == 0:
            self.exchange()
        return loss

    def exchange(self) -> None:
        """Exchanges now, on all ranks, whatever the number of steps; the last one of a training, say."""
        known = set(map(id, self._parameters))
        if any(one.requires_grad != (id(one) in known) for one in self._model.parameters()):
            raise RuntimeError("crumb: the model trains other parameters than when its Outer was made")
        moved = self._weights - self._flat()
        mean = self.state.reduce(OneBucket(self._parameters, moved)).wait()
        if mean.isfinite().all():
            self._velocity.mul_(self.momentum).add_(mean)
            self._weights -= self.lr * (mean + self.momentum * self._velocity)
        else:
            self.skipped += 1
            warnings.warn("crumb: a rank's weights are not finite: all go back to those of the last exchange")
            self._forget_what_is_not_finite()
        self._set(self._weights)

    def _forget_what_is_not_finite(self) -> None:
        for parameter in self._parameters:
            kept = self.inner.state.get(parameter, {}).values()
            if any(isinstance(one, torch.Tensor) and not one.isfinite().all() for one in kept):
                del self.inner.state[parameter]

    def state_dict(self) -> Dict[str, Any]:
        """Returns this rank's state, for torch.save: the trained parameters, which differ between exchanges, the inner
        optimizer's, and what is owed. Every rank saves its own; the model's buffers are saved beside it."""
        return {"inner": self.inner.state_dict(), "exchange": self.state.state_dict(), "steps": self.steps,
                "skipped": self.skipped, "model": self._flat(), "weights": self._weights.clone(),
                "velocity": self._velocity.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where this rank's state_dict was called, on as many ranks. Raises ValueError if it is of another
        model, inner optimizer, policy or number of ranks."""
        if not {"inner", "exchange", "steps", "skipped", "model", "weights", "velocity"} <= set(state):
            raise ValueError("crumb: this is no state of crumb.torch.Outer's")
        ranks, before = dist.get_world_size(self._group), state["exchange"]["ranks"]
        if before not in (0, ranks):
            raise ValueError(f"crumb: the state is of {before} ranks, and there are {ranks}")
        for part in "model", "weights", "velocity":
            if state[part].numel() != self._weights.numel():
                raise ValueError(f"crumb: the state is of {state[part].numel()} weights, and the model has "
                                 f"{self._weights.numel()}")
        inner = self.inner.state_dict()
        self.inner.load_state_dict(state["inner"])
        try:
            self.state.load_state_dict(state["exchange"])
        except BaseException:
            self.inner.load_state_dict(inner)
            raise
        self.steps, self.skipped = state["steps"], state["skipped"]
        self._set(state["model"])
        self._weights.copy_(state["weights"])
        self._velocity.copy_(state["velocity"])
