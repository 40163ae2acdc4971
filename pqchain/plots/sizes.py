"""Plots of sizes: keys and signatures, bytes over time, and bytes in a block."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes

from pqchain.algorithms import ALGORITHMS, Algorithm, get, names
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import props
from pqchain.results.measurements import algorithms_of


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
    sums = {row.name: row.public_key_bytes + _sent_bytes(row) for row in rows}
    rows.sort(key=lambda row: (row.family_facts.post_quantum, sums[row.name]))
    kinds = {"signature": "signature", "kem": "ciphertext"}
    sizes = [
        {"row": dots.labelled(row), "algorithm": row.name, "operation": part, "value": size}
        for row in rows
        for part, size in (
            ("public key", row.public_key_bytes),
            (kinds[row.kind], _sent_bytes(row)),
            ("secret key", row.secret_key_bytes if secret_keys else None),
            ("sum", sums[row.name]),
        )
        if size
    ]
    drawn = pd.DataFrame(sizes)
    drawn["text"] = drawn["value"].map(BYTES.text).where(drawn["operation"] == "sum", "")
    others = " or ".join(part for kind, part in kinds.items() if kind in {r.kind for r in rows})
    note, show = f"number: sum of public key and {others}", marks.with_prefix("B")
    axes = dots.dots(drawn, "size", note, ax=ax, show=show, order="frame", is_level=True)
    title = marks.extremes(f"Public key and {others}", pd.Series(sums, dtype=float), BYTES.text)
    canvas.headline(axes, title)
    return axes


def _sent_bytes(row: Algorithm) -> int:
    return row.signature_bytes or row.ciphertext_bytes


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
