#!/usr/bin/env python3
"""Handwritten digits on several processes, with DistributedDataParallel. Without two lines, crumb's, this is plain DDP.

    torchrun --nproc_per_node 2 examples/ddp_mnist.py FOLDER [EPOCHS]

or, without torchrun (Debian 12's does not start):

    export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 WORLD_SIZE=2
    for rank in 0 1; do RANK=$rank python3 examples/ddp_mnist.py FOLDER & done; wait

FOLDER: MNIST's four files, train-images-idx3-ubyte.gz and so on. SPDX-License-Identifier: MIT
"""
import gzip
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import crumb.torch  # crumb's first line

BATCH = 50  # a process


def read(folder, name, header, shape):
    with gzip.open(f"{folder}/{name}-ubyte.gz") as file:
        return torch.tensor(np.frombuffer(file.read(), np.uint8, offset=header).reshape(shape))


def load(folder, name):
    images = read(folder, name + "-images-idx3", 16, (-1, 1, 28, 28)).float()
    return (images - 33.3) / 78.6, read(folder, name + "-labels-idx1", 8, -1).long()


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def main(folder, epochs=1):
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = DistributedDataParallel(lenet())
    model.register_comm_hook(*crumb.torch.hook(model, "conv=adacomp:bin=50;fc=adacomp:bin=500"))  # crumb's second line
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = load(folder, "train")
    for epoch in range(int(epochs)):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))[rank::ranks]
        for batch in order[:len(images) // ranks].split(BATCH):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            tests, answers = load(folder, "t10k")
            wrong = (model.module(tests).argmax(1) != answers).float().mean()
        if rank == 0:
            print(f"epoch {epoch + 1}: test error {100 * wrong:.2f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
