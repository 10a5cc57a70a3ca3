"""FSDP2 on two replicas of two shards: the mean over replicas, and the reduce-scatter of shards.

SPDX-License-Identifier: MIT
"""
import io
import math
import warnings

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch import nn

import crumb
import crumb.torch
from crumb.policy import seed_of
from ranks import refused, run

STEPS = 20
try:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
except ImportError:
    FSDPModule = None


def an_old_pytorch_is_named(rank, ranks):
    group = dist.distributed_c10d._get_default_group()
    for make in lambda: crumb.torch.replica(group, "sign"), lambda: crumb.torch.reduce_scatter("half"):
        said = refused(RuntimeError, make)
        assert "2.13" in said and torch.__version__ in said and "FSDPModule" in said, said


class Training:
    """A perceptron of three FSDP modules, the outer one with no parameters of its own but one."""

    def __init__(self, rank, hook, scatter=None, dtype=None):
        self.mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        self.group, self.shards = self.mesh["replicate"].get_group(), self.mesh["shard"].get_group()
        torch.manual_seed(1)
        self.directions = torch.randn(4, 32)
        self.model = nn.Sequential(nn.Linear(32, 65), nn.ReLU(), nn.Linear(65, 33), nn.ReLU(), nn.Linear(33, 4))
        precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=dtype)
        for module in self.model[0], self.model[2], self.model:
            fully_shard(module, mesh=self.mesh["shard"], mp_policy=precision)
        self.modules = [module for module in self.model.modules() if isinstance(module, FSDPModule)]
        self.hooks = [hook(self.group) for _ in self.modules]
        self.put, self.got = [0] * len(self.modules), [0] * len(self.modules)
        for i, module in enumerate(self.modules):
            module.set_all_reduce_hook(self.seen(i))
            if scatter:
                module.set_custom_reduce_scatter(scatter())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.5)
        self.random = torch.Generator().manual_seed(rank)
        self.losses = []

    def seen(self, i):
        def hook(shard):
            self.put[i] = self.put[i] + shard.double()
            self.hooks[i](shard)
            self.got[i] = self.got[i] + shard.double()
        return hook

    def step(self, times=1.0):
        images = torch.randn(16, 32, generator=self.random)
        loss = nn.functional.cross_entropy(self.model(images).float(), (images @ self.directions.T).argmax(1))
        self.optimizer.zero_grad()
        (loss * times).backward()
        self.gradients = [parameter.grad.full_tensor() for parameter in self.model.parameters()]
        self.optimizer.step()
        self.losses.append(float(loss))

    def train(self):
        for _ in range(STEPS):
            self.step()
        return self

    def replicas_are_equal(self):
        for parameter in self.model.parameters():
            mine = parameter.to_local().detach().clone()
            both = [torch.empty_like(mine) for _ in range(2)]
            dist.all_gather(both, mine, group=self.group)
            assert torch.equal(*both) and mine.isfinite().all()


def plain(group):
    def hook(shard):
        dist.all_reduce(shard, group=group)
        shard.div_(2)
    return hook


def raw_is_the_plain_mean(rank, ranks):
    runs = [Training(rank, hook).train() for hook in (plain, lambda group: crumb.torch.replica(group, "raw"))]
    assert torch.equal(torch.tensor(runs[0].losses), torch.tensor(runs[1].losses))
    for one, other in zip(runs[0].model.parameters(), runs[1].model.parameters()):
        assert torch.equal(one.to_local(), other.to_local())


def what_is_put_in_arrives_or_is_owed(rank, ranks):
    for spec in "adacomp:bin=50", "topk:fraction=0.05", "onebit", "twobit:threshold=0.1", "sign", "seide":
        for dtype in (None, torch.bfloat16) if spec.startswith("adacomp") else (None,):
            training = Training(rank, lambda group: crumb.torch.replica(group, spec), dtype=dtype).train()
            training.replicas_are_equal()
            for hook, put, got in zip(training.hooks, training.put, training.got):
                slot = hook.state._slots["shard"]
                assert slot.packer.codec == crumb.Codec(spec) and slot.n == put.numel() and not slot.plain
                missing = put - torch.frombuffer(slot.packer.residual, dtype=torch.float32).double()
                dist.all_reduce(missing, group=training.group)
                rounding = 1e-5 if dtype is None else STEPS * 2.0**-9 * float(put.abs().max())
                torch.testing.assert_close(missing / 2, got, rtol=1e-4, atol=rounding)
                stats = hook.state.stats()
                assert stats["steps"] == STEPS and stats["ratio"] > 2, stats
            losses = training.losses
            assert sum(losses[-5:]) < sum(losses[:5]), (spec, losses)


def what_is_not_finite_passes_and_nothing_moves(rank, ranks):
    training = Training(rank, lambda group: crumb.torch.replica(group, "adacomp:bin=50")).train()
    before = [hook.state.state_dict()["packers"] for hook in training.hooks]
    training.step(math.inf if rank == 2 else 1.0)
    assert not all(gradient.isfinite().all() for gradient in training.gradients)
    for hook, packers in zip(training.hooks, before):
        after = hook.state.state_dict()["packers"]
        assert hook.state.stats()["skipped"] == 1 and all(torch.equal(after[name], packers[name]) for name in packers)


def a_step_is_taken_back(rank, ranks):
    training = Training(rank, lambda group: crumb.torch.replica(group, "adacomp:bin=50")).train()
    before = [hook.state.state_dict()["packers"]["shard"] for hook in training.hooks]
    training.step()
    for hook, packer in zip(training.hooks, before):
        assert not torch.equal(hook.state.state_dict()["packers"]["shard"], packer)
        hook.undo()
        assert torch.equal(hook.state.state_dict()["packers"]["shard"], packer)


def a_state_goes_on_where_it_was(rank, ranks):
    def hook(group):
        return crumb.torch.replica(group, "adacomp:bin=50", seed=3)

    training = Training(rank, hook).train()
    file = io.BytesIO()
    torch.save([[hook.state.state_dict() for hook in training.hooks], training.model.state_dict(),
                training.optimizer.state_dict()], file)
    file.seek(0)
    again = Training(rank, hook)
    states, model, optimizer = torch.load(file, weights_only=False)
    for new, state in zip(again.hooks, states):
        new.state.load_state_dict(state)
    again.model.load_state_dict(model)
    again.optimizer.load_state_dict(optimizer)
    again.random.set_state(training.random.get_state())
    for _ in range(3):
        training.step()
        again.step()
        assert all(torch.equal(one, other) for one, other in zip(training.gradients, again.gradients))


def scattered(rank, group, codec, dtype, steps, op=dist.ReduceOp.AVG, poison=False):
    """Yields the ranks' inputs and this rank's output. The tensors have 1001 elements a rank."""
    comm = crumb.torch.reduce_scatter(codec, seed=7)
    for step in range(steps):
        inputs = [torch.randn(2 * 1001, generator=torch.Generator().manual_seed(10 * step + r)).to(dtype)
                  for r in range(2)]
        if poison:
            inputs[1][5] = math.nan
        mine = comm.allocate((2002,), dtype=dtype, device=torch.device("cpu"))
        mine.copy_(inputs[dist.get_rank(group)])
        out = comm.allocate((1001,), dtype=dtype, device=torch.device("cpu"))
        comm(output_tensor=out, input_tensor=mine, group=group, op=op)
        yield inputs, out


def shards_arrive_as_packers_by_hand_send_them(rank, ranks):
    group = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
    own = dist.get_rank(group)
    part = slice(1001 * own, 1001 * (own + 1))
    for spec in [info.name for info in crumb.codecs() if not info.residual
                 and not crumb.Packer(info.name, 1001).agree_count]:
        for dtype in torch.float32, torch.float16, torch.bfloat16:
            packer = crumb.Packer(spec, 1001, seed_of(7, 1 - own, own))
            for inputs, out in scattered(rank, group, spec, dtype, 3):
                total = torch.zeros(1001)
                for r in range(2):
                    theirs = inputs[r][part].clone()
                    if r != own:
                        frame = packer.pack(theirs)
                        if len(frame) <= 1001 * dtype.itemsize:
                            theirs = torch.zeros(1001)
                            crumb.unpack_add(frame, 1.0, theirs)
                    total += theirs.float() * 0.5
                torch.testing.assert_close(out, total.to(dtype), rtol=1e-6, atol=1e-6)
    comm, drawn = crumb.torch.reduce_scatter("qsgd", seed=7), []
    for n in (1001, 500, 1001, 500):  # a module with an unused parameter: draws go on, they are not those of before
        out = torch.zeros(n)
        comm(out, torch.linspace(-1, 1, 2 * n), group)
        drawn.append(out)
    assert not torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[1], drawn[3])
    for inputs, out in scattered(rank, group, "qsgd", torch.float32, 2, poison=True):
        assert bool(out.isfinite().all()) == (own == 1)
        if own == 0:
            torch.testing.assert_close(out, sum(theirs[part] for theirs in inputs) / 2, equal_nan=True)
    for inputs, out in scattered(rank, group, "raw", torch.float32, 2, op=dist.ReduceOp.SUM):
        torch.testing.assert_close(out, sum(theirs[part] for theirs in inputs))


def both_axes_train(rank, ranks):
    training = Training(rank, lambda group: crumb.torch.replica(group, "adacomp:bin=50"),
                        lambda: crumb.torch.reduce_scatter("qsgd"))
    training.train()
    training.replicas_are_equal()
    assert sum(training.losses[-5:]) < sum(training.losses[:5]), training.losses


def refusals(rank, ranks):
    group = dist.distributed_c10d._get_default_group()
    said = refused(ValueError, lambda: crumb.torch.replica(group, "conv=adacomp;fc=sign"))
    assert "one codec" in said, said
    assert "replica" in refused(ValueError, lambda: crumb.torch.reduce_scatter("adacomp"))
    assert "statistics" in refused(ValueError, lambda: crumb.torch.reduce_scatter("terngrad:shared=1"))
    refused(ValueError, lambda: crumb.torch.reduce_scatter("nothing"))
    comm = crumb.torch.reduce_scatter("half")
    said = refused(ValueError, lambda: comm(torch.zeros(1), torch.zeros(ranks), group, dist.ReduceOp.MAX))
    assert "set_force_sum_reduction_for_comms" in said, said
    hook = crumb.torch.replica(group, "sign")
    hook(torch.ones(40))
    said = refused(RuntimeError, lambda: hook(torch.ones(41)))
    assert "make a hook for each" in said and "set_reduce_scatter_unused_params" in said, said
    other = crumb.torch.replica(group, "sign" if rank else "onebit")
    assert "different" in refused(ValueError, lambda: other(torch.ones(40)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if not hasattr(FSDPModule, "set_all_reduce_hook"):  # PyTorch 2.6 has the module without it
        run((2, [an_old_pytorch_is_named]))
    run((4, [raw_is_the_plain_mean, what_is_put_in_arrives_or_is_owed, what_is_not_finite_passes_and_nothing_moves,
             a_step_is_taken_back, a_state_goes_on_where_it_was, shards_arrive_as_packers_by_hand_send_them,
             both_axes_train, refusals]))
