"""The rules of the house: no include points upward (doc/DESIGN.md has the order), file names are unique, folders small,
lines fit 120 columns, and no word of a list of coinages is used. SPDX-License-Identifier: MIT"""
import os
import re
import subprocess
import sys
from collections import Counter

SOURCE = os.environ["SOURCE"]
# Tools or conventions name these.
REPEATED = {"CMakeLists.txt", "LICENSE", "README.md", "__init__.py", "__main__.py", "results", "run"}
MOST_FILES = 28
MOST_COLUMNS = 120
MOST_README_LINES = 150
# Data, and what programs write: results, figures, golden frames, generated tables.
GENERATED = re.compile(r"\.(csv|svg|crumb|f32|json)$|^tests/mutants/|^tests/golden/|^LICENSE$")
TEXT = re.compile(r"\.(md|c|h|def|py|sh|txt|cmake|in|yml)$|^(scripts|bench|experiments)/[^.]*$|^\.ci/run$|^Makefile$")
# What is said instead stands beside each; tests/house/ and the notebook may quote them.
COINED = {
    r"ask(s|ed|ing)? (for )?(it |them |memory )?ahead": "prefetch",
    r"(first|second|third) cache": "L1, L2, L3",
    r"when tried|throwaway program|in the runs? before|eight runs before": "bench/NOTEBOOK.md",
    r"(cannot|not) be foreseen": "branch misprediction",
    r"by vectors": "SIMD",
    r"the few elements|what is great|are great|is great": "large",
    r"in golden steps": "multiples of the golden ratio",
    r"goes? side by side by the instruction": "in parallel",
    r"a turn of packing|each turn|by turns": "chunk",
    r"is what is shown|are shown of|shown of the turn": "bitmask",
    r"/\* (What|Whether|Of|Where|The same|Which|How many|How much)\b": "a sentence with its subject first",
}

failed = passed = 0


def check(good, text):
    global failed, passed
    passed, failed = passed + good, failed + (not good)
    if not good:
        print(text)


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def files():
    """What git tracks; in a tree without git, all but what a build leaves."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files"], capture_output=True, text=True).stdout.split("\n")
    found = [path for path in listed if path and os.path.exists(os.path.join(SOURCE, path))]
    if not found:
        for folder, _, names in os.walk(SOURCE):
            found += [os.path.relpath(os.path.join(folder, name), SOURCE) for name in names]
        found = [path for path in found if not re.match(r"build|\.git/", path) and "__pycache__" not in path]
    return sorted(found)


def order():
    """The level of each folder, from the block of doc/DESIGN.md."""
    block = re.search(r"^#+ Include order\n.*?```[a-z]*\n(.*?)```", read("doc/DESIGN.md"), re.M | re.S)[1]
    return {group: level for level, line in enumerate(block.strip().split("\n")) for group in line.split()}


def included(path, name):
    """The file of the tree that an include names, or None."""
    for place in ("src/" + name, name, "include/" + name):
        if os.path.exists(os.path.join(SOURCE, place)):
            return place
    return None


def upward(level, path, text):
    """Includes of a folder above this one, or of another folder beside it."""
    own = os.path.dirname(path)
    for name in re.findall(r'^#\s*include "([^"]+)"', text, re.M):
        there = included(path, name)
        check(there is not None, f'{path}: "{name}" is no path from src/ or the tree\'s top')
        group = os.path.dirname(there or own)
        if group != own and group in level:
            check(level[group] < level[own], f"{path} ({own}) includes {there}, which is not below it")


def prose(path, text):
    """Lines that are too wide, and coined words; tables' rows and quoted lists may be wide."""
    if path.startswith("tests/house/") or path == "bench/NOTEBOOK.md":
        coined = {}
    else:
        coined = COINED
    wide = [number for number, line in enumerate(text.split("\n"), 1)
            if len(line.expandtabs(8)) > MOST_COLUMNS and not (path.endswith(".md") and line.lstrip().startswith("|"))]
    check(not wide, f"{path}: lines {wide[:8]} are wider than {MOST_COLUMNS} columns")
    for word, instead in coined.items():
        found = re.search(word, text)
        check(not found, f"{path}: {found and found[0]!r}: say {instead}")


def front_page(text):
    """README.md is short; results stand only in what experiments/tables writes and in programs' output."""
    check(text.count("\n") <= MOST_README_LINES, f"README.md has more than {MOST_README_LINES} lines")
    own = re.sub(r"^```.*?^```|`[^`\n]*`|^<!-- (.+) -->$.*?^<!-- end of \1 -->$", "", text, flags=re.M | re.S)
    found = re.findall(r"\d[\d.,]* ?(?:%|times|MB|GB|ms|s|nats|percent|points|steps)\b.*", own)
    check(not found, f"README.md: {found} are made by no script")


def links(path, text):
    """Links lead to files, or to a definition that has a line of its own."""
    own = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", own):
        check(os.path.exists(os.path.join(SOURCE, os.path.dirname(path), link)), f"{path}: no {link}")
    defined = set(re.findall(r"^(\[[^\]]+\]): \S+$", own, flags=re.M))
    missing = set(re.findall(r"\](\[[^\]]{2,}\])", own)) - defined
    check(not missing, f"{path}: links to {sorted(missing)}, which no line defines")


def main():
    tracked = files()
    check(len(tracked) > 300, f"too few files: {len(tracked)}")
    names = Counter(os.path.basename(path) for path in tracked if not path.endswith(".csv"))
    twice = sorted(name for name, count in names.items() if count > 1 and name not in REPEATED)
    check(not twice, f"file names that are used twice: {twice}")
    level = order()
    folders = Counter(os.path.dirname(path) for path in tracked if path.endswith((".c", ".h")))
    for folder in [folder for folder in folders if folder.split("/")[0] in {group.split("/")[0] for group in level}]:
        check(folder in level, f"{folder} has no place in doc/DESIGN.md's include order")
        check(folders[folder] <= MOST_FILES, f"{folder} has {folders[folder]} files")
    for path in tracked:
        if not TEXT.search(path) or GENERATED.search(path) or path.endswith("/results"):
            continue
        text = read(path)
        if path.endswith((".c", ".h")) and os.path.dirname(path) in level:
            upward(level, path, text)
        prose(path, text)
        if path.endswith(".md"):
            links(path, text)
    front_page(read("README.md"))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
