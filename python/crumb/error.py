"""The library's errors as exceptions. SPDX-License-Identifier: MIT"""
from typing import Any, Tuple

from crumb.library import ENONFINITE, lib


class Error(ValueError):
    """An error of the library, in crumb_strerror's words. code: crumb.h's negative number.

    The call that raises it leaves the packer as it was; unpack_add says what a list of frames leaves."""

    def __init__(self, code: int, detail: str = ""):
        super().__init__(lib.crumb_strerror(code).decode() + (": " + detail if detail else ""))
        self.code, self._detail = code, detail

    def __reduce__(self) -> Tuple[Any, ...]:  # as it goes from one process to another
        return type(self), (self.code, self._detail)


class NonFinite(Error):
    """The gradient has a NaN, an infinity or a magnitude above 2^120."""


def check(status: int, detail: str = "") -> int:
    """Returns a status that is not negative; raises NonFinite or Error for others. detail: added to the message."""
    if status >= 0:
        return status
    raise (NonFinite if status == ENONFINITE else Error)(status, detail)
