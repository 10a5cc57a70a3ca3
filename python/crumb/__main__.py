"""Says what was found here: python -m crumb. SPDX-License-Identifier: MIT"""
import argparse
import importlib
import importlib.metadata
import sys
from typing import Iterator, Tuple

import crumb
from crumb.library import lib

DISTRIBUTION = "crumb-gradients"


def _package() -> str:
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return f"not installed, in {crumb.__path__[0]}"
    return f"{DISTRIBUTION} {version}, in {crumb.__path__[0]}"


def _version_of(module: str) -> str:
    try:
        return str(importlib.import_module(module).__version__)
    except Exception as error:  # whatever a broken installation raises
        return f"cannot be used ({error})"


def _hook() -> str:
    """Returns whether crumb.torch can be used."""
    try:
        importlib.import_module("crumb.torch")
        distributed = importlib.import_module("torch.distributed")
    except Exception as error:
        return f"cannot be used ({error})"
    return "can be used" if distributed.is_gloo_available() else "cannot be used (this PyTorch is without gloo)"


def _findings() -> Iterator[Tuple[str, str]]:
    yield "package", _package()
    yield "library", f"{crumb.version()}, {lib._name}"
    yield "instruction set", lib.crumb_isa().decode()
    yield "self check", "passed"  # else crumb is not imported
    yield "numpy", _version_of("numpy")
    yield "torch", _version_of("torch")
    yield "hook for DistributedDataParallel", _hook()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m crumb", description="Says what crumb found: package, library, NumPy, PyTorch.",
        epilog="Ends with status 1 if there is no library, or if it does not compute as the frame format asks.")
    parser.parse_args()
    for what, found in _findings():
        print(f"{what}: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
