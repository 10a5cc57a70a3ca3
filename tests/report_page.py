"""Pages of crumb report in a browser: Chromium draws them without a word on its console and without a network, their
numbers are the log's, and text of a log stays text. SPDX-License-Identifier: MIT"""
import json
import os
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ["SOURCE"]
sys.path += [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "cli")]
try:
    import plotly  # noqa: F401
    import selenium  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
from browser import chromium  # noqa: E402
from checks import check, finish  # noqa: E402

HOSTILE = "</script><script>hacked=1</script><img src=x onerror=hacked=1><a href='javascript:hacked=1'>\u2028%{x}&lt;\""
CODECS = ["raw", "adacomp:bin=50", "terngrad", HOSTILE]
NAMES = [codec.replace("\u2028", "?") for codec in CODECS]  # as they are shown
EPOCHS = 4


def event(codec, epoch):
    """An epoch whose numbers are all different."""
    i = CODECS.index(codec) + 1
    seconds = {"compute": 4 + i / 8, "pack": 0.5 + i / 16, "swap": 0.25 * i, "unpack": 0.125 * i, "wall": 10 + i}
    return {"event": "epoch", "codec": codec, "model": HOSTILE, "data": "digits", "learners": 8, "batch": 100,
            "seed": 1, "epoch": epoch, "error": i / 64 / epoch, "loss": i / 3 / epoch, "test_loss": i / 5 / epoch,
            "bytes": 1234567 * epoch * 10 ** (4 - i), "ratio": 3.7 ** i + epoch,
            "ratio_by_kind": {"conv": 2.5 ** i, "fc": 5.5 ** i}, "residual_norm": i * 7.5 + epoch, "skipped": i - 1,
            "command": f"crumb-train --codec {codec}", "seconds": seconds}


def column(of, title):
    """The values of the table's column as the page sorts them."""
    at = of["head"].index(title)
    return [float(row[at]) for row in of["rows"]]


TABLES = """return [...document.querySelectorAll("table")].map((table) => ({
	head: [...table.tHead.rows[0].cells].map((cell) => cell.textContent),
	rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((c) => c.dataset.value ?? c.textContent))
}))"""
FIGURES = """return [...document.querySelectorAll("figure")].map((figure) => ({
	title: figure.querySelector("figcaption").textContent,
	data: figure.lastChild.data.map(({ name, x, y, meta, visible }) => ({ name, x, y, meta, visible })),
	back: figure.lastChild._fullLayout.paper_bgcolor, drawn: figure.querySelectorAll("svg path").length }))"""
HOVER = """Plotly.Fx.hover(document.querySelector("figure").lastChild,
	[{ curveNumber: arguments[0], pointNumber: 1 }])"""


def wait_for(browser, script, what):
    for _ in range(600):
        if browser.execute_script(f"return {script}"):
            return
        time.sleep(0.1)
    check(False, f"{what}: not within a minute")


def look(browser, page):
    """Opens a page; returns its tables and figures."""
    browser.get(f"file://{page}")
    wait_for(browser, "document.documentElement.dataset.drawn", page)
    tables, figures = browser.execute_script(TABLES), browser.execute_script(FIGURES)
    check(figures and all(figure["drawn"] > 5 for figure in figures), f"{page}: a figure is empty")
    said = browser.get_log("browser")
    check(not said, f"{page}: the console says {said}")
    check(browser.execute_script("return performance.getEntriesByType('resource').length") == 0, "it loads something")
    check(browser.execute_script("return typeof hacked + document.querySelectorAll('img, a[href], iframe').length")
          == "undefined0", "a text of the log has become a program, or part of the page")
    return tables, {figure["title"]: figure for figure in figures}


def numbers_are_the_logs(tables, figures):
    last = [event(codec, EPOCHS) for codec in CODECS]
    summary = tables[0]
    check([row[0][1:] for row in summary["rows"]] == NAMES, "names of runs")
    for title, key, times in [("Test error (%)", "error", 100), ("Test loss (nats)", "test_loss", 1),
                              ("Training loss (nats)", "loss", 1), ("Frames of a learner (GB)", "bytes", 1e-9),
                              ("Ratio", "ratio", 1), ("Residual norm", "residual_norm", 1)]:
        near = [abs(a / (times * e[key]) - 1) < 1e-12 for a, e in zip(column(summary, title), last)]
        check(all(near) and len(near) == len(CODECS), f"the column {title}")
    check(column(summary, "Time (s)") == [EPOCHS * e["seconds"]["wall"] for e in last], "the column Time")
    kinds = next(table for table in tables if "conv" in table["head"])
    check(column(kinds, "fc") == [e["ratio_by_kind"]["fc"] for e in last], "ratios by kind")
    phases = next(table for table in tables if "swap" in table["head"])
    for phase in "compute", "pack", "swap", "unpack":
        check(column(phases, phase) == [e["seconds"][phase] for e in last], f"seconds of {phase}")
    for name, x in ("epochs", lambda e: e["epoch"]), ("bytes", lambda e: e["bytes"] * 1e-9), \
            ("seconds", lambda e: e["epoch"] * e["seconds"]["wall"]):
        for title, y in ("Test error", lambda e: 100 * e["error"]), ("Loss", lambda e: e["test_loss"]):
            for codec, curve in zip(CODECS, figures[f"{title} against {name}"]["data"]):
                events = [event(codec, epoch) for epoch in range(1, EPOCHS + 1)]
                good = all(abs(a - x(e)) <= 1e-12 * abs(a) and abs(b - y(e)) <= 1e-12 * abs(b)
                           for a, b, e in zip(curve["x"], curve["y"], events)) and len(curve["x"]) == EPOCHS
                check(good, f"{title} against {name} of {codec}")
    check(figures["Residual norm against epochs"]["data"][1]["y"] ==
          [event(CODECS[1], epoch)["residual_norm"] for epoch in range(1, EPOCHS + 1)], "residuals")
    check(figures["Ratio by kind of layer"]["data"][2]["y"] == list(last[2]["ratio_by_kind"].values()), "the bars")


def page_answers(browser):
    """The page sorts, hides, says values under the pointer, follows the colour scheme and fits a phone."""
    for click in "ascending", "descending":
        browser.execute_script("document.querySelectorAll('th')[arguments[0]].querySelector('button').click()",
                               browser.execute_script(TABLES)[0]["head"].index("Ratio"))
        values = column(browser.execute_script(TABLES)[0], "Ratio")
        check(values == sorted(values, reverse=click == "descending"), f"rows are {click}")
    browser.execute_script("document.querySelector('nav button').click()")
    wait_for(browser, "document.querySelector('figure').lastChild.data[0].visible === false", "a curve is hidden")
    browser.execute_script("document.querySelector('nav button').click()")
    wait_for(browser, "document.querySelector('figure').lastChild.data[0].visible === true", "and shown")
    for i, value in (0, "0.7813 %2 epochs"), (3, "3.125 %2 epochs"):  # Plotly does not read a name as HTML
        browser.execute_script(HOVER, i)
        wait_for(browser, f"document.querySelector('.hoverlayer').textContent === {json.dumps(NAMES[i] + value)}",
                 f"a point says {NAMES[i]}, {value}")
    backs = []
    for scheme in "light", "dark":
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        wait_for(browser, "[...document.querySelectorAll('figure')].every((figure) => figure.lastChild._fullLayout."
                          "paper_bgcolor === getComputedStyle(document.documentElement).getPropertyValue('--back'))",
                 f"figures in {scheme}")
        backs.append(browser.execute_script(FIGURES)[0]["back"])
    check(backs[0] != backs[1], f"light and dark are {backs}")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    wait_for(browser, "document.documentElement.scrollWidth <= 390 && "
                      "[...document.querySelectorAll('.main-svg')].every((svg) => svg.clientWidth <= 390)", "a phone")
    check(not browser.get_log("browser"), "the console is silent still")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def plan_is_right(rows, tables, figures):
    check(column(tables[0], "Step (ms)") == [1000 * row["step"] for row in rows], "a plan's table")
    plain, curves = rows[0], figures["vgg-a on 16 nodes"]["data"]
    check(curves[0]["y"] == [row["step"] for row in rows if row["plan"] == "all-reduce"], "plain all-reduce's curve")
    for name in "half", "adacomp":
        cross = next(curve for curve in curves if curve["name"] == name and len(curve["x"]) == 1)
        link, step = cross["x"][0], cross["y"][0]
        check(link in [row["pays_below"] for row in rows if row["codec"] == name], f"{name} breaks even")
        wanted = plain["step"] - plain["seconds"]["wire"] * (1 - plain["link"] / link)
        check(abs(step / wanted - 1) < 1e-9, f"{name} breaks even on plain all-reduce's curve")


def write_lines(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def main():
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        os.chdir(folder)
        with open("python3", "w") as file:  # crumb-report runs by the one of the path, which may be another
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        os.chmod("python3", 0o755)

        def page_of(*files):
            page = os.path.join(folder, "page.html")
            subprocess.run([sys.executable, "-m", "crumb_report", *files, "-o", page], check=True,
                           env={**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python")})
            return page

        write_lines("log", [event(codec, epoch) for codec in CODECS for epoch in range(1, EPOCHS + 1)]
                    + [{**event(CODECS[-1], 1), "event": "failed", "why": HOSTILE}])
        page = page_of("log")
        check(os.path.getsize(page) < 4e6, "the page is under 4 MB")
        numbers_are_the_logs(*look(browser, page))
        page_answers(browser)

        stats = {"policy": HOSTILE, "skipped": 0, "dense_bytes": 4000, "sent_bytes": 1000, "pack_seconds": 1,
                 "wait_seconds": 2, "unpack_seconds": 3}
        write_lines("stats", [{**stats, "steps": steps, "frame_bytes": 100000 * steps, "loss": 1 / steps,
                               "seconds": steps} for steps in (1, 2, 1)])
        tables, figures = look(browser, page_of("stats"))
        check(figures["Loss against bytes"]["data"][0]["x"] == [100, 200, 300], "counts go on after reset_stats()")

        write_lines("compared", [{"file": HOSTILE, "codec": HOSTILE, "bits_per_element": 2, "error": 0.5},
                                 {"file": "g.npy", "codec": "raw", "bits_per_element": 32, "error": 0}])
        tables, figures = look(browser, page_of("compared"))
        check(column(tables[0], "Bits an element") == [2, 32], "a comparison's table")
        check(figures["Error against rate"]["data"][0]["y"] == [0.5], "a comparison's point")

        crumb = os.environ["CRUMB"]
        asked = [crumb, "plan", "-m", "vgg-a", "--compute", "95img/s", "--nodes", "16", "-c", "half", "-c", "adacomp"]
        with open("plan", "w") as file:
            subprocess.run([*asked, "--link", "1G", "--link", "400G", "--json"], check=True, stdout=file)
        with open("plan") as file:
            plan_is_right([json.loads(line) for line in file], *look(browser, page_of("plan")))
        subprocess.run([*asked, "--link", "1G", "--report", "swept.html"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        tables, figures = look(browser, os.path.join(folder, "swept.html"))
        check(len(tables[0]["rows"]) == 3, "a row for each codec and link that was asked about")
        check(len(figures["vgg-a on 16 nodes"]["data"][0]["x"]) == 33, "and a curve over eight links a decade")
    finish()


main()
