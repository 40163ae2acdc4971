"""Plots of bytes: of keys and signatures, against time, and in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pqchain.algorithms import ALGORITHMS, FAMILIES, get, names
from pqchain.errors import UsageError
from pqchain.plots.canvas import PAPER, canvas, look, require
from pqchain.plots.dots import dots
from pqchain.plots.marks import beside, brief, bytes_label, grid, log_ticks, props

SIZE_LOOK = {
    "public key": ("#0072B2", "o"),
    "signature": ("#D55E00", "s"),
    "ciphertext": ("#E69F00", "D"),
    "secret key": ("#8a8a8a", "v"),
}
"""Colour and marker of every size."""


def plot_sizes(
    algorithms: Iterable[str] | None = None, *, secret_keys: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw the bytes that a transaction carries: public key, and signature or ciphertext.

    Takes names of algorithms, by default all signatures of the default build; sizes come from the
    registry. `secret_keys` draws these too. Raises UnknownAlgorithm, and UsageError if there are
    no names.
    """
    chosen = names("signature") if algorithms is None else algorithms
    records = [
        {"row": row.name, "algorithm": row.name, "operation": what, "bytes": size}
        for row in map(get, chosen)
        for what, size in (
            ("public key", row.public_key_bytes),
            ("signature", row.signature_bytes),
            ("ciphertext", row.ciphertext_bytes),
            ("secret key", row.secret_key_bytes * secret_keys),
        )
        if size
    ]
    frame = pd.DataFrame(records, columns=["row", "algorithm", "operation", "bytes"])
    return dots(
        frame.assign(implementation="", status="ok"),
        value="bytes",
        axis_label="size (log scale)",
        axis_format=bytes_label,
        ax=ax,
        looks=SIZE_LOOK,
        joined=True,
    )


def plot_tradeoff(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw bytes on the chain (public key and signature) against the time of one verification.

    Takes a measurement frame; of each signature scheme the fastest implementation counts. Sizes
    come from the registry. Raises DataError if columns are missing, UsageError if no
    verification was measured.
    """
    require(measurements, "algorithm implementation operation median_seconds status")
    fine = measurements[(measurements["operation"] == "verify") & (measurements["status"] == "ok")]
    fastest = fine.groupby("algorithm")["median_seconds"].min()
    chosen = [row for row in ALGORITHMS.values() if row.name in fastest.index]
    if not chosen:
        raise UsageError("no verification with status 'ok' in this frame; measure signatures")
    families = {row.family for row in chosen}
    looks = {name: look(i) for i, name in enumerate(name for name in FAMILIES if name in families)}
    bytes_on_chain = [row.public_key_bytes + row.signature_bytes for row in chosen]
    times = [float(fastest[row.name]) for row in chosen]
    with canvas(ax, 4.2) as axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        for row, size, time in zip(chosen, bytes_on_chain, times, strict=True):
            colour, marker = looks[row.family]
            full = props(fillstyle="full", markeredgecolor=PAPER, markeredgewidth=0.5)
            hollow = props(fillstyle="none", markeredgecolor=colour, markeredgewidth=1.0)
            style = full if row.family_facts.post_quantum else hollow
            point = props(linestyle="none", marker=marker, markersize=6, label=row.name)
            axes.plot([size], [time], color=colour, **point, **style)
        axes.margins(0.14)
        log_ticks(axes, "x", bytes_label)
        log_ticks(axes, "y", brief)
        grid(axes)
        _place_labels(axes, bytes_on_chain, times, [row.name for row in chosen])
        axes.set_xlabel("public key and signature   (hollow: falls to Shor's algorithm)")
        axes.set_ylabel("one verification, median")
    return axes


def plot_blocks(
    blocks: pd.DataFrame, quantity: Literal["bytes", "verify", "rate"], *, ax: Axes | None = None
) -> Axes:
    """Draw what a transaction in a block costs: its bytes, the time of its signature, or the rate.

    Takes a block frame. "bytes": bytes of block per transaction. "verify": seconds to check one
    signature, by number of threads. "rate": bytes of block validated in a second, by number of
    threads. Raises DataError if columns are missing, UsageError if there are no rows.
    """
    require(
        blocks,
        "algorithm implementation threads transactions block_bytes transaction_bytes "
        "verify_median_seconds apply_median_seconds status",
    )
    show: Callable[[float], str]
    if quantity == "bytes":
        label, show = "bytes of block per transaction (log scale)", bytes_label
        values = blocks["transaction_bytes"]
    elif quantity == "verify":
        label, show = "checking one signature of a block (median)", brief
        values = blocks["verify_median_seconds"] / blocks["transactions"].astype("float64")
    else:
        label, show = "block validated in a second, all of it (median)", _rate
        values = blocks["block_bytes"].astype("float64") / blocks["apply_median_seconds"]
    threads = blocks["threads"].astype("int64")
    named = threads.map(lambda n: f"{n} thread{'s'[: n > 1]}")
    frame = blocks.assign(row=blocks["algorithm"], value=values, operation=named, implementation="")
    if quantity == "bytes":
        frame = frame.drop_duplicates("algorithm")
    ordered = dict.fromkeys(named[threads.sort_values().index])
    return dots(
        frame,
        value="value",
        axis_label=label,
        axis_format=show,
        ax=ax,
        looks={name: look(index) for index, name in enumerate(ordered)},
        joined=True,
    )


def _rate(value: float) -> str:
    return f"{bytes_label(value)}/s"


_SIDES = ((7, 0), (-7, 0), (0, 9), (0, -9), (7, 8), (-7, 8), (7, -8), (-7, -8), (7, 15), (7, -15))
"""Where a label may stand, in points from its point, the best place first."""

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def _place_labels(
    axes: Axes, x: Sequence[float], y: Sequence[float], labels: Sequence[str]
) -> None:
    """Write a label beside every point, on the side where it covers least of the others.

    Works on estimated extents, in points, because the final layout is known only when drawn.
    """
    height, per_character = 9.0, 4.1
    figure = axes.get_figure(root=True)
    extent = figure.get_size_inches() * 72 * 0.85 if isinstance(figure, Figure) else (410, 260)
    scaled = []
    limits = (axes.get_xlim(), axes.get_ylim())
    for values, view, points in zip((x, y), limits, extent, strict=True):
        low, high = np.log10(view)
        scaled.append((np.log10(values) - low) / (high - low) * points)
    taken: list[Box] = [(px - 4, py - 4, px + 4, py + 4) for px, py in zip(*scaled, strict=True)]
    for index, text in enumerate(labels):
        width = per_character * len(text)
        options = []
        for dx, dy in _SIDES:
            left = scaled[0][index] + dx - (0 if dx > 0 else width if dx < 0 else width / 2)
            bottom = scaled[1][index] + dy - height / 2
            box = (left, bottom, left + width, bottom + height)
            cost = sum(_overlap(box, other) for at, other in enumerate(taken) if at != index)
            outside = max(0.0, -left) + max(0.0, box[2] - extent[0])
            options.append((cost + 20 * outside, (dx, dy), box))
        _, offset, box = min(options, key=lambda option: option[0])
        taken.append(box)
        beside(axes, text, (x[index], y[index]), offset, size=7.5)


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)
