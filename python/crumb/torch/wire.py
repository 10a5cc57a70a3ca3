"""Messages between the ranks of a process group, and the plain mean. SPDX-License-Identifier: MIT"""
import threading
from contextlib import contextmanager
from itertools import count
from typing import Any, Iterator, List, Sequence, Tuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from crumb.torch.group import gloo_of

_FIRST, _TAGS = 1 << 30, 1 << 30  # gloo's tags have 31 bits; the upper half is left to hooks
_exchanges: "WeakKeyDictionary[dist.ProcessGroup, Iterator[int]]" = WeakKeyDictionary()

Works = List[Tuple[Any, Any]]  # a peer, and the work of sending to it or of receiving from it


class Wire:
    """Messages over gloo, within DDP's own process group or one of the same ranks (gloo_of), whose timeout they have.
    An exchange is numbered; all ranks start those of one group in the same order, as they do collectives. Each has
    eight tags, and several may be in flight."""

    def __init__(self, group: dist.ProcessGroup):
        group = self.group = gloo_of(group)
        self.rank, self.ranks = group.rank(), group.size()
        self.peers = [rank for rank in range(self.ranks) if rank != self.rank]
        self.sent = 0  # bytes, to all peers
        self._counting = threading.Lock()  # several threads send
        self._exchanges = _exchanges.setdefault(group, count())

    def exchange(self) -> int:
        """Returns the first of the next exchange's eight tags."""
        return _FIRST + 8 * next(self._exchanges) % _TAGS

    def send(self, data: torch.Tensor, rank: int, tag: int):
        """Starts sending a contiguous tensor, which must not change until the returned work's wait() has returned."""
        data = data.view(torch.uint8)
        with self._counting:
            self.sent += data.numel()
        with _named(rank):
            return rank, self.group.send([data], rank, tag)

    def receive(self, room: torch.Tensor, rank: int, tag: int):
        """Starts receiving into a contiguous tensor; returns the work to wait for. The message may be shorter, which
        gloo does not report: it has to carry its length."""
        with _named(rank):
            return rank, self.group.recv([room.view(torch.uint8)], rank, tag)

    def share(self, data: Sequence[torch.Tensor], rooms: Sequence[torch.Tensor], tag: int) -> Works:
        """Starts sending data, one a rank, to the peers and receiving theirs into rooms, one a peer. Returns the works.
        """
        return ([self.receive(room, peer, tag) for peer, room in zip(self.peers, rooms)] +
                [self.send(data[peer], peer, tag) for peer in self.peers])

    def everyone(self, own: torch.Tensor, theirs: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        """Returns what the ranks have said, in rank order: own, and theirs of the peers."""
        return [*theirs[:self.rank], own, *theirs[self.rank:]]

    def gather(self, data: torch.Tensor, tag: int) -> List[torch.Tensor]:
        """Returns all ranks' data, which have one length, in rank order."""
        theirs = [torch.empty_like(data) for _ in self.peers]
        wait(self.share([data] * self.ranks, theirs, tag))
        return self.everyone(data, theirs)

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
        wait(self.share([part[self.rank]] * self.ranks, [part[peer] for peer in self.peers], tag + 1))


@contextmanager
def _named(peer: Any) -> Iterator[None]:
    """Names the peer in an error of the group's."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(f"crumb: no exchange with rank {peer}, or it has not registered this hook: {error}"
                           ) from error


def wait(works: Works) -> None:
    """Waits for the works that send, receive and share return, each as long as the group's timeout allows. Raises
    RuntimeError, which names the rank, if a peer is silent or gone."""
    for peer, work in works:
        with _named(peer):
            work.wait()
