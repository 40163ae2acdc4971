"""Plots of sizes: keys and signatures, bytes over time, and bytes in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain.algorithms import ALGORITHMS, Algorithm, get, names
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS
from pqchain.measurements import algorithms_of
from pqchain.plots import paper
from pqchain.plots.canvas import (
    GRID,
    INK,
    MUTED,
    canvas,
    headline,
    look,
    require,
    with_notes,
)
from pqchain.plots.dots import dots, labelled, reject_duplicates
from pqchain.plots.labels import label_points
from pqchain.plots.marks import (
    DEVIATION,
    SAMPLES,
    annotate,
    as_printed,
    brief,
    enclose,
    grid,
    legend_above,
    log_ticks,
    mark_of,
    name_levels,
    props,
    times,
    with_prefix,
)

_PARTS = {"public key": "s", "signature": "o", "ciphertext": "o", "secret key": "x"}
"""Marks of sizes; the sum of the first two is a large mark of the family."""

_EQUAL_SECONDS = (3e-4, 3e-3, 3e-2)  # between lines of the grid

_THREAD_MARKS = "osD^vP"

_LEAST_INCHES = 0.19  # row of a plot with many schemes


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
    require(pd.DataFrame({"algorithm": [row.name for row in rows]}), "algorithm")
    rows.sort(key=lambda row: (row.family_facts.post_quantum, _total(row)))
    levels: list[float] = []
    for before, row in zip([None, *rows], rows, strict=False):
        is_first = before is not None and (
            before.family_facts.post_quantum != row.family_facts.post_quantum
        )
        levels.append((levels[-1] + (1.5 if is_first else 1.0)) if levels else 0.0)
    tall = 1.25 + (_LEAST_INCHES if len(rows) > 12 else 0.25) * (levels[-1] + 1)
    with canvas(ax, tall) as axes:
        axes.set_xscale("log")
        for level, row in zip(levels, rows, strict=True):
            _sized(axes, row, level, secret_keys=secret_keys)
            if paper.narrow():
                # From the name above the row to its marks, which may be far to the right.
                axes.axhline(level, color=GRID, linewidth=0.8, zorder=0)
        name_levels(axes, [labelled(row) for row in rows], levels, top=0.0)
        axes.spines["left"].set_visible(False)
        enclose(axes)
        log_ticks(axes, "x", with_prefix("B"))
        grid(axes, "x")
        kinds = {row.kind for row in rows}
        drawn = ["public key", *(["signature"] if "signature" in kinds else [])]
        drawn += [*(["ciphertext"] if "kem" in kinds else [])]
        drawn += [*(["secret key"] if secret_keys else [])]
        with_key = " or ".join(name for name in drawn if name in ("signature", "ciphertext"))
        axes.set_xlabel(with_notes("size", f"number: sum of public key and {with_key}"))
        style = props(color=INK, linestyle="none", markersize=5)
        handles = [Line2D([], [], marker=_PARTS[name], label=name, **style) for name in drawn]
        legend_above(axes, 5, [*handles, Line2D([], [], **_SUM, label="sum")])
        if text := _smallest(rows):
            headline(axes, text)
    return axes


_SUM = props(color=INK, marker="|", markersize=12, markeredgewidth=1.8, linestyle="none")


def _sum_points() -> float:
    """Return the height of a mark of a sum, which in narrow figures is below a name."""
    return 9.0 if paper.narrow() else 12.0


def _total(row: Algorithm) -> int:
    return row.public_key_bytes + (row.signature_bytes or row.ciphertext_bytes)


def _sized(axes: Axes, row: Algorithm, level: float, *, secret_keys: bool) -> None:
    colour = mark_of(row.name).colour
    sizes = {
        name: getattr(row, f"{name.replace(' ', '_')}_bytes")
        for name in _PARTS
        if secret_keys or name != "secret key"
    }
    known = {name: size for name, size in sizes.items() if size}
    ends = [*known.values(), _total(row)]
    # Dotted and pale, because a line that ends in a triangle would be read as an arrow.
    style = props(linestyles=":", linewidth=1.0, alpha=0.7, zorder=1)
    axes.hlines(level, min(ends), max(ends), color=colour, **style)
    for name, size in known.items():
        style = mark_of(row.name).style(5.5) | props(linestyle="none", zorder=3)
        if name == "secret key":
            style |= props(markeredgecolor=MUTED, markeredgewidth=1.2)
        axes.plot([size], [level], label=name, **(style | props(marker=_PARTS[name])))
    axes.plot(
        [_total(row)],
        [level],
        label="sum",
        **(_SUM | props(color=colour, zorder=4, markersize=_sum_points())),
    )
    annotate(axes, BYTES.text(_total(row)), (max(ends), level), (8, 0))


def _smallest(rows: list[Algorithm]) -> str:
    signing = [row for row in rows if row.kind == "signature"]
    new = [row for row in signing if row.family_facts.post_quantum]
    if not new:
        return ""
    best = min(new, key=_total)
    kind = "signature schemes" if len(signing) < len(rows) else "schemes"
    text = f"{best.name} has the smallest sum of the post-quantum {kind} shown: "
    text += BYTES.text(_total(best))
    today = [row for row in signing if not row.family_facts.post_quantum]
    if today:
        least = min(today, key=_total)
        text += f", {times(_total(best) / _total(least))} {least.name}'s"
    return text


def plot_tradeoff(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw bytes on the chain (public key and signature) over the time of a verification.

    Takes a measurement frame and uses the fastest implementation of each signature scheme; sizes
    are those of the registry. The size of a mark is the NIST level, and dotted lines join points of
    equal cost at 1 Gbit/s: the time to receive the bytes and to verify. Whiskers go from the
    fastest sample to the 95th percentile. Several runs are joined by a line for each scheme. Raises
    DataError, and UsageError if no verification was measured.
    """
    require(
        measurements,
        "algorithm implementation operation median_seconds min_seconds p95_seconds status",
    )
    fine = measurements[(measurements["operation"] == "verify") & (measurements["status"] == "ok")]
    runs = list(dict.fromkeys(fine["run"])) if "run" in fine else [""]
    several = len(runs) > 1
    if not several:
        reject_duplicates(fine.assign(row=fine["algorithm"]), "median_seconds")
    chosen = [row for row in algorithms_of(fine) if row.kind == "signature"]
    if not chosen:
        raise UsageError(
            "measurements must have a verification with status 'ok'; got none. Measure signatures."
        )
    order = {name: place for place, name in enumerate(ALGORITHMS)}
    chosen.sort(key=lambda row: order.get(row.name, len(order)))
    keys = ["algorithm", *(["run"] if several else [])]
    fastest = fine.sort_values("median_seconds", kind="stable").drop_duplicates(keys)
    fastest = fastest.set_index(keys)[["median_seconds", "min_seconds", "p95_seconds"]]
    points: dict[str, tuple[float, float]] = {}
    whiskers = []
    # Names need more room on a telephone than a column of print has.
    height_inches = 5.6 if paper.narrow() and not paper.in_print() else 4.6
    with canvas(ax, height_inches) as axes:
        axes.set(xscale="log", yscale="log")
        for row in chosen:
            size, seconds = row.public_key_bytes + row.signature_bytes, fastest.loc[row.name]
            medians: Any = seconds["median_seconds"]
            style = mark_of(row.name).style(5.5 + 0.7 * row.nist_level) | props(linestyle="none")
            style |= props(label=row.name, zorder=3)
            if several:
                axes.vlines(
                    size, medians.min(), medians.max(), color=MUTED, linewidth=1.0, zorder=1
                )
                for run, median in medians.items():
                    place = runs.index(run)
                    colour, marker = look(place)
                    style |= props(color=colour, marker=marker, label=str(run))
                    style |= props(markerfacecolor=colour)
                    axes.plot(size, median, **style)
                points[labelled(row)] = (size, float(medians.min()))
            else:
                points[labelled(row)] = (size, float(medians))
                low, high = seconds["min_seconds"], seconds["p95_seconds"]
                axes.plot([size] * 2, [low, high], color=style["color"], linewidth=1.3, alpha=0.75)
                whiskers.append(np.column_stack([np.full(20, size), np.geomspace(low, high, 20)]))
                style |= props(markeredgecolor=style["color"])
                axes.plot(*points[labelled(row)], **style)
        axes.margins(0.08, 0.12)
        log_ticks(axes, "x", with_prefix("B"))
        log_ticks(axes, "y", brief)
        # Room for names right of their marks, left of the dotted line.
        axes.set_xlim(right=(3.2 if paper.narrow() else 1.7) * axes.get_xlim()[1])
        drawn = len(axes.lines)
        _equal_costs(axes)
        _today(axes, chosen)
        grid(axes)
        lines = [
            np.column_stack(line.get_data())
            for line in axes.lines[drawn:]
            if line.get_label() == "_equal cost"
        ]
        label_points(axes, points, [*whiskers, *lines])
        marks = "" if several else f"larger mark: higher NIST level; {SAMPLES}"
        dotted = "dotted: equal time to receive at 1\u202fGbit/s and verify together"
        dotted = dotted if len(axes.lines) > drawn else ""
        axes.set_xlabel(with_notes("public key and signature", marks, dotted))
        axes.set_ylabel("time of a verification, median")
        if several:
            legend_above(axes, 2)
        headline(axes, _front(chosen, points))
    return axes


_EQUAL_RATE_BYTES = 1.25e8  # 1 Gbit/s
"""Rate at which the dotted lines weigh bytes against time."""


def _equal_costs(axes: Axes) -> None:
    """Join points at which receiving at 1 Gbit/s and verifying take the same time together."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for total in _EQUAL_SECONDS:
        # By bytes for the level part, by time for the steep one, down to the axis.
        flat, steep = np.geomspace(low, high, 300), total - np.geomspace(bottom, total, 300)
        sizes = np.unique([*flat, *(steep * _EQUAL_RATE_BYTES)])
        rest = total - sizes / _EQUAL_RATE_BYTES
        inside = (sizes >= low) & (sizes <= high) & (rest >= 0.999 * bottom) & (rest <= top)
        is_high = rest.max() > bottom * (top / bottom) ** 0.1
        if inside.sum() > 30 and is_high:
            style = props(color=MUTED, linestyle=":", linewidth=0.9, zorder=0)
            axes.plot(sizes[inside], rest[inside], label="_equal cost", **style)
            start = float(sizes[inside][0]), float(rest[inside][0])
            text = SECONDS.text(total, 2) + ("" if paper.narrow() else " together")
            # Above a line that starts at the left edge, and left of one that starts on top.
            offset = (3, 8) if start[0] < 1.01 * low else (-5, -6)
            annotate(axes, text, start, offset, colour=MUTED)
    axes.set(xlim=(low, high), ylim=(bottom, top))


def _today(axes: Axes, rows: list[Algorithm]) -> None:
    """Separate the sizes of today's schemes above the points, if they are apart."""
    sizes = {
        is_new: [
            row.public_key_bytes + row.signature_bytes
            for row in rows
            if row.family_facts.post_quantum == is_new
        ]
        for is_new in (False, True)
    }
    if sizes[False] and sizes[True] and max(sizes[False]) < min(sizes[True]):
        edge = float(np.sqrt(max(sizes[False]) * min(sizes[True])))
        # A line through all of the plot would cross the names of points.
        axes.axvline(edge, ymin=0.92, color=MUTED, linewidth=0.9, zorder=0)
        style = props(transform=axes.get_xaxis_transform(), va="top", color=MUTED)
        style |= props(size=paper.points(), style="italic")
        step = (edge / axes.get_xlim()[0]) ** 0.04
        axes.text(edge / step, 0.985, "today", ha="right", **style)
        axes.text(edge * step, 0.985, "post-quantum", ha="left", **style)


def _front(rows: list[Algorithm], points: dict[str, tuple[float, float]]) -> str:
    new = {
        row.name: points[labelled(row)] for row in rows if row.family_facts.post_quantum
    } or points
    small = min(new, key=lambda name: new[name][0])
    fast = min(new, key=lambda name: new[name][1])
    sized, timed = BYTES.text(new[small][0]), SECONDS.text(new[fast][1], 2)
    kind = "post-quantum schemes" if new is not points else "schemes"
    if small == fast:
        return f"Of the {kind} shown, {small} is smallest ({sized}) and verifies fastest ({timed})"
    return f"Of the {kind} shown, {small} is the smallest ({sized}), {fast} the fastest ({timed})"


def plot_blocks(
    blocks: pd.DataFrame,
    quantity: Literal["bytes", "verify", "rate"],
    *,
    col: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a property of blocks: bytes per transaction, verification time, or validation rate.

    Takes a block frame. "bytes": bytes of block per transaction, for which the columns algorithm
    and transaction_bytes are enough. "verify": seconds to verify one signature, with the median
    absolute deviation, and "rate": bytes of block validated per second, both by number of threads.
    Rows are sorted, today's schemes first. `col` names a column with a panel for each value. Raises
    DataError, UsageError.
    """
    show: Callable[[float], str] = with_prefix("B")
    numbers: Callable[[float], str] | None = None
    whiskers: tuple[str, str] | None = None
    finding = "A transaction with {most} takes {ratio} the bytes of one with {least}"
    needed = "algorithm transaction_bytes"
    if quantity != "bytes":
        needed += (
            " implementation threads transactions block_bytes verify_median_seconds "
            "verify_mad_seconds apply_median_seconds status"
        )
    require(blocks, needed)
    threads = pd.Series(blocks.get("threads", 1), index=blocks.index).astype("int64")
    named = threads.map(lambda n: f"{n} thread{'s'[: n > 1]}")
    order = named[threads.sort_values().index].unique()
    frame = blocks.assign(operation=named, implementation="", status=blocks.get("status", "ok"))
    if quantity == "bytes":
        label, numbers = "size of a transaction in a block", _whole_bytes
        frame = frame.assign(value=blocks["transaction_bytes"]).drop_duplicates("algorithm")
    elif quantity == "verify":
        label, show = with_notes("time to verify a block, per signature, median", DEVIATION), brief
        middle, spread = (
            blocks[f"verify_{name}_seconds"] / blocks["transactions"].astype("float64")
            for name in ("median", "mad")
        )
        frame = frame.assign(value=middle, low=middle - spread, high=middle + spread)
        numbers, whiskers = partial(SECONDS.text, digits=2), ("low", "high")
        finding = "{most} takes {ratio} as long to verify as {least}"
    else:
        label, show = "rate of validating whole blocks, median", with_prefix("B/s")
        size = blocks["block_bytes"].astype("float64")
        frame["value"] = size / blocks["apply_median_seconds"]
        finding = "Blocks with {most} are validated at {ratio} the rate of {least}, in bytes"
    marks = {name: _THREAD_MARKS[at % len(_THREAD_MARKS)] for at, name in enumerate(order)}
    axes = dots(
        frame, value="value", label=label, show=show, ax=ax, marks=marks, col=col,
        whiskers=whiskers, numbers=numbers, is_sorted=True,
    )  # fmt: skip
    fine = frame[(frame["status"] == "ok") & frame["value"].notna()]
    fine = fine[fine["operation"] == order[0]] if quantity != "bytes" else fine
    if len(fine) > 1:
        values = fine["value"]
        most, least = (fine.iloc[int(at)] for at in (values.argmax(), values.argmin()))
        ends = float(values.max()), float(values.min())
        # Bytes are printed whole.
        ratio = times(ends[0] / ends[1]) if quantity == "bytes" else as_printed(*ends)
        text = finding.format(most=most["algorithm"], least=least["algorithm"], ratio=ratio)
        headline(axes, text + ("" if quantity == "bytes" else f", on {order[0]}"))
    return axes


def _whole_bytes(value: float) -> str:
    return BYTES.text(round(value))
