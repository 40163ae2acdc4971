"""Sphinx extension: the gallery with pictures, data and interactive charts; figures in pages."""

from __future__ import annotations

import hashlib
import html
import json
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

import catalogue
import interactive
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import pqchain
from pqchain.figures import Kind
from pqchain.render import palette

DOCS = Path(__file__).parent
PAGES = DOCS / "gallery"
STATIC = DOCS / "_build" / "static"
"""Files that the pages load: style sheet of figures, data, Vega."""

KEPT = DOCS / "_build" / "figures"
"""Figures by the checksum of their code and of the package, so that they are drawn once."""


def write(app: Sphinx, config: Config) -> None:
    """Write the page, picture and data of every figure."""
    for folder in (PAGES, STATIC / "data", KEPT):
        folder.mkdir(parents=True, exist_ok=True)
    _write(STATIC / "figures.css", palette.style_sheet())
    if not (STATIC / "vega.js").is_file():
        _write(STATIC / "vega.js", interactive.script())
    entries, package = catalogue.entries(), _checksum_of_package()
    with ProcessPoolExecutor() as pool:
        drawn = list(pool.map(_figure, entries, repeat(package)))
    for entry, facts in zip(entries, drawn, strict=True):
        _write(PAGES / f"{entry.name}.md", _page(entry, facts))
        if facts["csv"]:
            _write(STATIC / "data" / f"{entry.name}.csv", facts["csv"])
    known = {entry.name for entry in entries}
    for page in PAGES.glob("*.md"):
        if page.stem not in known:
            page.unlink()


def _write(path: Path, text: str) -> None:
    # An unchanged file keeps its time, so that Sphinx does not read it again.
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


@cache
def _checksum_of_package() -> str:
    digest = hashlib.sha256()
    folder = Path(pqchain.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    for path in ("catalogue.py", "interactive.py"):
        digest.update((DOCS / path).read_bytes())
    return digest.hexdigest()


def _figure(entry: catalogue.Entry, package: str) -> dict[str, Any]:
    notebook = DOCS.parent / "notebooks" / f"{entry.notebook}.ipynb"
    shown = notebook.read_bytes() if entry.notebook else b""
    key = hashlib.sha256(f"{entry}{package}".encode() + shown).hexdigest()[:24]
    path = KEPT / f"{key}.json"
    if path.is_file():
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return facts
    logging.getLogger(__name__).info("gallery: %s", entry.name)
    facts = {
        "pictures": entry.pictures(), "caption": entry.text, "families": entry.families,
        "csv": "", "chart": None,
    }  # fmt: skip
    if not entry.notebook:
        facts["csv"] = entry.data.to_csv(index=False)
        if entry.interactive:
            facts["chart"] = getattr(interactive, entry.interactive)(entry.data)
    path.write_text(json.dumps(facts), encoding="utf-8")
    return facts


def _facts(entry: catalogue.Entry) -> dict[str, Any]:
    return _figure(entry, _checksum_of_package())


def inlined(svg: str, prefix: str) -> str:
    """Return a figure for a page: without its style sheet, with identifiers of its own."""
    drawing = re.sub(r"<style>.*?</style>", "", svg, count=1, flags=re.DOTALL)
    drawing = re.sub(r'\bid="', f'id="{prefix}-', drawing)
    return re.sub(r'(href="|url\()#', rf"\g<1>#{prefix}-", drawing)


def pictures(entry: catalogue.Entry, facts: dict[str, Any]) -> str:
    """Return the picture for wide and narrow screens."""
    return "".join(
        f'<div class="figure {width}" role="img" aria-label="{html.escape(facts["caption"])}">'
        f"{inlined(svg, f'{entry.name}-{width}')}</div>"
        for width, svg in facts["pictures"].items()
    )


def _chart(entry: catalogue.Entry, facts: dict[str, Any]) -> str:
    if not facts["chart"]:
        return ""
    # "</" would end the script element.
    specification = json.dumps(facts["chart"]).replace("</", "<\\/")
    return (
        '<div class="chart"></div><script type="application/json" class="chart-specification">'
        f"{specification}</script>"
    )


def _page(entry: catalogue.Entry, facts: dict[str, Any]) -> str:
    labels = ", ".join(f"{kind} ({Kind(kind).meaning})" for kind in entry.kinds)
    caption = f"<figcaption>{html.escape(facts['caption'])}</figcaption>"
    figure = _raw(f"<figure>{pictures(entry, facts)}{caption}</figure>")
    parts = [f"# {entry.title}", figure, f"Numbers: {labels}."]
    if facts["csv"]:
        link = f'<a href="../_static/data/{entry.name}.csv" download>{entry.name}.csv</a>'
        parts.append(_raw(f"<p>Data: {link}</p>"))
    if entry.notebook:
        parts.append(
            f"The code takes minutes; the picture and its data are those of "
            f"[notebook {entry.notebook[:2]}](../notebooks/{entry.notebook}.ipynb)."
        )
    if facts["chart"]:
        script = '<script src="../_static/vega.js" defer></script>'
        parts += ["## Interactive", _raw(script + _chart(entry, facts))]
    parts += ["## Code", f"```python\n{entry.code.strip()}\n```"]
    parts.append(f"`{entry.plot}` is described in the [API reference](../api/index.md).")
    return "\n\n".join(parts) + "\n"


def _raw(markup: str) -> str:
    return f"```{{raw}} html\n{markup}\n```"


class Gallery(SphinxDirective):
    """Thumbnails of all figures with filters; each opens its page."""

    def run(self) -> list[nodes.Node]:
        """Return the filters and the thumbnails."""
        self.env.note_reread()  # Sphinx does not know that the figures changed
        shown = [(entry, _facts(entry)) for entry in catalogue.entries()]
        filters = "".join(
            _filter(
                name, sorted({value for entry, facts in shown for value in values(entry, facts)})
            )
            for name, values in (
                ("topic", lambda entry, facts: [entry.topic]),
                ("family", lambda entry, facts: facts["families"]),
                ("kind", lambda entry, facts: entry.kinds),
            )
        )
        cards = "".join(_card(entry, facts) for entry, facts in shown)
        markup = (
            f'<form class="filters" aria-label="Filters">{filters}<output></output></form>'
            f'<div class="thumbnails">{cards}</div>'
        )
        return [nodes.raw("", markup, format="html")]


def _filter(name: str, values: list[str]) -> str:
    options = "".join(f"<option>{html.escape(value)}</option>" for value in values)
    return (
        f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select>'
        "</label>"
    )


def _card(entry: catalogue.Entry, facts: dict[str, Any]) -> str:
    picture = next(iter(facts["pictures"].values()))
    lists = {"family": facts["families"], "kind": entry.kinds, "topic": [entry.topic]}
    data = "".join(f' data-{key}="{html.escape("|".join(row))}"' for key, row in lists.items())
    mark = '<span class="mark">interactive</span>' if facts["chart"] else ""
    return (
        f'<a class="thumbnail" href="gallery/{entry.name}.html"{data}>'
        f'<span aria-hidden="true">{inlined(picture, f"thumbnail-{entry.name}")}</span>'
        f"<b>{html.escape(entry.title)}</b>{mark}</a>"
    )


class GalleryFigure(SphinxDirective):
    """The picture of a figure of the gallery, linked to its page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        self.env.note_reread()
        (name,) = self.arguments
        entry = next((row for row in catalogue.entries() if row.name == name), None)
        if entry is None:
            raise self.error(f"gallery.toml has no figure {name!r}")
        page = f"{'../' * self.env.docname.count('/')}gallery/{name}.html"
        return [
            nodes.raw("", f'<a href="{page}">{pictures(entry, _facts(entry))}</a>', format="html")
        ]


class GalleryMarks(SphinxDirective):
    """The colours and marks of all families."""

    def run(self) -> list[nodes.Node]:
        """Return the table as a figure."""
        return [nodes.raw("", f'<div class="figure">{catalogue.marks()}</div>', format="html")]


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
    """Register directives and event handlers."""
    app.add_directive("gallery", Gallery)
    app.add_directive("gallery-figure", GalleryFigure)
    app.add_directive("gallery-marks", GalleryMarks)
    app.connect("config-inited", write)
    app.connect("doctree-resolved", _inline_figures)
    return {"parallel_read_safe": True}
