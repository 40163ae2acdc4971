"""Sphinx extension: a gallery of all plots, as notebooks show them; figures in pages."""

from __future__ import annotations

import ast
import hashlib
import html
import inspect
import json
import logging
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


OTHERS = {draw.__name__: draw for draw in (cost_on_chains, history)}
"""Plots that no notebook shows."""


class Shown(NamedTuple):
    """A plot of the gallery: its picture, the code that draws it, and where its data are."""

    picture: str
    code: str
    notebook: str


def shown(kind: str) -> Shown:
    """Return a plot as the first notebook with it has it, or drawn here.

    The picture is "" if the notebook draws it only with the preset paper.
    """
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] != "code" or f".plot_{kind}(" not in source:
                continue
            calls = [
                node
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr.startswith("plot_")
            ]
            calls.sort(key=lambda node: node.lineno)
            at = [call.func.attr for call in calls].index(f"plot_{kind}")
            drawn = [picture for output in cell["outputs"] if (picture := _picture(output))]
            picture = drawn[at] if len(drawn) == len(calls) else ""
            return Shown(picture, ast.unparse(calls[at]), path.stem)
    draw = OTHERS[kind]
    body = inspect.getsource(draw).split('"""')[2]
    code = inspect.cleandoc(body).replace("return ", "")
    return Shown(inlined(pq.plots.screen_svg(draw()), kind), code, "")


def _picture(output: dict[str, Any]) -> str:
    """Return the picture of an output of a cell as HTML, or ""."""
    data = output.get("data", {})
    if svg := "".join(data.get("image/svg+xml", "")):
        return inlined(svg, hashlib.sha256(svg.encode()).hexdigest()[:8])
    png = "".join(data.get("image/png", "").split())
    return f'<img alt="" src="data:image/png;base64,{png}">' if png else ""


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
        f'<div class="figure">{plot.picture or "Drawn with the preset paper."}</div>'
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
            markup = f'<div class="figure">{shown(kind).picture}</div>'
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
    # Replays log their events, and measurements the load of the machine.
    logging.getLogger("pqchain").setLevel(logging.ERROR)
    app.add_directive("gallery", Gallery)
    app.connect("config-inited", _write_style_sheet)
    app.connect("doctree-resolved", _inline_figures)
    return {"parallel_read_safe": True}
