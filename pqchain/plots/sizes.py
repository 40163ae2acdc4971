"""Plots of sizes: keys and signatures, bytes over time, and bytes in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain.algorithms import ALGORITHMS, FAMILIES, Algorithm, get, names
from pqchain.costs import algorithms_of
from pqchain.errors import UsageError
from pqchain.plots import paper
from pqchain.plots.canvas import LOOKS, MUTED, PAPER, canvas, figure_of, look, require
from pqchain.plots.dots import dots, labelled, reject_duplicates
from pqchain.plots.marks import annotate, brief, grid, legend_above, log_ticks, props, with_prefix

_LOOKS = {
    "public key": LOOKS[0],
    "signature": LOOKS[1],
    "ciphertext": LOOKS[3],
    "secret key": (MUTED, "v"),
}


def plot_sizes(
    algorithms: Iterable[str | Algorithm] | None = None,
    *,
    secret_keys: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw sizes in bytes: public key, and signature or ciphertext.

    Takes names of algorithms, by default all signature schemes of the default build; sizes are
    those of the registry. `secret_keys` adds secret keys. Raises UnknownAlgorithm, and UsageError
    without names.
    """
    chosen: Iterable[str | Algorithm] = names("signature") if algorithms is None else algorithms
    records = [
        (row.name, labelled(row), name, size)
        for row in map(get, chosen)
        for name in _LOOKS
        if (size := getattr(row, f"{name.replace(' ', '_')}_bytes"))
        and (secret_keys or name != "secret key")
    ]
    frame = pd.DataFrame(records, columns=["algorithm", "row", "operation", "bytes"])
    label, show = "size (log scale)", with_prefix("B")
    return dots(frame, value="bytes", label=label, show=show, ax=ax, looks=_LOOKS)


def plot_tradeoff(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw bytes on the chain (public key and signature) over the time of a verification.

    Takes a measurement frame and uses the fastest implementation of each signature scheme; sizes
    are those of the registry. Raises DataError, and UsageError if no verification was measured.
    """
    require(measurements, "algorithm implementation operation median_seconds status")
    fine = measurements[(measurements["operation"] == "verify") & (measurements["status"] == "ok")]
    if "run" in fine and fine["run"].nunique() > 1:
        return _of_runs(fine, ax)
    reject_duplicates(fine.assign(row=fine["algorithm"]), "median_seconds")
    fastest = fine.groupby("algorithm")["median_seconds"].min()
    chosen = [row for row in algorithms_of(fine) if row.kind == "signature"]
    if not chosen:
        raise UsageError(
            "measurements must have a verification with status 'ok'; got none. Measure signatures."
        )
    order = {name: place for place, name in enumerate(ALGORITHMS)}
    chosen.sort(key=lambda row: order.get(row.name, len(order)))
    families = {row.family for row in chosen}
    known = [name for name in [*FAMILIES, ""] if name in families]
    looks = {name: look(place) for place, name in enumerate(known)}
    points: dict[str, tuple[float, float]] = {
        labelled(row): (row.public_key_bytes + row.signature_bytes, float(fastest[row.name]))
        for row in chosen
    }
    with canvas(ax, 4.2) as axes:
        axes.set(xscale="log", yscale="log")
        for row in chosen:
            colour, marker = looks[row.family]
            full = props(fillstyle="full", markeredgecolor=PAPER, markeredgewidth=0.5)
            hollow = props(fillstyle="none", markeredgecolor=colour, markeredgewidth=1.0)
            style = full if row.family_facts.post_quantum else hollow
            style |= props(linestyle="none", marker=marker, markersize=6, label=row.name)
            axes.plot(*points[labelled(row)], color=colour, **style)
        _finish(axes, points, "public key and signature   (hollow: broken by Shor's algorithm)")
    return axes


def _of_runs(fine: pd.DataFrame, ax: Axes | None) -> Axes:
    order = {name: place for place, name in enumerate(dict.fromkeys(fine["run"]))}
    rows = {row.name: row for row in algorithms_of(fine) if row.kind == "signature"}
    fastest = fine.groupby(["algorithm", "run"], sort=False)["median_seconds"].min()
    points: dict[str, tuple[float, float]] = {}
    with canvas(ax, 4.2) as axes:
        axes.set(xscale="log", yscale="log")
        for name, row in rows.items():
            size = row.public_key_bytes + row.signature_bytes
            times = fastest[name]
            axes.vlines(size, times.min(), times.max(), color=MUTED, linewidth=1.0, zorder=1)
            for run, seconds in times.items():
                colour, marker = look(order[str(run)])
                style = props(linestyle="none", marker=marker, markersize=6, label=str(run))
                axes.plot(size, seconds, color=colour, **style)
            points[labelled(row)] = (size, float(times.min()))
        _finish(axes, points, "public key and signature")
        legend_above(axes, 2)
    return axes


def _finish(axes: Axes, points: dict[str, tuple[float, float]], label: str) -> None:
    axes.margins(0.14)
    log_ticks(axes, "x", with_prefix("B"))
    log_ticks(axes, "y", brief)
    grid(axes)
    _label(axes, points)
    axes.set(xlabel=label, ylabel="one verification, median")


def plot_blocks(
    blocks: pd.DataFrame, quantity: Literal["bytes", "verify", "rate"], *, ax: Axes | None = None
) -> Axes:
    """Draw the cost of a transaction in a block: bytes, time of verification, or rate.

    Takes a block frame. "bytes": bytes of block per transaction. "verify": seconds to verify one
    signature, by number of threads. "rate": bytes of block validated per second, by number of
    threads. Raises DataError, UsageError.
    """
    require(
        blocks,
        "algorithm implementation threads transactions block_bytes transaction_bytes "
        "verify_median_seconds apply_median_seconds status",
    )
    threads = blocks["threads"].astype("int64")
    named = threads.map(lambda n: f"{n} thread{'s'[: n > 1]}")
    looks = {name: look(at) for at, name in enumerate(named[threads.sort_values().index].unique())}
    frame = blocks.assign(operation=named, implementation="")
    show: Callable[[float], str] = with_prefix("B")
    if quantity == "bytes":
        label = "bytes of block per transaction (log scale)"
        frame = frame.assign(value=blocks["transaction_bytes"]).drop_duplicates("algorithm")
    elif quantity == "verify":
        label, show = "verifying one signature of a block (median)", brief
        seconds = blocks["verify_median_seconds"]
        frame["value"] = seconds / blocks["transactions"].astype("float64")
    else:
        label, show = "block validated in a second, all of it (median)", with_prefix("B/s")
        size = blocks["block_bytes"].astype("float64")
        frame["value"] = size / blocks["apply_median_seconds"]
    return dots(frame, value="value", label=label, show=show, ax=ax, looks=looks)


_SIDES = np.array(
    [(7, 0), (-7, 0), (0, 9), (0, -9), (7, 8), (-7, 8), (7, -8), (-7, -8), (7, 15), (7, -15)]
)
"""Offsets of a label in points, in order of preference."""


def _label(axes: Axes, points: dict[str, tuple[float, float]]) -> None:
    # Every label gets the side with the least overlap; extents are estimates in points, because
    # the final layout is known only when drawn.
    size = paper.scaled(7.5)
    height, per_character = 1.2 * size, 0.55 * size
    extent = figure_of(axes).get_size_inches() * 72 * 0.85
    low, high = np.log10([axes.get_xlim(), axes.get_ylim()]).T
    centres = (np.log10([*points.values()]) - low) / (high - low) * extent
    starts, ends = centres - 4, centres + 4
    for index, (text, point) in enumerate(points.items()):
        extents = np.array([per_character * len(text), height])
        # The overlap of the box on each side with every other box that is placed already.
        lowest = centres[index] + _SIDES + np.sign(_SIDES) * [extents[0] / 2, 0] - extents / 2
        highest = lowest + extents  # boxes in points, not data: both axes are logarithmic
        others = np.arange(len(starts)) != index
        first = np.maximum(lowest[:, np.newaxis], starts[others])
        last = np.minimum(highest[:, np.newaxis], ends[others])
        cost = (last - first).clip(min=0).prod(axis=2).sum(axis=1)
        outside = np.maximum(0, -lowest[:, 0]) + np.maximum(0, highest[:, 0] - extent[0])
        best = int(np.argmin(cost + 20 * outside))
        starts, ends = np.vstack([starts, lowest[best]]), np.vstack([ends, highest[best]])
        annotate(axes, text, point, _SIDES[best], size=size)
