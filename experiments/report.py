"""The generated parts of experiments/README.md: one table of all experiments, and for each experiment its rows, its
figure and the verdicts on its claims. SPDX-License-Identifier: MIT"""
import re
import textwrap

import catalogue
import claims
import figure
from markdown import distinct, mean, read, table

# The tables of the other experiments are in other documents.
PAPERS = [name for name in catalogue.EXPERIMENTS if name not in ("mnist", "demo", "codecs")]
KINDS = ["conv", "fc", "lstm", "last"]
COUNTED = [column for kind in KINDS for column in (kind, f"{kind}, as the paper counts")]


def percents(values, digits=2):
    return ", ".join("-" if value is None else f"{100 * value:.{digits}f}" for value in values)


def together(epochs, key):
    """Returns the ratio of dense to sent bytes over epochs of the same dense bytes."""
    return len(epochs) / sum(1 / float(epoch[key]) for epoch in epochs)


def mnist():
    """A row a codec: LeNet on MNIST, ratios from the second epoch on."""
    rows, epochs, lines = read("mnist.csv"), read("mnist-epochs.csv"), []
    for codec in distinct(rows, "codec"):
        errors = [float(row["error"]) for row in rows if row["codec"] == codec]
        later = [epoch for epoch in epochs if epoch["codec"] == codec and int(epoch["epoch"]) > 1]
        ratios = [f"{together(later, key):.1f}" for key in ("conv", "fc", "ratio")]
        lines.append([f"`{codec}`", percents(errors), percents([mean(errors)]), *ratios])
    return table(["codec", "error, seeds 1, 2, 3", "mean", "conv", "fc", "all"], lines)


def demo():
    return table(["codec", "test error", "one learner sent", "ratio"],
                 [[f"`{row['codec']}`", f"{percents([float(row['error'])])} %", f"{int(row['bytes']) / 1e6:.2f} MB",
                   f"{float(row['ratio']):.1f}"] for row in read("demo.csv")])


def bin_of(codec, kind):
    """Returns the bin of AdaComp or of local selection on slices of a kind; None: neither codec."""
    for rule in codec.split(";"):
        kinds, spec = rule.split("=", 1) if re.match("[a-z,]+=", rule) else (kind, rule)
        found = re.fullmatch("(adacomp|local):bin=([0-9]+)(,.*)?", spec)
        if kind in kinds.split(",") and found:
            return int(found[2])
    return None


def as_the_paper_counts(row, kind):
    """Returns the ratio by AdaComp's accounting: 8 bits an element sent if bins are shorter than 64, else 16, only."""
    size, sent = bin_of(row["codec"], kind), row[f"{kind}_sent"]
    return 32 / ((8 if size < 64 else 16) * float(sent)) if size and sent and float(sent) else None


def figures(rows, key):
    values = [float(row[key]) for row in rows if row.get(key)]
    return f"{mean(values):.3g}" if values else ""


def judged(row):
    """Returns the value by which a run is judged: its error in percent, or a language model's loss in nats."""
    by_loss = row["task"] in catalogue.LANGUAGE
    value = row["test_loss" if by_loss else "error"]
    return float(value) * (1 if by_loss else 100) if value else float("nan")


def by_codec(name, more=""):
    """Returns the rows by task, number of learners and codec, or their epochs, in the catalogue's order."""
    by = {}
    for row in read(name + more + ".csv"):
        for kind in KINDS:
            row[f"{kind}, as the paper counts"] = as_the_paper_counts(row, kind)
        by.setdefault((row["task"], int(row["learners"]), row["codec"]), []).append(row)
    order = dict.fromkeys((row.task, row.learners, row.codec) for row in catalogue.EXPERIMENTS[name].rows)
    return {at: by[at] for at in order if at in by}


def beside_raw(name, at):
    """Returns raw's value and the codec's, as judged() has them; None if there is nothing to compare."""
    field, scale = ("test_loss", 1) if at[0] in catalogue.LANGUAGE else ("error", 100)
    own, raw = claims.Results(read(name + ".csv"), False).beside_raw(field, *at)
    return None if at[2] == "raw" or None in (own, raw) else [scale * raw, scale * own]


def above(pair):
    return f"{pair[1] - pair[0]:+.2f}" if pair else ""


def beside_paper(name):
    """Yields for each number of the paper: task, learners, the paper, and raw's and the codec's value here, or None."""
    for at, paper in catalogue.EXPERIMENTS[name].paper.items():
        yield at[0], at[1], paper, beside_raw(name, at)


def compared(name):
    """Yields a line for each number of the paper: without and with the codec, there and here."""
    for task, learners, paper, here in beside_paper(name):
        unit = "nats" if task in catalogue.LANGUAGE else "%"
        yield (f"{task}, {learners} learners: the paper {paper.raw:.2f} -> {paper.own:.2f} {unit} ({above(paper)}; "
               f"{paper.learners or 'an unknown number of'} learners), here " +
               (f"{here[0]:.2f} -> {here[1]:.2f} {unit} ({above(here)})" if here else "not run"))


def used_columns(head, lines, left, always=0):
    """The table without columns that are empty in all lines, but with the first `always` ones; "" without lines."""
    used = [i for i in range(len(head)) if i < always or any(line[i] for line in lines)]
    return table([head[i] for i in used], [[line[i] for i in used] for line in lines], left) if lines else ""


def rows_of(name):
    """A row for each task, codec and number of learners: its error, alone and beside raw's, and the ratios."""
    lines = []
    for at, rows in by_codec(name).items():
        lines.append([at[0], at[1], f"`{at[2]}`", ", ".join(f"{judged(row):.2f}" for row in rows),
                      above(beside_raw(name, at)),
                      *(figures(rows, key) for key in ("ratio", *COUNTED, "residual_norm", "noise"))])
    head = ["task", "learners", "codec", "error % (char-lstm: nats), by seed", "above raw", "smaller by", *COUNTED,
            "residual norm", "noise"]
    return used_columns(head, lines, ["codec"], 5)


def verdicts(name):
    results = claims.Results(read(name + ".csv"), False, read(name + "-layers.csv"), read(name + "-epochs.csv"))
    for claim in catalogue.EXPERIMENTS[name].claims:
        verdict = claims.judge(claim, results)
        yield claim.text, "not run yet" if verdict is None else "holds" if verdict else "**does not hold**"


TITLES = {"epoch": "epoch", "error": "test error, %", "test_loss": "test loss, nats", "ratio": "smaller by",
          "learners": "learners", "batch": "mini-batch", "threshold": "threshold",
          "residual_norm": "residual norm of a learner", "noise": "|arrived - computed|² / |computed|²"}


def value_of(row, field):
    """Returns a run's field, or else an option in its command, or None. twobit's threshold is 0.5 if none is given."""
    found = re.search(f"{field}[ =]([0-9.]+)", row.get("command", ""))
    default = "0.5" if (field, row["codec"]) == ("threshold", "twobit") else None
    return row.get(field) or (found[1] if found else default)


def curve_of(row, x):
    """Returns the panel and the curve of a run: its task, learners and codec without the part that x shows."""
    task, codec = re.sub(f", {x} [0-9]+", "", row["task"]), re.sub(f":{x}=[0-9.]+", "", row["codec"])
    return task, codec if x == "learners" else f"{row['learners']} learners, {codec}"


def drawing(name):
    """The experiment's figure, of the first seed; None: it has none, or too few rows for one."""
    it, panels = catalogue.EXPERIMENTS[name], {}
    if not it.figure:
        return None
    x, y = it.figure
    for row in (row for rows in by_codec(name, "-epochs" if x == "epoch" else "").values() for row in rows):
        field = "test_loss" if y == "error" and row["task"] in catalogue.LANGUAGE else y
        at, value = value_of(row, x), float(row[field] or 0)
        if row["seed"] == "1" and at and value > 0:
            title, label = curve_of(row, x)
            points = panels.setdefault((title, TITLES[field]), {}).setdefault(label, [])
            points.append((float(at), value * (100 if field == "error" else 1)))
    if sum(len(points) for curves in panels.values() for points in curves.values()) < 2:
        return None
    return figure.draw(panels, TITLES[x], x != "epoch", y in ("residual_norm", "noise"))


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
            part, label = field.split("_")[0], f"{row['learners']} learners, {row['codec']}"
            points = panels.setdefault((row["task"], y_title), {}).setdefault(f"{part}, {label}", [])
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


def drawings():
    """Returns figures by file name, without those that cannot be drawn."""
    figures = {name + more: draw(name) for name in PAPERS for more, draw in (("", drawing), ("-layers", layer_drawing))}
    return {f"experiments/figures/{name}.svg": drawn for name, drawn in figures.items() if drawn}


def layers_of(name):
    """A row a layer, number of learners and codec: means over probes; percentiles of the last one."""
    by, lines = {}, []
    for row in read(name + "-layers.csv"):
        by.setdefault((row["learners"], row["codec"], row["slice"], row["kind"]), []).append(row)
    for (learners, codec, layer, kind), rows in by.items():
        def of(field, digits=3, times=1):
            values = [times * float(row[field]) for row in rows if row[field]]
            return f"{mean(values):.{digits}g}" if values else ""
        lengths = [float(row["clip_length"]) for row in rows if row["clip_length"]]
        shorter = f"{100 * (1 - mean(lengths)):.2f}" if lengths else ""
        lines.append([learners, f"`{codec}`", f"{layer}, {kind}", of("sent", times=100), of("bin_sent"),
                      of("arrived_zeros", times=100), of("error"), of("variance"),
                      *(f"{float(rows[-1][field]):.3g}" if rows[-1][field] else ""
                        for field in ("gradient_p95", "residual_p95")),
                      shorter, of("clip_degrees")])
    head = ["learners", "codec", "slice", "sent, %", "sent in a bin", "arrives as 0, %", "error of the codec",
            "variance of coordinates", "gradient, 95 %, at the end", "residual, 95 %, at the end",
            "clipped: shorter by %", "turned by degrees"]
    return used_columns(head, lines, ["codec", "slice"])


def wrapped(text, bullet=""):
    return textwrap.fill(text, 120, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_long_words=False,
                         break_on_hyphens=False)


def experiments():
    """A section for each experiment."""
    out = []
    for name in PAPERS:
        it = catalogue.EXPERIMENTS[name]
        out += [f"## {name}", wrapped(f"{it.title}. {it.text}".strip()), rows_of(name).strip(),
                "\n".join(wrapped(line, "- ") for line in compared(name)),
                f"![{name}](figures/{name}.svg)" if drawing(name) else "",
                layers_of(name).strip(),
                f"![{name}, one layer](figures/{name}-layers.svg)" if layer_drawing(name) else "",
                "\n".join(wrapped(f"{verdict}: {text}", "- ") for text, verdict in verdicts(name)),
                wrapped(f"Not run: {it.not_run}.") if it.not_run else ""]
    return "\n\n".join(part for part in out if part) + "\n"


def run_of(name):
    """Returns the numbers of rows that have been run, and of planned rows."""
    done = {(row["task"], row["learners"], row["codec"], row["seed"]) for row in read(name + ".csv")}
    planned = catalogue.EXPERIMENTS[name].rows
    return sum((row.task, str(row.learners), row.codec, str(row.seed)) in done for row in planned), len(planned)


def overview():
    lines = []
    for name, it in catalogue.EXPERIMENTS.items():
        there, planned = run_of(name)
        said = [verdict for _, verdict in verdicts(name)]
        lines.append([f"`{name}`", it.title, f"{there} of {planned}",
                      "; ".join(f"{task}, {learners} learners: {above(paper)}, here {above(here) or 'not run'}"
                                for task, learners, paper, here in beside_paper(name)),
                      ", ".join(f"{said.count(v)} {v}" for v in dict.fromkeys(said)), it.not_run])
    return table(["name", "what", "rows run", "above raw in the paper", "claims", "not run"], lines,
                 ["what", "rows run", "above raw in the paper", "claims", "not run"])


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
