"""What the documents' tables are made with: results as they were written, and tables in Markdown. SPDX-License-Identifier: MIT"""
import csv
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def read(name, folder="experiments"):
    path = os.path.join(ROOT, folder, "results", name)
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def distinct(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def mean(values):
    return sum(values) / len(values)


def table(head, lines, left=()):
    """As Markdown; the first column is left, and those of these titles, the others right."""
    rule = ["---" if i == 0 or title in left else "---:" for i, title in enumerate(head)]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in [head, rule, *lines])
