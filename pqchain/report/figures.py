"""The figures of the report that are no work's own: ratios, and what this machine measured."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from pqchain import algorithms, plots
from pqchain.render.figure import Figure
from pqchain.report.run import Reproduction
from pqchain.works.work import SPEED, Work


def drawn(done: Reproduction) -> dict[str, list[Figure]]:
    """Return the figures of each work by its key, and under "" those of this machine."""
    figures = {work.key: list(_of_work(done, work)) for work in done.works}
    return figures | {"": list(_measured(done.measurements))}


def _of_work(done: Reproduction, work: Work) -> Iterator[Figure]:
    """Yield our times over the printed ones, then the work's own figures."""
    rows = done.comparison[done.comparison["paper"] == work.key]
    ratios = rows.loc[rows["status"] == "ok", "ratio"]
    if ratios.notna().any():
        yield Figure(
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


def _measured(measurements: pd.DataFrame) -> Iterator[Figure]:
    """Yield what this machine measured: times, gains of AVX2, bytes against time, sizes."""
    kinds = measurements["algorithm"].map(lambda name: algorithms.get(name).kind)
    timed = measurements["status"] == "ok"
    if (timed & (kinds == "signature")).any():
        yield Figure(
            name="speed-signatures",
            axes=plots.plot_speed(measurements[kinds == "signature"]),
            description="Median times of key generation, signing and verification of each "
            "signature scheme, on a logarithmic axis; the table below holds the values.",
            caption="Signature schemes on this machine.",
        )
    if (timed & (kinds == "kem")).any():
        yield Figure(
            name="speed-kems",
            axes=plots.plot_speed(measurements[kinds == "kem"]),
            description="Median times of key generation, encapsulation and decapsulation of each "
            "KEM, on a logarithmic axis; the table below holds the values.",
            caption="Key encapsulation on this machine.",
        )
    if len(plots.speedups(measurements)):
        yield Figure(
            name="speedup",
            axes=plots.plot_speedup(measurements),
            description="How many times faster AVX2 is than portable C, for each algorithm and "
            "operation.",
            caption="What AVX2 gains over portable C, in the same library and the same run.",
        )
    if (timed & (measurements["operation"] == "verify")).any():
        yield Figure(
            name="tradeoff",
            axes=plots.plot_tradeoff(measurements),
            description="Scatter plot: bytes of public key and signature against the time of one "
            "verification, both axes logarithmic.",
            caption="What a transaction costs every node of a chain: bytes to store and time to "
            "verify. Nearer the lower left corner is cheaper.",
        )
    signatures = list(dict.fromkeys(measurements["algorithm"][kinds == "signature"]))
    if signatures:
        yield Figure(
            name="sizes",
            axes=plots.plot_sizes(signatures),
            description="Sizes of public key and signature of each scheme on a logarithmic axis.",
            caption="Bytes of public key and signature, from the registry.",
        )
