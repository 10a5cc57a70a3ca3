"""crumb.torch.Outer: steps alone, exchanges of moves. SPDX-License-Identifier: MIT"""
import copy

from counted import need

need("torch")
import torch
import torch.distributed as dist

import crumb.torch
from ranks import gathered, owed_by, refused, run

OWING = "fc,last=adacomp:bin=50", "fc,last=topk:fraction=0.02", "fc,last=sign"


def made(rank, policy, every, inner=lambda parameters: torch.optim.SGD(parameters, lr=0.1), **options):
    torch.manual_seed(rank)  # other weights on each rank, which Outer has to change
    model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.ReLU(), torch.nn.Linear(40, 5))
    return model, crumb.torch.Outer(model, inner(model.parameters()), policy, every=every, **options)


def train(model, outer, rank, first, last):
    for step in range(first, last):
        random = torch.Generator().manual_seed(1000 * step + rank)
        outer.zero_grad()
        (model(torch.randn(8, 30, generator=random)) ** 2).mean().backward()
        outer.step()


def weights(model):
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def all_have(model):
    return all(torch.equal(one, weights(model)) for one in gathered(weights(model)))


def ranks_begin_alike_and_meet(rank, ranks):
    for policy in "raw", "half", *OWING:
        model, outer = made(rank, policy, 3)
        assert all_have(model)
        train(model, outer, rank, 0, 2)
        assert not all_have(model)
        train(model, outer, rank, 2, 3)
        assert all_have(model) and outer.state.stats()["steps"] == 1, policy


def frozen_layers_are_alike_too(rank, ranks):
    torch.manual_seed(rank)
    model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Linear(40, 5))
    model[0].requires_grad_(False)
    model[0].weight.data = model[0].weight.data.t().contiguous().t()
    outer = crumb.torch.Outer(model, torch.optim.SGD(model[1].parameters(), lr=0.1), "raw", every=3)
    assert all_have(model)
    train(model, outer, rank, 0, 3)
    assert all_have(model)


def the_outer_step_is_torchs_nesterov(rank, ranks):
    model, outer = made(rank, "raw", 4)
    oracle = torch.nn.Parameter(weights(model))
    sgd = torch.optim.SGD([oracle], lr=0.7, momentum=0.9, nesterov=True)
    for i in range(5):
        train(model, outer, rank, 4 * i, 4 * i + 3)
        alone = copy.deepcopy(model)
        stepping = torch.optim.SGD(alone.parameters(), lr=0.1)
        random = torch.Generator().manual_seed(1000 * (4 * i + 3) + rank)
        (alone(torch.randn(8, 30, generator=random)) ** 2).mean().backward()
        stepping.step()
        oracle.grad = oracle.detach() - weights(alone)
        dist.all_reduce(oracle.grad)
        oracle.grad /= ranks
        train(model, outer, rank, 4 * i + 3, 4 * i + 4)
        sgd.step()
        torch.testing.assert_close(weights(model), oracle.detach(), rtol=1e-4, atol=1e-5)


def moves_arrive_or_are_owed(rank, ranks):
    for policy in OWING:
        model, outer = made(rank, policy, 2, lr=1.0, momentum=0.0)
        began = now = weights(model)
        put = torch.zeros_like(began)
        for i in range(8):
            train(model, outer, rank, 2 * i, 2 * i + 1)
            alone = copy.deepcopy(model)
            random = torch.Generator().manual_seed(1000 * (2 * i + 1) + rank)
            (alone(torch.randn(8, 30, generator=random)) ** 2).mean().backward()
            torch.optim.SGD(alone.parameters(), lr=0.1).step()
            put += now - weights(alone)
            train(model, outer, rank, 2 * i + 1, 2 * i + 2)
            now = weights(model)
        owed = torch.cat([owed_by(outer.state, name, one.numel(), ranks) for name, one in model.named_parameters()])
        assert owed.any(), policy
        dist.all_reduce(put)
        dist.all_reduce(owed)
        torch.testing.assert_close(began - now + owed / ranks, put / ranks, rtol=1e-3, atol=1e-4)


def a_resumed_run_is_the_unbroken_one(rank, ranks):
    def adam(parameters):
        return torch.optim.Adam(parameters, lr=0.01)

    for policy in "fc,last=qsgd:bucket=128", OWING[0]:
        model, outer = made(rank, policy, 3, adam)
        train(model, outer, rank, 0, 7)  # in the middle between two exchanges
        saved = copy.deepcopy(outer.state_dict())
        train(model, outer, rank, 7, 14)
        again, resumed = made(rank, policy, 3, adam)
        resumed.load_state_dict(saved)
        assert torch.equal(resumed.state_dict()["velocity"], saved["velocity"])  # before it has made an exchange
        train(again, resumed, rank, 7, 14)
        assert torch.equal(weights(again), weights(model)), policy


def a_move_that_is_not_finite_is_taken_back(rank, ranks):
    model, outer = made(rank, OWING[0], 2, lambda parameters: torch.optim.Adam(parameters, lr=0.01))
    train(model, outer, rank, 0, 4)
    before, owed = weights(model), owed_by(outer.state, "0.weight", 1200, ranks)
    if rank == 0:
        model(torch.full((8, 30), float("nan"))).sum().backward()
        outer.inner.step()
    outer.exchange()
    assert torch.equal(weights(model), before) and outer.skipped == 1
    assert torch.equal(owed_by(outer.state, "0.weight", 1200, ranks), owed)
    train(model, outer, rank, 4, 6)
    assert all_have(model) and weights(model).isfinite().all() and not torch.equal(weights(model), before)


def a_scaler_may_step_the_inner_optimizer(rank, ranks):
    whole = []
    for own in False, True:
        model, outer = made(rank, "topk", every=2)
        for i in range(6):
            random = torch.Generator().manual_seed(1000 * i + rank)
            outer.zero_grad()
            (model(torch.randn(8, 30, generator=random)) ** 2).mean().backward()
            if own:
                outer.step()
                continue
            outer.inner.step()  # as scaler.step(inner) does
            if i % 2:
                outer.exchange()
        whole.append(weights(model))
    assert torch.equal(*whole)


def wrong_arguments_are_named(rank, ranks):
    for wrong, named in [(dict(every=1 + rank), "rank 1"), (dict(every=0), "0, 0.7 and 0.9"),
                         (dict(every=1, lr=-1.0), "-1.0"), (dict(every=1, momentum=1.0), "and 1.0"),
                         (dict(every=1, threads=0), "0 threads"), (dict(every=1, threads=-1), "-1 threads")]:
        assert named in refused(ValueError, lambda: made(rank, "raw", **wrong)), wrong
    assert "float32" in refused(ValueError, lambda: crumb.torch.Outer(torch.nn.Linear(2, 2).double(), None, "raw",
                                                                      every=1))


def others_than_its_parameters_are_refused(rank, ranks):
    model, outer = made(rank, "raw", 1)
    assert "without DDP" in refused(ValueError, lambda: crumb.torch.Outer(
        torch.nn.parallel.DistributedDataParallel(model), outer.inner, "raw", every=1))
    for trained in False, True:
        model[0].weight.requires_grad_(trained)
        if trained:
            outer.exchange()
            model.register_parameter("more", torch.nn.Parameter(torch.ones(3)))
        assert "other parameters" in refused(RuntimeError, outer.exchange)


def a_wrong_state_is_refused_whole(rank, ranks):
    model, outer = made(rank, "topk", every=1)
    train(model, outer, rank, 0, 2)
    saved, before = outer.state_dict(), outer.state_dict()
    assert "no state" in refused(ValueError, lambda: outer.load_state_dict({"model": 1}))
    for part, wrong in (("inner", torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1).state_dict()),
                        ("exchange", {**saved["exchange"], "seed": 7}), ("model", torch.ones(3)),
                        ("velocity", torch.ones(3))):
        refused(ValueError, lambda: outer.load_state_dict({**saved, part: wrong}))
        now = outer.state_dict()
        assert str(now) == str(before), part


if __name__ == "__main__":
    run((3, [ranks_begin_alike_and_meet, frozen_layers_are_alike_too, the_outer_step_is_torchs_nesterov,
             moves_arrive_or_are_owed, a_resumed_run_is_the_unbroken_one, a_move_that_is_not_finite_is_taken_back,
             wrong_arguments_are_named, a_scaler_may_step_the_inner_optimizer, a_wrong_state_is_refused_whole,
             others_than_its_parameters_are_refused]))
