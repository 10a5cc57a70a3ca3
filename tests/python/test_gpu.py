"""The hook on an NVIDIA GPU: one process over NCCL, and two processes on one card over gloo, because NCCL takes one
process a card. Skips where there is none; test_device.py has a stand-in. SPDX-License-Identifier: MIT
"""
import contextlib
import gc
import io
import os
import sys
import threading
import warnings

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import crumb
import crumb.torch
from ranks import passed_by

CARD = "cuda:0"
STEPS = 4
SLOW = 5_000_000  # clock cycles, some milliseconds, that the card waits before it has a gradient
SHAPES = (300, 20), (7,), (5, 6, 3, 3), (1050, 1050)
DTYPES = torch.float32, torch.float16, torch.bfloat16
OWING = "adacomp:bin=50", "topk:fraction=0.05", "twobit:threshold=0.5"
dist._DEFAULT_FIRST_BUCKET_BYTES = 300  # several buckets


class Slowly(torch.autograd.Function):
    """x, whose gradient the card computes late, so that a copy which does not wait for it gets something else."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if gradient.is_cuda:
            torch.cuda._sleep(SLOW)
        return gradient.clone()


class Weights(torch.nn.Module):
    """The loss is the sum of all weights times x, so that every gradient is x; table's is sparse."""

    def __init__(self, dtype, sparse):
        super().__init__()
        self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in SHAPES])
        self.table = torch.nn.Embedding(30, 4, sparse=True) if sparse else None

    def forward(self, gradients, rows):
        total = sum((Slowly.apply(w.float()) * x).sum() for w, x in zip(self.w, gradients))
        return total if self.table is None else total + self.table(rows).sum()


class Run:
    """Steps with the hook, whose gradients are the same on every device."""

    def __init__(self, policy, rank, device, dtype=torch.float32, sparse=False, how=None, **options):
        """how: of crumb.torch.hook; options: of DDP."""
        self.rank, self.device = rank, device
        self.model = Weights(dtype, sparse).to(device)
        self.ddp = DistributedDataParallel(self.model, bucket_cap_mb=1, process_group=group_of(device), **options)
        self.state, hook = crumb.torch.hook(policy, **(how or {}))
        self.ddp.register_comm_hook(self.state, hook)

    def step(self, number, poison=False):
        """Returns this rank's gradients, what the hook makes of them, both in the CPU's memory."""
        random = torch.Generator().manual_seed(100 * number + self.rank)
        given = [torch.randn(shape, generator=random) for shape in SHAPES]
        if poison:
            given[0][0, 0] = float("inf")
        self.ddp.zero_grad(set_to_none=True)
        x = [one.to(self.device) for one in given]
        if number % 2:
            with self.ddp.no_sync():
                (self.ddp(x, torch.arange(2, device=self.device)) * 0).backward()
        self.ddp(x, torch.arange(self.rank, self.rank + 2, device=self.device)).backward()
        return given, [parameter.grad.to_dense().cpu() for parameter in self.model.parameters()]


_cpu = []


def group_of(device):
    """Returns a group for DDP on a device: the default one, or if that cannot carry the CPU's memory, one of gloo."""
    if device == CARD or dist.get_backend() == "gloo":
        return dist.distributed_c10d._get_default_group()
    if not _cpu:
        _cpu.append(dist.new_group(backend="gloo"))
    return _cpu[0]


def same_on_all(tensor, ranks):
    everyone = [torch.empty_like(tensor) for _ in range(ranks)]
    dist.all_gather(everyone, tensor, group=group_of("cpu"))
    return all(torch.equal(one.nan_to_num(), tensor.nan_to_num()) for one in everyone)


def owed(state):
    return {name: torch.frombuffer(slot.packer.residual, dtype=torch.float32).clone()
            for name, slot in state._slots.items() if slot.packer.residual is not None}


def the_bits_are_the_cpus(rank, ranks):
    specs = ["half", "qsgd", "adacomp:bin=50", "terngrad"]
    for spec in specs + ["terngrad:shared=1", *(info.name for info in crumb.codecs() if info.name not in specs)]:
        for dtype in DTYPES if spec in specs else DTYPES[:1]:
            policy = "half" if spec == "half" else f"fc,last,bias={spec}"
            options = {"gradient_as_bucket_view": spec == "qsgd", "find_unused_parameters": spec == "adacomp:bin=50"}
            runs = [Run(policy, rank, device, dtype, sparse=spec == "terngrad", **options) for device in ("cpu", CARD)]
            side = torch.cuda.stream(torch.cuda.Stream()) if spec == "qsgd" else contextlib.nullcontext()
            for step in range(STEPS):
                poison = step == 2 and rank == ranks - 1
                _, want = runs[0].step(step, poison)
                with side:
                    _, got = runs[1].step(step, poison)
                for one, other in zip(want, got):
                    assert torch.equal(one.nan_to_num(), other.nan_to_num()), (policy, dtype, step)
                    assert same_on_all(other, ranks), (policy, dtype, step)
            names = ("steps", "skipped", "dense_bytes", "frame_bytes")
            assert [runs[0].state.stats()[name] for name in names] == [runs[1].state.stats()[name] for name in names]
            packers = [run.state.state_dict()["packers"] for run in runs]
            assert packers[0].keys() == packers[1].keys()
            assert all(torch.equal(packers[0][name], packers[1][name]) for name in packers[0]), (policy, dtype)


def means_on_their_way_down_have_the_cpus_bits(rank, ranks):
    for spec in "block", "half", "adacomp:bin=50":
        how = {"plan": "shard"} if spec == "adacomp:bin=50" else {"plan": "shard", "down": f"fc,last,bias={spec}"}
        runs = [Run(f"fc,last,bias={spec}", rank, device, how=how) for device in ("cpu", CARD)]
        for step in range(STEPS):
            want, got = (run.step(step)[1] for run in runs)
            assert all(torch.equal(one, other) for one, other in zip(want, got)), (spec, step)
            assert all(same_on_all(one, ranks) for one in got), (spec, step)
        assert runs[0].state.stats()["plan"] == runs[1].state.stats()["plan"] == "shard"


def outer_steps_have_the_cpus_bits(rank, ranks):
    """Factors are powers of two, so that fused multiplications and additions round as others do."""
    for policy in "raw", "fc,last=chunk:decay=0.5", "fc,last=qsgd:bucket=128":
        models = [torch.nn.Linear(300, 40).to(device) for device in ("cpu", CARD)]
        models[1].load_state_dict(models[0].state_dict())
        outers = [crumb.torch.Outer(model, torch.optim.SGD(model.parameters(), lr=0.5), policy, every=2, lr=1.0,
                                    momentum=0.5, process_group=group_of(device))
                  for model, device in zip(models, ("cpu", CARD))]
        for step in range(6):
            random = torch.Generator().manual_seed(100 * step + rank)
            for weight, other in zip(models[0].parameters(), models[1].parameters()):
                weight.grad = torch.randn(weight.shape, generator=random)
                other.grad = weight.grad.to(CARD)
            for outer in outers:
                outer.step()
            want, got = (torch.nn.utils.parameters_to_vector(model.parameters()).cpu() for model in models)
            assert torch.equal(want, got), (policy, step)
        assert same_on_all(got.detach(), ranks), policy


def learns(made, rank):
    """made: of a perceptron, a model that is trained by steps of a hook, and its optimizer. Returns the perceptron."""
    torch.manual_seed(1)
    directions = torch.randn(4, 64, device=CARD)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).to(CARD)
    model, optimizer = made(net)
    random = torch.Generator(CARD).manual_seed(rank)
    losses = []
    for _ in range(100):
        images = torch.randn(32, 64, device=CARD, generator=random)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), (images @ directions.T).argmax(1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-20:]) < 0.7 * sum(losses[:20]), losses[::10]
    return net


def a_compiled_model_learns(rank, ranks):
    states = []

    def made(net):
        ddp = DistributedDataParallel(net)
        state, hook = crumb.torch.hook(ddp, "chunk:chunk=256,keep=16")
        ddp.register_comm_hook(state, hook)
        states.append(state)
        return torch.compile(ddp), torch.optim.AdamW(net.parameters(), lr=0.01, betas=(0.0, 0.99))

    net = learns(made, rank)
    assert states[0].stats()["steps"] == 100
    assert same_on_all(torch.nn.utils.parameters_to_vector(net.parameters()).detach().cpu(), ranks)


def nothing_is_lost(rank, ranks):
    for spec in OWING:
        run = Run(f"fc,last,bias={spec}", rank, CARD)
        put, got = [0] * len(SHAPES), [0] * len(SHAPES)
        for step in range(10):
            given, arrived = run.step(step)
            put, got = [p + x for p, x in zip(put, given)], [g + x for g, x in zip(got, arrived)]
        left = owed(run.state)
        assert left, spec
        for i, total in enumerate(put):
            missing = total - left.get(f"w.{i}", torch.zeros(total.numel())).view(total.shape)
            dist.all_reduce(missing, group=group_of("cpu"))
            torch.testing.assert_close(missing / ranks, got[i], rtol=1e-4, atol=1e-4)


def mixed_precision_learns(rank, ranks):
    torch.manual_seed(1)
    directions = torch.randn(4, 64, device=CARD)
    for dtype, policy in ((torch.bfloat16, "fc,last=terngrad"), (torch.float16, "adacomp:bin=50"),
                          (torch.float16, "half")):
        net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).to(CARD)
        ddp = DistributedDataParallel(net)
        # The first scale overflows float16, so that steps are skipped and the scale changes.
        scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40, enabled=dtype == torch.float16)
        state, hook = crumb.torch.hook(policy, scaler=scaler)
        ddp.register_comm_hook(state, hook)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
        random = torch.Generator(CARD).manual_seed(rank)
        losses = []
        for _ in range(150):
            images = torch.randn(32, 64, device=CARD, generator=random)
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=dtype):
                loss = torch.nn.functional.cross_entropy(ddp(images), (images @ directions.T).argmax(1))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        assert sum(losses[-20:]) < 0.7 * sum(losses[:20]), (policy, losses[::10])
        assert dtype == torch.bfloat16 or state.stats()["skipped"] > 5, state.stats()
        weights = torch.cat([parameter.detach().flatten() for parameter in net.parameters()]).cpu()
        assert weights.isfinite().all() and same_on_all(weights, ranks), policy


def late(tensor):
    """Returns a copy on the card, which has it some milliseconds from now."""
    there = torch.zeros_like(tensor, device=CARD)
    torch.cuda._sleep(SLOW)
    return there.copy_(tensor.to(CARD))


def fsdps_hooks_get_the_cpus_bits(rank, ranks):
    group = group_of(CARD)
    for dtype in DTYPES:
        cpu, card = [crumb.torch.replica(one, "adacomp:bin=50") for one in (group_of("cpu"), group)]
        scatters = [crumb.torch.reduce_scatter("qsgd") for _ in range(2)]
        for step in range(STEPS):
            shard = torch.randn(1050 * 1050, generator=torch.Generator().manual_seed(10 * step + rank)).to(dtype)
            with torch.cuda.stream(torch.cuda.Stream()):
                there = late(shard)
                card(there)
                parts = late(shard[:1000 * ranks])
                out = scatters[0].allocate((1000,), dtype=dtype, device=torch.device(CARD))
                scatters[0](out, parts, group, dist.ReduceOp.AVG)
                got, scattered = there.cpu(), out.cpu()
            parts, out = shard[:1000 * ranks].clone(), torch.empty(1000, dtype=dtype)
            cpu(shard)
            scatters[1](out, parts, group_of("cpu"), dist.ReduceOp.AVG)
            assert torch.equal(got, shard) and torch.equal(scattered, out), (dtype, step)


def fsdp_trains(rank, ranks):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (1, 1), mesh_dim_names=("replicate", "shard"))

    def made(net):
        for module in net[0], net:
            fully_shard(module, mesh=mesh["shard"])
            module.set_all_reduce_hook(crumb.torch.replica(mesh["replicate"].get_group(), "adacomp:bin=50"))
        return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)

    learns(made, rank)


def a_state_goes_on_where_it_was(rank, ranks):
    for spec in OWING[0], "terngrad":
        run = Run(f"fc,last,bias={spec}", rank, CARD)
        for step in range(3):
            run.step(step)
        file = io.BytesIO()
        torch.save(run.state.state_dict(), file)
        file.seek(0)
        again = Run(f"fc,last,bias={spec}", rank, CARD)
        again.state.load_state_dict(torch.load(file))
        for step in range(3, 6):
            assert all(torch.equal(one, other) for one, other in zip(run.step(step)[1], again.step(step)[1])), spec


def nothing_stays_behind(rank, ranks):
    def left():
        gc.collect()
        return threading.active_count(), len(os.listdir("/proc/self/fd")), len(dist.distributed_c10d._world.pg_map)

    def train():
        Run("half", rank, CARD).step(0)
        dist.barrier()

    train()
    before = left()
    for _ in range(5):
        train()
    assert all(now <= then for now, then in zip(left(), before)), (left(), before)


def main():
    if not torch.cuda.is_available():
        print("skipped: no CUDA device here")
        sys.exit(77)
    checks = [the_bits_are_the_cpus, means_on_their_way_down_have_the_cpus_bits, nothing_is_lost,
              outer_steps_have_the_cpus_bits, mixed_precision_learns, a_compiled_model_learns,
              a_state_goes_on_where_it_was, nothing_stays_behind]
    bound = {"device_id": torch.device(CARD)}
    fsdp = [fsdps_hooks_get_the_cpus_bits, fsdp_trains]
    plans = ((1, checks, "nccl", {}), (2, checks, "gloo", {}), (1, [nothing_is_lost], "nccl", bound),
             (1, fsdp, "nccl", {}), (2, fsdp[:1], "gloo", {}))
    passed = sum(passed_by(ranks, wanted, backend, "spawn", **options) for ranks, wanted, backend, options in plans)
    failed = sum(len(wanted) for _, wanted, _, _ in plans) - passed
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
