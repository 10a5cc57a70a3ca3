// Draws the figures with Plotly in the colours of the page, sorts tables, and shows and hides curves.
// SPDX-License-Identifier: MIT
"use strict";

const CONFIG = {
	responsive: true, displaylogo: false,
	modeBarButtonsToRemove: ["pan2d", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
};
const plots = () => document.querySelectorAll("figure > div:last-child");

// Plotly is packed by gzip and base64: a script of its own, since the page's policy names it by its hash.
async function unpackPlotly() {
	const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	const script = document.createElement("script");
	script.textContent = await new Response(stream).text();
	document.head.append(script);
}

function template() {
	const style = getComputedStyle(document.documentElement);
	const [back, text, rule] = ["--back", "--text", "--rule"].map((name) => style.getPropertyValue(name).trim());
	const axis = { gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickcolor: rule };
	return { layout: { paper_bgcolor: back, plot_bgcolor: back, font: { color: text }, xaxis: axis, yaxis: axis } };
}

async function draw() {
	const figures = JSON.parse(document.getElementById("figures").textContent);
	const touch = matchMedia("(pointer: coarse)").matches; // a finger scrolls the page
	for (const [i, { data, layout }] of figures.entries()) {
		const drawn = { ...layout, template: template(), dragmode: touch ? false : "zoom" };
		await Plotly.newPlot(`figure${i}`, data, drawn, { ...CONFIG, displayModeBar: touch ? false : "hover" });
	}
}

function sort(head) {
	const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
	const down = head.ariaSort === "ascending", sign = down ? -1 : 1;
	for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
	head.ariaSort = down ? "descending" : "ascending";
	const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
	const compare = (a, b) => a.localeCompare(b, undefined, { numeric: true });
	const order = (a, b) => (isFinite(a) && isFinite(b) ? a - b : compare(a, b));
	body.append(...[...body.rows].sort((a, b) => sign * order(key(a), key(b))));
}

function toggle(button) {
	const shown = button.ariaPressed !== "true";
	button.ariaPressed = String(shown);
	for (const plot of plots()) {
		const curves = plot.data.flatMap((trace, i) => (trace.meta === Number(button.dataset.curve) ? [i] : []));
		if (curves.length) Plotly.restyle(plot, { visible: shown }, curves);
	}
}

document.addEventListener("click", ({ target }) => {
	const button = target.closest("button"), head = target.closest("th");
	if (head) sort(head);
	else if (button?.dataset.curve) toggle(button);
});

unpackPlotly().then(draw).then(() => {
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		for (const plot of plots()) Plotly.relayout(plot, { template: template() });
	});
	document.documentElement.dataset.drawn = "all";
});
