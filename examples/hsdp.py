#!/usr/bin/env python3
"""FSDP2 on two axes (HSDP): parameters are sharded within a node, and only means of shards travel between nodes.

    torchrun --nproc_per_node 4 examples/hsdp.py [STEPS]

Two replicas of two shards train a perceptron on drawn data. Without the line with crumb, replicas do not meet at all,
as they are sharded on the shard axis alone. Takes PyTorch 2.13 or another with FSDPModule.set_all_reduce_hook.
SPDX-License-Identifier: MIT
"""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

import crumb.torch

SHARDS, BATCH = 2, 64


def main(steps=100):
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (ranks // SHARDS, SHARDS), mesh_dim_names=("replicate", "shard"))
    torch.manual_seed(1)
    centres = torch.randn(10, 200)
    model = nn.Sequential(nn.Linear(200, 500), nn.ReLU(), nn.Linear(500, 10))
    for module in model[0], model[2], model:
        fully_shard(module, mesh=mesh["shard"])
    hooks = []
    for module in (module for module in model.modules() if isinstance(module, FSDPModule)):
        hooks.append(crumb.torch.replica(mesh["replicate"].get_group(), "adacomp:bin=50", seed=len(hooks)))
        module.set_all_reduce_hook(hooks[-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    random = torch.Generator().manual_seed(rank)
    for _ in range(int(steps)):
        labels = torch.randint(10, (BATCH,), generator=random)
        images = centres[labels] + 8 * torch.randn(BATCH, 200, generator=random)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        counts = [hook.state.stats() for hook in hooks]
        sent, plain = [sum(count[name] for count in counts) for name in ("sent_bytes", "allreduce_bytes")]
        print(f"loss {loss.item():.3f}; {sent / 1e6:.2f} MB sent to the other replica, not {plain / 1e6:.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
