"""Sphinx directive with the pages of studies, which are written when the site is built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from pqchain import installation, study
from pqchain.bench import stored
from pqchain.render import html
from pqchain.render.html import Markup

CHAINS = ("ethereum", "ethereum-glamsterdam", "bitcoin-p2mr", "solana")
"""Chains with a page on the site; the command writes those of all others."""

DRAWS = 8

_LOGGER = logging.getLogger(__name__)


def sources() -> Iterator[Path]:
    """Yield the files whose change makes the pages outdated."""
    yield from (installation.HOME / "study").glob("*")
    yield from (installation.HOME / "plots").glob("*")
    yield from installation.data("chains").glob("*")
    yield stored.file()


def write(folder: Path) -> None:
    """Write the page of each chain that is missing or older than its sources."""
    newest = max(path.stat().st_mtime for path in sources())
    folder.mkdir(parents=True, exist_ok=True)
    for name in CHAINS:
        page = folder / f"{name}.html"
        if page.is_file() and page.stat().st_mtime > newest:
            continue
        _LOGGER.info("study of %s", name)
        plan, measurements = study.load(name), stored.load()
        # The stored run may be older than a scheme of the plan, which the command would measure.
        known = {*measurements["algorithm"], *(row.algorithm for row in plan.own_schemes)}
        timed = [name for name in plan.chain.algorithms if name in known]
        opening = left_out(plan.chain.algorithms, timed)
        plan = plan.with_(algorithms=tuple(timed))
        answer = study.run(plan, study.times(plan, measurements), draws=DRAWS)
        study.write(study.analyse(answer), page, opening=opening)


def left_out(algorithms: Iterable[str], timed: Collection[str]) -> list[str]:
    """Return a sentence that names the schemes without stored times, if there are any."""
    missing = [name for name in algorithms if name not in timed]
    if not missing:
        return []
    return [f"Not on this page, because the stored measurements lack them: {', '.join(missing)}."]


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        write(Path(app.outdir) / "tasks" / "studies")


class Studies(SphinxDirective):
    """Links to the pages of the studies."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        titles = study.titles()
        links = [html.link(titles[name], f"studies/{name}.html") for name in CHAINS]
        return [nodes.raw("", html.bullets(map(Markup, links)), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("studies", Studies)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
