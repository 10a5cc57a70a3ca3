"""Messages between the ranks of a process group, and the plain mean. SPDX-License-Identifier: MIT"""
from typing import List, Optional

import torch
import torch.distributed as dist

_TAGS = 1 << 30  # process groups number messages in 31 bits


class Wire:
    """A group of this hook's own, so that its messages never meet those of DDP or of the training script.

    group: the ranks; None: all. A tag names one exchange; two of them may be under way at once."""

    def __init__(self, group: Optional[dist.ProcessGroup]):
        self.group = group if group is not None else dist.new_group(backend="gloo")
        self.rank = dist.get_rank(self.group)
        self.ranks = dist.get_world_size(self.group)
        self.peers = [rank for rank in range(self.ranks) if rank != self.rank]
        self.sent = 0  # bytes

    def send(self, data: torch.Tensor, rank: int, tag: int):
        """data: contiguous; not to be touched until the wait() of what this returns."""
        data = data.view(torch.uint8)
        self.sent += data.numel()
        return self.group.send([data], rank, tag % _TAGS)

    def receive(self, room: torch.Tensor, rank: int, tag: int):
        """A message may be shorter than its room: gloo takes what comes, and a message says how long it is."""
        return self.group.recv([room.view(torch.uint8)], rank, tag % _TAGS)

    def share(self, data: torch.Tensor, rooms: List[torch.Tensor], tag: int):
        """Begins: data to everyone, theirs into rooms, a room a peer."""
        return ([self.receive(room, peer, tag) for peer, room in zip(self.peers, rooms)] +
                [self.send(data, peer, tag) for peer in self.peers])

    def gather(self, data: torch.Tensor, tag: int) -> List[torch.Tensor]:
        """Everybody's data, of one length, in rank order."""
        everything = [data if rank == self.rank else torch.empty_like(data) for rank in range(self.ranks)]
        wait(self.share(data, [everything[peer] for peer in self.peers], tag))
        return everything

    def mean(self, flat: torch.Tensor, tag: int) -> None:
        """flat becomes its mean over the ranks; tag and tag + 1 are used. As many bytes as an all-reduce over a ring, but
        every element is summed in rank order in float32: the bits do not depend on where in flat it stands."""
        border = [flat.numel() * rank // self.ranks for rank in range(self.ranks + 1)]
        part = [flat[border[rank]:border[rank + 1]] for rank in range(self.ranks)]
        theirs = {peer: torch.empty_like(part[self.rank]) for peer in self.peers}
        wait([self.receive(theirs[peer], peer, tag) for peer in self.peers] +
             [self.send(part[peer], peer, tag) for peer in self.peers])
        total = torch.zeros_like(part[self.rank], dtype=torch.float32)
        for rank in range(self.ranks):
            total += theirs.get(rank, part[self.rank]).float() * (1 / self.ranks)
        part[self.rank].copy_(total)
        wait(self.share(part[self.rank], [part[peer] for peer in self.peers], tag + 1))


def wait(works) -> None:
    for work in works:
        work.wait()
