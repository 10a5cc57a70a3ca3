"""The command crumb-report, which crumb report, crumb plan and crumb-train run. SPDX-License-Identifier: MIT"""
import argparse
import os
import signal
import stat
import sys

from . import comparisons, plans, training
from .lines import Line, Refused, read, refuse
from .page import Section, html
from .runs import Run, is_log, is_stats, label_runs, run_of_stats, runs_of_log
from .style import printable


def write(path: str, text: str) -> None:
    """Writes a file that appears when it is whole, with the permissions of the one that it replaces; until then that
    one stays. A pipe or a device is written in place; - is standard output."""
    if path == "-":
        try:
            with open(1, "wb", closefd=False) as file:  # buffered even where sys.stdout is not
                file.write(text.encode("utf-8", "replace"))
        except OSError as error:
            refuse("standard output", error.strerror or "cannot be written")
        return
    if os.path.islink(path) and not os.path.exists(path):
        refuse(path, "a link to a file that does not exist")
    target = os.path.realpath(path)
    in_place = os.path.exists(path) and not os.path.isfile(path)
    new = path if in_place else f"{target}.{os.getpid()}.new"
    try:
        with open(new, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        if not in_place:
            if os.path.exists(target):
                os.chmod(new, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(new, target)
    except BaseException as error:
        if not in_place and os.path.exists(new):
            os.remove(new)
        if isinstance(error, OSError):
            refuse(path, error.strerror or "cannot be written")
        raise


def page_of(paths: list[str]) -> str:
    runs: list[Run] = []
    compared: list[Line] = []
    planned: list[Line] = []
    for path in paths:
        lines = read(path)
        first = lines[0][1] if lines else {"event": None}
        if is_log(first):
            runs += runs_of_log(path, lines)
        elif is_stats(first):
            runs.append(run_of_stats(path, lines))
        elif comparisons.is_comparison(first):
            compared += lines
        elif plans.is_plan(first):
            planned += lines
        else:
            refuse(lines[0][0], "no line of crumb-train --log, of crumb.torch's stats(), of crumb compare --json or of "
                                "crumb plan --json")
    if bool(runs) + bool(compared) + bool(planned) > 1:
        refuse(paths[-1], "runs, comparisons and plans are different things: a page is of one of them")
    label_runs(runs)
    names = [run.label for run in runs]
    sections: list[Section] = []
    if compared:
        title, names, sections = "crumb compare", comparisons.codecs(compared), comparisons.sections(compared)
    elif planned:
        rows = plans.rows_of(planned)
        title, names, sections = "crumb plan", plans.names_of(rows), plans.sections(rows)
    else:
        title, sections = "crumb: training runs", training.sections(runs)
    return html(title, names, sections)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="crumb-report", description="Writes a page of what crumb-train --log, crumb.torch's stats(), crumb "
        "compare --json or crumb plan --json wrote: one HTML file, which needs no network.")
    parser.add_argument("file", nargs="+", metavar="FILE.jsonl", help="of JSON Lines; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="REPORT.html", help="the page; - is standard output")
    arguments = parser.parse_args()
    if arguments.output != "-" and any(os.path.realpath(path) == os.path.realpath(arguments.output)
                                       for path in arguments.file if path != "-"):
        parser.error(f"the page would replace a log: {printable(arguments.output)}")
    for number in signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        write(arguments.output, page_of(arguments.file))
    except Refused as refused:
        sys.exit(f"crumb-report: {printable(str(refused))}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
