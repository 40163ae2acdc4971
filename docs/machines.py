"""Sphinx directive with the stored measurements of all machines and their histories."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pqchain import plots
from pqchain.bench import runs, stored
from pqchain.render import html
from pqchain.render.html import Markup, element
from pqchain.render.table import Table

FOLDER = "machines"
"""Folder of the site with the CSV files."""

_DRAWN = ("ML-DSA-44", "Falcon-512", "Ed25519")
"""Schemes whose verifications are drawn over time."""


def fastest(machine: str) -> pd.DataFrame:
    """Return the fastest row of each operation of a machine's stored run."""
    frame = stored.load(machine)
    measured = frame[(frame["status"] == "ok") & (frame["samples"] > 0)]
    best = measured.loc[measured.groupby(["algorithm", "operation"])["median_seconds"].idxmin()]
    return best.sort_index().assign(machine=machine)


def sections() -> Iterator[Markup]:
    """Yield the table of all machines, and for each machine its files and history."""
    names = stored.machines()
    rows = pd.concat([fastest(machine) for machine in names])
    columns = ["machine", "algorithm", "operation", "implementation"]
    columns += ["median_seconds", "mad_seconds", "median_cycles"]
    caption = (
        f"Fastest implementation of each operation on {len(names)} "
        f"machine{'s'[: len(names) != 1]}, preset paper"
    )
    yield Table.of(rows, columns, caption=caption, source=("measured",)).html()
    for machine in names:
        yield from _machine(machine)


def _machine(machine: str) -> Iterator[Markup]:
    facts = runs.facts(stored.load(machine))
    links = [html.link(stored.FILE, f"{FOLDER}/{machine}/{stored.FILE}")]
    history = stored.history(machine)
    dates = [] if history is None else sorted(set(history["date"]))
    if dates:
        links.append(html.link(stored.HISTORY, f"{FOLDER}/{machine}/{stored.HISTORY}"))
    yield element("h3", machine, id=f"machine-{machine}")
    yield element(
        "p", f"{facts['cpu_model']}, {facts['cpu_count']} processors, {facts['python']}; measured "
        f"on {str(facts['date'])[:10]}, commit {str(facts['commit'])[:7]}; ",
        f"{len(dates)} stored run{'s'[: len(dates) != 1]}: ", html.join(*_separated(links)),
    )  # fmt: skip
    if history is None or len(dates) < 2:
        return
    drawn = history[history["algorithm"].isin(_DRAWN) & (history["operation"] == "verify")]
    axes = plots.plot_history(_named(drawn))
    yield html.figure(
        plots.figure_bytes(axes, "svg"), identifier=f"history-{machine}",
        description=f"Median times of verifications on {machine} over {len(dates)} runs.",
        caption="Median times of verifications over runs, relative to the first run.",
    )  # fmt: skip


def _named(history: pd.DataFrame) -> pd.DataFrame:
    names = history["date"].str[:10] + " " + history["commit"].str[:7]
    return history.assign(run=names)[list(runs.MEASUREMENT_RUNS.columns)]


def _separated(parts: list[Markup]) -> Iterator[str]:
    for index, part in enumerate(parts):
        yield from (", ", part) if index else (part,)


class Machines(SphinxDirective):
    """The stored measurements, read from `data/measurements`."""

    def run(self) -> list[nodes.Node]:
        """Return the tables and figures as HTML."""
        self.env.note_reread()  # Sphinx does not know the files of the measurements
        return [nodes.raw("", "".join(sections()), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("machines", Machines)
    return {"parallel_read_safe": True}
