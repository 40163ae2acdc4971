"""Sphinx extension: examples in docstrings, generated pages, a check for external resources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import pqchain
from pqchain.commands import main
from pqchain.results import Contract
from pqchain.works import printed, registry
from pqchain.works.work import Bench

_LOADING = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*>")
"""Elements that a browser loads without a click."""

_ADDRESS = re.compile(r"""(?:src|href)\s*=\s*["']?((?:[a-z]+:)?//[^"'\s>]*)""")

_NAMING = re.compile(r"""\brel=["']?(?:canonical|index|search|next|prev|author)""")
"""Kinds of `link` that a browser does not load."""

_IN_SHEET = re.compile(r"""(?:url\(|@import\s+)["']?((?:https?:)?//[^"')]+)""")


def external_resources(folder: Path) -> Iterator[str]:
    """Yield the page or style sheet and the address of each external resource of a site."""
    for page in sorted(folder.rglob("*.html")):
        for tag in _LOADING.findall(page.read_text(encoding="utf-8")):
            match = _ADDRESS.search(tag)
            if match and not _NAMING.search(tag):
                yield f"{page.relative_to(folder)}: {match[1]}"
    for sheet in sorted(folder.rglob("*.css")):
        for address in _IN_SHEET.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(folder)}: {address}"


def _check_site(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    if resources := list(external_resources(Path(app.outdir))):
        raise ExtensionError("pages load external resources:\n" + "\n".join(resources))


def show_examples(lines: list[str]) -> list[str]:
    """Convert blocks that a docstring indents by four spaces below a paragraph into code blocks."""
    converted: list[str] = []
    in_code = False
    for previous, line in zip(["", *lines], lines, strict=False):
        if not in_code and line.startswith("    ") and not previous.strip() and converted:
            converted += [".. code-block:: python", ""]
            in_code = True
        elif line.strip() and not line.startswith("    "):
            in_code = False
        converted.append(line)
    return converted


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = show_examples(lines)


PACKAGE = Path(pqchain.__file__).parent

_TYPES = {
    "str": "text",
    "Int64": "integers, may be missing",
    "float64": "floats",
    "bool": "booleans",
}
"""Description of each type of a column."""

_CONTRACT = re.compile(r"^([A-Z][A-Z0-9_]*)(?:: \w+)? = Contract\b", re.MULTILINE)
"""Definition of a contract; constants with a leading underscore are parts of contracts."""


def contracts() -> dict[str, tuple[Contract, str]]:
    """Return every contract of the package and the path of its constant, by contract name."""
    by_name: dict[str, tuple[Contract, str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        # Modules without contracts are not imported: some need libraries that only boards have.
        if not (names := _CONTRACT.findall(path.read_text(encoding="utf-8"))):
            continue
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = import_module(".".join(("pqchain", *parts)).removesuffix(".__init__"))
        for name in names:
            contract: Contract = getattr(module, name)
            by_name[contract.name] = contract, ".".join((*parts, name))
    return dict(sorted(by_name.items()))


def frames() -> Iterator[str]:
    """Yield the lines that describe every contract, in reStructuredText."""
    for name, (contract, constant) in contracts().items():
        yield f"``{name}`` : {constant}"
        for dtype, description in _TYPES.items():
            names = [f"``{column}``" for column, kind in contract.columns.items() if kind == dtype]
            if names:
                yield from (f"   {description}: {', '.join(names)}", "")


class Frames(SphinxDirective):
    """A list of all frames with their columns."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        container = nodes.container()
        self.state.nested_parse(StringList(list(frames()), source="contracts"), 0, container)
        return container.children


def works() -> Iterator[str]:
    """Yield a table of the works and one of their printed numbers, in Markdown."""
    by_place = registry.works()
    yield from ("| key | work, with its notebook |", "|---|---|")
    for work in by_place:
        notebook = f"notebooks/{work.paper.notebook}.ipynb"
        yield f"| `{work.key}` | [{work.paper.title}]({notebook}) |"
    table = pd.concat(work.printed(frames=work.compute(Bench())) for work in by_place)
    yield from ("", f"| counterpart in pqchain | of {len(table)} printed numbers |", "|---|---|")
    counts = table["kind"].value_counts()
    for kind, number in counts.reindex(printed.KINDS).dropna().astype(int).items():
        yield f"| {kind if kind == printed.NONE else f'{{term}}`{kind}`'} | {number} |"


class Works(SphinxDirective):
    """A list of the works, read from their folders."""

    def run(self) -> list[nodes.Node]:
        """Return the tables."""
        self.env.note_reread()  # Sphinx does not know the folders of the works
        container = nodes.container()
        self.state.nested_parse(StringList(list(works()), source="works"), 0, container)
        return container.children


class Commands(SphinxDirective):
    """The help text of every command."""

    def run(self) -> list[nodes.Node]:
        """Return a section per command."""
        sections: list[nodes.Node] = []
        for name in main.targets():
            section = nodes.section(ids=[f"pqchain-{name}"])
            section += nodes.title("", "", nodes.literal("", f"pqchain {name}"))
            text = main.help_of([name])
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    """Register directives and event handlers."""
    app.add_directive("frames", Frames)
    app.add_directive("works", Works)
    app.add_directive("commands", Commands)
    app.connect("autodoc-process-docstring", _process)
    app.connect("build-finished", _check_site)
    return {"parallel_read_safe": True}
