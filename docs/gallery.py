"""Sphinx extension: a gallery of all plots, as notebooks show them; figures in pages."""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

import pqchain as pq
from pqchain.bench import stored
from pqchain.render import palette

DOCS = Path(__file__).parent
NOTEBOOKS = DOCS.parent / "notebooks"
STATIC = DOCS / "_build" / "static"
"""Files that the pages load: the style sheet of figures."""


def cost_on_chains() -> Any:
    """Return the plot of the reference measurements."""
    costs = pq.costs.from_frame(stored.load())
    return pq.plots.plot_cost_on_chains(pq.study.cost_on_chains(costs))


def history() -> Any:
    """Return the plot of four runs."""
    runs = {f"run {at}": pq.measure(["Ed25519", "ML-DSA-44"], preset="quick") for at in range(4)}
    return pq.plots.plot_history(pq.bench.concat_runs(runs))


def links() -> Any:
    """Return the plot of a sweep in simulated time."""
    ways = ("quic", "quic-one-stream", "quic-cubic")
    frame = pq.reencode.sweep(bits_per_second=(1e8,), delay_seconds=(0.0, 20e-3), ways=ways)
    return pq.plots.plot_links(frame)


def plane() -> Any:
    """Return the plot of a study."""
    costs = pq.costs.from_frame(stored.load())
    plan = pq.study.load("algorand").with_(algorithms=("ML-DSA-44", "Falcon-512", "MAYO-2"))
    return pq.plots.plot_plane(pq.study.plane(plan, costs))


OTHERS = {draw.__name__: draw for draw in (cost_on_chains, history, links, plane)}
"""Plots that no notebook shows."""


class Shown(NamedTuple):
    """A plot of the gallery: its picture, the code that draws it, and where its data are."""

    picture: str
    code: str
    notebook: str


def shown(kind: str) -> Shown:
    """Return a plot as the first notebook with it has it, or drawn here."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] != "code" or f".plot_{kind}(" not in source:
                continue
            pictures = [
                "".join(output["data"]["image/svg+xml"])
                for output in cell["outputs"]
                if "image/svg+xml" in output.get("data", {})
            ]
            calls = [
                node
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr.startswith("plot_")
            ]
            for call, picture in zip(calls, pictures, strict=False):
                if ast.unparse(call.func).endswith(f".plot_{kind}"):
                    return Shown(picture, ast.unparse(call), path.stem)
    draw = OTHERS[kind]
    body = inspect.getsource(draw).split('"""')[2]
    return Shown(pq.plots.screen_svg(draw()), inspect.cleandoc(body).replace("return ", ""), "")


def inlined(svg: str, prefix: str) -> str:
    """Return a figure for a page: without its style sheet, with identifiers of its own."""
    drawing = re.sub(r"<style>.*?</style>", "", svg, count=1, flags=re.DOTALL)
    drawing = re.sub(r'\bid="', f'id="{prefix}-', drawing[drawing.index("<svg") :])
    return re.sub(r'(href="|url\()#', rf"\g<1>#{prefix}-", drawing)


def entry(kind: str) -> str:
    """Return a plot with its picture, call and data as HTML."""
    name, plot = f"plot_{kind}", shown(kind)
    draws, _, takes = inspect.getdoc(pq.plots.find(kind)).partition("\n\n")
    data = html.escape(takes.replace("\n", " "))
    if plot.notebook:
        data += f' Data: <a href="notebooks/{plot.notebook}.html">notebook {plot.notebook[:2]}</a>.'
    return (
        f'<h2 id="{name}"><code>{name}</code></h2><p>{html.escape(draws)}</p>'
        f'<div class="figure">{inlined(plot.picture, kind)}</div>'
        f"<pre>{html.escape(plot.code)}</pre><p>{data}</p>"
    )


class Gallery(SphinxDirective):
    """All plots, each with picture, call and data; or the pictures of those that are named."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the plots."""
        self.env.note_reread()  # Sphinx does not know that the figures changed
        if self.arguments:
            (kind,) = self.arguments
            markup = f'<div class="figure">{inlined(shown(kind).picture, kind)}</div>'
        else:
            markup = "".join(map(entry, pq.plots.KINDS))
        return [nodes.raw("", markup, format="html")]


def _write_style_sheet(app: Sphinx, config: Config) -> None:
    STATIC.mkdir(parents=True, exist_ok=True)
    (STATIC / "figures.css").write_text(palette.style_sheet(), encoding="utf-8")


def _inline_figures(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put pqchain's SVG into the page, so that it follows the page's light and dark colours."""
    for number, image in enumerate(list(doctree.findall(nodes.image))):
        path = Path(app.srcdir) / image["uri"]
        if path.suffix != ".svg" or not path.is_file():
            continue
        svg = path.read_text(encoding="utf-8")
        if "--figure-ink" in svg:
            markup = f'<div class="figure">{inlined(svg, f"figure-{number}")}</div>'
            image.replace_self(nodes.raw("", markup, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and event handlers."""
    app.add_directive("gallery", Gallery)
    app.connect("config-inited", _write_style_sheet)
    app.connect("doctree-resolved", _inline_figures)
    return {"parallel_read_safe": True}
