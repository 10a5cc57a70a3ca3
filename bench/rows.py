"""Files of measured rows. SPDX-License-Identifier: MIT"""
import contextlib
import os
import sys


@contextlib.contextmanager
def written(path):
    """Yields a file that becomes the one at path when all has been measured; standard output if path is None. What is
    no file, such as a device, is written in place. A path that cannot be written fails before anything is measured."""
    if path is None:
        yield sys.stdout
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            yield file
        return
    new = f"{path}.new"
    try:
        with open(new, "w", newline="", encoding="utf-8") as file:
            yield file
        os.replace(new, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(new)
