"""The hook's state, saved and loaded: with other ranks, plans, scalers and models, and after a step that failed.

SPDX-License-Identifier: MIT
"""
import copy
import itertools
import pickle
import shutil
import tempfile
import warnings

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import crumb.torch
from crumb.torch import plan
from hooked import Compiled, Weights, gradient, hooked, owed, step
from ranks import owed_by, refused, run


def a_state_goes_on_with_a_scaler_and_without(rank, ranks):
    """Powers of two are exact: the mean is the same bits, times the scale."""
    class Scaler:
        def get_scale(self):
            return 1024.0

    spec, means = "fc,last=topk:fraction=0.05", {}
    for before, after in itertools.product((1.0, 1024.0), repeat=2):
        ddp, state = hooked(spec, (400, 10), scaler=Scaler() if before > 1 else None)
        step(ddp, gradient(0, rank) * before)
        new, again = hooked(spec, (400, 10), scaler=Scaler() if after > 1 else None)
        again.load_state_dict(state.state_dict())
        means[before, after] = step(new, gradient(1, rank) * after) / after
    assert all(torch.equal(mean, means[1.0, 1.0]) for mean in means.values())


def a_state_is_of_one_memory_format(rank, ranks):
    saved = None
    for memory_format in torch.contiguous_format, torch.channels_last:
        ddp = DistributedDataParallel(torch.nn.Conv2d(3, 4, 5).to(memory_format=memory_format))
        state, hook = crumb.torch.hook("topk")
        ddp.register_comm_hook(state, hook)
        if saved:
            state.load_state_dict(saved)
            assert "memory_format" in refused(Exception, lambda: ddp(torch.ones(1, 3, 8, 8)).sum().backward())
        else:
            ddp(torch.ones(1, 3, 8, 8)).sum().backward()
            saved = state.state_dict()


def a_state_brings_its_plan(rank, ranks):
    for way in plan.PLANS:
        ddp, state = hooked("topk", (400, 10), plan=way)
        step(ddp, gradient(0, rank))
        new, again = hooked("topk", (400, 10))
        again.load_state_dict(state.state_dict())
        assert torch.equal(step(new, gradient(1, rank)), step(ddp, gradient(1, rank)))
        assert again.stats()["plan"] == way


def pytorchs_distributed_checkpoint_keeps_what_is_owed(rank, ranks):
    assert isinstance(crumb.torch.AllRanks(hooked("half", (4, 1))[1]).state_dict()["ranks"], tuple)  # no list
    try:
        import torch.distributed.checkpoint as dcp
    except ImportError:  # before PyTorch 2.0
        return
    if not hasattr(dcp, "save"):  # before 2.2
        return
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    spec = "fc,last=topk:fraction=0.05"
    ddp, state = hooked(spec, (400, 10))
    step(ddp, gradient(0, rank))
    dcp.save({"crumb": crumb.torch.AllRanks(state)}, checkpoint_id=f"{folder[0]}/all")
    new, again = hooked(spec, (400, 10))
    dcp.load({"crumb": crumb.torch.AllRanks(again)}, checkpoint_id=f"{folder[0]}/all")
    assert torch.equal(step(new, gradient(1, rank)), step(ddp, gradient(1, rank)))
    assert torch.equal(owed(again), owed(state))
    dcp.save({"crumb": state}, checkpoint_id=f"{folder[0]}/own")
    again = hooked(spec, (400, 10))[1]
    assert "AllRanks" in refused(Exception, lambda: dcp.load({"crumb": again}, checkpoint_id=f"{folder[0]}/own"))
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder[0])


def half_of_the_ranks_are_not_all(rank, ranks):
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    ddp, state = hooked("topk", (400, 10), group=groups[rank // 2])
    step(ddp, gradient(0, rank))
    assert "over 2 of 4" in refused(RuntimeError, crumb.torch.AllRanks(state).state_dict)


def a_velocity_follows_the_scale_and_other_ranks(rank, ranks):
    """Halving is exact: means are the same bits times the scale."""
    spec, means = "fc,last=dgc:fraction=0.01", {}
    for halves in False, True:
        ddp, state = hooked(spec, (400, 10), plan="gather")
        scale, means[halves] = 1.0, []
        for i in range(6):
            if halves and i % 2:
                scale /= 2
                state.rescale(0.5)
            means[halves].append(step(ddp, gradient(i, rank) * scale) / scale)
    assert all(torch.equal(a, b) for a, b in zip(*means.values()))
    mine = state._slots["w.0"].velocity.clone()
    states = [None] * ranks
    dist.all_gather_object(states, state.state_dict())
    ddp, state = hooked(spec, (400, 10), plan="shard")
    state.load_state_dict(states)
    step(ddp, torch.full((400, 10), 1e-6))
    now = torch.cat([slot.velocity for slot in state._slots.values()])
    moved = now != 0
    assert moved.any() and torch.allclose(now[moved], 0.9 * mine[moved], atol=1e-5)


def a_warmup_goes_on_with_other_ranks(rank, ranks):
    spec = "fc,last=dgc:fraction=0.01,warmup=8"
    ddp, state = hooked(spec, (400, 10), plan="gather")
    for i in range(9):
        state.reset_stats()
        step(ddp, gradient(i, rank))
    ratio = state.stats()["ratio"]
    states = [None] * ranks
    dist.all_gather_object(states, state.state_dict())
    alone = dist.new_group([0]), dist.new_group([1])
    ddp, state = hooked(spec, (400, 10), plan="gather", group=alone[rank])
    state.load_state_dict(states)
    step(ddp, gradient(9, rank))
    assert state._slots["w.0"].packer.step == 10
    assert state.stats()["ratio"] > 0.9 * ratio > 9, (state.stats()["ratio"], ratio)


def a_state_is_pickled_and_copied(rank, ranks):
    ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10))
    step(ddp, gradient(0, rank))
    model, again = pickle.loads(pickle.dumps((ddp.module, state)))
    for other in again, copy.deepcopy(state):
        new = DistributedDataParallel(copy.deepcopy(model))
        new.register_comm_hook(other, crumb.torch.hook("raw")[1])
        assert other is not state
        if other is again:
            want = step(ddp, gradient(1, rank))
        assert torch.equal(step(new, gradient(1, rank)), want)


def another_number_of_ranks_owes_the_same_mean(rank, ranks):
    def mean_owed(state, group):
        now = dist.get_world_size(group)
        mean = owed_by(state, "w.0", 4000, now) / now
        dist.all_reduce(mean, group=group)
        return mean

    plan._LONGEST = 1000
    smaller = dist.new_group([0, 1])
    spec = "fc,last=topk:fraction=0.05"
    for (before, old), (after, new) in itertools.permutations([(None, "shard"), (None, "gather"), (smaller, "shard"),
                                                               (smaller, "gather")], 2):
        states, saved = [None] * ranks, None
        if before is None or rank < 2:
            ddp, state = hooked(spec, (400, 10), group=before, plan=old)
            for i in range(3):
                step(ddp, gradient(i, rank))
            saved = state.state_dict(), mean_owed(state, before)
        dist.all_gather_object(states, saved)
        owed_before = states[0][1]
        states = [one[0] for one in states if one]
        if after is None or rank < 2:
            ddp, state = hooked(spec, (400, 10), group=after, plan=new)
            state.load_state_dict(states)
            got = step(ddp, torch.full((400, 10), float(rank == 0)))
            want = owed_before + 1 / dist.get_world_size(after)
            torch.testing.assert_close(got.flatten() + mean_owed(state, after), want, rtol=1e-4, atol=1e-4)
            refused(ValueError, lambda: state.load_state_dict(states[0] if rank else states[1]))
        dist.barrier()
    plan._LONGEST = 1 << 16
    ddp, state = hooked("fc,last=sign", (400, 10))
    said = refused(ValueError, lambda: state.load_state_dict(states))
    assert "fc=topk" in said and "fc=sign" in said, said
    ddp, state = hooked(spec, (399, 10))
    step(ddp, gradient(0, rank, (399, 10)))
    said = refused(ValueError, lambda: state.load_state_dict(states))
    assert "4000 elements of w.0" in said and "3990" in said, said


def rank_0_saves_for_all(rank, ranks):
    spec = "fc,last=topk:fraction=0.05"
    ddp, state = hooked(spec, (400, 10))
    assert len(crumb.torch.AllRanks(state).state_dict()["ranks"]) == 1
    step(ddp, gradient(0, rank))
    saved = [crumb.torch.AllRanks(state).state_dict() if rank == 0 else None]
    if rank:
        crumb.torch.AllRanks(state).state_dict()
    dist.broadcast_object_list(saved)
    new, again = hooked(spec, (400, 10))
    crumb.torch.AllRanks(again).load_state_dict(saved[0])
    assert crumb.torch.AllRanks(again).state_dict() == saved[0]
    assert torch.equal(step(new, gradient(1, rank)), step(ddp, gradient(1, rank)))
    assert torch.equal(owed(again), owed(state))
    own = hooked(spec, (400, 10))[1]
    own.load_state_dict(state.state_dict())
    assert "own state" in refused(RuntimeError, own.of_all_ranks)  # it would be taken for all ranks'
    assert "Linear" in refused(TypeError,
                              lambda: crumb.torch.register(torch.nn.Linear(1, 1), *crumb.torch.hook("half")))


def a_step_that_was_left_is_undone_before_its_state_is_saved(rank, ranks):
    ddp, state = hooked("fc,last=topk:fraction=0.05", (400, 10), (400, 10))
    ddp(gradient(1, rank), gradient(2, rank)).backward()
    before = owed(state, "w.0"), owed(state, "w.1")

    class Failed(Exception):
        pass

    def fail(_):
        raise Failed

    handle = ddp.module.w[0].register_hook(fail)  # after w.1 has been handed over, or before
    refused(Failed, lambda: ddp(gradient(3, rank), gradient(4, rank)).backward())
    handle.remove()
    state.state_dict()
    assert torch.equal(owed(state, "w.0"), before[0]) and torch.equal(owed(state, "w.1"), before[1])


def a_step_that_failed_is_undone_before_its_state_is_saved(rank, ranks):
    for way in plan.PLANS:
        ddp, state = hooked("fc,last=topk:fraction=0.05", (400, 10), (400, 10), plan=way)
        step(ddp, gradient(1, rank), gradient(2, rank))
        before = owed_by(state, "w.0", 4000, ranks), owed_by(state, "w.1", 4000, ranks)
        state._close_step = lambda _: 1 / 0
        assert "by zero" in refused(RuntimeError, lambda: step(ddp, gradient(3, rank), gradient(4, rank)))
        refused(RuntimeError, lambda: step(ddp, gradient(5, rank), gradient(6, rank)))
        state.state_dict()
        after = owed_by(state, "w.0", 4000, ranks), owed_by(state, "w.1", 4000, ranks)
        assert all(map(torch.equal, before, after)), way


def a_loaded_state_is_rescaled(rank, ranks):
    """Halving is exact: means are the same bits times the scale."""
    ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10))
    step(ddp, gradient(0, rank))
    saved, means = state.state_dict(), []
    for factor in 1, 0.5:
        ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10))
        state.load_state_dict(saved)
        state.rescale(factor)
        if factor != 1:
            assert "rescaled" in refused(RuntimeError, state.state_dict)
            assert "rescaled" in refused(RuntimeError, state.of_all_ranks)
            state.load_state_dict(saved)
            state.rescale(factor)
        means.append(step(ddp, gradient(1, rank) * factor) / factor)
        means.append(step(ddp, gradient(2, rank) * factor) / factor)
    assert torch.equal(means[0], means[2]) and torch.equal(means[1], means[3])


def a_state_that_one_rank_loads_is_refused(rank, ranks):
    ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10))
    step(ddp, gradient(0, rank))
    saved = state.state_dict()
    ddp, state = hooked("fc,last=adacomp:bin=50", (400, 10))
    if rank == 0:
        state.load_state_dict(saved)
    for attempt in (lambda: step(ddp, gradient(1, rank))), (lambda: state._meet(ddp.module.w[0])):
        said = refused(Exception, attempt)
        assert "a state of 2 ranks" in said, said


def a_state_goes_on_with_the_compiled_model(rank, ranks):
    ddp, state = hooked("fc,last=topk", (400, 10))
    step(ddp, gradient(0, rank))
    saved = state.state_dict()
    want = step(ddp, gradient(1, rank))
    model = Compiled(Weights((400, 10)))
    ddp = DistributedDataParallel(model)
    state, hook = crumb.torch.hook("fc,last=topk")
    state.load_state_dict(saved)
    ddp.register_comm_hook(state, hook)
    ddp(gradient(1, rank)).backward()
    assert torch.equal(model._orig_mod.w[0].grad, want)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run((2, [a_state_goes_on_with_a_scaler_and_without, a_state_is_of_one_memory_format, a_state_brings_its_plan,
             pytorchs_distributed_checkpoint_keeps_what_is_owed, a_velocity_follows_the_scale_and_other_ranks,
             a_warmup_goes_on_with_other_ranks, a_state_is_pickled_and_copied,
             a_step_that_was_left_is_undone_before_its_state_is_saved, a_loaded_state_is_rescaled,
             a_state_that_one_rank_loads_is_refused, a_state_goes_on_with_the_compiled_model,
             a_step_that_failed_is_undone_before_its_state_is_saved]),
        (4, [half_of_the_ranks_are_not_all, another_number_of_ranks_owes_the_same_mean, rank_0_saves_for_all]))
