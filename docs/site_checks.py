"""What the build does beyond Sphinx: docstrings with examples, and a site that asks nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_LOADING = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*>")
"""What a browser may fetch by itself."""

_ADDRESS = re.compile(r"""(?:src|href)\s*=\s*["']?((?:[a-z]+:)?//[^"'\s>]*)""")

_NAMING = re.compile(r"""\brel=["']?(?:canonical|index|search|next|prev|author)""")
"""Kinds of `link` that only name a page."""

_IN_SHEET = re.compile(r"""(?:url\(|@import\s+)["']?((?:https?:)?//[^"')]+)""")


def outside(folder: Path) -> Iterator[str]:
    """Yield what the pages and style sheets of a site would fetch from elsewhere."""
    for page in sorted(folder.rglob("*.html")):
        for tag in _LOADING.findall(page.read_text(encoding="utf-8")):
            address = _ADDRESS.search(tag)
            if address and not _NAMING.search(tag):
                yield f"{page.relative_to(folder)}: {address[1]}"
    for sheet in sorted(folder.rglob("*.css")):
        for outer in _IN_SHEET.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(folder)}: {outer}"


def _check_site(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    if found := list(outside(Path(app.outdir))):
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
