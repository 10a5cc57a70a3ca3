"""DistributedDataParallel with the hook: replicas, losses, rebuilt buckets, a resumed run.

SPDX-License-Identifier: MIT
"""
import io
import math
import statistics
import warnings

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import crumb
import crumb.torch
from ranks import gathered, run

STEPS, BATCH = 200, 8
dist._DEFAULT_FIRST_BUCKET_BYTES = 300  # several buckets of even a small model


class Net(torch.nn.Module):
    """A network whose layers are registered in another order than they are used in, so that DDP rebuilds its buckets
    after the first step."""

    def __init__(self):
        super().__init__()
        self.hidden, self.conv, self.out = torch.nn.Linear(144, 16), torch.nn.Conv2d(1, 4, 3), torch.nn.Linear(16, 4)

    def forward(self, x):
        x = self.conv(x.reshape(-1, 1, 8, 8)).relu().flatten(1)
        return self.out(self.hidden(x).relu())


class Run:
    """A model that learns which of four random directions an image is nearest to; every rank has its own images."""

    def __init__(self, rank, policy, seed=1):
        torch.manual_seed(seed)
        self.directions = torch.randn(4, 64)
        self.model = Net()
        self.ddp = DistributedDataParallel(self.model, bucket_cap_mb=0.0012)
        self.state = None
        self.layouts = []
        if policy:
            self.state, hook = crumb.torch.hook(self.model, policy, seed=seed)
            self.ddp.register_comm_hook(self, self._seen(hook))
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=0.1, momentum=0.5)
        self.random = torch.Generator().manual_seed(100 * seed + rank)
        self.losses = []

    def _seen(self, hook):
        def seen(run, bucket):
            self.layouts.append((bucket.index(), len(bucket.buffer())))
            return hook(run.state, bucket)
        return seen

    def step(self):
        images = torch.randn(BATCH, 64, generator=self.random)
        loss = torch.nn.functional.cross_entropy(self.ddp(images), (images @ self.directions.T).argmax(1))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(float(loss))

    def weights(self):
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])

    def loss(self):
        """Returns the mean loss over the last quarter of the steps and over all ranks."""
        return float(sum(gathered(torch.tensor(statistics.mean(self.losses[-STEPS // 4:]))))) / dist.get_world_size()


def replicas_are_the_same_bits(rank, ranks):
    for spec in [info.name for info in crumb.codecs()] + ["terngrad:shared=1",
                                                         "conv=adacomp:bin=50;fc=adacomp:bin=500"]:
        training = Run(rank, spec)
        for _ in range(8):
            training.step()
        everyone = gathered(training.weights())
        assert all(torch.equal(other, everyone[0]) for other in everyone) and everyone[0].isfinite().all(), spec
        buckets = {index for index, _ in training.layouts}
        assert 1 < len(buckets) < len(set(training.layouts)), f"not rebuilt: {set(training.layouts)}"


def losses_are_those_of_plain_ddp(rank, ranks):
    """The mean loss over three seeds exceeds plain DDP's by at most 5 % and three standard errors of the difference, as
    plain DDP's seeds have them."""
    def losses(policy):
        runs = [Run(rank, policy, seed) for seed in (1, 2, 3)]
        for training in runs:
            for _ in range(STEPS):
                training.step()
        return [training.loss() for training in runs]

    plain = losses(None)
    assert statistics.mean(plain) < 0.8 * math.log(4), plain  # it learns
    for policy in ("conv=adacomp:bin=50;fc=adacomp:bin=50", "terngrad", "twobit:threshold=0.01"):
        got = losses(policy)
        noise = math.sqrt(2 * statistics.variance(plain) / 3)
        assert statistics.mean(got) < 1.05 * statistics.mean(plain) + 3 * noise, (policy, got, plain)


def a_resumed_run_equals_an_unbroken_one(rank, ranks):
    for policy in ("conv=adacomp:bin=50;fc=adacomp", "terngrad", "fc,last,bias=terngrad:shared=1", "fc,last=seide"):
        training = Run(rank, policy)
        for _ in range(5):
            training.step()
        file = io.BytesIO()
        torch.save([training.model.state_dict(), training.optimizer.state_dict(), training.state.state_dict(),
                    training.random.get_state()], file)
        file.seek(0)
        again = Run(rank, policy)
        model, optimizer, state, random = torch.load(file)
        again.model.load_state_dict(model)
        again.optimizer.load_state_dict(optimizer)
        again.state.load_state_dict(state)
        again.random.set_state(random)
        for _ in range(5):
            training.step()
            again.step()
            assert torch.equal(training.weights(), again.weights()), policy


def unused_parameters_and_skipped_synchronisation(rank, ranks):
    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = torch.nn.Linear(30, 30), torch.nn.Linear(30, 30)

        def forward(self, x, side):
            return (self.left if side else self.right)(x).square().mean()

    torch.manual_seed(1)
    model = Branches()
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.002, find_unused_parameters=True)
    state, hook = crumb.torch.hook(ddp, "adacomp:bin=50")
    ddp.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    random = torch.Generator().manual_seed(rank)
    for step in range(20):
        with ddp.no_sync():
            ddp(torch.randn(4, 30, generator=random), step % 2).backward()
        ddp(torch.randn(4, 30, generator=random), step % 2).backward()
        dist.all_reduce(torch.zeros(3))  # the script's own traffic
        optimizer.step()
        optimizer.zero_grad()
    everyone = gathered(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))
    assert all(torch.equal(other, everyone[0]) for other in everyone)
    assert state.stats()["steps"] == 20


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run((2, [replicas_are_the_same_bits, losses_are_those_of_plain_ddp, a_resumed_run_equals_an_unbroken_one]),
        (4, [replicas_are_the_same_bits, a_resumed_run_equals_an_unbroken_one,
             unused_parameters_and_skipped_synchronisation]))
