"""Who averages what: the plan of an exchange, and the parts into which it cuts parameters.

gather: every rank gives its frames to all others, and averages everything.
shard: a part's frames go to the one rank that owns it. This rank averages it and gives the mean to all: packed again by
    a packer of its own if the codec has a residual, which owes the rest (Seide et al. 2014, section 3.3), or if the
    hook was given a codec for means; else as it is (exchange/plans/shard.c is the same plan in C).

SPDX-License-Identifier: MIT"""
import heapq
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from crumb.codec import Codec

GATHER, SHARD = PLANS = "gather", "shard"
_LONGEST = 1 << 16  # elements of a part of the plan shard
_RAW = Codec("raw")


class Tensor(NamedTuple):
    """A parameter of n elements, each of width bytes. down: the codec of its mean in the plan shard; raw: as it is.
    run: as in Packer. trained: false if it is frozen."""

    name: str
    kind: str
    codec: Codec
    down: Codec
    n: int
    width: int
    run: int
    trained: bool


class Part(NamedTuple):
    """n elements of a parameter, from at on, which have a packer of their own.

    key: the parameter's name, and after its first part "..at", which no parameter's name has. number: among all of the
    model's parts. run: as in Packer. owner: the rank that averages it; None if every rank does, or it is raw."""

    key: str
    name: str
    kind: str
    number: int
    at: int
    n: int
    run: int
    owner: Optional[int]


def name_of(key: str) -> Tuple[str, int]:
    """Returns the parameter's name and at of a part's key."""
    name, _, at = key.partition("..")
    return name, int(at or 0)


def _borders(n, run):
    """Cuts n elements into parts of whole runs."""
    run = max(run, 1)
    parts = max(1, min(-(-n // _LONGEST), n // run))
    return [n // run * i // parts * run for i in range(parts)] + [n]


def _cut(plan, ranks, tensors):
    """Returns every tensor's parts. In the plan shard the longest part goes first to the rank that owns the fewest
    elements so far."""
    found: List[List[Part]] = []
    shared: List[Part] = []
    for tensor in tensors:
        owned = plan == SHARD and tensor.codec != _RAW
        border = _borders(tensor.n, tensor.run) if owned else [0, tensor.n]
        number = sum(map(len, found))
        found.append([Part(f"{tensor.name}..{at}" if at else tensor.name, tensor.name, tensor.kind, number + i, at,
                           end - at, tensor.run, None) for i, (at, end) in enumerate(zip(border, border[1:]))])
        shared += found[-1] if owned else []
    loads = [(0, rank) for rank in range(ranks)]
    owner: Dict[int, int] = {}
    for part in sorted(shared, key=lambda part: -part.n):
        load, owner[part.number] = loads[0]
        heapq.heapreplace(loads, (load + part.n, owner[part.number]))
    return [[part._replace(owner=owner.get(part.number)) for part in parts] for parts in found]


def _bytes(plan, ranks, packed):
    """Returns the bytes that the busiest rank receives or sends in a step. packed: pairs of a tensor and its parts."""
    up = down = 0
    owned = [0] * ranks
    for tensor, parts in packed:
        up += tensor.codec.bound(tensor.n)
        down += tensor.down.bound(tensor.n) if tensor.down != _RAW else tensor.n * tensor.width
        for part in parts:
            owned[part.owner or 0] += part.n
    share = max(owned) / max(1, sum(owned)) if plan == SHARD else 1
    return (ranks - 1) * share * (up + down if plan == SHARD else up)


def divide(plan: Optional[str], ranks: int, tensors: Sequence[Tensor]) -> Tuple[str, List[List[Part]]]:
    """Returns the plan, and every tensor's parts in it, the same on all ranks.

    plan: None for the one with fewer bytes through the busiest rank in either direction, gather if they are equal. With
    U for the bytes of a rank's frames, M for those of the means, and w for the busiest owner's share, these bytes are
    (ranks - 1) U or (ranks - 1) w (U + M); exchange/auto/cost.h has the same form. U and M are those of the longest
    frames; of a mean that is not packed M is the gradient's size."""
    parts = {one: _cut(one, ranks, tensors) for one in PLANS}

    def cost(one):
        return _bytes(one, ranks, [(tensor, own) for tensor, own in zip(tensors, parts[one])
                                   if tensor.trained and tensor.codec != _RAW])
    chosen = plan or min(PLANS, key=cost)
    return chosen, parts[chosen]
