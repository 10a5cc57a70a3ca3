"""Random models, random options of DistributedDataParallel, random codecs: nothing that is put in is lost.

For every parameter: the mean of what the ranks' hooks were given = what arrived in .grad + the mean of what is owed +
what the mean's owner owes, to rounding; and the gradients are the same bits on all ranks. Steps that the hook counts as
skipped do not count.

SPDX-License-Identifier: MIT
"""
import contextlib
import random
import warnings

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

import crumb.torch
from crumb.torch import plan
from ranks import owed_by, run

FIRST, CASES = 0, 16  # the first seed, and how many there are
STEPS, RANKS = 30, 5
OWING = ("adacomp:bin=50", "topk:fraction=0.05", "sign", "twobit:threshold=0.5", "strom:threshold=1", "local:bin=40",
         "onebit", "seide", "topk:fraction=0.2,value=exact", "adacomp:bin=500,coding=entropy")
OTHERS = "raw", "half", "terngrad", "terngrad:shared=1", "qsgd", "alq"
EXACT = {"raw", "half"}  # of these: put = arrived, to rounding
SHAPES = (), (0,), (1,), (7,), (3000,), (40, 30), (6, 5, 3, 3), (100, 17)
# PyTorch 1.13 cannot begin: its gloo has no broadcast of bfloat16.
FLOATS = torch.float32, torch.float32, torch.float16, torch.float16 if torch.__version__ < "2" else torch.bfloat16


class Gives(torch.autograd.Function):
    """0, whose gradient with respect to a weight is the given one."""

    @staticmethod
    def forward(ctx, weight, gradient):
        ctx.save_for_backward(gradient)
        return weight.new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx, _):
        return ctx.saved_tensors[0].clone(), None


class Model(torch.nn.Module):
    """Parameters of random shapes and types. Some are frozen, one may be under two names, one may be sparse."""

    def __init__(self, chance):
        super().__init__()
        self.used = {}
        for i in range(chance.randint(2, 7)):
            weight = torch.zeros(chance.choice(SHAPES), dtype=chance.choice(FLOATS))
            self.used[f"p{i}"] = torch.nn.Parameter(weight)
            self.register_parameter(f"p{i}", self.used[f"p{i}"])
        self.register_parameter("large", torch.nn.Parameter(torch.zeros(64, 50)))
        self.used["large"] = self.large
        if chance.random() < 0.3:
            self.register_parameter("tied", self.large)
        if chance.random() < 0.4:
            kind = chance.choice((torch.uint8, torch.float64, torch.float32))
            self.frozen = torch.nn.Parameter(torch.zeros(1000, dtype=kind), requires_grad=False)
        self.table = torch.nn.Embedding(30, 4, sparse=True) if chance.random() < 0.2 else None

    def forward(self, gradients, rows):
        total = sum(Gives.apply(self.used[name], gradient) for name, gradient in gradients.items())
        return total if self.table is None else total + self.table(rows).sum()


class Case:
    """What a seed draws, the same on all ranks of a group."""

    def __init__(self, seed, ranks):
        chance = self.chance = random.Random(seed)
        self.seed, self.ranks = seed, ranks
        self.spec = chance.choice(OWING if chance.random() < 0.75 else OTHERS)
        kinds = chance.choice(("fc", "fc,last", "fc,last,bias"))
        self.plan = chance.choice((None, "gather", "shard", "shard"))
        self.longest = chance.choice((50, 700, 1 << 16))  # elements of a part in the plan shard
        self.policy = self.spec if chance.random() < 0.3 else f"{kinds}={self.spec}"
        self.model = Model(chance)
        self.static = chance.random() < 0.2
        self.unused = not self.static and chance.random() < 0.6
        self.sparse = self.model.table is not None
        self.view = not self.sparse and chance.random() < 0.5
        self.to_none = chance.random() < 0.5
        self.pauses = not self.static and chance.random() < 0.4
        self.anew = chance.choice((None, "same state", "loaded state")) if not self.static else None
        self.cast = not self.sparse and chance.random() < 0.2
        self.uneven = not (self.static or self.sparse or self.pauses or self.cast) and chance.random() < 0.3
        self.poison = chance.random() < 0.3
        self.scale = chance.choice((1.0, 1.0, 100.0, 8000.0))
        self.whole = chance.random() < 0.5  # numbers: read as another type, they are numbers still, not NaN
        self.steady = chance.random() < 0.4  # the same gradient at every step and rank, so that what is owed grows
        self.rescales = not (self.poison or self.uneven) and chance.random() < 0.3
        self.what_has_hook = chance.choice(("ddp", "model", "nothing"))
        self.stale = self.unused and chance.random() < 0.5  # gradients of what no rank uses are not set to zero

    def __str__(self):
        shown = {key: value for key, value in vars(self).items() if key not in ("chance", "model")}
        return f"{shown}, " + ", ".join(f"{name} {tuple(p.shape)} {p.dtype}" for name, p in self.model.used.items())


class Training:
    def __init__(self, case, rank, group):
        self.case, self.rank, self.group = case, rank, group
        self.given, self.state = {}, None
        self.random = torch.Generator().manual_seed(1000 * case.seed + rank)
        self.loss_scale = 1.0
        self.names = {parameter: name for name, parameter in case.model.named_parameters()}
        self.put, self.got, self.slack = {}, {}, {}
        self.start()

    def start(self):
        case, model = self.case, self.case.model
        plan._LONGEST = case.longest
        self.ddp = DistributedDataParallel(model, process_group=self.group, bucket_cap_mb=0.01,
                                           find_unused_parameters=case.unused, gradient_as_bucket_view=case.view,
                                           static_graph=case.static)
        if self.state is None or case.anew == "loaded state":
            old = self.state
            first = {"ddp": [self.ddp], "model": [model], "nothing": []}[case.what_has_hook]
            self.state, self.hook = crumb.torch.hook(*first, case.policy, seed=case.seed, plan=case.plan)
            if old:
                self.state.load_state_dict(old.state_dict())
        self.step_number = 0
        self.ddp.register_comm_hook(self.state, self.seen)

    def seen(self, state, bucket):
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients() if not bucket.buffer().is_sparse
                                       else [bucket.buffer()]):
            self.given[self.names[parameter]] = gradient.to_dense().float().clone() if gradient.is_sparse \
                else gradient.float().clone()
        hook = default_hooks.fp16_compress_wrapper(self.hook) if self.case.cast and self.step_number % 3 == 1 \
            else self.hook
        return hook(state, bucket)

    def gradients(self, names, poison):
        found = {}
        for name in names:
            weight = self.case.model.used[name]
            drawn = torch.Generator().manual_seed(self.case.seed) if self.case.steady else self.random
            gradient = torch.randn(weight.shape, generator=drawn) * self.case.scale
            gradient[torch.rand(weight.shape, generator=drawn) < 0.3] = 0.0
            gradient = (gradient.round() if self.case.whole else gradient) * self.loss_scale
            if poison and gradient.numel():
                gradient.view(-1)[0] = float("nan")
            found[name] = gradient.to(weight.dtype)
        return found

    def step(self, live):
        """One step of all ranks, of which live have not joined. Adds to put and got."""
        case, chance, model = self.case, self.case.chance, self.case.model
        all_names = list(model.used)
        backs = chance.randint(1, 3) if case.pauses else 1
        used = [[[name for name in all_names if not case.unused or chance.random() < 0.5] or [all_names[0]]
                 for _ in range(case.ranks)] for _ in range(backs)]
        # DDP itself does not average what is used under no_sync only.
        used[-1] = [sorted({name for back in used for name in back[rank]}) for rank in range(case.ranks)]
        if case.static:
            used = [[all_names[::2]] * case.ranks]
        victim = chance.randrange(case.ranks) if case.poison and chance.random() < 0.1 else -1
        reached = {name for back in used for rank in live for name in back[rank]}
        for name, parameter in model.named_parameters():
            if case.stale and self.step_number and name not in reached:
                continue
            if case.to_none or parameter.grad is None or parameter.grad.is_sparse:
                parameter.grad = None
            else:
                parameter.grad.zero_()
        if case.rescales and chance.random() < 0.2:
            factor = chance.choice((0.5, 2.0)) if self.loss_scale < 1 else 0.5
            self.loss_scale *= factor
            self.state.rescale(factor)
        self.given, skipped = {}, self.state.stats()["skipped"]
        rows = torch.randint(0, 30, (5,), generator=self.random)
        for back in range(backs):
            quiet = self.ddp.no_sync() if back + 1 < backs else contextlib.nullcontext()
            with quiet:
                self.ddp(self.gradients(used[back][self.rank], victim == self.rank), rows).backward()
        self.step_number += 1
        if self.state.stats()["skipped"] > skipped:
            return
        reached |= {"table.weight"} if case.sparse else set()
        for name in reached:
            arrived = self.case.model.get_parameter(name).grad
            assert arrived is not None, f"no gradient of {name}"
            arrived = (arrived.to_dense() if arrived.is_sparse else arrived).float()
            assert arrived.isfinite().all(), f"{name} is not finite, in a step that is not skipped"
            dtype = model.get_parameter(name).dtype
            width = 2.0**-8 if dtype == torch.bfloat16 or case.spec == "half" else 2.0**-11  # half sends bfloat16
            rounded = case.cast or case.spec == "half" or dtype != torch.float32
            given = self.given[name].double().reshape(arrived.shape) / self.loss_scale
            self.put[name] = self.put.get(name, 0) + given
            self.got[name] = self.got.get(name, 0) + arrived.double() / self.loss_scale
            largest = 0
            if arrived.numel():
                largest = max(float(arrived.abs().max()) / self.loss_scale, float(given.abs().max()))
            self.slack[name] = self.slack.get(name, 0) + largest * ((width if rounded else 0) + 2e-6)

    def train(self):
        for number in range(STEPS - 10):
            if number == (STEPS - 10) // 2 and self.case.anew:
                self.start()
            self.step(range(self.case.ranks))
        steps = [10 - rank if self.case.uneven else 10 for rank in range(self.case.ranks)]
        with Join([self.ddp]) if self.case.uneven else contextlib.nullcontext():
            for number in range(steps[self.rank]):
                self.step([rank for rank in range(self.case.ranks) if steps[rank] > number])

    def check(self):
        """Compares the sums of all ranks. Ranks that joined early have seen fewer means than rank 0."""
        for name, got in self.got.items():
            put = self.put[name].clone()
            dist.all_reduce(put, group=self.group)
            left = owed_by(self.state, name, put.numel(), self.case.ranks).double().reshape(put.shape)
            dist.all_reduce(left, group=self.group)
            left /= self.loss_scale
            slack = torch.tensor(self.slack[name])
            dist.all_reduce(slack, op=dist.ReduceOp.MAX, group=self.group)
            same = got.clone()
            dist.broadcast(same, dist.get_rank() - self.rank, group=self.group)
            if not self.case.uneven:
                assert torch.equal(same, got), f"{name}: other bits than rank 0's"
            slot = next((slot for slot in self.state._slots.values() if slot.name == name), None)
            keeps = slot is None or slot.raw or self.case.spec in OWING or self.case.spec in EXACT
            if keeps and self.rank == 0 and got.numel():
                lost = float((put / self.case.ranks - got - left / self.case.ranks).abs().max())
                assert lost <= 2 * float(slack), \
                    f"{name}: up to {lost:.3g} of {float(self.put[name].abs().max()):.3g} are lost"


def _split(seed):
    """Returns the groups of ranks that train side by side."""
    first = random.Random(seed).randint(1, RANKS)
    return [list(range(first))] + ([list(range(first, RANKS))] if first < RANKS else [])


def nothing_is_lost(rank, ranks):
    for seed in range(FIRST, FIRST + CASES):
        split = _split(seed)
        groups = [dist.new_group(members) for members in split]
        mine = next(i for i, members in enumerate(split) if rank in members)
        case = Case(2 * seed + mine, len(split[mine]))
        try:
            training = Training(case, split[mine].index(rank), groups[mine])
            training.train()
            training.check()
        except BaseException as error:
            raise AssertionError(f"case {seed}: {case}: {error}") from error


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run((RANKS, [nothing_is_lost]))
