"""Checkpoints: the packers of all ranks, and what they owe on another number of ranks. SPDX-License-Identifier: MIT"""
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import torch

from crumb.packer import Packer
from crumb.torch.plan import Part, name_of
from crumb.torch.slot import Slot

_KEYS = {"policy", "seed", "rank", "ranks", "model", "plan", "plain", "packers", "means", "scale"}


def states_of(given: Any) -> List[Mapping[str, Any]]:
    """Returns a state_dict, or all ranks', as a list. Raises ValueError if they are none."""
    states = list(given) if isinstance(given, (list, tuple)) else [given]
    if not states or not all(isinstance(state, Mapping) and _KEYS <= set(state) for state in states):
        raise ValueError("crumb: this is no state of crumb.torch's, nor a list of them")
    if any(state["ranks"] and not state["model"] for state in states):
        raise ValueError("crumb: the state is empty: torch.distributed.checkpoint keeps that of "
                         "crumb.torch.AllRanks(state), not the hook's own")
    return states


def compare(state: Mapping[str, Any], policy: str, seed: int, model: Dict[str, int],
            strides: Dict[str, Tuple[int, ...]]) -> None:
    """Raises ValueError, which names both sides, if a state is of another policy, seed or model. model: the number of
    elements of each parameter; empty if it is not known yet. strides: of parameters that are not contiguous, since a
    residual has its parameter's order in memory."""
    for key, own in ("policy", policy), ("seed", seed):
        if state[key] != own:
            raise ValueError(f"crumb: the state is of {key} {state[key]}, and this is {key} {own}")
    theirs = state["model"]
    if not model or not theirs:
        return
    for name in [*theirs, *model]:
        if theirs.get(name) != model.get(name):
            has = [f"{who} has {f'{n} elements of {name}' if n is not None else f'no {name}'}"
                   for who, n in (("the state's model", theirs.get(name)), ("this one", model.get(name)))]
            raise ValueError("crumb: " + ", and ".join(has))
        before, now = (of.get(name, "those of contiguous ones") for of in (state.get("strides", {}), strides))
        if before != now:
            raise ValueError(f"crumb: the strides of {name} are {now}, and were {before}: the state is of another "
                             "memory_format")


class Left:
    """What a rank goes on with.

    packers, means: by a part's key, the parts' and their means'. plain: the keys of those that are averaged plainly.
    owed: by the parameter's name, what it owes and its velocity, with packers that begin anew, except that those with
    momentum have the steps of the former ones."""

    def __init__(self, packers: Dict[str, Packer], means: Dict[str, Packer], plain: Sequence[str],
                 owed: Dict[str, torch.Tensor], former: Dict[str, Packer]):
        self._packers, self._means, self._plain, self._owed, self._former = packers, means, plain, owed, former

    def has(self, part: Part) -> bool:
        """Returns true if there is something for this part."""
        return part.key in self._packers or part.name in self._owed or part.key in self._former

    def give(self, part: Part, slot: Slot) -> None:
        """Gives a slot what is its own. Raises ValueError if it is of another codec or length."""
        slot.plain = part.key in self._plain
        try:
            if part.key in self._packers:
                slot.load(self._packers[part.key])
            if slot.mean and part.key in self._means:
                slot.mean.load(self._means[part.key])
        except ValueError as error:
            raise ValueError(f"crumb: the state's packer of {part.key} is another one: {error}") from error
        former = self._former.get(part.key)
        if former and former.n == part.n and former.codec == slot.packer.codec:
            slot.inherit_steps(former)
        if part.name in self._owed:
            for own, given in zip((slot.owed, slot.velocity), self._owed[part.name][:, part.at:part.at + part.n]):
                if own is not None:
                    own.copy_(given)


def _packers(state, kind):
    return ((key, Packer.from_bytes(data.cpu())) for key, data in state[kind].items())


def left_of(states: Sequence[Mapping[str, Any]], rank: int, ranks: int, plan: str) -> Left:
    """Returns what a rank goes on with.

    On as many ranks as before, and with the same plan: its own packers. On another number M than N before: rank r takes
    M / N times what the ranks r, r + M, r + 2 M ... owed, and M times what they owed of means, so that the sum over all
    ranks, divided by their number, which is what the mean lacks, is what it was; likewise their velocities. Packers
    begin anew otherwise, except that a warm-up goes on where parts are cut alike, as they are with the same plan.
    Raises ValueError if a rank's state is missing or damaged."""
    before = states[0]["ranks"]
    if not before:  # it was saved before the first step
        return Left({}, {}, [], {}, {})
    by_rank = {state["rank"]: state for state in states}
    if (before, states[0]["plan"]) == (ranks, plan) and rank in by_rank:
        own = by_rank[rank]
        return Left(dict(_packers(own, "packers")), dict(_packers(own, "means")), own["plain"], {}, {})
    if set(by_rank) != set(range(before)) or any(state["ranks"] != before for state in states):
        raise ValueError(f"crumb: this is rank {rank} of {ranks}, plan {plan}, and the state is of rank "
                         f"{', '.join(str(state['rank']) for state in states)} of {before}, plan {states[0]['plan']}: "
                         "load its own, or the list of all ranks'")
    owed: Dict[str, torch.Tensor] = {}
    for state in [by_rank[heir] for heir in range(rank, before, ranks)]:
        for kind, weight in ("packers", ranks / before), ("means", ranks):
            for key, packer in _packers(state, kind):
                name, at = name_of(key)
                for i, floats in enumerate((packer.residual, packer.velocity)):
                    if floats:
                        whole = owed.setdefault(name, torch.zeros(2, state["model"][name], dtype=torch.float32,
                                                                  device="cpu"))
                        whole[i, at:at + packer.n] += torch.frombuffer(floats, dtype=torch.float32) * weight
    former = {key: packer for key, packer in _packers(by_rank[0], "packers") if packer.codec.info.momentum}
    return Left({}, {}, [], owed, former)
