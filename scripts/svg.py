"""Figures of crumb_report's style as SVG, which Plotly draws in Chromium. SPDX-License-Identifier: MIT"""
import hashlib
import json
import os
import tempfile

from browser import chromium

DRAW = """
(async (figures, done) => {
	const drawn = [];
	for (const { data, layout } of figures) {
		const size = { width: layout.width, height: layout.height };
		drawn.push(await Plotly.toImage({ data, layout }, { format: "svg", imageDataOnly: true, ...size }));
	}
	done(drawn);
})(...arguments);
"""
AXIS = {"gridcolor": "#dddddd", "linecolor": "#444444", "showline": True}
LIGHT = {"layout": {"paper_bgcolor": "white", "plot_bgcolor": "white", "font": {"color": "#222222"},
                    "xaxis": AXIS, "yaxis": AXIS}}


def digest(figure):
    """Returns the comment with which an SVG of this figure ends."""
    return f"<!-- of {hashlib.sha256(json.dumps(figure, sort_keys=True).encode()).hexdigest()} -->"


def render(figures):
    """Returns the texts of SVGs; the layouts have a width and a height."""
    from plotly.offline import get_plotlyjs
    drawn = [{**figure, "layout": {**figure["layout"], "template": LIGHT}} for figure in figures]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = os.path.join(folder, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(f'<!DOCTYPE html><meta charset="utf-8"><script>{get_plotlyjs()}</script>')
        browser.get(f"file://{page}")
        texts = browser.execute_async_script(DRAW, drawn)
    return [f"{text}\n{digest(figure)}\n" for text, figure in zip(texts, figures)]
