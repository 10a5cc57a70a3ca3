"""Messages between the ranks of a process group, and the plain mean. SPDX-License-Identifier: MIT"""
from typing import List, Optional

import torch
import torch.distributed as dist

_TAGS = 1 << 30  # process groups number messages in 31 bits


class Wire:
    """Messages within a process group. A tag is a number that identifies one exchange; several may be in flight.

    group: None for a new gloo group of all ranks, whose messages cannot be confused with DDP's or the script's."""

    def __init__(self, group: Optional[dist.ProcessGroup]):
        self.group = group if group is not None else dist.new_group(backend="gloo")
        self.rank = dist.get_rank(self.group)
        self.ranks = dist.get_world_size(self.group)
        self.peers = [rank for rank in range(self.ranks) if rank != self.rank]
        self.sent = 0  # bytes, to all peers

    def send(self, data: torch.Tensor, rank: int, tag: int):
        """Starts sending a contiguous tensor, which must not change until the returned work's wait() has returned."""
        data = data.view(torch.uint8)
        self.sent += data.numel()
        return self.group.send([data], rank, tag % _TAGS)

    def receive(self, room: torch.Tensor, rank: int, tag: int):
        """Starts receiving into a contiguous tensor; returns the work to wait for. The message may be shorter, which
        gloo does not report: it has to carry its length."""
        return self.group.recv([room.view(torch.uint8)], rank, tag % _TAGS)

    def share(self, data: torch.Tensor, rooms: List[torch.Tensor], tag: int):
        """Starts sending data to all peers and receiving theirs into rooms, one a peer. Returns the works."""
        return ([self.receive(room, peer, tag) for peer, room in zip(self.peers, rooms)] +
                [self.send(data, peer, tag) for peer in self.peers])

    def gather(self, data: torch.Tensor, tag: int) -> List[torch.Tensor]:
        """Returns all ranks' data, which have one length, in rank order."""
        everything = [data if rank == self.rank else torch.empty_like(data) for rank in range(self.ranks)]
        wait(self.share(data, [everything[peer] for peer in self.peers], tag))
        return everything

    def mean(self, flat: torch.Tensor, tag: int) -> None:
        """Replaces flat, one axis, by its mean over the ranks; uses tag and tag + 1. Sends as many bytes as a ring
        all-reduce, but sums every element in rank order in float32, so its bits do not depend on its place in flat."""
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
    """Waits for the works that send, receive and share return."""
    for work in works:
        work.wait()
