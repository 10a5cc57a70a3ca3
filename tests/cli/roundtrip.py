"""Every codec through the tool and NumPy: the same bytes as direct calls of the library, and values that make sense.

SPDX-License-Identifier: MIT
"""
import json
import os
import subprocess
import sys
import tempfile

from checks import check, finish

try:
    import numpy as np
except ImportError:
    print("skipped: Python has no numpy here")
    sys.exit(77)

CRUMB, LIBRARY_RUN = os.environ["CRUMB"], os.environ["LIBRARY_RUN"]
STEPS = 6


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True)
    if done.returncode:
        sys.exit(f"FAILED: {done.args}: status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def gradients(n, kind, seed):
    """STEPS arrays as a .npy file holds them, and their values as f32."""
    random = np.random.default_rng(seed)
    for _ in range(STEPS):
        values = (random.standard_normal(n) * 0.3).astype("<f4")
        if kind == "f16":
            stored = values.astype("<f2")
            yield stored, stored.astype("<f4")
        elif kind == "bf16":
            stored = (values.view("<u4") >> 16).astype("<u2")
            yield stored, (stored.astype("<u4") << 16).view("<f4")
        else:
            yield values, values


def specs(codec):
    """The codec at its defaults, and with every named value of each of its keys."""
    yield codec["name"]
    for key in codec["keys"]:
        for choice in key.get("choices", []):
            yield f"{codec['name']}:{key['name']}={choice}"


def try_codec(codec, spec, n, kind):
    what = f"{spec}, {n} elements of {kind}"
    arrays, values, frames = [], [], []
    flags = ["--dtype", "bf16"] if kind == "bf16" else []
    for step, (stored, value) in enumerate(gradients(n, kind, n)):
        np.save(f"in{step}.npy", stored.reshape(-1, 1) if step % 2 else stored)
        stored.tofile(f"in{step}")
        arrays.append(f"in{step}")
        values.append(value)
        frames.append(f"frame{step}")
        run(CRUMB, "pack", "-c", spec, "--seed", 7, "--state", "state", *flags, f"in{step}.npy", "-o", f"frame{step}")
    run(LIBRARY_RUN, spec, 7, kind, "library", *arrays)
    check(b"".join(map(read, frames)) == read("library.frames"), f"{what}: frames")
    check(read("state") == read("library.packer"), f"{what}: state")
    os.unlink("state")

    run(CRUMB, "unpack", *frames, "-o", "sum.npy")
    total = np.load("sum.npy")
    check(total.dtype == np.dtype("<f4") and total.shape == (n,), f"{what}: type and shape")
    check(total.tobytes() == read("library.sum"), f"{what}: sum")
    run(CRUMB, "unpack", "library.frames", "--mean", "-o", "mean.npy")
    mean = np.load("mean.npy")
    check(np.allclose(mean, total / STEPS, rtol=1e-5, atol=1e-6), f"{what}: mean")

    exact = np.sum(values, axis=0, dtype="f8")
    if not codec["residual"] and not codec["random"]:
        check(np.allclose(total, exact, rtol=0, atol=0.01), f"{what}: values")
    elif n > 1000:
        check(np.dot(total, exact) > 0.15 * np.linalg.norm(total) * np.linalg.norm(exact), f"{what}: direction")

    rows = [json.loads(row) for row in run(CRUMB, "peek", "--json", "library.frames", *frames).splitlines()]
    check(len(rows) == 2 * STEPS, f"{what}: peek's rows")
    check(all(row["ok"] and row["n"] == n for row in rows), f"{what}: peek")
    check(sum(row["bytes"] for row in rows[:STEPS]) == len(read("library.frames")), f"{what}: peek's bytes")
    for row in rows:
        check(0 <= row["sent"] <= n, f"{what}: peek's sent")
        check(row["bits_per_element"] == (8 * row["bytes"] / n if n else None), f"{what}: bits per element")
        check(row["codec"].split(":")[0] == codec["name"], f"{what}: peek's codec")


os.chdir(folder := tempfile.mkdtemp())
try:
    for codec in map(json.loads, run(CRUMB, "list", "--json").splitlines()):
        for key in codec["keys"]:
            check(key["min"] <= key["default"] <= key["max"], f"{codec['name']}: the range of {key['name']}")
        for spec in specs(codec):
            try_codec(codec, spec, 4099, "f32")
        for n in (0, 1, 17):
            try_codec(codec, codec["name"], n, "f32")
        for kind in ("f16", "bf16"):
            try_codec(codec, codec["name"], 1003, kind)
finally:
    subprocess.run(["rm", "-rf", folder])
finish()
