"""Figures as gnuplot scripts: styles, and panels from top to bottom. SPDX-License-Identifier: MIT"""
import subprocess
import sys

# Okabe and Ito's colours, which most people can tell apart; the black is left out, the yellow comes last.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#f0e442"]
DASHES = [1, 2, 4]  # gnuplot's; one for every round of colours
POINTS = [7, 5, 9, 13]  # the same: circle, square, triangle, diamond
TERMINALS = {".svg": "svg", ".png": "pngcairo"}

WIDTH, LINE = 960, 18  # pixels: of a figure, and of a line of text


def die(message):
    sys.exit(f"plot: {message}")


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def point_style(i):
    shape = POINTS[i // len(COLOURS) % len(POINTS)]
    return f"linecolor rgb '{COLOURS[i % len(COLOURS)]}' pointtype {shape} pointsize 0.9"


def line_style(i):
    dash = DASHES[i // len(COLOURS) % len(DASHES)]
    return f"linecolor rgb '{COLOURS[i % len(COLOURS)]}' dashtype {dash} linewidth 2 pointtype 7 pointsize 0.6"


def frame(grid=""):
    """A panel's two axes, with grid lines at tics of one axis, or of both."""
    return ("set border 3 linecolor rgb '#444444'\nset tics nomirror out\n"
            f"set grid {grid} linetype 1 linecolor rgb '#dddddd'")


class Figure:
    """A gnuplot script that grows from top to bottom."""

    def __init__(self, height):
        self.height, self.script = height, []

    def panel(self, left, top, width, height, *commands):
        """left to height: of the axes alone."""
        sides = {"lmargin": left / WIDTH, "rmargin": (left + width) / WIDTH}
        sides.update(tmargin=1 - top / self.height, bmargin=1 - (top + height) / self.height)
        self.script += ["reset", *(f"set {side} at screen {at:.6f}" for side, at in sides.items()), *commands]

    def blank(self, top, commands):
        """A panel without axes."""
        unset = "unset border\nunset tics\nunset key\nset xrange [0:1]\nset yrange [0:1]"
        self.panel(0, top, WIDTH, LINE, unset, *commands, "plot NaN")

    def at(self, left, top):
        return f"screen {left / WIDTH:.6f}, screen {1 - top / self.height:.6f}"

    def data(self, name, rows):
        lines = (" ".join("NaN" if v is None else f"{v:.9g}" for v in row) for row in rows)
        self.script += [f"${name} << END", *lines, "END"]

    def render(self, terminal):
        """The picture's bytes."""
        head = f"set terminal {terminal} size {WIDTH},{self.height} font 'sans,10' background 'white' noenhanced"
        script = "\n".join(["set encoding utf8", head, "set multiplot", *self.script, "unset multiplot", ""])
        done = subprocess.run(["gnuplot"], input=script.encode(), capture_output=True)
        if done.returncode or not done.stdout:
            die("gnuplot failed:\n" + done.stderr.decode(errors="replace"))
        return done.stdout
