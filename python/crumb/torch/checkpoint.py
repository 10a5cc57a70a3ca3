"""Checkpoints: the packers of all ranks, and what they owe on another number of ranks. SPDX-License-Identifier: MIT"""
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import torch

from crumb.packer import Packer

_KEYS = {"policy", "seed", "rank", "ranks", "model", "plain", "packers", "scale"}
Owed = Union[Packer, torch.Tensor]  # one parameter's: its packer, or only its residual


def states_of(given: Any) -> List[Mapping[str, Any]]:
    """Returns a state_dict, or all ranks', as a list. Raises ValueError if they are none."""
    states = list(given) if isinstance(given, (list, tuple)) else [given]
    if not states or not all(isinstance(state, Mapping) and _KEYS <= set(state) for state in states):
        raise ValueError("crumb: this is no state of crumb.torch's, nor a list of them")
    return states


def compare(state: Mapping[str, Any], policy: str, seed: int, model: Dict[str, int]) -> None:
    """Raises ValueError, which names both sides, if a state is of another policy, seed or model. model: the number of
    elements of each parameter; empty if it is not known yet."""
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


def share_of(states: Sequence[Mapping[str, Any]], rank: int, ranks: int) -> Tuple[Dict[str, Owed], List[str]]:
    """Returns what a rank goes on with, by parameter, and the names of those that are averaged plainly.

    On as many ranks as before: its own packers. On another number M than N before: rank r takes M / N times what the
    ranks r, r + M, r + 2 M ... owed, so that the sum over all ranks, divided by their number, which is what the mean
    lacks, is what it was; packers begin anew otherwise. Raises ValueError if a rank's state is missing or damaged."""
    before = states[0]["ranks"]
    if not before:  # it was saved before the first step
        return {}, []
    by_rank = {state["rank"]: state for state in states}
    if before == ranks and rank in by_rank:
        packers: Dict[str, Owed] = {name: Packer.from_bytes(data) for name, data in by_rank[rank]["packers"].items()}
        return packers, list(by_rank[rank]["plain"])
    if set(by_rank) != set(range(before)) or any(state["ranks"] != before for state in states):
        raise ValueError(f"crumb: this is rank {rank} of {ranks}, and the state is of rank "
                         f"{', '.join(str(state['rank']) for state in states)} of {before}: load its own, or the list "
                         "of all ranks'")
    owed: Dict[str, torch.Tensor] = {}
    for heir in range(before):
        for name, data in by_rank[heir]["packers"].items():
            residual = Packer.from_bytes(data).residual
            if residual is not None and len(residual) and heir % ranks == rank:
                mine = torch.frombuffer(residual, dtype=torch.float32) * (ranks / before)
                owed[name] = owed[name] + mine if name in owed else mine
    return dict(owed), []
