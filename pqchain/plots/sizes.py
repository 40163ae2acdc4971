"""Plots of sizes: keys and signatures, bytes over time, and bytes in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain import figures
from pqchain.algorithms import ALGORITHMS, Algorithm, get, names
from pqchain.costs import algorithms_of
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS
from pqchain.plots import paper
from pqchain.plots.canvas import GRID, INK, MUTED, canvas, figure_of, headline, look, require
from pqchain.plots.dots import dots, labelled, reject_duplicates
from pqchain.plots.marks import (
    annotate,
    brief,
    grid,
    legend_above,
    log_ticks,
    mark_of,
    props,
    with_prefix,
)

_PARTS = {"public key": "s", "signature": ">", "ciphertext": ">", "secret key": "x"}
"""Marks of sizes; the sum of the first two is a large mark of the family."""

_SIGNATURES_PER_CORE = (1e-5, 1e-4, 1e-3, 1e-2)

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
        axes.set_yticks(levels, [labelled(row) for row in rows])
        axes.set_ylim(levels[-1] + 0.8, -0.8)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * (high / low) ** 0.14)
        log_ticks(axes, "x", with_prefix("B"))
        grid(axes, "x")
        axes.set_xlabel("size (log scale); number: sum of what a message carries")
        kinds = {row.kind for row in rows}
        drawn = ["public key", *(["signature"] if "signature" in kinds else [])]
        drawn += [*(["ciphertext"] if "kem" in kinds else [])]
        drawn += [*(["secret key"] if secret_keys else [])]
        style = props(color=INK, linestyle="none", markersize=5)
        handles = [Line2D([], [], marker=_PARTS[name], label=name, **style) for name in drawn]
        legend_above(axes, 5, [*handles, Line2D([], [], **_SUM, label="sum")])
        if text := _smallest(rows):
            headline(axes, text)
    return axes


_SUM = props(color=INK, marker="|", markersize=11, markeredgewidth=2.2, linestyle="none")


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
    axes.hlines(level, min(ends), max(ends), color=colour, linewidth=1.2, alpha=0.6, zorder=1)
    for name, size in known.items():
        style = mark_of(row.name).style(5.5) | props(linestyle="none", zorder=3)
        if name == "secret key":
            style |= props(markeredgecolor=MUTED, markeredgewidth=1.2)
        axes.plot([size], [level], label=name, **(style | props(marker=_PARTS[name])))
    axes.plot([_total(row)], [level], label="sum", **(_SUM | props(color=colour, zorder=2)))
    annotate(axes, BYTES.text(_total(row)), (max(ends), level), (8, 0))


def _smallest(rows: list[Algorithm]) -> str:
    signing = [row for row in rows if row.kind == "signature"]
    new = [row for row in signing if row.family_facts.post_quantum]
    if not new:
        return ""
    best = min(new, key=_total)
    text = f"{best.name} carries the fewest bytes of the post-quantum schemes: "
    text += BYTES.text(_total(best))
    today = [row for row in signing if not row.family_facts.post_quantum]
    if today:
        least = min(today, key=_total)
        text += f", {figures.RATIO.text(_total(best) / _total(least), 2)} those of {least.name}"
    return text


def plot_tradeoff(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw bytes on the chain (public key and signature) over the time of a verification.

    Takes a measurement frame and uses the fastest implementation of each signature scheme; sizes
    are those of the registry. The size of a mark is the NIST level, and dotted lines join points of
    equal cost at 1 Gbit/s: the time to receive the bytes and to verify. Several runs are joined by
    a line for each scheme. Raises DataError, and UsageError if no verification was measured.
    """
    require(measurements, "algorithm implementation operation median_seconds status")
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
    fastest = fine.groupby(keys, sort=False)["median_seconds"].min()
    points: dict[str, tuple[float, float]] = {}
    with canvas(ax, 4.6) as axes:
        axes.set(xscale="log", yscale="log")
        for row in chosen:
            size, times = row.public_key_bytes + row.signature_bytes, fastest[row.name]
            style = mark_of(row.name).style(5.5 + 0.7 * row.nist_level) | props(linestyle="none")
            style |= props(label=row.name, zorder=3)
            if several:
                axes.vlines(size, times.min(), times.max(), color=MUTED, linewidth=1.0, zorder=1)
                for run, seconds in times.items():
                    place = runs.index(run)
                    colour, marker = look(place)
                    style |= props(color=colour, marker=marker, label=str(run))
                    style |= props(markerfacecolor=colour)
                    axes.plot(size, seconds, **style)
                points[labelled(row)] = (size, float(times.min()))
            else:
                points[labelled(row)] = (size, float(times))
                axes.plot(*points[labelled(row)], **style)
        axes.margins(0.16)
        _equal_costs(axes)
        _today(axes, chosen)
        log_ticks(axes, "x", with_prefix("B"))
        log_ticks(axes, "y", brief)
        grid(axes)
        _label(axes, points)
        note = "" if several else "; hollow: broken by Shor's algorithm; larger: higher level"
        axes.set(xlabel=f"public key and signature{note}", ylabel="one verification, median")
        if several:
            legend_above(axes, 2)
        headline(axes, _front(chosen, points))
    return axes


_EQUAL_RATE_BYTES = 1.25e8  # 1 Gbit/s
"""Rate at which the dotted lines weigh bytes against time."""


def _equal_costs(axes: Axes) -> None:
    """Join points at which receiving at 1 Gbit/s and verifying take the same time together."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for total in _SIGNATURES_PER_CORE:
        sizes = np.geomspace(low, min(high, total * _EQUAL_RATE_BYTES * 0.9999), 300)
        times = total - sizes / _EQUAL_RATE_BYTES
        inside = (times >= bottom) & (times <= top)
        if inside.sum() > 30:
            style = props(color=MUTED, linestyle=":", linewidth=0.9, zorder=0)
            axes.plot(sizes[inside], times[inside], label="_equal cost", **style)
            end = float(sizes[inside][-1]), float(times[inside][-1])
            annotate(axes, f"{brief(total)} in all", end, (-4, 7))
            axes.texts[-1].set_color(MUTED)
    axes.set(xlim=(low, high), ylim=(bottom, top))


def _today(axes: Axes, rows: list[Algorithm]) -> None:
    """Shade the sizes of today's schemes, if they are apart from the post-quantum ones."""
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
        axes.axvspan(axes.get_xlim()[0], edge, color=GRID, alpha=0.45, linewidth=0, zorder=-1)
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
    kind = "post-quantum scheme" if new is not points else "scheme"
    if small == fast:
        return f"{small} is the smallest and the fastest {kind}: {sized}, {timed}"
    return f"{small} is the smallest {kind} ({sized}), {fast} verifies fastest ({timed})"


def plot_blocks(
    blocks: pd.DataFrame,
    quantity: Literal["bytes", "verify", "rate"],
    *,
    col: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a property of blocks: bytes per transaction, verification time, or validation rate.

    Takes a block frame. "bytes": bytes of block per transaction. "verify": seconds to verify one
    signature, by number of threads. "rate": bytes of block validated per second, by number of
    threads. Rows are sorted, today's schemes first. `col` names a column with a panel for each
    value. Raises DataError, UsageError.
    """
    require(
        blocks,
        "algorithm implementation threads transactions block_bytes transaction_bytes "
        "verify_median_seconds apply_median_seconds status",
    )
    threads = blocks["threads"].astype("int64")
    named = threads.map(lambda n: f"{n} thread{'s'[: n > 1]}")
    order = named[threads.sort_values().index].unique()
    marks = {name: _THREAD_MARKS[at % len(_THREAD_MARKS)] for at, name in enumerate(order)}
    frame = blocks.assign(operation=named, implementation="")
    show: Callable[[float], str] = with_prefix("B")
    numbers: Callable[[float], str] | None = None
    verb = "takes most room in a block"
    if quantity == "bytes":
        label = "bytes of block per transaction (log scale)"
        frame = frame.assign(value=blocks["transaction_bytes"]).drop_duplicates("algorithm")
        numbers = _whole_bytes
    elif quantity == "verify":
        label, show = "verifying one signature of a block (median)", brief
        seconds = blocks["verify_median_seconds"]
        frame["value"] = seconds / blocks["transactions"].astype("float64")
        verb = "takes longest to verify in a block"
    else:
        label, show = "block validated in a second, all of it (median)", with_prefix("B/s")
        size = blocks["block_bytes"].astype("float64")
        frame["value"] = size / blocks["apply_median_seconds"]
        verb = "validates most bytes in a second"
    axes = dots(
        frame, value="value", label=label, show=show, ax=ax, marks=marks, col=col,
        numbers=numbers, is_sorted=True,
    )  # fmt: skip
    fine = frame[(frame["status"] == "ok") & frame["value"].notna()]
    fine = fine[fine["operation"] == order[0]] if quantity != "bytes" else fine
    if len(fine) > 1:
        values = fine["value"]
        most, least = (fine.iloc[int(at)] for at in (values.argmax(), values.argmin()))
        ratio = figures.RATIO.text(float(values.max() / values.min()), 2)
        on = "" if quantity == "bytes" else f" on {order[0]}"
        headline(axes, f"{most['algorithm']} {verb}{on}: {ratio} {least['algorithm']}")
    return axes


def _whole_bytes(value: float) -> str:
    return BYTES.text(round(value))


_SIDES = np.array(
    [(8, 0), (-8, 0), (0, 11), (0, -11), (8, 9), (-8, 9), (8, -9), (-8, -9), (8, 17), (8, -17)]
)
"""Offsets of a label in points, in order of preference."""


def _label(axes: Axes, points: dict[str, tuple[float, float]]) -> None:
    # Every label gets the side with the least overlap; extents are estimates in points, because
    # the final layout is known only when drawn.
    size = paper.points()
    height, per_character = 1.2 * size, 0.55 * size
    extent = figure_of(axes).get_size_inches() * 72 * 0.85
    low, high = np.log10([axes.get_xlim(), axes.get_ylim()]).T
    centres = (np.log10([*points.values()]) - low) / (high - low) * extent
    starts, ends = centres - 6, centres + 6
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
