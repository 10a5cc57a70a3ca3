"""crumb compare against crumb pack, unpack and peek, and NumPy: the same size, error, angle and share for every codec.

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

CRUMB = os.environ["CRUMB"]
FEW = "raw", "adacomp", "terngrad"  # without a residual, with one, random


def run(*command, status=0):
    done = subprocess.run([CRUMB, *map(str, command)], capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"FAILED: {done.args}: status {done.returncode}\n{done.stderr}")
    return done.stderr if status else done.stdout


def rows(*command):
    return [json.loads(line) for line in run("compare", "--json", *command).splitlines()]


def by_hand(spec, path, values, seeds, options):
    """Means over the seeds of what pack, peek and unpack give."""
    each = []
    for seed in seeds:
        run("pack", "-c", spec, "--seed", seed, *options, path, "-o", "frame")
        run("unpack", "frame", "-o", "back.npy")
        frame = json.loads(run("peek", "--json", "frame"))
        back, exact = np.load("back.npy").astype("f8"), values.astype("f8")
        square = exact @ exact
        with np.errstate(invalid="ignore", divide="ignore"):
            each.append({"bits_per_element": 8 * frame["bytes"] / frame["n"], "sent": frame["sent"] / frame["n"],
                         "error": (back - exact) @ (back - exact) / square,
                         "cosine": back @ exact / np.sqrt(square * (back @ back))})
    return {key: np.mean([one[key] for one in each]) for key in each[0]}


def same(got, want):
    return got is None if not np.isfinite(want) else got is not None and np.isclose(got, want, rtol=1e-9, atol=1e-12)


def compare(path, values, codecs, specs=(), options=()):
    """specs: None but these, of which compare makes the same whatever the type."""
    shown = rows(path, *options, *(word for spec in specs for word in ("-c", spec)))
    check({row["codec"] for row in shown} >= set(specs or codecs), f"{path}: every codec has a row")
    check(len({row["codec"] for row in shown}) == len(shown), f"{path}: and but one")
    for row in shown:
        seeds = (1, 2, 3) if codecs[row["codec"].split(":")[0]]["random"] else (1,)
        want = by_hand(row["codec"], path, values, seeds, options)
        check(row["file"] == path and row["n"] == len(values) and row["seeds"] == len(seeds),
              f"{path}, {row}: what it is of")
        check(row["pack_gbps"] > 0 and row["unpack_gbps"] > 0, f"{path}, {row}: speeds")
        for key, value in want.items():
            check(same(row[key], value), f"{path}, {row['codec']}: {key} is {row[key]}, not {value}")


def main():
    codecs = {codec["name"]: codec for codec in map(json.loads, run("list", "--json").splitlines())}
    random = np.random.default_rng(1)
    values = (random.standard_normal(3001) * np.exp(random.standard_normal(3001)) * 0.1).astype("f4")
    np.save("f4.npy", values)
    compare("f4.npy", values, codecs)
    np.save("f2.npy", values.astype("f2"))
    compare("f2.npy", values.astype("f2").astype("f4"), codecs, FEW)
    bf16 = (values.view("u4") >> 16).astype("u2")
    np.save("u2.npy", bf16)
    compare("u2.npy", (bf16.astype("u4") << 16).view("f4"), codecs, FEW, ["--dtype", "bf16"])
    np.save("zero.npy", values * 0)
    compare("zero.npy", values * 0, codecs, FEW)
    np.save("one.npy", values[:1])
    compare("one.npy", values[:1], codecs, FEW)

    # Several gradients and codecs, in order; text as well.
    options = ["f4.npy", "one.npy", "-c", "adacomp:bin=50", "-c", "raw"]
    got = [(row["file"], row["codec"]) for row in rows(*options)]
    check(got == [(file, codec) for file in options[:2] for codec in ("adacomp:bin=50", "raw")], f"order: {got}")
    text = run("compare", *options).split("\n\n")
    check([part.splitlines()[0] for part in text] == ["f4.npy: 3001 elements", "one.npy: 1 elements"], f"heads: {text}")
    check(all(part.splitlines()[3].split()[:4] == ["raw", f"{row['bits_per_element']:.4g}", "0.000e+00", "1.00000"]
              for part, row in zip(text, rows("f4.npy", "one.npy", "-c", "raw"))), f"rows: {text}")
    check(run("compare", "zero.npy", "-c", "raw").splitlines()[2].split()[2:4] == ["-", "-"], "no number is a dash")

    np.save("empty.npy", values[:0])
    np.save("nan.npy", np.array([1, np.nan], "f4"))
    for path, message in (("empty.npy", "no element in it"), ("nan.npy", "a NaN"), ("absent.npy", "No such file")):
        said = run("compare", path, status=1)
        check(said.startswith(f"crumb: {path}: ") and message in said, f"{path}: {said}")



with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    finish()
