"""For pytest: each file is one test, run as the program it is, by the Python of pytest itself.

It tests the installed package, or else the one in the source tree. What is compiled for the tests is taken from
$BUILD, a folder that CMake has built; build/regular-gcc is scripts/test's. SPDX-License-Identifier: MIT
"""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", SOURCE / "build/regular-gcc"))
COMPILED = {"LIBRARY_RUN": "tests/library_run", "INTERNALS": "tests/libpython_internals.so",
            "CRUMB_TRAIN": "train/crumb-train"}
SKIPPED = 77


def environment():
    variables = {name: str(BUILD / path) for name, path in COMPILED.items()}
    variables.update(SOURCE=str(SOURCE), USE_LIBUV="0")
    if importlib.util.find_spec("crumb") is None:
        variables["PYTHONPATH"] = str(SOURCE / "python")
    return {**os.environ, **variables}


class Program(pytest.Item):
    def runtest(self):
        done = subprocess.run([sys.executable, self.path], env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == SKIPPED:
            pytest.skip(done.stdout.strip())
        if done.returncode:
            pytest.fail(done.stdout, pytrace=False)


class File(pytest.File):
    def collect(self):
        yield Program.from_parent(self, name="as a program")


def pytest_pycollect_makemodule(module_path, parent):
    return File.from_parent(parent, path=module_path)
