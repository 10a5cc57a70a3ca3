"""Which libcrumb the package loads, of those that lie around, and what python -m crumb says.

SPDX-License-Identifier: MIT
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from counted import main

import crumb
from crumb.library import SONAME, lib

LIBRARY = lib._name
EXCHANGE = f"libcrumb_exchange.so.{crumb.version().rpartition('.')[0]}"
WRONG = "build/asan-gcc", "build/ubsan-gcc", "build/tsan-clang", "build/library-gcc"
RIGHT = "python/crumb", "build", "build/regular-gcc", "build/regular-clang"  # the first that there is


class Tree:
    """A source tree with this package, and with libraries in these of its folders; those in WRONG do not load."""

    def __init__(self, folder, *built):
        self.root = Path(folder).resolve()
        shutil.copytree(os.path.join(os.environ["SOURCE"], "python/crumb"), self.root / "python/crumb",
                        ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
        for place in built:
            (self.root / place).mkdir(parents=True, exist_ok=True)
            if place in WRONG:
                (self.root / place / SONAME).write_text("no library")
            else:
                shutil.copy(LIBRARY, self.root / place / SONAME)

    def python(self, *arguments, library=""):
        """Runs Python with the package; returns status, standard output, and the last line of standard error."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "python"), "CRUMB_LIBRARY": library}
        done = subprocess.run([sys.executable, *arguments], env=environment, cwd=self.root, capture_output=True,
                              text=True)
        return done.returncode, done.stdout, done.stderr.strip().split("\n")[-1]

    def compiled(self, source, *options):
        """Returns the path of a library made of this C text."""
        (self.root / "stand_in.c").write_text(source)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "stand_in.so", "stand_in.c", *options],
                       cwd=self.root, check=True)
        return str(self.root / "stand_in.so")


class WhichLibrary(unittest.TestCase):
    def tree(self, *built):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Tree(folder.name, *built)

    def assertLoads(self, tree, path, **options):
        found = tree.python("-c", "import crumb.library; print(crumb.library.lib._name)", **options)
        self.assertEqual(found, (0, f"{path}\n", ""))

    def assertRefused(self, tree, *texts, **options):
        status, out, error = tree.python("-m", "crumb", **options)
        self.assertEqual((status, out), (1, ""))
        for text in texts:
            self.assertIn(text, error)

    def test_the_first_of_a_list(self):
        for first in range(len(RIGHT)):
            tree = self.tree(*WRONG, *RIGHT[first:])
            self.assertLoads(tree, tree.root / RIGHT[first] / SONAME)

    def test_sanitizers_are_never_loaded(self):
        tree = self.tree(*WRONG)
        self.assertRefused(tree, f"ImportError: crumb: there is no {SONAME} in {tree.root}/python/crumb, ",
                           "with pip", "make", "CRUMB_LIBRARY")

    def test_a_named_file_comes_first_and_nothing_stands_in_for_it(self):
        tree = self.tree(*RIGHT)
        self.assertLoads(tree, LIBRARY, library=LIBRARY)
        self.assertRefused(tree, "ImportError: crumb: /nowhere: cannot open", library="/nowhere")

    def test_policies_are_of_the_exchange_beside_it(self):
        tree = self.tree("build")
        library, exchange = str(tree.root / "build" / SONAME), str(tree.root / "build" / EXCHANGE)
        self.assertEqual(tree.python("-c", "import crumb"), (0, "", ""))
        status, _, error = tree.python("-c", "import crumb.policy")
        self.assertEqual(status, 1)
        self.assertTrue(error.startswith(f"ImportError: crumb: {exchange}: cannot open"), error)
        self.assertTrue(error.endswith("it should be this version's libcrumb_exchange"), error)
        shutil.copy(os.path.join(os.path.dirname(LIBRARY), EXCHANGE), exchange)
        loaded = tree.python("-c", "import crumb.policy\n"
                             "for line in sorted({line.split()[-1] for line in open('/proc/self/maps')}):\n"
                             "    if 'libcrumb' in line: print(line)")
        self.assertEqual(loaded, (0, f"{library}\n{exchange}\n", ""))

    def test_what_cannot_be_used(self):
        tree = self.tree(*RIGHT)
        wrong = tree.compiled("int crumb_self_check(void) { return -13; }", "-Wl,--no-as-needed", LIBRARY,
                              f"-Wl,-rpath,{os.path.dirname(LIBRARY)}")  # all else is libcrumb's
        self.assertRefused(tree, f"ImportError: crumb: {wrong}: ", lib.crumb_strerror(-13).decode(), library=wrong)
        other = tree.compiled("")
        self.assertRefused(tree, f"{other} is not a libcrumb of this version: it has no crumb_", library=other)


class Findings(unittest.TestCase):
    def found(self, *arguments):
        out = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout
        return dict(line.split(": ", 1) for line in out.strip().split("\n"))

    def test_all_of_them(self):
        found = self.found("-m", "crumb")
        self.assertEqual(found["library"], f"{crumb.version()}, {LIBRARY}")
        self.assertEqual((found["instruction set"], found["self check"]), (lib.crumb_isa().decode(), "passed"))
        for module in "numpy", "torch":
            try:
                self.assertEqual(found[module], __import__(module).__version__)
            except ImportError:
                self.assertEqual(found[module], f"cannot be used (No module named '{module}')")
        self.assertEqual(found["hook for DistributedDataParallel"],
                         "can be used" if found["torch"][0].isdigit() else found["torch"])

    def test_without_torch(self):
        found = self.found("-c", "import runpy, sys; sys.modules['torch'] = None; "
                                 "runpy.run_module('crumb', run_name='__main__')")
        self.assertRegex(found["torch"], r"^cannot be used \(.*torch")
        self.assertRegex(found["hook for DistributedDataParallel"], r"^cannot be used \(.*torch")

    def test_with_a_broken_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w") as file:
                file.write("raise OSError('libcublas.so.12 is missing')")
            found = self.found("-c", f"import runpy, sys; sys.path.insert(0, {folder!r}); "
                                     "runpy.run_module('crumb', run_name='__main__')")
        self.assertEqual(found["torch"], "cannot be used (libcublas.so.12 is missing)")
        self.assertEqual(found["hook for DistributedDataParallel"], "cannot be used (libcublas.so.12 is missing)")

    def test_help(self):
        done = subprocess.run([sys.executable, "-m", "crumb", "--help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("usage: python -m crumb"))


if __name__ == "__main__":
    main()
