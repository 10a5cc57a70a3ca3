"""The library and the plain Python of this folder make the same frames, values and refusals.

SHARED is the library's file, GOLDEN the folder of the golden frames.

SPDX-License-Identifier: MIT
"""
import functools
import glob
import math
import os
import random
import struct
import sys
import traceback
from array import array
from collections import namedtuple

import crumb_ref
import libcrumb
from crumb_ref import HEADER, Refused
from crumb_ref_encode import encode, encode_sum, seal, terngrad_scalers
from crumb_ref_levels import EVEN, POWERS, TABLE, bits_of, levels_of, write_codes
from crumb_ref_numbers import ceil_div, fl, uniforms

FRAMES, DAMAGED, LEVELS = 20000, 15000, 4000
GREATEST = 2.0**120


# ---- random settings and gradients ----------------------------------------------------------------------------------

def random_spec(rng):
    threshold = fl(rng.choice((0.5, 1, rng.uniform(0.01, 2), 2.0**rng.uniform(-99, 99))))
    share = fl(rng.choice((0.5, 1e-6, rng.uniform(0.001, 0.5))))
    thresholds = rng.choice(({"threshold": threshold}, {"threshold": "auto", "share": share}))
    bin = rng.choice((1, 2, 50, 62, 63, 64, 500, 16383, 16384, 16777216, rng.randint(1, 20), rng.randint(1, 100)))
    bucket = rng.choice((128, 128, 256, 384, 512, 4096, 8192, 32640, 32768))
    few, zero, norm = rng.randint(2, 4), rng.choice((0, 1)), rng.choice(("l2", "max"))
    coding, bits = rng.choice(("fixed", "huffman", "entropy")), rng.randint(2, 8)
    adaptive = {"bits": bits if coding == "fixed" else few, "bucket": bucket, "coding": coding, "zero": zero,
                "normalized": rng.choice((0, 1)),
                "model": rng.choice(("empirical", "normal")), "every": rng.choice((1, 2, 2000)), "norm": norm}
    settings = {
        "raw": {},
        "half": {"type": rng.choice(("bf16", "f16"))},
        "twobit": thresholds,
        "terngrad": {"clip": fl(rng.choice((0, 2.5, 1, rng.uniform(0.01, 3), 100))),
                     "bucket": rng.choice((0, 0, 16, 32, 48, 128, 4096, 4112, 1048576)),
                     "shared": rng.choice((0, 0, 1)), "coding": rng.choice(("trits", "bits", "entropy"))},
        "adacomp": {"bin": bin, "coding": rng.choice(("symbols", "entropy")),
                    "factor": fl(rng.choice((1, 2, rng.uniform(1, 16), 16)))},
        "sign": {},
        "local": {"bin": bin, "coding": rng.choice(("symbols", "entropy"))},
        "onebit": {"threshold": rng.choice((threshold, -threshold, 0.0))},
        "strom": {**thresholds, "coding": rng.choice(("plain", "entropy"))},
        "topk": {"fraction": fl(rng.choice((0.003, 1e-6, 0.5, rng.uniform(0.001, 0.5)))),
                 **rng.choice(({"value": "exact", "coding": "plain"}, {"value": "mean", "coding": "plain"},
                               {"value": "mean", "coding": "entropy"}))},
        "seide": {"split": rng.choice(("zero", "mean"))},
        "qsgd": {"bits": bits, "bucket": bucket, "zero": zero, "norm": norm,
                 "coding": coding if bits <= 4 else "fixed"},
        "nuqsgd": {"bits": few, "bucket": bucket, "coding": coding, "zero": zero, "norm": norm},
        "natural": {"bits": few, "bucket": bucket, "coding": coding, "norm": norm},
        "alq": {**adaptive, "solver": rng.choice(("coordinates", "descent"))},
        "amq": adaptive,
        "zipml": {"bits": few, "bucket": bucket, "coding": coding},
        "block": {"bits": rng.choice((4, 8)), "block": rng.choice((32, 64, 96, 512, 4096, 32768)),
                  "rounding": rng.choice(("nearest", "stochastic"))},
        "chunk": {"bits": rng.choice((bits, 32)), **rng.choice((
            {"chunk": 4096, "keep": rng.choice((64, 1, 4096))}, {"chunk": 64, "keep": rng.randint(1, 64)},
            {"chunk": 16, "keep": rng.randint(1, 16)}, {"chunk": 65536, "keep": rng.randint(100, 32768)}))},
        "dgc": {"momentum": fl(rng.choice((0, 0.9, 1 - 2.0**-7, rng.random()))), "warmup": rng.choice((0, 1, 3, 4, 9)),
                "fraction": fl(rng.choice((0.001, 1e-6, 0.25, rng.uniform(0.001, 0.25))))},
    }
    settings["dgc"]["momentum"] = min(settings["dgc"]["momentum"], 1 - 2.0**-7)
    for codec in ("twobit", "adacomp", "sign", "local", "onebit", "strom", "topk", "seide", "chunk", "dgc"):
        settings[codec]["decay"] = fl(rng.choice((1, 1, 1, 0, 0.95, rng.random())))
    codec = rng.choice((*settings, "terngrad", "adacomp", "qsgd"))
    return {"codec": codec, **settings[codec]}


def spec_text(spec):
    values = (f"{key}={value if isinstance(value, (str, int)) else format(value, '.9g')}" for key, value in spec.items()
              if key != "codec")
    return f"{spec['codec']}:{','.join(values)}".rstrip(":")


def random_length(rng):
    if rng.random() < 0.003:
        return rng.randint(4000, 9000)
    return rng.randint(0, rng.choice((40, 300)))


def random_gradient(rng, n):
    kind = rng.randrange(8)
    size = rng.choice((1.0, 1.0, 1.0, 2.0**rng.uniform(-149, 119)))
    if kind == 0:  # ties
        values = [rng.randint(-4, 4) * 0.25 * size for _ in range(n)]
    elif kind == 1:  # zeros of both signs
        values = [rng.choice((0.0, -0.0, size, -size)) for _ in range(n)]
    elif kind == 2:  # a constant
        values = [size * rng.choice((0, 1, -1))] * n
    elif kind == 3:  # all magnitudes
        values = [rng.choice((-1, 1)) * 2.0**rng.uniform(-150, 120) for _ in range(n)]
    elif kind == 4:  # the greatest
        values = [rng.choice((GREATEST, -GREATEST, 0.0)) for _ in range(n)]
    else:
        values = [rng.gauss(0, 0.4) * size for _ in range(n)]
    return array("f", [max(-GREATEST, min(GREATEST, x)) for x in values])


def stored_as(dtype, gradient):
    """The gradient's bytes in that type, and the values that they hold."""
    n = len(gradient)
    stored = struct.pack(f"={n}f", *gradient)
    if dtype == "f16":
        stored = struct.pack(f"={n}e", *(max(-65504.0, min(65504.0, g)) for g in gradient))
        gradient = array("f", struct.unpack(f"={n}e", stored))
    elif dtype == "bf16":
        halves = array("H", (bits >> 16 for bits in array("I", stored)))
        stored = halves.tobytes()
        gradient = array("f", array("I", (half << 16 for half in halves)).tobytes())
    return stored, gradient


def random_weight(rng):
    return fl(rng.choice((1, 1, -1, 0, -0.0, 1 / 3, 1 / 7, rng.gauss(0, 2), 2.0**-149, 2.0**127, -(2.0**127.9),
                          2.0**rng.uniform(-149, 127))))


def random_acc(rng, n):
    kind = rng.randrange(4)
    if kind == 0:
        return array("f", bytes(4 * n))
    if kind == 1:
        some = 0.0, -0.0, 1.0, -1.5, 2.0**-149, -(2.0**-127), 3e38, math.inf, -math.inf, math.nan
        return array("f", rng.choices(some, k=n))
    return array("f", [rng.gauss(0, 1) for _ in range(n)])


# ---- frames of both, and their comparison ---------------------------------------------------------------------------

Packed = namedtuple("Packed", "what n frame reference residual reference_residual velocity reference_velocity")


def packed_by_both(rng):
    """A few steps of a codec, and where learners agree on something, of a few learners."""
    spec, n, seed, dtype = random_spec(rng), random_length(rng), rng.getrandbits(63), rng.choice(libcrumb.DTYPES)
    learners = rng.randint(1, 4) if spec.get("shared") or spec["codec"] in ("alq", "amq") else 1
    run = rng.choice((0, 1, 2, 9, 16, 25, 63, 64, 65, 75, 100, 1000, 5000))
    packers = [libcrumb.Packer(spec_text(spec), n, seed + i, dtype, run) for i in range(learners)]
    residuals, velocities = ([array("f", bytes(4 * n)) for _ in packers] for _ in range(2))
    for step in range(rng.randint(1, 4)):
        gradients = [stored_as(dtype, random_gradient(rng, n)) for _ in packers]
        agreed = None
        if spec.get("shared"):
            agreed = [max(s) for s in zip(*(terngrad_scalers(g, spec["clip"], spec["bucket"]) for _, g in gradients))]
        stats = [packer.measure(stored) for packer, (stored, _) in zip(packers, gradients)]
        for packer in packers if stats[0] else ():
            packer.agree(stats)
        for i, (packer, (stored, values), residual, velocity) in enumerate(
                zip(packers, gradients, residuals, velocities)):
            frame = packer.pack(stored)
            shape = crumb_ref.parse(frame).facts.get("shape") if spec["codec"] in ("alq", "amq", "zipml") else None
            reference = encode(spec, values, residual, seed + i, step, agreed, run, shape, velocity)
            what = f"{spec_text(spec)}, {n} {dtype}, seed {seed + i}, run {run}, step {step}"
            yield Packed(what, n, frame, reference, packer.residual(), residual[:],
                         packer.velocity(), velocity[:])


@functools.cache
def random_frames():
    rng = random.Random(1)
    packed = []
    while len(packed) < FRAMES:
        packed += packed_by_both(rng)
    return packed


def bits(floats):
    """The bytes of an array, all NaNs alike."""
    if any(map(math.isnan, floats)):
        floats = array("f", [math.nan if math.isnan(x) else x for x in floats])
    return floats.tobytes()


def decoded_by_both(frame, weight, acc):
    """Fails unless both make the same of the bytes; the reason of a refusal, or None."""
    of_library, of_reference, why = acc[:], acc[:], None
    length = libcrumb.unpack_add(frame, weight, of_library)
    try:
        reference_length = crumb_ref.decode(frame, weight, of_reference)
    except Refused as refusal:
        reference_length, why = -1, str(refusal)
    what = f"library {length}, reference {reference_length} ({why}), weight {weight!r}: {frame.hex()}"
    assert max(length, -1) == reference_length, what
    assert bits(of_library) == bits(of_reference), what
    return why


# ---- tests ----------------------------------------------------------------------------------------------------------

def test_golden_frames():
    paths = sorted(glob.glob(os.path.join(os.environ["GOLDEN"], "*.crumb")))
    assert len(paths) >= 10, paths
    for path in paths:
        assert len(crumb_ref.read_frames(path)) == 2, path
        assert crumb_ref.check(path, path.removesuffix("crumb") + "f32"), path


def test_encoders_agree():
    for packed in random_frames():
        assert packed.frame == packed.reference, f"{packed.what}: {packed.frame} {packed.reference.hex()}"
        if packed.residual is not None:
            assert packed.residual == packed.reference_residual, packed.what
        if packed.velocity is not None:
            assert packed.velocity == packed.reference_velocity, packed.what


def test_order_of_sums():
    """Long gradients; and where another order gives another sum: 2^-53 is lost after 1 + 2^-24, 2^-43 is not."""
    rng = random.Random(7)
    for bucket in (0, 4096, 4112, 8192) * 15:
        gradient = array("f", [rng.gauss(0.1, 0.4) for _ in range(rng.randint(4097, 9000))])
        packer = libcrumb.Packer(f"terngrad:shared=1,clip=1,bucket={bucket}", len(gradient), 0, "f32")
        assert list(packer.measure(gradient.tobytes())) == terngrad_scalers(gradient, 1.0, bucket), bucket
    for spec in ({"codec": "sign"}, {"codec": "topk", "fraction": 0.5, "value": "mean", "coding": "plain"},
                 {"codec": "seide", "split": "zero"}, {"codec": "seide", "split": "mean"},
                 {"codec": "qsgd", "bits": 8, "bucket": 8192, "zero": 1, "norm": "l2",
                  "coding": "fixed"}):  # sums that overflow
        gradient = array("f", [rng.choice((-GREATEST, GREATEST, 0.75 * GREATEST)) for _ in range(9000)])
        owed = array("f", bytes(4 * 9000))
        packer = libcrumb.Packer(spec_text(spec), 9000, 0, "f32")
        for step in range(2):
            assert packer.pack(gradient.tobytes()) == encode(spec, gradient, owed, 0, step), spec
    tiny = 2.0**-53
    for runs, total in (([1.0, 2.0**-24] + [0.0] * 1022 + [tiny] * 1024, 1 + 2.0**-23),
                        ([1.0, 2.0**-24] + [tiny] * 1022 + ([tiny] + [0.0] * 1023) * 3, 1)):
        gradient, owed = array("f", runs), array("f", bytes(4 * len(runs)))
        frame = encode({"codec": "adacomp", "bin": 1, "factor": 1.0, "coding": "symbols"}, gradient, owed, 0, 0)
        assert crumb_ref.parse(frame).facts["scale"] == fl(total / len(runs))
        assert libcrumb.Packer("adacomp:bin=1,factor=1", len(runs), 0, "f32").pack(gradient.tobytes()) == frame


def test_residuals_at_the_limit():
    """Residuals that grow for as long as they are let."""
    rng = random.Random(11)
    for spec in ({"codec": "twobit", "threshold": 0.5}, {"codec": "onebit", "threshold": 0.5}, {"codec": "sign"},
                 {"codec": "strom", "threshold": 0.5, "coding": "plain"}, {"codec": "seide", "split": "mean"},
                 {"codec": "local", "bin": 20, "coding": "symbols"}):
        packer, residual = libcrumb.Packer(spec_text(spec), 40, 0, "f32"), array("f", bytes(4 * 40))
        for step in range(70):
            gradient = array("f", [GREATEST] + [-GREATEST] * 30 + [rng.choice((GREATEST, 0.0)) for _ in range(9)])
            assert packer.pack(gradient.tobytes()) == encode(spec, gradient, residual, 0, step), (spec, step)
            assert packer.residual() == residual, (spec, step)


def test_blocks():
    """More than one block of ternary symbols, and digits that are all the same, or of nearly one kind."""
    rng = random.Random(8)
    for n, density, clip in ((140001, 0.3, 0.0), (5000, 1.0, 0.0), (20000, 0.97, 0.0)):
        gradient = array("f", [rng.choice((1.0, -1.0)) if rng.random() < density else 0.0 for _ in range(n)])
        if density == 1:
            gradient = array("f", [-1.0] * n)
        spec = {"codec": "terngrad", "clip": clip, "bucket": 0, "shared": 0, "coding": "entropy"}
        frame = libcrumb.Packer(spec_text(spec), n, 5, "f32").pack(gradient.tobytes())
        assert frame == encode(spec, gradient, None, 5, 0), n
        assert decoded_by_both(frame, 0.3, random_acc(rng, n)) is None
        assert crumb_ref.parse(frame).facts["coding"] == "blocks", n
    n = 81920 + 128  # a block of three bits an element and a short one, joined or not, of which neither gets shorter
    gradient = array("f", [1.0 if i % 128 == 0 else rng.randrange(-7, 8, 2) / 7 for i in range(n)])
    spec = {"codec": "qsgd", "bits": 3, "bucket": 128, "zero": 0, "norm": "max", "coding": "entropy"}
    frame = libcrumb.Packer(spec_text(spec), n, 5, "f32").pack(gradient.tobytes())
    assert frame == encode(spec, gradient, None, 5, 0), n
    assert decoded_by_both(frame, 0.3, random_acc(rng, n)) is None


def test_decoders_agree():
    rng = random.Random(2)
    for packed in random_frames():
        followed = packed.frame + rng.choice((b"", b"", b"CRMB", packed.frame))
        assert decoded_by_both(followed, random_weight(rng), random_acc(rng, packed.n)) is None, packed.what


def sum_by_both(rng):
    """Of frames under agreed scalers: n, the library's sum, the reference's."""
    n, bucket, learners = random_length(rng), rng.choice((0, 16, 48)), rng.choice((1, 2, 3, 4, 7, 8, 31))
    spec = f"terngrad:shared=1,bucket={bucket},coding={rng.choice(('trits', 'bits', 'entropy'))}"
    packers = [libcrumb.Packer(spec, n, rng.getrandbits(64), "f32") for _ in range(learners)]
    gradients = [random_gradient(rng, n).tobytes() for _ in packers]
    stats = [packer.measure(gradient) for packer, gradient in zip(packers, gradients)]
    for packer in packers if n else ():
        packer.agree(stats)
    frames = [packer.pack(gradient) for packer, gradient in zip(packers, gradients)]
    parsed = [crumb_ref.parse(frame) for frame in frames]
    numbers = [0] * n
    for one in parsed:
        for i, x in zip(one.where, one.products(1.0)):
            numbers[i] += (x > 0) - (x < 0)
    scalers = parsed[0].facts["scalers"] if n else ()
    return n, libcrumb.sum_frames(frames, n), encode_sum(numbers, bucket, scalers, learners)


def random_sum(rng):
    """A sum as no team of a test's size makes it."""
    n, bucket = rng.randint(1, 200), rng.choice((0, 16, 48))
    learners = rng.choice((15, 16, 255, 256, 16383, 16384, 32767, rng.randint(1, 32767)))
    numbers = [rng.choice((-learners, learners, 0, rng.randint(-learners, learners))) for _ in range(n)]
    scalers = [fl(2.0**rng.uniform(-149, 120)) for _ in range(ceil_div(n, bucket or n))]
    return n, encode_sum(numbers, bucket, scalers, learners)


def test_sums_agree():
    rng = random.Random(3)
    for _ in range(200):
        n, frame, reference = sum_by_both(rng)
        assert frame == reference, f"{frame} {reference.hex()}"
        assert decoded_by_both(frame, random_weight(rng), random_acc(rng, n)) is None
    for _ in range(200):
        n, frame = random_sum(rng)
        assert decoded_by_both(frame, random_weight(rng), random_acc(rng, n)) is None


def random_levels(rng):
    """Levels and codes as no encoder makes them; one thing in seven is not well-formed."""
    def often(good, *bad):
        return rng.choice(bad) if rng.random() < 1 / 7 / 6 else good

    n, special = rng.randint(1, 300), (math.nan, math.inf, -math.inf, -1.0, 1.0, -0.0, 2.0**-149)
    bucket = often(rng.choice((128, 256, 384, 32768)), 0, 64, 129, 192, 32896, 2**31)
    form = often(rng.randrange(3), 3, 256, 65535)
    bits = often(rng.randint(2, 4 if form else 8), 0, 1, 5, 8, 9)
    count = often(2**bits - rng.randrange(2), rng.randrange(300))
    shape = []
    if form == POWERS:
        shape = [often(2.0**rng.uniform(-20, -0.001), 2.0, 2.0**rng.uniform(-149, 0), *special)]
    if form == TABLE:
        inner = rng.choice((lambda: rng.uniform(-1, 1), lambda: rng.choice((-1, 1)) * 2.0**rng.uniform(-149, 0)))
        shape = [-1.0, *sorted(inner() for _ in range(count - 2)), 1.0][:count]
        for at in rng.choices(range(count), k=often(0, 1)) if count else ():
            shape[at] = rng.choice(special)
    norms = [often(fl(2.0**rng.uniform(-149, 127.9)), *special) for _ in range(ceil_div(n, max(bucket, 128)))]
    codes = [rng.randrange(max(1, count)) for _ in range(n)]
    codes[rng.randrange(n)] = often(codes[0], 2**bits - 1)
    payload = struct.pack(f"<IHH{len(shape) + len(norms)}f", bucket, count, form, *shape, *norms)
    return n, seal(rng.randint(12, 17), 0, n, payload + write_codes(codes, bits_of(count)))


def test_levels():
    rng, accepted = random.Random(8), 0
    for _ in range(LEVELS):
        n, frame = random_levels(rng)
        accepted += decoded_by_both(frame, random_weight(rng), random_acc(rng, n)) is None
    assert LEVELS / 2 < accepted < LEVELS * 9 / 10, accepted


def test_elements_on_the_edge():
    """Between two levels, where u decides by a unit in the last place."""
    rng = random.Random(10)
    for _ in range(300):
        codec, zero, seed = rng.choice(("qsgd", "nuqsgd")), rng.choice((0, 1)), rng.getrandbits(63)
        spec = {"codec": codec, "bits": rng.randint(2, 8 if codec == "qsgd" else 4), "bucket": 128, "zero": zero,
                "norm": "max", "coding": "fixed"}
        levels = levels_of(EVEN if codec == "qsgd" else POWERS, 2**spec["bits"] - zero, [0.5])
        greatest = fl(rng.uniform(1, 2))
        gradient = array("f", [greatest])
        for u in uniforms(seed, 0, 128)[1:]:
            k = rng.randrange(len(levels) - 1)
            y = levels[k] + (u + rng.choice((0, 2.0**-24))) * (levels[k + 1] - levels[k])
            gradient.append(max(-greatest, min(greatest, y * greatest * (1 + rng.randint(-2, 2) * 2.0**-24))))
        frame = libcrumb.Packer(spec_text(spec), 128, seed, "f32").pack(gradient.tobytes())
        assert frame == encode(spec, gradient, None, seed, 0), f"{spec}, seed {seed}, {gradient}"


def test_unused_bits_of_codes():
    rng = random.Random(9)
    for bits in range(2, 9):
        for n in (1, 16, 17, 32, 100):
            payload = struct.pack("<IHHf", 128, 2**bits, 0, 1.0) + write_codes([1] * n, bits)
            for bit in rng.sample(range(8 * 12, 8 * len(payload)), 60):
                flipped = bytearray(payload)
                flipped[bit // 8] ^= 1 << bit % 8
                decoded_by_both(seal(12, 0, n, bytes(flipped)), 1.0, array("f", bytes(4 * n)))


def test_gradients_that_are_not_finite():
    rng = random.Random(4)
    for bad in (math.nan, math.inf, -math.inf, math.nextafter(GREATEST, math.inf) * (1 + 2.0**-23), -3e38):
        for spec in ("raw", "half", "twobit", "terngrad", "adacomp", "qsgd", "nuqsgd", "natural", "zipml", "block"):
            gradient = random_gradient(rng, 50)
            gradient[rng.randrange(50)] = bad
            packer = libcrumb.Packer(spec, 50, 1, "f32")
            assert packer.pack(gradient.tobytes()) == -4, f"{spec}, {bad}"
            try:
                encode({"codec": spec}, gradient, None, 1, 0)
            except Refused:
                continue
            assert False, f"{spec}, {bad}"


def test_what_is_not_a_frame():
    """One bit in the wrong place, a frame cut anywhere, other lengths, weights that are not finite."""
    rng = random.Random(5)
    for packed in rng.sample(random_frames(), 300):
        bit = rng.randrange(8 * len(packed.frame))
        flipped = bytearray(packed.frame)
        flipped[bit // 8] ^= 1 << bit % 8
        acc = random_acc(rng, packed.n)
        assert decoded_by_both(bytes(flipped), 1.0, acc), packed.what
        for end in (rng.randrange(len(packed.frame)), min(31, len(packed.frame) - 1), len(packed.frame) - 1):
            assert decoded_by_both(packed.frame[:end], 1.0, acc), packed.what
        assert decoded_by_both(packed.frame, rng.choice((math.nan, math.inf, -math.inf)), acc), packed.what
        assert decoded_by_both(packed.frame, 1.0, random_acc(rng, packed.n + 1)), packed.what


SPECIAL = [struct.pack("<I", bits) for bits in (
    0, 1, 15, 16, 32, 63, 64, 16383, 16384, 32767, 32768, 2**20, 2**20 + 16, 2**24, 2**24 + 1, 2**31 - 1, 2**32 - 1,
    0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x7B800000, 0x7B800001,
    128, 2**15, 2**15 + 128, 0x00010, 0x10003, 0x10010, 0x2000F, 0x30004, 0x0001F, 0x1001F)]


def damaged(rng, frame):
    """Another frame with checksums that match, most often one that is not well-formed."""
    _, _, codec_id, flags, n, _, _, _ = HEADER.unpack_from(frame)
    payload = bytearray(frame[HEADER.size:])
    kind = rng.randrange(8 if payload else 1)
    if kind == 0:
        what = rng.randrange(3 if n else 1)
        if what == 0:
            flags ^= 1 << rng.choice((0, 1, 2, 8, rng.randrange(16)))
        elif what == 1:
            codec_id = rng.choice((0, 255, *crumb_ref.CODECS))
        else:
            n = max(1, n + rng.choice((-17, -16, -1, 1, 16, rng.randint(-80, 80), 2**rng.randrange(50))))
    elif kind <= 1:
        size = rng.choice((1, 2, 4, 16))
        payload = payload[:-size] if rng.random() < 0.5 else payload + rng.randbytes(size) if rng.random() < 0.5 else \
            payload + bytes(size)
    elif kind == 2:
        at = rng.choice((0, 4, 8, 4 * rng.randrange(len(payload))))
        payload[at:at + 4] = rng.choice(SPECIAL)[:len(payload[at:at + 4])]
    elif kind == 3:
        at = rng.randrange(len(payload))
        payload[at:at + 4] = reversed(payload[at:at + 4])
    else:
        for _ in range(rng.randint(1, 3)):
            at = rng.choice((rng.randrange(len(payload)), len(payload) - 1, min(len(payload) - 1, rng.randrange(16))))
            payload[at] = payload[at] ^ 1 << rng.randrange(8) if rng.random() < 0.7 else rng.randrange(256)
    return seal(codec_id, flags, n, bytes(payload))


def test_damage():
    rng = random.Random(6)
    frames = [packed.frame for packed in random_frames() if packed.n < 400]
    frames += [make(rng)[1] for make in (random_sum, random_levels) for _ in range(500)]
    accepted = 0
    for _ in range(DAMAGED):
        frame = damaged(rng, rng.choice(frames))
        n = HEADER.unpack_from(frame)[4]
        accepted += decoded_by_both(frame, random_weight(rng), random_acc(rng, n if n < 10000 else 0)) is None
    assert DAMAGED / 5 < accepted < DAMAGED * 4 / 5, accepted


def main():
    passed = failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED: {name}\n{traceback.format_exc()[:4000]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
