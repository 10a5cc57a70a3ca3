"""The hook, bucket by bucket, compared with packers and plain means that the test computes itself.

SPDX-License-Identifier: MIT
"""
import io
import warnings

from counted import need

need("torch")
import torch

import crumb
import crumb.torch
from crumb.policy import seed_of
from crumb.torch import plan
from crumb.torch.kinds import kinds_of
from crumb.torch.slot import Slot
from ranks import gathered, owed_by, refused, run

SHAPES = (300, 20), (7,), (5, 6, 3, 3), (40000,)
DTYPES = torch.float32, torch.float16, torch.bfloat16


class Model(torch.nn.Module):
    """Two parameters of fc weights and two of one axis, which are biases, by SHAPES."""

    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(shape)) for shape in SHAPES])


class GradBucket:
    """Stands for the torch.distributed.GradBucket that DDP passes to a hook."""

    def __init__(self, index, last, parameters, flat):
        self.index, self.is_last = lambda: index, lambda: last
        self.parameters, self.buffer = lambda: parameters, lambda: flat


def gradient(step, rank, dtype=torch.float32):
    n = sum(torch.Size(shape).numel() for shape in SHAPES)
    return torch.randn(n, generator=torch.Generator().manual_seed(100 * step + rank)).to(dtype)


def reduce(pair, model, flat, split=2):
    """Runs one step with two buckets, in DDP's order: the last parameters first. flat becomes the mean."""
    state, hook = pair
    parameters = list(model.parameters())
    border = sum(parameter.numel() for parameter in parameters[:split])
    futures = [hook(state, GradBucket(0, False, parameters[split:], flat[border:])),
               hook(state, GradBucket(1, True, parameters[:split], flat[:border]))]
    for future in futures:
        future.wait()
    return flat


def hooked(policy, meet=True, **options):
    """Returns (state, hook) and their model. meet: the state has its slots already, in the order of the parameters."""
    model = Model()
    state, hook = crumb.torch.hook(model, policy, **options)
    if meet:
        parameters = list(model.parameters())
        state._meet(parameters[0])
        for parameter in parameters:
            state._slots_of(parameter)
    return (state, hook), model


def policies():
    """Yields every codec at its defaults, and two more specs."""
    for info in crumb.codecs():
        yield info.name
    yield "terngrad:shared=1"
    yield "adacomp:bin=50"


def everything(spec):
    """Returns the policy that gives biases and fc weights the same codec."""
    return ";".join(f"{kind}={spec}" for kind in ("fc", "bias"))


def by_hand(packers, flats, slots, means=None):
    """Returns the mean that every rank should get. packers: for each rank, one a slot. flats: each rank's gradient.
    means: the packers of slots' means; the others' are not packed."""
    mean, at = torch.zeros(len(flats[0])), 0
    for i, slot in enumerate(slots):
        parts = [flat[at:at + slot.n].contiguous() for flat in flats]
        stats = [row[i].measure(part) for row, part in zip(packers, parts)]
        for row, part in zip(packers, parts):
            row[i].agree(stats)
            crumb.unpack_add(row[i].pack(part), 1 / len(flats), mean[at:at + slot.n])
        if means and means[i].codec.name != "raw":
            means[i].agree([means[i].measure(mean[at:at + slot.n])])
            frame = means[i].pack(mean[at:at + slot.n])
            crumb.unpack_add(frame, 1, mean[at:at + slot.n].zero_())
        at += slot.n
    return mean.to(flats[0].dtype)


def means_are_those_of_packers_by_hand(rank, ranks):
    for spec in policies():
        for dtype in DTYPES:
            pair, model = hooked(everything(spec), seed=5, plan="gather")
            slots = list(pair[0]._slots.values())
            runs = [slot.n // shape[0] if len(shape) > 1 else 0 for slot, shape in zip(slots, SHAPES)]
            packers = [[crumb.Packer(slot.packer.codec, slot.n, seed_of(5, r, i), runs[i])
                        for i, slot in enumerate(slots)] for r in range(ranks)]
            for step in range(3):
                want = by_hand(packers, [gradient(step, r, dtype) for r in range(ranks)], slots)
                got = reduce(pair, model, gradient(step, rank, dtype), split=2 - step % 2)
                plain = sum(gradient(step, r, dtype).float() for r in range(ranks)) / ranks
                at = 0
                for slot in slots:
                    part = slice(at, at := at + slot.n)
                    if slot.plain:
                        torch.testing.assert_close(got[part], plain.to(dtype)[part], rtol=1e-2, atol=1e-2)
                    else:
                        assert torch.equal(got[part], want[part]), (spec, dtype, step, slot.name)
            stats = pair[0].stats()
            assert stats["steps"] == 3 and stats["skipped"] == 0
            assert stats["dense_bytes"] == 3 * got.numel() * got.element_size()
            heads = 3 * ranks * (6 * 16 + 8 * len(slots))
            assert stats["sent_bytes"] <= stats["allreduce_bytes"] + heads, (spec, stats)


def owners_pack_the_means_again(rank, ranks):
    plan._LONGEST = 9000
    lengths = [6000, 7, 270] + [8000] * 5
    for spec, down in [*((spec, None) for spec in policies()), ("block", "block"), ("half", "alq"), ("topk", "qsgd"),
                       ("terngrad:shared=1", "half:type=f16"), ("natural", "terngrad:shared=1"), ("block", "raw")]:
        for dtype in DTYPES:
            pair, model = hooked(everything(spec), seed=5, plan="shard", down=down and everything(down))
            slots = list(pair[0]._slots.values())
            if not slots[-1].raw:
                assert [slot.n for slot in slots] == lengths
                assert {slot.owner for slot in slots[3:]} == set(range(ranks))
            runs = [20, 0, 54] + [0] * (len(slots) - 3)
            means = [down or (slot.packer.codec.of_mean() if slot.packer.codec.info.residual else "raw")
                     for slot in slots]
            made = [[crumb.Packer(slot.packer.codec if r < ranks else means[i], slot.n, seed_of(5, r, i), runs[i])
                     for i, slot in enumerate(slots)] for r in range(ranks + 1)]  # of the ranks, and of the means
            for step in range(3):
                want = by_hand(made[:ranks], [gradient(step, r, dtype) for r in range(ranks)], slots, made[ranks])
                got = reduce(pair, model, gradient(step, rank, dtype), split=2 - step % 2)
                at = 0
                for slot in slots:
                    part = slice(at, at := at + slot.n)
                    assert slot.plain or slot.raw or torch.equal(got[part], want[part]), \
                        (spec, down, dtype, step, slot.name)
            if down and dtype == torch.float32:
                assert not any(slot.plain for slot in slots if slot.n > 300), (spec, down, dtype)
            stats = pair[0].stats()
            assert (stats["plan"], stats["steps"], stats["skipped"]) == ("shard", 3, 0)
            if (down, dtype) == ("block", torch.float32):
                assert 3.5 < stats["allreduce_bytes"] / stats["sent_bytes"] < 4.5, stats
    plan._LONGEST = 1 << 16


def the_plan_is_that_of_fewer_bytes(rank, ranks):
    def choice(spec, ranks, *sizes, down=None):
        codec = crumb.Codec(spec)
        down = crumb.Codec(down or (spec if codec.info.residual else "raw"))
        tensors = [plan.Tensor(f"t{i}", "fc", codec, down, n, 4, 0, True) for i, n in enumerate(sizes)]
        return plan.divide(None, ranks, tensors)[0]

    large = 1 << 24
    for spec in "adacomp", "twobit:threshold=1", "sign", "topk":
        assert [choice(spec, r, large) for r in (1, 2, 3, 64)] == ["gather", "gather", "shard", "shard"], spec
        assert choice(spec, 64, 1000) == "gather"  # its one owner would be busier
    for spec, border in ("half", 3), ("qsgd", 8), ("terngrad", 21):  # about 1 + 4 n / bound
        assert [choice(spec, r, large) for r in (border - 1, border + 2)] == ["gather", "shard"], spec
    sign = crumb.Codec("sign")
    parts = plan.divide("shard", 3, [plan.Tensor("t", "fc", sign, sign, 70000, 4, 3, True)])[1][0]
    assert [(part.key, part.at, part.n) for part in parts] == [("t", 0, 34998), ("t..34998", 34998, 35002)], parts
    assert [choice("block", r, large, down="block") for r in (2, 3, 64)] == ["gather", "shard", "shard"]
    state, _ = crumb.torch.hook("alq", down="half")
    assert [str(state._codecs("fc", 1000, width)[1]) for width in (2, 4)] == ["raw", "half"]
    refused(ValueError, lambda: crumb.torch.hook(Model(), "raw", plan="server"))
    assert "gather" in refused(ValueError, lambda: crumb.torch.hook("block", plan="gather", down="block"))
    assert "residual" in refused(ValueError, lambda: crumb.torch.hook("block", down="fc=sign"))


def what_is_not_finite_passes_and_nothing_moves(rank, ranks):
    for spec, way in ("adacomp", "shard"), ("adacomp", "gather"), ("terngrad:shared=1", None), ("seide", None):
        pair, model = hooked(everything(spec), plan=way)
        reduce(pair, model, gradient(0, rank))
        before = pair[0].state_dict()
        for at, value in (0, float("nan")), (-1, float("inf")), (0, -float("inf")):
            flat = gradient(1, rank)
            if rank == 1:
                flat[at] = value
            reduce(pair, model, flat)
            assert not flat[at].isfinite() and flat[3 if at else -3].isfinite()
            after = pair[0].state_dict()
            assert all(torch.equal(after["packers"][name], before["packers"][name]) for name in before["packers"])
        assert pair[0].stats()["skipped"] == 3
        others, other = hooked(everything(spec), plan=way)
        others[0].load_state_dict(before)
        assert torch.equal(reduce(pair, model, gradient(2, rank)), reduce(others, other, gradient(2, rank)))


def a_finite_unusable_element_is_averaged_plainly(rank, ranks):
    pair, model = hooked(everything("adacomp"))
    flat = gradient(0, rank)
    flat[0] = 2.0**122 if rank == 0 else 0.0
    reduce(pair, model, flat)
    assert flat[0] == 2.0**122 / ranks
    small = sum(torch.Size(shape).numel() for shape in SHAPES[:2])
    torch.testing.assert_close(flat[1:small], (sum(gradient(0, r) for r in range(ranks)) / ranks)[1:small])
    steps = [slot.packer.step for slot in pair[0]._slots.values()]
    assert steps == [0, 0, 1, 1] and pair[0].stats()["skipped"] == 0, steps


def frames_that_would_be_too_long_are_not_sent(rank, ranks):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pair, model = hooked("fc=half")  # and raw biases, at four ranks 1.5 times the bytes of an all-reduce
        for step in range(3):
            got = reduce(pair, model, gradient(step, rank), split=3)
        stats = pair[0].stats()
        rounding = 3 * 2 * 2 * 4 * ranks  # a rank's part of a bucket is a whole number of elements
        assert stats["sent_bytes"] <= stats["allreduce_bytes"] + rounding, stats
        assert len([w for w in said if "averaged plainly" in str(w.message)]) == (rank == 0 and ranks == 4), said
    want = sum(gradient(2, r) * (1 / ranks) for r in range(ranks))
    assert torch.equal(got[-SHAPES[-1][0]:], want[-SHAPES[-1][0]:])


def a_slot_that_is_packed_no_more_sends_its_residual(rank, ranks):
    for way, dtype in ("gather", torch.float32), ("shard", torch.float16):
        pair, model = hooked(everything("adacomp:bin=16000"), plan=way)  # two bytes for each element that it sends
        total, sent = 0, 0
        for step in range(3):
            flat = gradient(step, rank, dtype)
            flat = flat.fill_(64.0 * (rank + 1)) if step == 2 else flat
            total = total + sum(one.float() for one in gathered(flat)) / ranks
            sent = sent + reduce(pair, model, flat).float()
            means = [slot.mean for slot in pair[0]._slots.values() if slot.mean]
            assert step == 2 or way == "gather" or not means or any(mean.owed.any() for mean in means)
        assert all(slot.plain or slot.raw for slot in pair[0]._slots.values())
        assert not any(mean.owed.any() for mean in means)
        owed = torch.cat([owed_by(pair[0], name, parameter.numel(), ranks) for name, parameter in
                          model.named_parameters()])
        torch.testing.assert_close(sent + sum(gathered(owed)) / ranks, total, rtol=0, atol=0.15)  # a float16 near 160
        assert dtype != torch.float32 or not owed.any()


def a_state_goes_on_where_it_was(rank, ranks):
    for spec, way in [(spec, way) for spec in policies() for way in plan.PLANS]:
        pair, model = hooked(everything(spec), seed=2, plan=way)
        for step in range(2):
            reduce(pair, model, gradient(step, rank))
        file = io.BytesIO()
        torch.save(pair[0].state_dict(), file)
        file.seek(0)
        others, other = hooked(everything(spec), seed=2, plan=way)
        others[0].load_state_dict(torch.load(file))
        for step in range(2, 5):  # in other buckets, as after DDP's first step
            want = reduce(pair, model, gradient(step, rank))
            assert torch.equal(want, reduce(others, other, gradient(step, rank), split=1)), spec
    saved = pair[0].state_dict()
    name = next(iter(saved["packers"]))
    for bad in ({**saved, "rank": rank + 1}, {**saved, "ranks": 9}, {**saved, "policy": "another"},
                {**saved, "packers": {**saved["packers"], name: saved["packers"][name][:-1]}}):
        before = pair[0].state_dict()
        try:
            pair[0].load_state_dict(bad)
        except ValueError:
            assert all(torch.equal(pair[0].state_dict()["packers"][n], before["packers"][n]) for n in before["packers"])
        else:
            raise AssertionError("accepted")


def one_agreement_a_bucket(rank, ranks):
    pair, model = hooked(everything("terngrad:shared=1"))
    wire, gathers = pair[0]._wire, []
    gather = wire.gather
    wire.gather = lambda data, tag: gathers.append(len(data)) or gather(data, tag)
    for step in range(3):
        reduce(pair, model, gradient(step, rank))
    assert gathers == [2, 1] * 3, gathers  # one scaler for each parameter but the shortest, which is raw


def what_befalls_an_owner_befalls_all(rank, ranks):
    def owners_pack(function):
        pair, model = hooked("fc=sign", plan="shard")
        reduce(pair, model, gradient(0, rank))
        for kept in [slot.mean for slot in pair[0]._slots.values() if slot.mean and rank == 0]:
            kept.packer.pack_at = function
        return pair, model

    pair, model = owners_pack(lambda *arguments: crumb.error.check(-11))
    said = refused(Exception, lambda: reduce(pair, model, gradient(1, rank)))
    assert "packer" in said and (rank == 0 or "rank 0 has failed" in said), said
    pair, model = owners_pack(lambda *arguments: crumb.error.check(-4))
    before = pair[0].state_dict()
    got = reduce(pair, model, gradient(1, rank), split=0)
    torch.testing.assert_close(got, sum(gradient(1, r) for r in range(ranks)) / ranks)
    after = pair[0].state_dict()
    for kind in "packers", "means":
        assert all(torch.equal(after[kind][key], before[kind][key]) for key in before[kind])


def refusals(rank, ranks):
    def differ(*arguments, **options):
        pair, model = hooked(*arguments, meet=False, **options)
        said = refused(ValueError, lambda: reduce(pair, model, gradient(0, rank)))
        assert "different" in said, said
        return said

    for bad in ("fc=nothing", "fcc=raw", "adacomp:bin=-1"):
        refused(ValueError, lambda: crumb.torch.hook(Model(), bad))
    refused(ValueError, lambda: crumb.torch.hook(Model()))
    for threads in 0, -1:  # nobody would pack
        assert "threads" in refused(ValueError, lambda: crumb.torch.hook(Model(), "sign", threads=threads))
    refused(ValueError, lambda: crumb.torch.hook(Model(), "raw", compression_params={"type": "2bit"}))
    said = differ("sign" if rank else "half")
    assert "conv=half" in said and "conv=sign" in said, said
    differ("sign", seed=rank)
    pair, model = hooked("sign")
    assert "weights.2" in refused(TypeError, lambda: reduce(pair, model, gradient(0, rank, torch.float64)))
    for wrong, word in ((lambda: crumb.torch.hook(Model(), 5), "int"), (lambda: crumb.torch.hook(5, "sign"), "int"),
                        (lambda: crumb.torch.hook(Model(), compression_params=[1]), "list"),
                        (lambda: crumb.torch.hook(Model(), "sign", seed="1"), "seed"),
                        (lambda: crumb.torch.hook(Model(), "sign", threads=1.5), "threads"),
                        (lambda: crumb.torch.hook(Model(), "sign", scaler=65536.0), "get_scale")):
        assert word in refused(TypeError, wrong)
    assert "state" in refused(TypeError, lambda: pair[1]({}, None))
    for wrong in {}, [], 5, [{"packers": {}}], {"rank": 0}:
        assert "no state" in refused(ValueError, lambda: pair[0].load_state_dict(wrong))
    pair, model = hooked("sign")
    refused(RuntimeError, lambda: reduce(pair, Model(), gradient(0, rank)))
    pair, model = hooked(everything("terngrad"))
    if rank == 0:  # its packer fails
        slot = next(iter(pair[0]._slots.values()))
        slot.packer.pack_at = lambda *arguments: crumb.error.check(-11)
    said = refused(Exception, lambda: reduce(pair, model, gradient(0, rank)))
    assert "packer" in said and (rank == 0 or "rank 0 has failed" in said), said
    assert "earlier step" in refused(RuntimeError, lambda: reduce(pair, model, gradient(0, rank)))


def defaults_change_nothing(rank, ranks):
    """torch.set_default_dtype and torch.set_default_device are the caller's."""
    cases = [(spec, dtype, way) for spec in ("half", "alq", "adacomp") for dtype in DTYPES for way in plan.PLANS]
    made = {case: (*hooked(everything(case[0]), meet=False, plan=case[2]),
                   [gradient(step, rank, case[1]) for step in range(2)]) for case in cases}
    expected = {case: [reduce(pair, model, flat.clone()) for flat in flats]
                for case, (pair, model, flats) in made.items()}
    for default in torch.bfloat16, torch.float64:
        again = {case: hooked(everything(case[0]), meet=False, plan=case[2]) for case in cases}
        torch.set_default_dtype(default)
        if hasattr(torch, "set_default_device"):
            torch.set_default_device("meta")
        try:
            for case, (pair, model) in again.items():
                for flat, mean in zip(made[case][2], expected[case]):
                    assert torch.equal(reduce(pair, model, flat.clone()), mean), (case, default)
        finally:
            torch.set_default_dtype(torch.float32)
            if hasattr(torch, "set_default_device"):
                torch.set_default_device("cpu")


def an_infinity_in_a_plain_slot_stays_one(rank, ranks):
    """What a slot that is averaged plainly owes stays as it is until the gradient is finite."""
    for dtype in DTYPES:
        topk = crumb.Codec("topk:fraction=0.5")
        slot = Slot(plan.Part("w", "w", "fc", 0, 0, 8, 0, None), topk, topk, 1)
        slot.packer.pack(torch.linspace(0.1, 1, 8))
        owed = slot.owed.clone()
        assert owed.any()
        for step, bad in enumerate((float("inf"), float("nan"))):
            flat = torch.ones(8, dtype=dtype)
            flat[1] = bad
            slot.settle(flat, step, ranks)
            assert not flat.isfinite().all() and torch.equal(slot.owed, owed), dtype
        flat = torch.ones(8, dtype=dtype)
        slot.settle(flat, 2, ranks)
        torch.testing.assert_close(flat.float() + slot.owed, owed + 1)


def kinds(rank, ranks):
    model = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.LSTM(4, 4), torch.nn.Conv1d(4, 4, 1),
                                torch.nn.BatchNorm1d(4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 4),
                                torch.nn.Linear(4, 3))
    found = kinds_of(model)
    assert found == {"0.weight": "embedding", "1.weight_ih_l0": "lstm", "1.weight_hh_l0": "lstm",
                     "1.bias_ih_l0": "bias", "1.bias_hh_l0": "bias", "2.weight": "conv", "2.bias": "bias",
                     "3.weight": "batchnorm", "3.bias": "batchnorm", "4.weight": "batchnorm", "4.bias": "batchnorm",
                     "5.weight": "fc", "5.bias": "bias", "6.weight": "last", "6.bias": "bias"}, found
    tied = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 4), torch.nn.MultiheadAttention(4, 2),
                               torch.nn.Linear(4, 9, bias=False))
    tied[3].weight = tied[0].weight
    found = kinds_of(tied)
    assert (found["0.weight"], found["1.weight"], found["2.in_proj_weight"], found["2.out_proj.weight"]) == \
        ("embedding", "fc", "fc", "fc"), found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run((1, [the_plan_is_that_of_fewer_bytes, an_infinity_in_a_plain_slot_stays_one]),
        (2, [means_are_those_of_packers_by_hand, what_is_not_finite_passes_and_nothing_moves,
             a_finite_unusable_element_is_averaged_plainly, frames_that_would_be_too_long_are_not_sent,
             one_agreement_a_bucket, kinds, refusals, defaults_change_nothing, what_befalls_an_owner_befalls_all]),
        (3, [owners_pack_the_means_again, means_are_those_of_packers_by_hand, a_state_goes_on_where_it_was]),
        (4, [what_is_not_finite_passes_and_nothing_moves, frames_that_would_be_too_long_are_not_sent,
             a_slot_that_is_packed_no_more_sends_its_residual]))
