"""Runs a test file's unittest cases and counts them as the other tests do; skips where Python lacks a module.

SPDX-License-Identifier: MIT
"""
import sys
import unittest


def need(*modules):
    """Exits with status 77, a skip, if Python lacks one of the modules."""
    for module in modules:
        try:
            __import__(module)
        except ImportError as error:
            if error.name != module:
                raise
            print(f"skipped: Python has no {module} here")
            sys.exit(77)


def main():
    result = unittest.main(exit=False, verbosity=0).result
    # Several failed subtests of one test count as one.
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0 or result.testsRun == 0)
