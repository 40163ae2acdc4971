"""What the build does beyond Sphinx: docstrings with examples, and a site that asks nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself, and the attribute that says from where."""

_NOT_FETCHED = {"canonical", "index", "search", "next", "prev", "author"}
"""Kinds of `link` that only name a page."""


class _Page(HTMLParser):
    """The addresses that a page makes a browser fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this tag loads."""
        given = dict(attrs)
        address = given.get(_LOADED.get(tag, ""))
        if address and given.get("rel") not in _NOT_FETCHED:
            self.fetched.append(address)


def outside(folder: Path) -> Iterator[str]:
    """Yield what the pages and style sheets of a site would fetch from elsewhere."""
    for page in sorted(folder.rglob("*.html")):
        for address in _Page(page.read_text(encoding="utf-8")).fetched:
            if re.match(r"(?:[a-z]+:)?//", address):
                yield f"{page.relative_to(folder)}: {address}"
    for sheet in sorted(folder.rglob("*.css")):
        for address in re.findall(
            r"""(?:url\(|@import\s+)["']?((?:https?:)?//[^"')]+)""", sheet.read_text("utf-8")
        ):
            yield f"{sheet.relative_to(folder)}: {address}"


def _check_site(app: Sphinx, exception: Exception | None) -> None:
    found = (
        list(outside(Path(app.outdir))) if exception is None and app.builder.name == "html" else []
    )
    if found:
        raise ExtensionError("pages would fetch from elsewhere:\n" + "\n".join(found))


def show_examples(lines: list[str]) -> list[str]:
    """Make code of what a docstring indents by four spaces below a paragraph."""
    shown: list[str] = []
    inside = False
    for before, line in zip(["", *lines], lines, strict=False):
        if not inside and line.startswith("    ") and not before.strip() and shown:
            shown += [".. code-block:: python", ""]
            inside = True
        elif line.strip() and not line.startswith("    "):
            inside = False
        shown.append(line)
    return shown


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = show_examples(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Join the build."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("build-finished", _check_site)
    return {"parallel_read_safe": True}
