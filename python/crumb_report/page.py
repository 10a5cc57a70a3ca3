"""The page: sections of tables and figures as one HTML file, with Plotly's program packed inside.
SPDX-License-Identifier: MIT"""
import base64
import gzip
import hashlib
import json
import re
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Optional, Union

from .lines import refuse
from .style import SYMBOLS, Figure, colour, printable, symbol

Cell = Union[str, float, int, None]


@dataclass
class Table:
    """Rows whose columns can be sorted. digits: significant ones of numbers; colours: of the rows, by number."""
    head: list[str]
    rows: list[list[Cell]]
    colours: Optional[list[Optional[int]]] = None
    digits: int = 4


@dataclass
class Command:
    """A command line, and the runs that it made."""
    of: str
    text: str


@dataclass
class Section:
    title: str
    text: str = ""
    parts: list[Union[Table, Figure, Command]] = field(default_factory=list)


def _text(text: str) -> str:
    return escape(printable(text))


def _swatch(i: Optional[int]) -> str:
    return "" if i is None else f'<i style="color:{colour(i)}">{SYMBOLS[symbol(i)]}</i>'


def _number(value: float, digits: int) -> str:
    if isinstance(value, int) or value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if 0.01 <= abs(value) < 1e9:
        return f"{value:,.{max(0, digits - len(str(int(abs(value)))))}f}"
    return f"{value:.{digits}g}"


def _cell(value: Cell, digits: int, swatch: str = "") -> str:
    if value is None:
        return "<td>–</td>"
    if isinstance(value, str):
        return f"<td>{swatch}{'<wbr>'.join(map(_text, re.split('(?<=[,;])', value)))}</td>"
    return f'<td class="number" data-value="{value!r}">{_number(value, digits)}</td>'


def _of_numbers(table: Table, column: int) -> str:
    return ' class="number"' if any(isinstance(row[column], (int, float)) for row in table.rows) else ""


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col"{_of_numbers(table, at)}><button type="button">{_text(title)}</button></th>'
                   for at, title in enumerate(table.head))
    rows = []
    for i, row in enumerate(table.rows):
        swatch = _swatch(table.colours[i]) if table.colours else ""
        rows.append("<tr>" + "".join(_cell(value, table.digits, "" if at else swatch)
                                     for at, value in enumerate(row)) + "</tr>")
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _figure(number: int, figure: Figure) -> str:
    """The title and the key, which are HTML so that they may break into lines, and the place for the rest."""
    layout = figure["layout"]
    key = "".join(f'<span><i style="color:{trace["marker"]["color"]}">■</i>{trace["name"]}</span>'
                  for trace in figure["data"]) if layout["showlegend"] else ""
    return (f'<figure><figcaption>{layout["title"]["text"]}</figcaption>{key and f"<div class=key>{key}</div>"}'
            f'<div id="figure{number}" style="min-height:{layout["height"]}px"></div></figure>')


def _untitled(figure: Figure) -> Figure:
    layout = {key: value for key, value in figure["layout"].items() if key != "title"}
    return {**figure, "layout": {**layout, "margin": {**layout["margin"], "t": 12}, "showlegend": False}}


def _section(section: Section, figures: list[Figure]) -> str:
    out, drawn = [f"<section><h2>{_text(section.title)}</h2>"], ""
    out += [f"<p>{_text(section.text)}</p>"] if section.text else []
    for part in section.parts:
        if isinstance(part, dict):
            drawn += _figure(len(figures), part)
            figures.append(_untitled(part))
            continue
        if drawn:
            out.append(f'<div class="figures">{drawn}</div>')
            drawn = ""
        if isinstance(part, Table):
            out.append(_table(part))
        else:
            out.append(f"<h3>{_text(part.of)}</h3><pre>{_text(part.text)}</pre>")
    return "".join([*out, f'<div class="figures">{drawn}</div>' if drawn else "", "</section>"])


def _legend(names: list[str]) -> str:
    buttons = (f'<button type="button" aria-pressed="true" data-curve="{i}">{_swatch(i)}{_text(name)}</button>'
               for i, name in enumerate(names))
    return f'<nav aria-label="Curves">{"".join(buttons)}</nav>' if len(names) > 1 else ""


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-not-found, import-untyped, unused-ignore]
        program: str = get_plotlyjs()
    except (ImportError, OSError) as error:
        import sys
        refuse(sys.executable, f"has no Plotly ({error}); apt-get install python3-plotly, or pip install plotly")
    return program


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(program: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(program.encode()).digest()).decode() + "'"


def html(title: str, names: list[str], sections: list[Section]) -> str:
    """Returns the page. names: of the curves, by number. No script runs in it but page.js and Plotly, and nothing is
    loaded: the policy in its head names both by their hashes."""
    figures: list[Figure] = []
    body = "".join(_section(section, figures) for section in sections)
    plotly, program = _plotly(), _resource("page.js")
    scripts = f"{_hash(program)} {_hash(plotly)}"
    policy = f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:"
    packed = base64.b64encode(gzip.compress(plotly.encode(), 6, mtime=0)).decode()
    data = json.dumps(figures, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(title)}</title>
<style>{_resource("page.css")}</style>
</head>
<body>
<h1>{_text(title)}</h1>
{_legend(names)}
<noscript><p>The figures need JavaScript; the tables do not.</p></noscript>
{body}
<script type="application/json" id="figures">{data}</script>
<script type="text/plain" id="plotly">{packed}</script>
<script>{program}</script>
</body>
</html>
"""
