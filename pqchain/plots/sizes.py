"""Plots of sizes: keys and signatures, bytes over time, and bytes in a block."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain.algorithms import ALGORITHMS, Algorithm, get, names
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import props
from pqchain.results.measurements import algorithms_of

_PARTS = {"public key": "s", "signature": "o", "ciphertext": "o", "secret key": "x"}
"""Marks of sizes; the sum of the first two is a large mark of the family."""

_SUM = props(marker="|", markersize=12, markeredgewidth=1.8, linestyle="none")


def plot_sizes(
    algorithms: Iterable[str | Algorithm] | None = None,
    *,
    secret_keys: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw sizes in bytes: public key, signature or ciphertext, and the sum of both.

    Takes names of algorithms, by default all signature schemes of the default build; sizes are
    those of the registry. Rows are sorted by the sum, today's schemes first. `secret_keys` adds
    secret keys. Raises UnknownAlgorithm, and UsageError without names.
    """
    chosen: Iterable[str | Algorithm] = names("signature") if algorithms is None else algorithms
    rows = list(dict.fromkeys(map(get, chosen)))
    canvas.require(pd.DataFrame({"algorithm": [row.name for row in rows]}), "algorithm")
    rows.sort(key=lambda row: (_is_new(row), _total(row)))
    old = sum(not _is_new(row) for row in rows)
    levels = [at + 0.5 * (0 < old <= at) for at in range(len(rows))]
    parts = [name for name in _PARTS if secret_keys or name != "secret key"]
    with canvas.canvas(ax, 1.25 + (0.19 if len(rows) > 12 else 0.25) * (len(rows) + 1)) as axes:
        axes.set_xscale("log")
        for level, row in zip(levels, rows, strict=True):
            _sized(axes, row, level, parts)
        marks.name_levels(axes, [dots.labelled(row) for row in rows], levels)
        axes.spines["left"].set_visible(False)
        marks.log_ticks(axes, "x", marks.with_prefix("B"))
        marks.grid(axes, "x")
        kinds = {"signature": "signature", "kem": "ciphertext"}
        others = " or ".join(part for kind, part in kinds.items() if kind in {r.kind for r in rows})
        canvas.x_label(axes, "size", f"number: sum of public key and {others}")
        style = props(color=canvas.INK, linestyle="none", markersize=5)
        handles = [
            Line2D([], [], marker=_PARTS[name], label=name, **style)
            for name in parts
            if any(_bytes(row, name) for row in rows)
        ]
        total = Line2D([], [], color=canvas.INK, label="sum", **_SUM)
        canvas.legend_above(axes, 5, [*handles, total])
        sums = pd.Series({row.name: float(_total(row)) for row in rows})
        canvas.headline(axes, marks.extremes(f"Public key and {others}", sums, BYTES.text))
    return axes


def _is_new(row: Algorithm) -> bool:
    return row.family_facts.post_quantum


def _bytes(row: Algorithm, part: str) -> int:
    size: int = getattr(row, f"{part.replace(' ', '_')}_bytes") or 0
    return size


def _total(row: Algorithm) -> int:
    return row.public_key_bytes + (row.signature_bytes or row.ciphertext_bytes)


def _sized(axes: Axes, row: Algorithm, level: float, parts: list[str]) -> None:
    mark = marks.mark_of(row.name)
    known = {name: size for name in parts if (size := _bytes(row, name))}
    ends = [*known.values(), _total(row)]
    # Dotted and pale, because a line that ends in a triangle would be read as an arrow.
    line = props(linestyles=":", linewidth=1.0, alpha=0.7, zorder=1)
    axes.hlines(level, min(ends), max(ends), color=mark.colour, **line)
    for name, size in known.items():
        style = mark.style(5.5) | props(linestyle="none", marker=_PARTS[name], label=name, zorder=3)
        if name == "secret key":
            style |= props(markeredgecolor=canvas.MUTED, markeredgewidth=1.2)
        axes.plot([size], [level], **style)
    axes.plot([_total(row)], [level], color=mark.colour, label="sum", zorder=4, **_SUM)
    marks.annotate(axes, BYTES.text(_total(row)), (max(ends), level), (8, 0))


def plot_tradeoff(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw bytes on the chain (public key and signature) over the time of a verification.

    Takes a measurement frame and uses the fastest implementation of each signature scheme; sizes
    are those of the registry. The size of a mark is the NIST level. Whiskers go from the fastest
    sample to the 95th percentile. Raises DataError, and UsageError if no verification was measured.
    """
    needed = "algorithm implementation operation median_seconds min_seconds p95_seconds status"
    canvas.require(measurements, needed)
    fine = measurements[(measurements["operation"] == "verify") & (measurements["status"] == "ok")]
    dots.reject_duplicates(fine.assign(row=fine["algorithm"]), "median_seconds")
    order = {name: place for place, name in enumerate(ALGORITHMS)}
    chosen = [row for row in algorithms_of(fine) if row.kind == "signature"]
    chosen.sort(key=lambda row: order.get(row.name, len(order)))
    if not chosen:
        raise UsageError(
            "measurements must have a verification with status 'ok'; got none. Measure signatures."
        )
    fine = fine.sort_values("median_seconds", kind="stable")
    fastest = fine.drop_duplicates("algorithm").set_index("algorithm")
    points: dict[str, tuple[float, float]] = {}
    whiskers: list[tuple[float, float]] = []
    with canvas.canvas(ax, 4.6) as axes:
        axes.set(xscale="log", yscale="log")
        for row in chosen:
            size = row.public_key_bytes + row.signature_bytes
            median, *ends = (
                float(fastest[f"{name}_seconds"][row.name]) for name in ("median", "min", "p95")
            )
            style = marks.mark_of(row.name).style(5.5 + 0.7 * row.nist_level)
            style |= props(linestyle="none", label=row.name, zorder=3)
            style |= props(markeredgecolor=style["color"])
            whiskers += [(size, end) for end in ends]
            axes.plot([size] * 2, ends, color=style["color"], linewidth=1.3, alpha=0.75)
            axes.plot(size, median, **style)
            points[dots.labelled(row)] = (size, median)
        axes.margins(0.12, 0.12)
        marks.log_ticks(axes, "x", marks.with_prefix("B"))
        marks.log_ticks(axes, "y", marks.brief)
        marks.grid(axes)
        notes = "larger mark: higher NIST level", marks.SAMPLES
        canvas.x_label(axes, "public key and signature", *notes)
        axes.set_ylabel("time of a verification, median")
        seconds = pd.Series({name: time for name, (_, time) in points.items()})
        show = partial(SECONDS.text, digits=2)
        canvas.headline(axes, marks.extremes("Time of a verification", seconds, show))
        _name_points(axes, points, whiskers)
    return axes


def _name_points(
    axes: Axes, points: dict[str, tuple[float, float]], whiskers: list[tuple[float, float]]
) -> None:
    """Write the names of points so that they overlap neither marks nor each other."""
    # Late, because only this plot needs it, and 32-bit ARM has no wheel of its dependencies.
    from adjustText import adjust_text  # type: ignore[import-untyped]

    canvas.figure_of(axes).draw_without_rendering()
    style = props(size=canvas.points(), color=canvas.INK)
    texts = [axes.text(*point, name, **style) for name, point in points.items()]
    leader = props(arrowstyle="-", color=canvas.MUTED, linewidth=0.5)
    x, y = map(list, zip(*points.values(), *whiskers, strict=True))
    room = props(expand=(1.1, 1.5), force_text=(0.3, 0.5), max_move=10, iter_lim=200)
    adjust_text(texts, x, y, ax=axes, arrowprops=leader, **room)


def plot_blocks(
    blocks: pd.DataFrame, quantity: Literal["bytes", "verify", "rate"], *, ax: Axes | None = None
) -> Axes:
    """Draw a property of blocks: bytes per transaction, verification time, or validation rate.

    Takes a block frame. "bytes": bytes of block per transaction, for which the columns algorithm
    and transaction_bytes are enough. "verify": seconds to verify one signature, with the median
    absolute deviation, and "rate": bytes of block validated per second, both by number of threads.
    Rows are sorted, today's schemes first. Raises DataError, UsageError.
    """
    needed = "algorithm transaction_bytes"
    if quantity != "bytes":
        needed += (
            " implementation threads transactions block_bytes verify_median_seconds "
            "verify_mad_seconds apply_median_seconds status"
        )
    canvas.require(blocks, needed)
    threads = pd.Series(blocks.get("threads", 1), index=blocks.index).astype("int64")
    named = threads.map(lambda n: f"{n} thread{'s' if n > 1 else ''}")
    frame = blocks.assign(operation=named, implementation="", status=blocks.get("status", "ok"))
    frame = frame.loc[threads.sort_values(kind="stable").index]
    notes: tuple[str, ...] = ()
    show: Any = marks.with_prefix("B")
    number: Any = BYTES.text
    if quantity == "bytes":
        label = "size of a transaction in a block"
        frame = frame.assign(value=frame["transaction_bytes"]).drop_duplicates("algorithm")
        frame["text"] = frame["value"].round().map(number)
    elif quantity == "verify":
        label, notes = "time to verify a block, per signature, median", (marks.DEVIATION,)
        show, number = marks.brief, partial(SECONDS.text, digits=2)
        middle, spread = (
            frame[f"verify_{name}_seconds"].astype(float) / frame["transactions"].astype(float)
            for name in ("median", "mad")
        )
        frame = frame.assign(value=middle, low=middle - spread, high=middle + spread)
        frame["text"] = frame["value"].map(number)
    else:
        label = "rate of validating whole blocks, median"
        show = number = marks.with_prefix("B/s", places=1)
        seconds = frame["apply_median_seconds"].astype(float)
        frame["value"] = frame["block_bytes"].astype(float) / seconds
    axes = dots.dots(frame, label, *notes, ax=ax, show=show, order="value")
    fine = frame[frame["status"] == "ok"]
    first = fine[fine["operation"] == fine["operation"].min()].set_index("algorithm")
    on = "" if quantity == "bytes" else f", {first['operation'].iloc[0]}" if len(first) else ""
    title = marks.extremes(f"{label[0].upper()}{label[1:]}{on}", first["value"], number)
    canvas.headline(axes, title)
    return axes
