"""The hook from its making to its end: groups, time-outs, failures, what stays behind.

SPDX-License-Identifier: MIT
"""
import gc
import math
import os
import pickle
import threading
import time
import warnings
from datetime import timedelta
from unittest import mock

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import crumb.torch
from crumb.torch import plan
from crumb.torch.bucket import Bucket
from crumb.torch.replica import OneBucket
from crumb.torch.wire import Wire
from hooked import Compiled, Weights, gradient, hooked, owed, step
from ranks import gathered, owed_by, refused, run


def the_group_is_ddps(rank, ranks):
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    ddp, _ = hooked("fc,last=half", (100, 10), group=pairs[rank // 2])
    got = step(ddp, torch.full((100, 10), float(rank)))
    assert (got == (0.5 if rank < 2 else 2.5)).all()
    said = refused(ValueError, lambda: crumb.torch.hook(ddp, "half", process_group=pairs[1 - rank // 2]))
    assert "process_group" in said
    model = Weights((100, 10))
    ddp = DistributedDataParallel(model, process_group=pairs[rank // 2])
    ddp.register_comm_hook(*crumb.torch.hook(model, "fc,last=half"))
    ddp.forward(torch.full((100, 10), float(rank))).backward()  # which runs no hook of ddp's
    assert (model.w[0].grad == (0.5 if rank < 2 else 2.5)).all()
    model.zero_grad()
    state, hook = crumb.torch.hook(model, "half")
    said = refused(RuntimeError, lambda: hook(state, OneBucket(list(model.parameters()), torch.ones(1000))))
    assert "several groups" in said


def a_silent_peer_is_waited_for_as_the_group_says(rank, ranks):
    for registers in True, False:
        group = dist.new_group(timeout=timedelta(seconds=2))
        ddp = DistributedDataParallel(Weights((100, 10)), process_group=group)
        if registers or rank == 0:
            ddp.register_comm_hook(*crumb.torch.hook(ddp, "fc,last=sign"))
        for _ in range(2 if registers else 0):  # DDP itself exchanges its new buckets before the second
            step(ddp, torch.ones(100, 10))
        if rank == 0:
            said = refused(RuntimeError, lambda: step(ddp, torch.ones(100, 10)))
            assert "rank 1" in said, said
        dist.barrier()


def a_lost_connection_names_the_rank(rank, ranks):
    class Closed:
        def send(self, *_):
            raise RuntimeError("Connection closed by peer")

        recv = send

    wire = Wire(dist.new_group())
    wire.group = Closed()
    for start in wire.send, wire.receive:
        assert f"rank {1 - rank}" in refused(RuntimeError, lambda: start(torch.zeros(1), 1 - rank, 0))


def a_wrong_policy_on_one_rank_keeps_nobody_waiting(rank, ranks):
    if rank == 1:
        refused(ValueError, lambda: crumb.torch.hook("nothing"))
    ddp, state = hooked("fc,last=sign" if rank else "fc,last=half", (100, 10))
    said = refused(Exception, lambda: step(ddp, torch.ones(100, 10)))
    assert "fc=half" in said and "fc=sign" in said, said


def a_rank_that_fails_and_lives_on_tells_the_others(rank, ranks):
    ddp, state = hooked("fc,last=sign", (100, 10))
    step(ddp, torch.ones(100, 10))
    if rank == 1:
        state._broken = RuntimeError("out of luck")
    assert "out of luck" in refused(RuntimeError, lambda: step(ddp, torch.ones(100, 10)))


def frozen_parameters_cost_nothing(rank, ranks):
    for dtype in torch.uint8, torch.float64, torch.float32:
        model = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Linear(100, 10))
        model[0].requires_grad_(False)
        model.register_parameter("base", torch.nn.Parameter(torch.zeros(1000, dtype=dtype), requires_grad=False))
        ddp = DistributedDataParallel(model)
        state, hook = crumb.torch.hook(ddp, "adacomp:bin=50")
        ddp.register_comm_hook(state, hook)
        ddp(torch.randn(8, 100)).square().mean().backward()
        assert set(state.state_dict()["packers"]) == {"1.weight"}


def what_is_owed_follows_the_scale_of_the_loss(rank, ranks):
    class Scaler:
        scale = 65536.0

        def get_scale(self):
            return self.scale

    for scaler, given in (Scaler(), True), (Scaler(), False), (None, True):
        ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10), scaler=scaler if given else None, plan="shard")
        if not given:
            state.follow(ddp, Scaler())  # a trainer's, and then another one's
            state.follow(ddp, scaler)
            pickle.dumps(state)  # without them: no Scaler of here can be pickled
        if given and scaler:
            state.follow(ddp, Scaler())  # it has one
        scale, put, got = 65536.0, 0, 0
        for i in range(12):
            if i and i % 4 == 0:
                scale /= 2
                if scaler:
                    scaler.scale = scale
                else:
                    state.rescale(0.5)
            x = gradient(i, 0)
            put, got = put + x, got + step(ddp, x * scale) / scale
        mean = owed_by(state, "w.0", 4000, ranks) / ranks
        dist.all_reduce(mean)
        torch.testing.assert_close(put, got + mean.view(400, 10) / scale, rtol=1e-4, atol=1e-4)


def what_ddp_does_not_tell_is_refused(rank, ranks):
    for given in True, False:
        ddp = DistributedDataParallel(Weights((400, 10)))
        ddp.skip_all_reduce_unused_params = True  # an option of PyTorch 2.13
        if given:
            assert "skip_all_reduce_unused_params" in refused(ValueError, lambda: crumb.torch.hook(ddp, "topk"))
            continue
        ddp.register_comm_hook(*crumb.torch.hook("topk"))
        assert "skip_all_reduce_unused_params" in refused(Exception, lambda: step(ddp, gradient(0, rank)))
    ddp = DistributedDataParallel(Weights((400, 10)))
    ddp._delay_all_reduce_params = list(ddp.parameters())  # as delay_all_reduce_named_params, of PyTorch 2.1
    assert "delay_all_reduce" in refused(ValueError, lambda: crumb.torch.hook(ddp, "topk"))
    class Bare(torch.nn.ParameterList):  # as replicate() wraps parameters
        __call__ = torch.nn.Module.__call__

        def forward(self):
            return self[0].sum()

    ddp = DistributedDataParallel(Bare([torch.nn.Parameter(torch.ones(3))]))
    ddp.register_comm_hook(*crumb.torch.hook("topk"))
    assert "pass it the model" in refused(Exception, lambda: ddp().backward())
    assert "packs none" in refused(ValueError, lambda: crumb.torch.hook("raw", down="block"))
    state, hook = crumb.torch.hook("topk")
    weight = torch.nn.Parameter(torch.ones(3))
    assert "python_reducer" in refused(TypeError, lambda: hook(state, (weight, weight)))


def the_memory_that_stays_is_told(rank, ranks):
    n = 40000
    for spec, way, least, most in (("half", "gather", 2, 10), ("topk", "gather", 8, 20), ("topk", "shard", 8, 40)):
        ddp, state = hooked(f"fc,last={spec}", (400, 100), plan=way)
        assert state.stats()["memory_bytes"] == 0
        told = []
        for i in range(3):
            step(ddp, torch.randn(400, 100))
            told.append(state.stats()["memory_bytes"])
        saved = state.state_dict()
        packers = sum(map(len, [*saved["packers"].values(), *saved["means"].values()]))  # and as much for their copies
        assert told[0] == told[2] >= 2 * packers and least * n < told[0] < most * n, (spec, way, told, packers)


def four_ranks_take_as_much_memory_as_the_document_says(rank, ranks):
    """doc/PYTORCH.md."""
    for spec, down, told in ("block", "block", 15), ("topk", None, 25), ("dgc", None, 33):
        ddp, state = hooked(f"fc,last={spec}", (1024, 1024), plan="shard", down=down)
        step(ddp, torch.randn(1024, 1024))
        assert round(state.stats()["memory_bytes"] / 2**20) == told, (spec, state.stats())


def no_factor_destroys_what_is_owed(rank, ranks):
    ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10))
    step(ddp, gradient(0, rank))
    before = owed(state).clone()
    for factor in 0.0, -1.0, math.inf, math.nan:
        assert str(factor) in refused(ValueError, lambda: state.rescale(factor))
    assert before.any() and torch.equal(owed(state), before)


def a_mean_above_float16_is_owed(rank, ranks):
    ddp, state = hooked("fc,last=topk:fraction=0.1", (40, 10), dtype=torch.float16)
    x = torch.zeros(40, 10)
    x[:, 0], x[:, 1], x[:, 2] = 30000, 29000, -28000
    got = 0
    for i in range(12):
        mean = step(ddp, x)
        assert mean.isfinite().all()
        got = got + mean.float()
    torch.testing.assert_close(got + owed(state).view(40, 10), 12 * x, rtol=1e-3, atol=0)
    assert state.stats()["overflows"] and not state.stats()["skipped"]


def the_type_of_a_bucket_may_change(rank, ranks):
    model = Weights((100, 10))
    ddp = DistributedDataParallel(model)
    state, hook = crumb.torch.hook(ddp, "fc,last=twobit:threshold=1")
    wrapped, number = default_hooks.fp16_compress_wrapper(hook), [0]
    ddp.register_comm_hook(state, lambda state, bucket: (wrapped if number[0] < 2 else hook)(state, bucket))
    for number[0] in range(4):
        assert (step(ddp, torch.ones(100, 10)) == 1).all()


def what_nobody_uses_keeps_what_it_owes(rank, ranks):
    ddp = DistributedDataParallel(Weights((400, 10), (400, 10)), find_unused_parameters=True)
    state, hook = crumb.torch.hook(ddp, "fc,last=topk:fraction=0.05")
    ddp.register_comm_hook(state, hook)
    step(ddp, gradient(0, rank), gradient(1, rank))
    before = owed(state, "w.1")
    assert before.any()
    for i in range(3):
        step(ddp, gradient(i, rank))
        assert torch.equal(owed(state, "w.1"), before)
    ddp.module.w[1].requires_grad_(False)  # while its gradient still stands there
    for i in range(3):
        ddp.module.w[0].grad = None
        ddp.module.w[1].grad = torch.ones(400, 10)
        ddp(gradient(i, rank)).backward()
        assert torch.equal(owed(state, "w.1"), before)
    again = DistributedDataParallel(Weights((400, 10), (400, 10)), find_unused_parameters=True)
    loaded, hook = crumb.torch.hook(again, "fc,last=topk:fraction=0.05")
    loaded.load_state_dict(state.state_dict())
    again.register_comm_hook(loaded, hook)
    step(again, gradient(0, rank))  # the first step, of which the hook does not know what it has used
    assert torch.equal(owed(loaded, "w.1"), before)


class Adversaries(torch.nn.Module):
    """Two weights, of which a forward uses one; the loss is its sum times x."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(400, 10)) for _ in range(2)])

    def forward(self, which, gradient):
        return (self.w[which] * gradient).sum()


def gradients_of_an_earlier_step_do_not_count_again(rank, ranks):
    """A generator and a discriminator in one DDP, whose optimizers set their own gradients to zero alone."""
    for way in plan.PLANS:
        for view in False, True:
            ddp = DistributedDataParallel(Adversaries(), find_unused_parameters=True, gradient_as_bucket_view=view)
            state, hook = crumb.torch.hook("fc,last=topk:fraction=0.05", plan=way)
            ddp.register_comm_hook(state, hook)
            put, got = torch.zeros(2, 400, 10), torch.zeros(2, 400, 10)
            for i in range(9):
                which, given = i % 2, gradient(i, rank)
                ddp.module.w[which].grad = None
                stale = ddp.module.w[1 - which].grad
                before = stale if stale is None else stale.clone()
                ddp(which, given).backward()
                assert before is None or torch.equal(ddp.module.w[1 - which].grad, before)
                put[which] += sum(gathered(given)) / ranks
                got[which] += ddp.module.w[which].grad
                if i == 4:  # a GradScaler skips this step, and its gradient stands there in the next one
                    ddp.module.w[which].grad = None
                    ddp(which, torch.full((400, 10), math.inf)).backward()
            assert state.stats()["skipped"] == 1
            for which in range(2):
                left = sum(gathered(owed_by(state, f"w.{which}", 4000, ranks))).view(400, 10) / ranks
                torch.testing.assert_close(got[which] + left, put[which], rtol=1e-4, atol=1e-4)


def outputs_that_the_loss_leaves_out_are_not_used(rank, ranks):
    class Both(Adversaries):
        def forward(self, gradient):
            return super().forward(0, gradient), super().forward(1, gradient)

    ddp = DistributedDataParallel(Both(), find_unused_parameters=True)
    state, hook = crumb.torch.hook("fc,last=topk:fraction=0.05")
    ddp.register_comm_hook(state, hook)
    sum(ddp(gradient(0, rank))).backward()
    before, stale = owed(state, "w.1"), ddp.module.w[1].grad.clone()
    ddp.module.w[0].grad = None
    ddp(gradient(1, rank))[0].backward()
    assert torch.equal(owed(state, "w.1"), before)
    assert torch.equal(ddp.module.w[1].grad, stale)


def an_exception_after_the_last_bucket_is_taken_back(rank, ranks):
    ddp, state = hooked("fc,last=topk:fraction=0.05", (400, 10))
    stem = torch.nn.Parameter(torch.ones(()))
    step(ddp, gradient(0, rank))
    before = owed(state)
    before_ddp = stem * gradient(1, rank)
    before_ddp.register_hook(lambda _: 1 / 0)
    pack = Bucket.pack

    def slowly(*arguments):
        time.sleep(0.3)
        return pack(*arguments)

    with mock.patch.object(Bucket, "pack", slowly):
        refused(ZeroDivisionError, lambda: ddp(before_ddp).backward())
        state.undo_step()
    assert torch.equal(owed(state), before)
    dist.barrier()
    assert torch.equal(owed(state), before)


def what_is_thrown_away_of_a_step_is_taken_back(rank, ranks):
    for way in plan.PLANS:
        ddp, state = hooked("fc,last=topk:fraction=0.05", (400, 10), (400, 10), plan=way)
        state.undo_step(ddp.module.w)  # before the first step there is nothing
        step(ddp, gradient(1, rank), gradient(2, rank))
        before = [owed_by(state, name, 4000, ranks) for name in ("w.0", "w.1")]
        step(ddp, gradient(3, rank), gradient(4, rank))
        after = [owed_by(state, name, 4000, ranks) for name in ("w.0", "w.1")]
        state.undo_step(parameter for parameter in ddp.module.w[1:])
        assert torch.equal(owed_by(state, "w.0", 4000, ranks), after[0])
        assert torch.equal(owed_by(state, "w.1", 4000, ranks), before[1])
        assert "none of" in refused(RuntimeError, lambda: state.undo_step([torch.nn.Parameter(torch.ones(3))]))


def nothing_stays_behind(rank, ranks):
    def left():
        gc.collect()
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    def train():
        for way in plan.PLANS:
            ddp, _ = hooked("fc,last=sign", (100, 10), plan=way)
            step(ddp, torch.ones(100, 10))
            dist.barrier()

    train()
    before = left()
    for _ in range(5):
        train()
    deadline = time.monotonic() + 30  # threads may take a while to end
    while any(now > then for now, then in zip(left(), before)):
        assert time.monotonic() < deadline, (left(), before)
        time.sleep(0.1)


def at_many_ranks_owners_average(rank, ranks):
    plan._LONGEST = 1000
    for spec, way, ratio in ("twobit:threshold=1", None, 12), ("adacomp:bin=50", None, 5), ("terngrad", "shard", 1.7):
        ddp, state = hooked(f"fc,last={spec}", (400, 40), plan=way)
        put, got = torch.zeros(400, 40), torch.zeros(400, 40)
        for i in range(6):
            x = gradient(i, rank, (400, 40))
            put, got = put + x / ranks, got + step(ddp, x)
        owed = owed_by(state, "w.0", got.numel(), ranks) / ranks
        dist.all_reduce(put)
        dist.all_reduce(owed)
        if spec != "terngrad":  # it owes nothing
            torch.testing.assert_close(got + owed.view(400, 40), put, rtol=1e-4, atol=1e-4)
        assert all(torch.equal(other, got) for other in gathered(got))
        stats = state.stats()
        assert stats["plan"] == "shard" and stats["sent_bytes"] < stats["allreduce_bytes"] / ratio, stats
    plan._LONGEST = 1 << 16


def an_exception_of_the_callers_leaves_nothing_to_wait_for(rank, ranks):
    """A warning that is an exception, on rank 0."""
    model = torch.nn.Sequential(torch.nn.Embedding(50, 16, sparse=True), torch.nn.Linear(16, 5))
    ddp = DistributedDataParallel(model)
    state, hook = crumb.torch.hook("adacomp:bin=50")
    ddp.register_comm_hook(state, hook)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="crumb")
        if rank == 0:
            assert "sparse" in refused(Exception, lambda: ddp(torch.arange(2)).sum().backward())
        else:
            ddp(torch.arange(2)).sum().backward()
    assert state.state_dict()["rank"] == rank  # it returns


def sparse_gradients_are_averaged_plainly(rank, ranks):
    model = torch.nn.Sequential(torch.nn.Embedding(50, 16, sparse=True), torch.nn.Linear(16, 5))
    ddp = DistributedDataParallel(model)
    state, hook = crumb.torch.hook("adacomp:bin=50")
    ddp.register_comm_hook(state, hook)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(3):
            ddp.zero_grad(set_to_none=True)
            ddp(torch.arange(rank, rank + 2)).sum().backward()
    assert len([w for w in said if "sparse" in str(w.message) and "0.weight" in str(w.message)]) == (rank == 0)
    grads = gathered(model[0].weight.grad.to_dense())
    assert torch.equal(grads[0], grads[1]) and grads[0].any()
    before = owed(state, "1.weight")
    assert before.any()
    ddp.zero_grad(set_to_none=True)
    handle = model[0].weight.register_hook(lambda gradient: gradient * float("inf") if rank else gradient)
    ddp(torch.arange(rank, rank + 2)).sum().backward()
    handle.remove()
    assert state.stats()["skipped"] == 1 and torch.equal(owed(state, "1.weight"), before)


def a_step_that_is_thrown_away_is_taken_back(rank, ranks):
    """A discriminator gets gradients while the generator trains."""
    for way in plan.PLANS:
        ddp, state = hooked("fc,last=topk:fraction=0.05", (400, 10), (400, 10), plan=way)
        names = "w.0", "w.1"

        def debts():
            return torch.cat([owed_by(state, name, 4000, ranks) for name in names])

        step(ddp, gradient(1, rank), gradient(2, rank))
        before = debts()
        step(ddp, gradient(3, rank), gradient(4, rank))
        assert not torch.equal(debts(), before)
        state.rescale(0.5)
        for _ in range(2):
            state.undo_step()
            assert torch.equal(debts(), before / 2), way
        handle = ddp.module.w[0].register_hook(lambda _: 1 / 0)
        ddp.zero_grad()
        refused(ZeroDivisionError, lambda: ddp(gradient(3, rank), gradient(4, rank)).backward())
        handle.remove()
        state.undo_step()
        assert torch.equal(debts(), before / 2), way


def a_compiled_model_is_registered(rank, ranks):
    ddp = DistributedDataParallel(Weights((400, 10)))
    hooks = torch.nn.modules.module._global_forward_pre_hooks
    before = len(hooks)
    state, hook = crumb.torch.hook("fc,last=half")
    assert len(hooks) == before + 1  # notes every DDP that runs
    crumb.torch.register(torch.compile(ddp) if hasattr(torch, "compile") else Compiled(ddp), state, hook, None)
    assert len(hooks) == before  # or the model would be compiled anew after the first step, which removes it
    step(ddp, gradient(0, rank))
    assert state.stats()["steps"] == 1


def models_that_take_turns_are_noted_once(rank, ranks):
    one, two = (DistributedDataParallel(Weights((10, 10))) for _ in range(2))
    state, hook = crumb.torch.hook("fc,last=half")
    for _ in range(4):
        one(torch.ones(10, 10))
        two(torch.ones(10, 10))
    assert [ref() for ref in state._owner._seen] == [one, two]


def a_policy_says_what_it_cannot_reach(rank, ranks):
    def said(policy, *modules):
        ddp = DistributedDataParallel(torch.nn.Sequential(*modules))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ddp.register_comm_hook(*crumb.torch.hook(policy))
            for i in range(3):
                ddp(torch.arange(8)).sum().backward()
        return [str(w.message) for w in found if "crumb" in str(w.message)]

    model = torch.nn.Embedding(300, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 300)
    embedding = said("conv=adacomp;last=adacomp", *model)
    assert len(embedding) == (rank == 0), embedding
    assert all("embedding 45 %" in one and "exceed 1.8" in one for one in embedding), embedding
    for named in "fc=adacomp", "fc,last=adacomp;embedding=raw", "raw", "adacomp", "embedding,fc=raw;last=half":
        assert not said(named, *model), named  # an embedding is as fc
    nothing = said("conv=adacomp", *model)
    assert len(nothing) == (rank == 0) and all("exceed 1.0" in one for one in nothing), nothing
    head = said("terngrad", *model)
    assert len(head) == (rank == 0) and all("last 45 %" in one for one in head), head


def complex_parameters_are_averaged_whole(rank, ranks):
    class Complex(Weights):
        def forward(self, *gradients):
            return sum((w * x.conj()).real.sum() for w, x in zip(self.w, gradients))

    for way in plan.PLANS if not torch.__version__.startswith("1.") else ():  # whose DDP takes none over gloo
        ddp = DistributedDataParallel(Complex((100, 10), (30, 10), dtype=torch.complex64))
        ddp.register_comm_hook(*crumb.torch.hook("fc,last=half", plan=way))
        ddp.zero_grad()
        ddp(*(torch.full(w.shape, (i + rank) * (1 + 2j)) for i, w in enumerate(ddp.module.w))).backward()
        for i, w in enumerate(ddp.module.w):
            assert (w.grad == (i + 0.5) * (1 + 2j)).all(), (way, i)


def lazy_modules_and_lazy_states(rank, ranks):
    model = torch.nn.Sequential(torch.nn.LazyLinear(8), torch.nn.ReLU(), torch.nn.LazyLinear(4))
    state, hook = crumb.torch.hook(model, "adacomp:bin=50")
    model(torch.ones(2, 30))
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(state, hook)
    ddp(torch.ones(2, 30)).sum().backward()
    assert set(state._slots) == {name for name, _ in model.named_parameters()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run((2, [a_lost_connection_names_the_rank, frozen_parameters_cost_nothing,
             what_is_owed_follows_the_scale_of_the_loss, what_ddp_does_not_tell_is_refused,
             the_memory_that_stays_is_told, no_factor_destroys_what_is_owed, a_mean_above_float16_is_owed,
             the_type_of_a_bucket_may_change, what_nobody_uses_keeps_what_it_owes,
             gradients_of_an_earlier_step_do_not_count_again, outputs_that_the_loss_leaves_out_are_not_used,
             an_exception_after_the_last_bucket_is_taken_back, what_is_thrown_away_of_a_step_is_taken_back,
             nothing_stays_behind,
             an_exception_of_the_callers_leaves_nothing_to_wait_for, sparse_gradients_are_averaged_plainly,
             a_step_that_is_thrown_away_is_taken_back, a_compiled_model_is_registered,
             models_that_take_turns_are_noted_once,
             a_policy_says_what_it_cannot_reach, complex_parameters_are_averaged_whole, lazy_modules_and_lazy_states,
             a_wrong_policy_on_one_rank_keeps_nobody_waiting, a_rank_that_fails_and_lives_on_tells_the_others,
             a_silent_peer_is_waited_for_as_the_group_says]),
        (4, [four_ranks_take_as_much_memory_as_the_document_says, the_group_is_ddps]),
        (16, [at_many_ranks_owners_average]))
