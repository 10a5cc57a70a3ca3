"""Gradients in another memory, with a stand-in for the accelerator: its copies take their time, as a GPU's do, and what
they have not reached yet is NaN. The hook that waits for them gets the bits that it gets in the CPU's memory.

SPDX-License-Identifier: MIT
"""
import inspect
import threading
import time
import warnings
from unittest import mock

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import crumb
import crumb.torch
import crumb.torch.group
import crumb.torch.job
import test_hook_property
from ranks import gathered, refused, run

STEPS = 4
dist._DEFAULT_FIRST_BUCKET_BYTES = 300  # several buckets
SLOW = 0.01  # seconds of a copy
SHAPES = (300, 20), (7,), (5, 6, 3, 3), (40000,)


class Later:
    """Stands for crumb.torch.device.Staged."""

    made = 0

    def __init__(self, flat):
        Later.made += 1
        self._flat, given = flat, flat.clone()
        self.result = torch.futures.Future()
        self.host = flat.clone() if flat.is_sparse else torch.full_like(flat, float("nan"))
        self._there = threading.Event()
        if flat.is_sparse:
            self._there.set()
        else:
            flat.fill_(float("nan"))  # only host leads to the gradient
            threading.Thread(target=self._later, args=(lambda: self.host.copy_(given), self._there.set)).start()

    @staticmethod
    def _later(copy, then):
        time.sleep(SLOW)
        copy()
        then()

    def wait(self):
        self._there.wait()

    def finish(self):
        assert self._there.is_set()
        mean = self.host.clone()

        def copy():
            now, then = self.host.to_dense().nan_to_num(), mean.to_dense().nan_to_num()
            assert torch.equal(now, then), "changed while it was copied"
            self._flat.copy_(self.host)
        threading.Thread(target=self._later, args=(copy, lambda: self.result.set_result(self._flat))).start()


class Weights(torch.nn.Module):
    """The loss is the sum of all weights times x, so that every gradient is x; table's is sparse."""

    def __init__(self, dtype, sparse):
        super().__init__()
        self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in SHAPES])
        self.table = torch.nn.Embedding(30, 4, sparse=True) if sparse else None

    def forward(self, gradients, rows):
        total = sum((w.float() * x).sum() for w, x in zip(self.w, gradients))
        return total if self.table is None else total + self.table(rows).sum()


def trained(policy, rank, plan="gather", dtype=torch.float32, sparse=False, poison=-1):
    """Returns all gradients of all steps and the state at the end."""
    ddp = DistributedDataParallel(Weights(dtype, sparse), bucket_cap_mb=0.02)
    state, hook = crumb.torch.hook(policy, plan=plan)
    ddp.register_comm_hook(state, hook)
    random = torch.Generator().manual_seed(rank)
    found = []
    for step in range(STEPS):
        gradients = [torch.randn(shape, generator=random) for shape in SHAPES]
        if step == poison and rank == 1:
            gradients[0][0, 0] = float("inf")
        ddp.zero_grad(set_to_none=True)
        ddp(gradients, torch.arange(rank, rank + 2)).backward()
        found += [parameter.grad.to_dense().clone() for parameter in ddp.parameters()]
    return found, state


def policies(ranks):
    specs = ["terngrad:shared=1", "adacomp:bin=16000", "qsgd"]  # of those by adacomp many bytes are sent
    for spec in specs + [info.name for info in crumb.codecs()] if ranks == 2 else specs:
        yield f"fc,last,bias={spec}"
    yield "half"  # biases are averaged plainly


def the_bits_are_the_cpus(rank, ranks):
    plan = "gather" if ranks == 2 else "shard"
    for policy in policies(ranks):
        for dtype in (torch.float32, torch.float16) if policy == "half" else (torch.float32,):
            want, there = trained(policy, rank, plan, dtype, sparse=ranks > 2, poison=2)
            with mock.patch.object(crumb.torch.job, "stage", Later):
                Later.made = 0
                got, here = trained(policy, rank, plan, dtype, sparse=ranks > 2, poison=2)
            assert Later.made > STEPS + 2, Later.made
            for one, other in zip(want, got):
                assert torch.equal(one.nan_to_num(), other.nan_to_num()), (policy, dtype)
                assert all(torch.equal(copy, other) or other.isnan().any() for copy in gathered(other)), policy
            counts = ("plan", "steps", "skipped", "dense_bytes", "frame_bytes", "sent_bytes")
            assert [there.stats()[name] for name in counts] == [here.stats()[name] for name in counts], policy
            for kept in "packers", "means":
                states = there.state_dict()[kept], here.state_dict()[kept]
                assert states[0].keys() == states[1].keys()
                assert all(torch.equal(states[0][name], states[1][name]) for name in states[0]), policy


def random_models_lose_nothing(rank, ranks):
    with mock.patch.object(crumb.torch.job, "stage", Later), \
            mock.patch.multiple(test_hook_property, FIRST=20, CASES=3):
        test_hook_property.nothing_is_lost(rank, ranks)


def a_failure_reaches_who_waits(rank, ranks):
    class Fails(Later):
        def finish(self):
            raise OSError("the link is down")

    with mock.patch.object(crumb.torch.job, "stage", Fails):
        try:
            trained("fc,last,bias=sign", rank)
        except Exception as error:
            assert "the link is down" in str(error), error
        else:
            raise AssertionError("no exception")


def other_devices_are_refused(rank, ranks):
    for device in "meta", "xpu", "mps":
        flat = mock.Mock(device=torch.device(device), is_sparse=False)
        assert device in refused(TypeError, lambda: crumb.torch.device.stage(flat))


def a_group_that_cannot_carry_gets_a_gloo_group_once(rank, ranks):
    world = dist.distributed_c10d._get_default_group()
    assert crumb.torch.group.gloo_of(world) is world
    with mock.patch.object(crumb.torch.group, "_carries", lambda group: False):
        own = crumb.torch.group.gloo_of(world)
        assert own is not world and crumb.torch.group.gloo_of(world) is own
        assert (own.rank(), own.size(), dist.get_backend(own)) == (rank, ranks, "gloo")
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])] if ranks == 4 else []
        if not pairs:
            trained("half", rank)
        elif "use_local_synchronization" in inspect.signature(dist.new_group).parameters:
            if rank < 2:  # the other ranks have no part in it
                part = crumb.torch.group.gloo_of(pairs[0])
                assert part is not pairs[0] and part.size() == 2
        else:
            try:
                crumb.torch.group.gloo_of(pairs[rank // 2])
            except ValueError as error:
                assert "2.1" in str(error)
            else:
                raise AssertionError("accepted")
    dist.barrier()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    checks = [the_bits_are_the_cpus, other_devices_are_refused,
              a_group_that_cannot_carry_gets_a_gloo_group_once, a_failure_reaches_who_waits]
    run((2, checks), (4, checks[:3]), (test_hook_property.RANKS, [random_models_lose_nothing]))
