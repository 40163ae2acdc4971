"""Figures of the report: ratios of times, figures of each work, measurements of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pqchain import plots
from pqchain.installation import read_toml
from pqchain.measurements import algorithms_of
from pqchain.render.plot import Plot
from pqchain.report.run import Reproduction
from pqchain.works import chapter
from pqchain.works.work import SPEED, Work


def draw(reproduction: Reproduction) -> dict[str, list[Plot]]:
    """Return the figures by the key of their work; the key "" has those of this machine."""
    figures = {work.key: list(_of_work(reproduction, work)) for work in reproduction.works}
    return figures | {"": list(_of_machine(reproduction.measurements))}


def _of_work(reproduction: Reproduction, work: Work) -> Iterator[Plot]:
    rows = reproduction.times[reproduction.times["paper"] == work.key]
    ratios = rows.loc[rows["verdict"] == "ok", "ratio"]
    if ratios.notna().any():
        yield Plot(
            name="ratio",
            axes=plots.plot_ratio(rows),
            description=f"Dots on a logarithmic axis around 1, from {ratios.min():.2g} to "
            f"{ratios.max():.2g}: our time divided by that of {work.key}, for each algorithm and "
            "operation.",
            caption=f"Our times over those published in {work.key}. Left of the line, this machine "
            "is faster. The pattern, not the distance from the line, is what two machines share.",
            part=SPEED,
        )
    yield from work.figures(reproduction.frames[work.key])


def _of_machine(measurements: pd.DataFrame) -> Iterator[Plot]:
    kinds = measurements["algorithm"].map(
        {row.name: row.kind for row in algorithms_of(measurements)}
    )
    signatures = measurements[kinds == "signature"]
    verified = measurements[measurements["operation"] == "verify"]
    # Figures with an empty frame are left out by `chapter.figures`.
    frames = {
        "signatures": signatures,
        "kems": measurements[kinds == "kem"],
        "pairs": measurements if len(plots.speedups(measurements)) else (),
        "verified": measurements if (verified["status"] == "ok").any() else (),
        "schemes": signatures["algorithm"].drop_duplicates(),
    }
    entries = read_toml(Path(__file__).with_name("figures.toml"))["figures"]
    return chapter.figures(entries, frames)
