"""Files of results, and tables in Markdown. SPDX-License-Identifier: MIT"""
import csv
import math
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def load(path):
    """Returns the rows of a CSV file; none if it does not exist."""
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def save(path, fields, rows):
    """Writes a CSV file whole or not at all."""
    with open(path + ".new", "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, fields, extrasaction="ignore", lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    os.replace(path + ".new", path)


def read(name, folder="experiments"):
    return load(os.path.join(ROOT, folder, "results", name))


def distinct(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def mean(values):
    """Returns the mean, rounded once: sum() rounds in another way from Python 3.12 on."""
    return math.fsum(values) / len(values)


def table(head, lines, left=()):
    """Returns Markdown; the first column and those with titles in `left` are left-aligned, the others right."""
    rule = ["---" if i == 0 or title in left else "---:" for i, title in enumerate(head)]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in [head, rule, *lines])
