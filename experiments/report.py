"""The generated parts of experiments/README.md and of experiments/TABLES.md, and the figures: the claims of each paper,
and the rows of each experiment. SPDX-License-Identifier: MIT"""
import re
import textwrap

import catalogue
import claims
import figure
import gpt
import policies
from markdown import distinct, mean, read, table
from policies import name_of
from tasks import LANGUAGE, TASKS, told

PAPERS = [name for paper in catalogue.PAPERS for name in paper.experiments]
KINDS = ["conv", "fc", "lstm", "last"]
COUNTED = [column for kind in KINDS for column in (kind, f"{kind}, as the paper counts")]


def percents(values):
    return ", ".join(f"{100 * value:.2f}" for value in values)


def mnist():
    """A row a codec: LeNet on MNIST."""
    rows, lines = read("mnist.csv"), []
    for codec in distinct(rows, "codec"):
        own = [row for row in rows if row["codec"] == codec]
        errors = [float(row["error"]) for row in own]
        ratios = [f"{mean([float(row[key]) for row in own]):.1f}" for key in ("conv", "fc", "ratio")]
        lines.append([f"`{codec}`", percents(errors), percents([mean(errors)]), *ratios])
    return table(["codec", "error, seeds 1, 2, 3", "mean", "conv", "fc", "all"], lines)


def demo():
    return table(["codec", "test error", "one learner sent", "ratio"],
                 [[f"`{row['codec']}`", f"{percents([float(row['error'])])} %", f"{int(row['bytes']) / 1e6:.2f} MB",
                   f"{float(row['ratio']):.1f}"] for row in read("demo.csv")])


def transformer():
    """A row a codec: how far gpt-mini's loss is above that of raw, in nats, with AdamW's momentum and without."""
    results = claims.Results(read("gpt.csv"), False)
    lines = []
    for name, codec in policies.GPT_CODECS.items():
        plain = policies.GPT_DGC_MOMENTUM if name == "dgc" else codec
        runs = [(gpt.EVERY, gpt.LEARNERS, codec), (gpt.PLAIN, gpt.LEARNERS, plain)]
        points = [gpt.point(results, run) for run in runs]
        seeds = [str(len(results.of(*run))) if pair else "" for run, pair in zip(runs, points)]
        above = [f"{pair[0]:+.3f}" if pair else "" for pair in points]
        lines.append([f"`{policies.GPT_SPECS[name]}`", f"{points[0][1]:.0f}", above[0], seeds[0], above[1], seeds[1]])
    return table(["codec", "times fewer bytes", "nats above `raw`", "seeds", "with beta1=0", "seeds"],
                 sorted(lines, key=lambda line: int(line[1])))


def key_of(row):
    return tuple(str(row[field]) for field in ("task", "learners", "codec", "seed"))


def figures(rows, key):
    values = [float(row[key]) for row in rows if row.get(key)]
    return f"{mean(values):.3g}" if values else ""


def judged(row):
    """Returns the value by which a run is judged: its error in percent, or a language model's loss in nats."""
    by_loss = row["task"] in LANGUAGE
    value = row["test_loss" if by_loss else "error"]
    return float(value) * (1 if by_loss else 100) if value else float("nan")


def by_codec(name):
    """Returns the rows by task, number of learners and codec, in the catalogue's order."""
    by = {}
    for row in sorted(read(name + ".csv"), key=lambda row: int(row["seed"])):
        for kind in KINDS:
            row[f"{kind}, as the paper counts"] = claims.as_the_paper_counts(row, kind)
        by.setdefault((row["task"], int(row["learners"]), row["codec"]), []).append(row)
    order = dict.fromkeys((row.task, row.learners, row.codec) for row in catalogue.EXPERIMENTS[name].rows)
    return {at: by[at] for at in order if at in by}


def used_columns(head, lines, left, always=0):
    """The table without columns that are empty in all lines, but with the first `always` ones; "" without lines."""
    used = [i for i in range(len(head)) if i < always or any(line[i] for line in lines)]
    return table([head[i] for i in used], [[line[i] for i in used] for line in lines], left) if lines else ""


def rows_of(name):
    """A row for each task, codec and number of learners: its error, alone and beside raw's, and the ratios."""
    lines, results = [], claims.Results(read(name + ".csv"), False)
    for at, rows in by_codec(name).items():
        pair = results.beside_raw(*at) if at[2] != "raw" else None
        digits = 3 if at[0] in LANGUAGE else 2
        lines.append([told(at[0]), at[1], f"`{at[2]}`", ", ".join(f"{judged(row):.{digits}f}" for row in rows),
                      f"{pair[1] - pair[0]:+.{digits}f}" if pair else "",
                      f"{mean([int(row['bytes']) for row in rows]) / 1e6:.3g}",
                      *(figures(rows, key) for key in ("ratio", *COUNTED, "residual_norm", "noise"))])
    head = ["task", "learners", "codec", "error % (char-lstm, gpt: nats), by seed", "above raw of the task", "MB sent",
            "smaller by", *COUNTED, "residual norm", "noise"]
    return used_columns(head, lines, ["codec"], 6)


def judged_claims(name):
    """Returns an experiment's results, and its claims that can be judged with their verdicts."""
    results = claims.Results(read(name + ".csv"), False, read(name + "-layers.csv"), read(name + "-epochs.csv"))
    verdicts = [(claim, claims.judge(claim, results)) for claim in catalogue.EXPERIMENTS[name].claims]
    return results, [(claim, verdict) for claim, verdict in verdicts if verdict]


def claim_line(claim, verdict, results):
    return [claim.where, claim.says, claim.there, verdict[1], claims.schedule(claim), claims.seeds(claim, results),
            "yes" if verdict[0] else "**no**"]


def claim_table(lines, more=()):
    head = ["where", "claim", "the paper", "here", "schedule", "seeds", "holds?", *more]
    return table(head, lines, [*head[:5], "holds?", *more]) if lines else ""


def all_claims(name):
    """A row a claim that can be judged: the paper's number, and what was measured here."""
    results, judged = judged_claims(name)
    return claim_table([claim_line(*pair, results) for pair in judged])


def longest_claims(name):
    """Returns a line a claim of the paper with its longest runs, and how many of the other runs it holds for."""
    lines, by, (results, judged) = [], {}, judged_claims(name)
    for claim, verdict in judged:
        if not claim.where.startswith("not the "):
            by.setdefault(claims.same(claim), []).append((claim, verdict))
    for own in by.values():
        lengths = [claims.length(claim, results) for claim, _ in own]
        others = [verdict[0] for (_, verdict), length in zip(own, lengths) if length < max(lengths)]
        for pair, length in zip(own, lengths):
            if length == max(lengths):
                lines.append([*claim_line(*pair, results), f"{sum(others)} of {len(others)}" if others else ""])
                others = []
    return lines


def claims_of(paper):
    """A row a claim of the paper, and what was not run."""
    table_of_claims = claim_table([line for name in paper.experiments for line in longest_claims(name)], ["other runs"])
    waiting = sum(len(it.claims) - len(judged_claims(name)[1]) for name, it in paper.experiments.items())
    missing, never = missing_of(paper), [it.not_run for it in paper.experiments.values() if it.not_run]
    left = [wrapped(f"Rows not run: {missing}. Claims that wait for them: {waiting}.")] if missing else []
    left += [wrapped(f"Not run at all: {'. '.join(never)}.")] if never else []
    return "\n".join([table_of_claims, *(f"{paragraph}\n" for paragraph in left)])


def missing_of(paper):
    """Returns the rows of a paper's experiments that have not been run, counted by task and learners."""
    parts = []
    for name, it in paper.experiments.items():
        done = {key_of(row) for row in read(name + ".csv")}
        left = [claims.of_run(row.task, row.learners) for row in it.rows if key_of(row._asdict()) not in done]
        counts = "; ".join(f"{run} ({left.count(run)})" for run in dict.fromkeys(left))
        parts += [f"`{name}`: {counts}"] if left else []
    return ". ".join(parts)


TITLES = {"epoch": "epoch", "error": "test error, %", "test_loss": "test loss, nats", "ratio": "smaller by",
          "learners": "learners", "batch": "mini-batch", "threshold": "threshold",
          "residual_norm": "residual norm of a learner", "noise": "|arrived - computed|² / |computed|²"}


def value_of(row, field):
    """Returns a run's field as a number, an option in its command else; None: it has none."""
    found = re.search(f"{field}[ =]([0-9.]+)", row.get("command", ""))
    default = "0.5" if (field, row["codec"]) == ("threshold", "twobit") else None
    text = row.get(field) or (found[1] if found else default)
    return float(text) * (100 if field == "error" else 1) if text else None


def points_of(name, x, y, runs):
    """Returns the points of a curve: means over seeds of each epoch of a run, or of each of several runs."""
    points = {}
    for run in runs:
        for row in read(name + ("-epochs.csv" if x == "epoch" else ".csv")):
            pair = value_of(row, x), value_of(row, y)
            if (row["task"], int(row["learners"]), row["codec"]) == run and all(pair):
                points.setdefault((run, pair[0] if x == "epoch" else None), []).append(pair)
    return [tuple(map(mean, zip(*pairs))) for pairs in points.values()]


def drawing(name):
    """The experiment's figure; None: it has none, or too few rows for one."""
    it = catalogue.EXPERIMENTS[name]
    if not it.figure:
        return None
    x, y, curves, title, marks = it.figure
    drawn = {label: points for label, runs in curves.items() if (points := points_of(name, x, y, runs))}
    if sum(map(len, drawn.values())) < 2 or set(drawn) <= {"raw", "`raw`"}:
        return None
    return figure.draw({(title or it.title, TITLES[y]): drawn}, TITLES[x], x != "epoch",
                       y in ("residual_norm", "noise"), marks=marks)


def layer_drawing(name):
    """The figure of one layer, of the first seed; None: there is none."""
    if not catalogue.EXPERIMENTS[name].layer:
        return None
    panels, (layer, fields) = {}, catalogue.EXPERIMENTS[name].layer
    histograms = any(field.endswith("_histogram") for field in fields)
    y_title = "share of the elements, by bins as wide" if histograms else \
        "95th percentile of absolute values" if fields[0].endswith("_p95") else "variance of coordinates"
    for row in read(name + "-layers.csv"):
        for field in (field for field in fields if row[field] and (row["slice"], row["seed"]) == (str(layer), "1")):
            flat = "--flat" in TASKS[row["task"]].options
            title = f"{row['task']}: {'the whole gradient' if flat else f'slice {layer}, ' + row['kind']}"
            part, label = field.split("_")[0], f"{row['learners']} learners, {name_of(row['codec'])}"
            points = panels.setdefault((title, y_title), {}).setdefault(f"{part}, {label}", [])
            if histograms:
                points += densities(row[field], float(row[part + "_max"]), float(row["gradient_max"]))
            elif float(row[field]) > 0:
                points.append((float(row["step"]), float(row[field])))
    return figure.draw(panels, "element" if histograms else "step", y_log=True) if panels else None


def densities(histogram, most, widest):
    """Returns the middles of bins, and their shares scaled to the bins of the widest histogram."""
    counts = [int(count) for count in histogram.split()]
    return [(most * ((2 * i + 1) / len(counts) - 1), count / sum(counts) * widest / most)
            for i, count in enumerate(counts) if count]


def loss_drawing():
    """Loss against seconds, with and without compression, on each network of bench/loss."""
    panels = {}
    for row in read("loss.csv", "bench"):
        panel = panels.setdefault((f"{row['mbit']} Mbit/s, {row['how']}", "test loss, nats"), {})
        panel.setdefault(row["setting"], []).append((float(row["seconds"]), float(row["test_loss"])))
    return figure.draw(panels, "seconds", x_log=True)


def drawings():
    """Returns figures, as Plotly has them, by file name, without those that cannot be drawn."""
    figures = {name + more: draw(name) for name in PAPERS for more, draw in (("", drawing), ("-layers", layer_drawing))}
    figures["loss-seconds"] = loss_drawing()
    return {f"experiments/figures/{name}.svg": drawn for name, drawn in figures.items() if drawn}


def layers_of(name):
    """A row a task, layer, number of learners and codec: means over probes and seeds; percentiles of the last one."""
    by, lines = {}, []
    for row in read(name + "-layers.csv"):
        by.setdefault((row["task"], row["learners"], row["codec"], row["slice"], row["kind"]), []).append(row)
    for (task, learners, codec, layer, kind), rows in by.items():
        def of(field, digits=3, times=1):
            values = [times * float(row[field]) for row in rows if row[field]]
            return f"{mean(values):.{digits}g}" if values else ""
        lengths = [float(row["clip_length"]) for row in rows if row["clip_length"]]
        shorter = f"{100 * (1 - mean(lengths)):.2f}" if lengths else ""
        lines.append([told(task), learners, f"`{codec}`", f"{layer}, {kind}", of("sent", times=100), of("bin_sent"),
                      of("arrived_zeros", times=100), of("error"), of("variance"),
                      *(f"{float(rows[-1][field]):.3g}" if rows[-1][field] else ""
                        for field in ("gradient_p95", "residual_p95")),
                      shorter, of("clip_degrees")])
    head = ["task", "learners", "codec", "slice", "sent, %", "sent in a bin", "arrives as 0, %", "error of the codec",
            "variance of coordinates", "gradient, 95 %, at the end", "residual, 95 %, at the end",
            "clipped: shorter by %", "turned by degrees"]
    return used_columns(head, lines, ["codec", "slice"])


def wrapped(text, bullet=""):
    return textwrap.fill(text, 120, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_long_words=False,
                         break_on_hyphens=False)


def papers():
    """A section for each paper: what reproduces, its claims and a figure."""
    out = []
    for paper in catalogue.PAPERS:
        out += [f"## {paper.title}", *map(wrapped, paper.text.split("\n\n")), claims_of(paper).strip(),
                f"![{paper.figure}](figures/{paper.figure}.svg)" if drawing(paper.figure) else ""]
    return "\n\n".join(part for part in out if part) + "\n"


def names():
    """A row for each short name of a codec."""
    return table(["name", "codec"], [[name, f"`{codec}`"] for codec, name in policies.NAMES.items()], ["codec"])


def all_rows():
    """A section for each experiment: how it differs from the paper, all claims and rows, figures."""
    out = []
    for paper in catalogue.PAPERS:
        for name, it in paper.experiments.items():
            out += [f"## {name}", wrapped(f"{it.title}. {it.differs}".strip()), all_claims(name).strip(),
                    rows_of(name).strip(),
                    f"![{name}](figures/{name}.svg)" if drawing(name) else "",
                    layers_of(name).strip(),
                    f"![{name}, one layer](figures/{name}-layers.svg)" if layer_drawing(name) else "",
                    wrapped(f"Not run: {it.not_run}.") if it.not_run else ""]
    return "\n\n".join(part for part in out if part) + "\n"


def run_of(name):
    """Returns the numbers of rows that have been run, and of planned rows."""
    done = {key_of(row) for row in read(name + ".csv")}
    planned = catalogue.EXPERIMENTS[name].rows
    return sum(key_of(row._asdict()) in done for row in planned), len(planned)


def sizes():
    """A row a network that is not trained: its gradient, and each codec's ratio."""
    rows = read("sizes.csv")
    by = {(row["model"], row["codec"]): row for row in rows}
    codecs = [codec for codec in distinct(rows, "codec") if codec != "raw"]
    return table(["network", "gradient, MB", *(f"`{codec}`" for codec in codecs)],
                 [[model, f"{int(by[model, 'raw']['dense_bytes']) / 1e6:.1f}"] +
                  [f"{int(by[model, codec]['dense_bytes']) / int(by[model, codec]['up_bytes']):.1f}"
                   for codec in codecs]
                  for model in distinct(rows, "model")])
