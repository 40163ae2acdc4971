"""Sphinx extension: examples in docstrings, generated pages, and a check for outside resources."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import pqchain
from pqchain.commands import main
from pqchain.results import Contract

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


PACKAGE = Path(pqchain.__file__).parent

_TYPES = {
    "str": "text",
    "Int64": "whole numbers, or nothing",
    "float64": "numbers",
    "bool": "true or false",
}
"""The types of columns in words."""


_MADE = re.compile(r"^([A-Z][A-Z0-9_]*)(?:: \w+)? = Contract\b", re.MULTILINE)
"""A contract where it stands; names with an underscore are parts of others."""


def contracts() -> dict[str, tuple[Contract, str]]:
    """Return every contract of the package by its name, with the place of its constant."""
    found: dict[str, tuple[Contract, str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if not (names := _MADE.findall(path.read_text(encoding="utf-8"))):
            continue  # others may need libraries that only boards have
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = import_module(".".join(("pqchain", *parts)).removesuffix(".__init__"))
        for name in names:
            contract: Contract = getattr(module, name)
            found[contract.name] = contract, ".".join((*parts, name))
    return dict(sorted(found.items()))


def frames() -> Iterator[str]:
    """Yield the lines that describe every contract, in reStructuredText."""
    for name, (contract, place) in contracts().items():
        yield f"``{name}`` : {place}"
        for dtype, spoken in _TYPES.items():
            columns = [f"``{each}``" for each, its in contract.columns.items() if its == dtype]
            if columns:
                yield from (f"   {spoken}: {', '.join(columns)}", "")


class Frames(SphinxDirective):
    """A list of all frames with their columns."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        place = nodes.container()
        self.state.nested_parse(StringList(list(frames()), source="contracts"), 0, place)
        return place.children


class Commands(SphinxDirective):
    """The help text of every command, as `pqchain COMMAND --help` prints it."""

    def run(self) -> list[nodes.Node]:
        """Return a section per command."""
        sections: list[nodes.Node] = []
        for name in main.COMMANDS:
            section = nodes.section(ids=[f"pqchain-{name}"])
            section += nodes.title("", "", nodes.literal("", f"pqchain {name}"))
            text = help_text(name)
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def help_text(name: str) -> str:
    """Return the help of a command, wrapped at 80 columns whatever the terminal is."""
    text = io.StringIO()
    with patch.dict(os.environ, COLUMNS="80"), redirect_stdout(text), suppress(SystemExit):
        main.parser(name).parse_args([name, "--help"])
    return text.getvalue()


def setup(app: Sphinx) -> dict[str, bool]:
    """Join the build."""
    app.add_directive("frames", Frames)
    app.add_directive("commands", Commands)
    app.connect("autodoc-process-docstring", _process)
    app.connect("build-finished", _check_site)
    return {"parallel_read_safe": True}
