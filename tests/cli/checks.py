"""Counts checks for a test in Python, as check.sh does for one in sh. SPDX-License-Identifier: MIT"""
import sys

passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print("FAILED:", what)


def finish():
    """Prints the count, and ends the test: it fails if a check has failed, or if there was none."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or not passed)
