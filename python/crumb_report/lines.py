"""Reads and checks JSON Lines. SPDX-License-Identifier: MIT"""
import json
import sys
from typing import Any, NoReturn, Optional

Line = tuple[str, Any]  # where it stands, and its value
LARGE = 1e30  # beyond what is drawn


class Refused(Exception):
    """A file that cannot be drawn, or written; its text says why."""


def refuse(where: str, why: str) -> NoReturn:
    raise Refused(f"{where}: {why}")


def read(path: str) -> list[Line]:
    """Returns the values of a file's lines; "-" is standard input. An unfinished last line is left out: a program may
    be writing it."""
    try:
        if path == "-":
            text = sys.stdin.read()
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read()
    except OSError as error:
        refuse(path, error.strerror or "cannot be read")
    except UnicodeDecodeError:
        refuse(path, "not a text, so no log")
    values: list[Line] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            values += [(f"{path}:{number}", json.loads(line))] if line.strip() else []
        except (ValueError, RecursionError):
            if number < len(lines) or not values:
                refuse(f"{path}:{number}", "not a line of JSON")
    return values


def member(where: str, of: Any, key: str, kind: type) -> Any:
    """Returns the member of an object, which must have it and be of this kind."""
    if not isinstance(of, dict) or not isinstance(of.get(key), kind) or isinstance(of[key], bool):
        refuse(where, f'no "{key}" that could be drawn')
    return of[key]


def count(where: str, of: Any, key: str) -> int:
    """Returns a whole number from 0."""
    value: int = member(where, of, key, int)
    return value if 0 <= value < 2 ** 63 else refuse(where, f'"{key}" is out of range')


def amount(where: str, of: Any, key: str) -> float:
    """Returns a finite number from 0."""
    value = member(where, of, key, (int, float))  # type: ignore[arg-type]
    return float(value) if 0 <= value < LARGE else refuse(where, f'"{key}" is out of range')


def amount_or_none(where: str, of: Any, key: str) -> Optional[float]:
    """The same; None for null, for what has grown out of range or is not finite, and if there is no such member."""
    value = of.get(key) if isinstance(of, dict) else None
    if value is None or isinstance(value, float) and not value < LARGE:
        return None
    return amount(where, of, key)


def loss_or_none(where: str, of: Any, key: str) -> Optional[float]:
    """The same of a number that may be negative."""
    value = of.get(key) if isinstance(of, dict) else None
    if isinstance(value, (int, float)) and value < 0:
        return float(value) if value > -LARGE else None
    return amount_or_none(where, of, key)


def amounts(where: str, of: Any, key: str) -> dict[str, float]:
    """Returns an object of numbers; {} if there is no such member."""
    value = of.get(key, {})
    if not isinstance(value, dict):
        refuse(where, f'no "{key}" that could be drawn')
    return {name: amount(where, value, name) for name in value if value[name] is not None}
