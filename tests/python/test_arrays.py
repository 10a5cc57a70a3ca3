"""The Python package compared with direct calls of the library, for every codec in the table; and its refusals.

SPDX-License-Identifier: MIT
"""
import array
import copy
import itertools
import os
import pickle
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from counted import main, need

need("numpy")
import numpy as np

import crumb

STEPS, N, SEED = 4, 1003, 7
SOURCE, LIBRARY_RUN = os.environ["SOURCE"], os.environ["LIBRARY_RUN"]


def specs():
    for info in crumb.codecs():
        yield info.name
        for key in info.keys:
            for choice in key.choices or ():
                try:
                    yield str(crumb.Codec(f"{info.name}:{key.name}={choice}"))
                except crumb.Error:
                    pass  # a combination that the codec does not take


def gradients(dtype="f32", n=N, steps=STEPS, seed=1):
    """Yields NumPy arrays of n elements, one a step; bfloat16 as uint16."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        values = (random.standard_normal(n) * 0.3).astype("<f4")
        yield {"f32": values, "f16": values.astype("<f2"), "bf16": (values.view("<u4") >> 16).astype("<u2")}[dtype]


def pack(packers, arrays, dtype=None):
    """Returns one frame a learner, after they have agreed on shared statistics."""
    arrays = list(arrays)
    stats = [packer.measure(gradient, dtype) for packer, gradient in zip(packers, arrays)]
    for packer in packers:
        packer.agree(stats)
    return [packer.pack(gradient, dtype) for packer, gradient in zip(packers, arrays)]


def unpack(frames, n=N, weight=1.0):
    out = np.zeros(n, "f4")
    crumb.unpack_add(frames, weight, out)
    return out


class SameAsTheLibrary(unittest.TestCase):
    def test_frames_packers_and_sums(self):
        for spec, dtype in itertools.product(specs(), ("f32", "f16", "bf16")):
            with self.subTest(spec=spec, dtype=dtype), tempfile.TemporaryDirectory() as folder:
                arrays = list(gradients(dtype))
                names = [os.path.join(folder, str(i)) for i in range(STEPS)]
                for gradient, name in zip(arrays, names):
                    gradient.tofile(name)
                subprocess.run([LIBRARY_RUN, spec, str(SEED), dtype, folder + "/c", *names], check=True)
                results = [Path(folder, "c." + suffix).read_bytes() for suffix in ("frames", "packer", "sum")]
                frames, state, total = results
                packer = crumb.Packer(spec, N, SEED)
                own = [pack([packer], [gradient], dtype if dtype == "bf16" else None)[0] for gradient in arrays]
                self.assertEqual(b"".join(own), frames)
                self.assertEqual(packer.to_bytes(), state)
                self.assertEqual(unpack(own).tobytes(), total)

    def test_what_a_frame_says(self):
        for spec in specs():
            with self.subTest(spec=spec):
                frame = pack([crumb.Packer(spec, N)], gradients(steps=1))[0]
                found = crumb.peek(frame + b"more")
                self.assertEqual((found.n, found.bytes, found.codec.name), (N, len(frame), crumb.Codec(spec).name))
                self.assertLessEqual(len(frame), crumb.Codec(spec).bound(N))
                self.assertTrue(0 <= found.sent <= N)


class Packers(unittest.TestCase):
    def test_the_residual_is_what_was_not_sent(self):
        for spec in specs():
            packer = crumb.Packer(spec, N)
            self.assertEqual(packer.residual is not None, packer.codec.info.residual)
            if packer.residual is None:
                continue
            with self.subTest(spec=spec):
                total = np.zeros(N, "f4")
                for gradient in gradients():
                    if packer.velocity is not None:
                        total += np.asarray(packer.velocity) * packer.codec.values["momentum"]
                    total += gradient - unpack(pack([packer], [gradient])[0])
                np.testing.assert_allclose(np.asarray(packer.residual), total, atol=1e-5)

    def test_a_checkpoint_goes_on_with_the_same_bytes(self):
        for spec in specs():
            with self.subTest(spec=spec):
                packer = crumb.Packer(spec, N, SEED)
                first, *rest = gradients()
                pack([packer], [first])
                others = [crumb.Packer.from_bytes(packer.to_bytes()), pickle.loads(pickle.dumps(packer)),
                          copy.deepcopy(packer)]
                for gradient in rest:
                    want = pack([packer], [gradient])
                    for other in others:
                        self.assertEqual(pack([other], [gradient]), want)
                self.assertEqual([other.step for other in others], [STEPS] * 3)

    def test_learners_agree(self):
        packers = [crumb.Packer("terngrad:shared=1", N, seed) for seed in range(3)]
        frames = pack(packers, gradients(steps=3))
        self.assertEqual(len({crumb.peek(frame).facts["scaler"] for frame in frames}), 1)
        with self.assertRaises(crumb.Error):
            packers[0].pack(next(gradients()))  # nobody has agreed on this step
        with self.assertRaises(crumb.Error):
            packers[0].agree([packers[0].measure(next(gradients())), array.array("f")])

    def test_an_error_goes_to_another_process(self):
        for error in crumb.Error(-5, "x"), crumb.NonFinite(-4):
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), again.code, str(again)), (type(error), error.code, str(error)))

    def test_a_refusal_changes_nothing(self):
        for spec in specs():
            with self.subTest(spec=spec):
                packer = crumb.Packer(spec, N)
                gradient = next(gradients())
                pack([packer], [gradient])
                before = packer.to_bytes()
                for value in (np.nan, np.inf, -np.inf, 2e36):
                    bad = gradient.copy()
                    bad[-1] = value
                    self.assertFalse(crumb.finite(bad))
                    if packer.agree_count:
                        with self.assertRaises(crumb.NonFinite):
                            packer.measure(bad)
                    else:
                        self.assertEqual(len(packer.measure(bad)), 0)
                        with self.assertRaises(crumb.NonFinite):
                            packer.pack(bad)
                with self.assertRaises(crumb.Error):
                    packer.pack(gradient[1:])
                with self.assertRaises(crumb.Error):
                    packer.pack_into(gradient, bytearray(packer.bound - 1))
                self.assertEqual(packer.to_bytes(), before)
        self.assertTrue(crumb.finite(gradient))

    def test_a_damaged_packer(self):
        state = crumb.Packer("adacomp", N).to_bytes()
        for bad in (b"", state[:-1], state + b"x", b"x" + state[1:]):
            with self.assertRaises(crumb.Error):
                crumb.Packer.from_bytes(bad)
        for n in (-1, 1 << 62):
            with self.assertRaises(crumb.Error):
                crumb.Packer("adacomp", n)


class Memory(unittest.TestCase):
    """Every kind of array of the same values gives the same frame; results are written in place."""

    def frame(self, gradient, dtype=None):
        return crumb.Packer("raw", N).pack(gradient, dtype)

    def test_holders(self):
        gradient = next(gradients())
        want = self.frame(gradient)
        read_only = gradient.copy()
        read_only.flags.writeable = False
        for same in (read_only, gradient.reshape(17, 59), gradient[:, None], array.array("f", gradient),
                     memoryview(gradient)):
            self.assertEqual(self.frame(same), want)
        half = gradient.astype("f2")
        self.assertEqual(self.frame(half), self.frame(half.astype("f4")))

    def test_dlpack(self):
        class Holder:  # with nothing but DLPack
            def __init__(self, held):
                self.held = held

            def __dlpack__(self):
                return self.held.__dlpack__()

        gradient = next(gradients())
        self.assertEqual(self.frame(Holder(gradient)), self.frame(gradient))
        self.assertEqual(self.frame(Holder(gradient.reshape(59, 17))), self.frame(gradient))
        with self.assertRaises(BufferError):
            self.frame(Holder(gradient.reshape(59, 17).T))
        for shape in (0,), (5, 0), (0, 5):
            self.assertEqual(len(crumb.Packer("raw", 0).pack(Holder(np.zeros(shape, "f4")))), 32)
        total = np.ones(N, "f4")
        crumb.unpack_add(self.frame(gradient), 1, Holder(total))
        np.testing.assert_array_equal(total, 1 + gradient)

    def test_accumulators(self):
        gradient = next(gradients())
        total = np.zeros((59, 17), "f4")
        crumb.unpack_add([self.frame(gradient)] * 3, 0.5, total)
        np.testing.assert_allclose(total.ravel(), 1.5 * gradient, rtol=1e-6)
        room = bytearray(crumb.Codec("raw").bound(N))
        self.assertEqual(crumb.Packer("raw", N).pack_into(gradient, room), len(room))
        self.assertEqual(bytes(room), self.frame(gradient))

    def test_refused(self):
        gradient = next(gradients())
        for bad in (gradient.astype("f8"), gradient.astype(">f4"), gradient.astype("i4"), gradient.astype("u2"),
                    5, None, "text"):
            with self.assertRaises(TypeError):
                self.frame(bad)
        with self.assertRaises((TypeError, BufferError)):  # NumPy has no buffer of dates
            self.frame(gradient.astype("M8[s]"))
        for dtype in ("f32", "f16", "bf16", "f64"):
            with self.assertRaises((TypeError, ValueError)):
                self.frame(gradient.astype("i4"), dtype)
        for bad in (gradient[::2], np.asfortranarray(gradient.reshape(17, 59))):
            with self.assertRaises((ValueError, BufferError)):
                self.frame(bad)
        read_only = np.zeros(N, "f4")
        read_only.flags.writeable = False
        frame = self.frame(gradient)
        for bad in (read_only, np.zeros(N), np.zeros(2 * N, "f4")[::2], np.zeros(N - 1, "f4")):
            with self.assertRaises((ValueError, TypeError, BufferError)):
                crumb.unpack_add(frame, 1, bad)

    def test_frames_that_are_not(self):
        frame = self.frame(next(gradients()))
        flipped = frame[:-1] + bytes([frame[-1] ^ 1])
        for bad in (b"", frame[:31], frame[:-1], flipped, b"x" + frame[1:]):
            total = np.ones(N, "f4")
            with self.assertRaises(crumb.Error):
                crumb.unpack_add(bad, 1, total)
            with self.assertRaises(crumb.Error):
                crumb.peek(bad)
            self.assertTrue((total == 1).all())


class Constants(unittest.TestCase):
    def test_they_are_the_header_s(self):
        header = Path(SOURCE, "include/crumb.h").read_text()
        number = dict(re.findall(r"^#define CRUMB_(\w+)\s+(\d+)\s", header, re.M))
        number.update(re.findall(r"\bCRUMB_(\w+) = (-?\d+)", header))
        copied = {name: value for name, value in vars(crumb.library).items()
                  if name.isupper() and isinstance(value, int)}
        self.assertGreater(len(copied), 12)
        self.assertEqual({name: int(number.get(name, "0")) for name in copied}, copied)


class Codecs(unittest.TestCase):
    def test_specs(self):
        table = Path(SOURCE, "src/codecs.def").read_text()
        self.assertEqual(len(crumb.codecs()), len(re.findall(r"^CODEC\(", table, re.M)))
        for spec in specs():
            codec = crumb.Codec(spec)
            self.assertEqual(crumb.Codec(str(codec)), codec)
            self.assertEqual(pickle.loads(pickle.dumps(codec)), codec)
            self.assertEqual(set(codec.values), {key.name for key in codec.info.keys})
        self.assertEqual(crumb.Codec("adacomp:bin=50").values["bin"], 50)
        self.assertNotEqual(crumb.Codec("adacomp:bin=50"), crumb.Codec("adacomp"))
        self.assertEqual(len({crumb.Codec("adacomp:bin=500"), crumb.Codec("adacomp")}), 1)

    def test_a_bad_spec_is_shown_where_it_is_bad(self):
        for spec, where in (("adacomp:bn=5", "'bn=5'"), ("adacomp:bin=x", "'x'"), ("?", "'?'"), ("", "its end"),
                            ("adacomp\0:bin=7", "its zero character")):
            with self.assertRaisesRegex(crumb.Error, re.escape(f"{spec!r}, at {where}")):
                crumb.Codec(spec)
        for spec in None, b"raw", 5:
            with self.assertRaisesRegex(TypeError, type(spec).__name__):
                crumb.Packer(spec, 3)

    def test_seeds_may_be_numpy_s(self):
        packers = [crumb.Packer("terngrad", N, seed=seed) for seed in (3, np.int64(3), np.uint64(3), 3 - 2**64)]
        self.assertEqual(len({packer.pack(next(gradients())) for packer in packers}), 1)

    def test_sizes_that_are_none(self):
        for n, run in ((2**64 + 5, 0), (-1, 0), (5, 2**70), (5, -1)):
            with self.assertRaisesRegex(crumb.Error, f"{n} elements in runs of {run}"):
                crumb.Packer("seide", n, run=run)
        self.assertEqual(crumb.Codec("raw").bound(2**64 + 5), 0)

    def test_errors_speak_the_library_s_words(self):
        with self.assertRaises(ValueError) as caught:
            crumb.peek(b"CRM")
        self.assertEqual((str(caught.exception), caught.exception.code), ("the frame is cut short", -6))


if __name__ == "__main__":
    main()
