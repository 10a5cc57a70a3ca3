"""The library's errors as exceptions. SPDX-License-Identifier: MIT"""
from crumb.library import ENONFINITE, lib


class Error(ValueError):
    """What the library refused, in crumb_strerror's words; code is crumb.h's negative number. Nothing has changed."""

    def __init__(self, code: int, detail: str = ""):
        super().__init__(lib.crumb_strerror(code).decode() + (": " + detail if detail else ""))
        self.code = code


class NonFinite(Error):
    """The gradient has a NaN, an infinity or a magnitude above 2^120."""


def check(status: int, detail: str = "") -> int:
    """The status, unless it is an error."""
    if status >= 0:
        return status
    raise (NonFinite if status == ENONFINITE else Error)(status, detail)
