"""The figures of the report that are no work's own: ratios, and what this machine measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pqchain import plots
from pqchain.costs import schemes
from pqchain.render.plot import Plot
from pqchain.report.run import Reproduction
from pqchain.works import shown
from pqchain.works.work import SPEED, Work


def drawn(done: Reproduction) -> dict[str, list[Plot]]:
    """Return the figures of each work by its key, and under "" those of this machine."""
    figures = {work.key: list(_of_work(done, work)) for work in done.works}
    return figures | {"": list(_measured(done.measurements))}


def _of_work(done: Reproduction, work: Work) -> Iterator[Plot]:
    """Yield our times over the printed ones, then the work's own figures."""
    rows = done.comparison[done.comparison["paper"] == work.key]
    ratios = rows.loc[rows["status"] == "ok", "ratio"]
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
    yield from work.figures(done.frames[work.key])


def _measured(measurements: pd.DataFrame) -> Iterator[Plot]:
    """Yield what this machine measured: times, gains of AVX2, bytes against time, sizes."""
    kinds = measurements["algorithm"].map({row.name: row.kind for row in schemes(measurements)})
    signatures = measurements[kinds == "signature"]
    verified = measurements[measurements["operation"] == "verify"]
    frames = {
        "signatures": signatures,
        "kems": measurements[kinds == "kem"],
        "pairs": measurements if len(plots.speedups(measurements)) else (),
        "verified": measurements if (verified["status"] == "ok").any() else (),
        "schemes": signatures["algorithm"].drop_duplicates(),
    }
    return shown.figures(Path(__file__).with_name("figures.toml"), frames)
