"""FSDP2's reduce-scatter of gradients, packed by codecs without memory. SPDX-License-Identifier: MIT"""
from typing import Any, Dict, List, Sequence

import torch
import torch.distributed as dist

from crumb.codec import Codec
from crumb.error import Error, NonFinite
from crumb.frame import unpack_add
from crumb.library import lib
from crumb.packer import Packer
from crumb.policy import seed_of
from crumb.torch.device import stage
from crumb.torch.replica import need_fsdp
from crumb.torch.wire import Wire, wait

_HEAD = 8  # bytes of a message before the shard; the first says how it is coded
_PLAIN, _FRAME = range(2)


def _weight(op, ranks):
    if op == dist.ReduceOp.SUM:
        return 1.0
    if op == dist.ReduceOp.AVG:
        return 1 / ranks
    raise ValueError("crumb's reduce-scatter adds or averages: call set_force_sum_reduction_for_comms(True)")


class ReduceScatter:
    """FSDP2's interface of the same name. A shard goes to its owner as a frame, or as it is if it is not finite or
    the frame would be longer; the owner adds all ranks' in rank order, its own unpacked."""

    def __init__(self, codec: Codec, seed: int):
        self._codec, self._seed = codec, seed
        self._wire: Any = None
        self._packers: Dict[int, List[Packer]] = {}  # by the length of a shard, one an owner

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Returns memory for the input or the output of a call."""
        return torch.empty(size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup,
                 op: Any = dist.ReduceOp.SUM, async_op: bool = False) -> None:
        """Sets output_tensor, n elements, to the sum or mean over the group of this rank's part of input_tensor, ranks
        times n elements. Returns when the current stream has it, whatever async_op says.

        Raises RuntimeError, which names the rank, if a peer is silent; ValueError if op is another or a frame is
        damaged."""
        if self._wire is None:
            self._wire = Wire(group)
        wire, n = self._wire, output_tensor.numel()
        weight = _weight(op, wire.ranks)
        if n not in self._packers:
            self._packers[n] = [Packer(self._codec, n, seed_of(self._seed, wire.rank, owner))
                                for owner in range(wire.ranks)]
        staging = stage(input_tensor)
        tag = wire.exchange()
        size = _HEAD + n * input_tensor.element_size()
        rooms = {peer: torch.empty(size, dtype=torch.uint8, device="cpu") for peer in wire.peers}
        works = [wire.receive(rooms[peer], peer, tag) for peer in wire.peers]
        staging.wait()
        parts = staging.host.view(wire.ranks, n)
        works += [wire.send(self._message(parts[peer], peer), peer, tag) for peer in wire.peers]
        wait(works)
        total = torch.zeros(n, dtype=torch.float32, device="cpu")
        for rank in range(wire.ranks):
            if rank == wire.rank:
                total.add_(parts[rank].float(), alpha=weight)
            else:
                self._add(rooms[rank], rank, weight, total, parts.dtype)
        output_tensor.copy_(total)

    def _message(self, part, owner):
        size, packer = part.numel() * part.element_size(), self._packers[part.numel()][owner]
        message = torch.zeros(_HEAD + max(size, packer.bound), dtype=torch.uint8, device="cpu")
        try:
            length = packer.pack_into(part, message[_HEAD:])
            message[0] = _FRAME
        except NonFinite:
            length = size + 1
        if length > size:
            message[0], length = _PLAIN, size
            message[_HEAD:_HEAD + size] = part.view(torch.uint8)
        return message[:_HEAD + length]

    @staticmethod
    def _add(message, rank, weight, total, dtype):
        content = message[_HEAD:]
        if int(message[0]) == _PLAIN:
            total.add_(content.view(dtype).float(), alpha=weight)
            return
        length = lib.crumb_frame_length(content.data_ptr(), content.numel())
        try:
            unpack_add(content[:max(length, 0)], weight, total)
        except Error as error:
            raise ValueError(f"crumb: rank {rank} sent a damaged shard: {error}") from error


def reduce_scatter(codec: str, *, seed: int = 0) -> ReduceScatter:
    """Returns an object for FSDPModule.set_custom_reduce_scatter. Every module needs one of its own:

        model.set_custom_reduce_scatter(crumb.torch.reduce_scatter("qsgd", seed=0))

    codec: a spec of a codec without residual, such as half, natural, qsgd or terngrad: a residual would have the size
        of the whole gradient on every rank, which FSDP is there to avoid. For one of a shard's size see replica.
    seed: of random rounding; the same on all ranks, and another one for each module.

    Raises ValueError for other codecs and those whose learners share statistics, RuntimeError on a PyTorch without
    FSDP2."""
    need_fsdp("set_custom_reduce_scatter")
    chosen = Codec(codec)
    if chosen.info.residual:
        raise ValueError(f"crumb: {chosen} keeps a residual of the whole gradient: use it over replicas, "
                         "crumb.torch.replica")
    if Packer(chosen, 1 << 10).agree_count:
        raise ValueError(f"crumb: {chosen} shares statistics, which a reduce-scatter does not exchange")
    return ReduceScatter(chosen, seed)
