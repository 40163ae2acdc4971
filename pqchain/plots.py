"""Plots: frame in, Axes out. The only importer of matplotlib, which it asks for no window.

Every `plot_*` draws into `ax`, or into a figure of its own, 170 mm wide, that no global list
keeps. Colours are those of Okabe and Ito, told apart without colour vision; operations differ by
marker as well and implementations by filling, so that the plots survive a black-and-white printer.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from itertools import product
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from pqchain import display
from pqchain.algorithms import ALGORITHMS, FAMILIES, get
from pqchain.errors import DataError, UsageError

INK = "#222222"
"""Text and outlines; the report maps it to the reader's colour of text."""

PAPER = "#ffffff"
"""What we draw on, where a marker must stand out from another."""

MUTED = "#8a8a8a"
"""Axes and asides."""

GRID = "#dcdcdc"
"""Lines that only guide the eye."""

OPERATION_LOOK = {
    "generate_keypair": ("#0072B2", "o"),
    "sign": ("#D55E00", "s"),
    "verify": ("#009E73", "^"),
    "encapsulate": ("#E69F00", "D"),
    "decapsulate": ("#CC79A7", "v"),
}
"""Colour and marker of every operation."""

_SHIFT = {
    "generate_keypair": -0.25, "sign": 0.0, "verify": 0.25, "encapsulate": 0.0, "decapsulate": 0.25,
}  # fmt: skip
"""Where an operation sits within the row of its algorithm."""

SIZE_LOOK = {
    "public key": ("#0072B2", "o"),
    "signature": ("#D55E00", "s"),
    "ciphertext": ("#E69F00", "D"),
    "secret key": ("#8a8a8a", "v"),
}
"""Colour and marker of every size."""

_FAMILY_LOOK = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#E69F00", "D"), ("#CC79A7", "v"),
    ("#56B4E9", "P"), ("#222222", "X"), ("#8a8a8a", "*"),
)  # fmt: skip
"""Looks given to the families of a scatter plot, in order of appearance."""

_FILLINGS: tuple[Literal["full", "none", "left", "top"], ...] = ("full", "none", "left", "top")
"""Filling of an algorithm's first, second, ... implementation in the order of the registry."""

_VARIANT_COLOUR = {"ref": "#0072B2", "avx2": "#D55E00"}
"""Colour of the bars of reference code and of AVX2 code."""

_SIDES = {"published": "printed", "here": "here"}
"""Printed bars are hatched, ours are full."""

_WIDTH_INCHES = 170 / 25.4
_ROW_INCHES = 0.25
_LEGEND_INCHES = 0.17


def plot_speed(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw median times per algorithm, with a whisker from the minimum to the 95th percentile.

    Takes a measurement frame. An algorithm of which nothing was measured keeps its row, which
    says so. Raises DataError if columns are missing, UsageError if there are no rows.
    """
    _require(
        measurements,
        "algorithm implementation operation median_seconds min_seconds p95_seconds status",
    )
    return _dots(
        measurements.assign(row=measurements["algorithm"]),
        value="median_seconds",
        whiskers=("min_seconds", "p95_seconds"),
        axis_label="time of one operation (median; whisker: minimum to 95th percentile)",
        axis_format=lambda value: display.seconds(value, 1),
        ax=ax,
    )


def plot_ratio(comparison: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw measured time / published time per algorithm and operation, on a log axis around 1.

    Takes a comparison frame. Raises DataError if columns are missing, UsageError if there are no
    rows.
    """
    _require(
        comparison,
        "algorithm implementation operation published_implementation ratio status",
    )
    printed = comparison["published_implementation"]
    return _dots(
        comparison.assign(
            row=comparison["algorithm"] + printed.where(printed == "", " (" + printed + ")")
        ),
        value="ratio",
        axis_label="measured here / published   (left of the line: faster here)",
        axis_format=lambda value: f"{display.TIMES}{value:g}",
        ax=ax,
        origin=1.0,
    )


def plot_speedup(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many times faster AVX2 is than portable C, per algorithm and operation.

    Takes a measurement frame; uses the rows whose implementation ends in /ref and /avx2, the same
    library in both, and of several the one that the registry names first. Raises DataError if
    columns are missing, UsageError if no pair was measured.
    """
    frame = speedups(measurements)
    rank = _ranked(frame.assign(implementation=frame["library"] + "/avx2"))["rank"]
    frame = frame[rank == rank.groupby([frame["algorithm"], frame["operation"]]).transform("min")]
    if frame.empty:
        raise UsageError(
            "no algorithm here has both a /ref and an /avx2 row with status 'ok'; "
            "measure both implementations"
        )
    return _dots(
        frame.assign(row=frame["algorithm"], implementation="", status="ok"),
        value="speedup",
        axis_label="time of portable C / time with AVX2   (right of the line: AVX2 is faster)",
        axis_format=lambda value: f"{display.TIMES}{value:g}",
        ax=ax,
        origin=1.0,
    )


def plot_sizes(
    algorithms: Iterable[str] | None = None, *, secret_keys: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw the bytes that a transaction carries: public key, and signature or ciphertext.

    Takes names of algorithms, by default all signatures of the default build; sizes come from the
    registry. `secret_keys` draws these too. Raises UnknownAlgorithm, and UsageError if there are
    no names.
    """
    chosen = (
        [row for row in ALGORITHMS.values() if row.default_build and row.kind == "signature"]
        if algorithms is None
        else [get(name) for name in algorithms]
    )
    records = [
        {"row": row.name, "algorithm": row.name, "operation": what, "bytes": size}
        for row in chosen
        for what, size in (
            ("public key", row.public_key_bytes),
            ("signature", row.signature_bytes),
            ("ciphertext", row.ciphertext_bytes),
            ("secret key", row.secret_key_bytes * secret_keys),
        )
        if size
    ]
    frame = pd.DataFrame(records, columns=["row", "algorithm", "operation", "bytes"])
    return _dots(
        frame.assign(implementation="", status="ok"),
        value="bytes",
        axis_label="size (log scale)",
        axis_format=_bytes_label,
        ax=ax,
        look=SIZE_LOOK,
        joined=True,
    )


def plot_operation(table: pd.DataFrame, operation: str, *, ax: Axes | None = None) -> Axes:
    """Draw one operation of every algorithm as bars: reference and AVX2, printed and ours.

    Takes a frame of `pqchain.round3.table1`. The axis is logarithmic and starts at a decade, so
    compare where bars end, not how long they are. A bar that is missing says why. Raises DataError
    if columns are missing, UsageError if the table has no such operation.
    """
    _require(table, "algorithm variant quantity published here status")
    rows = table[table["quantity"] == f"{operation}_seconds"]
    if rows.empty:
        known = table["quantity"][table["quantity"].str.endswith("_seconds")]
        expected = ", ".join(dict.fromkeys(known.str.removesuffix("_seconds")))
        raise UsageError(f"the table has no operation {operation!r}; expected one of {expected}")
    names = list(dict.fromkeys(rows["algorithm"]))
    values = rows[["published", "here"]].to_numpy()
    start = 10 ** np.floor(np.log10(np.nanmin(values[values > 0])) - 0.01)
    with _canvas(ax, 0.8 + 0.62 * len(names)) as axes:
        axes.set_xscale("log")
        for index, (variant, side) in enumerate(product(("ref", "avx2"), ("published", "here"))):
            label = f"{'reference' if variant == 'ref' else 'AVX2'}, {_SIDES[side]}"
            colour = _VARIANT_COLOUR[variant]
            for cell in rows[rows["variant"] == variant].to_dict("records"):
                level = names.index(cell["algorithm"]) + (index - 1.5) * 0.2
                if not np.isfinite(cell[side]):
                    axes.text(start * 1.1, level, cell["status"], va="center", color=MUTED, size=7)
                    continue
                hatch = "" if side == "here" else "//////"
                axes.barh(
                    level, cell[side] - start, left=start, height=0.18, label=label,
                    color=colour if side == "here" else PAPER, edgecolor=colour, hatch=hatch,
                    linewidth=0.8,
                )  # fmt: skip
                axes.annotate(
                    display.seconds(cell[side], 2), (cell[side], level), xytext=(3, 0),
                    textcoords="offset points", va="center", size=7, color=INK,
                )  # fmt: skip
        axes.set_xlim(start, np.nanmax(values) * 3)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        _log_ticks(axes, "x", lambda value: display.seconds(value, 1))
        axes.grid(visible=True, which="major", axis="x", color=GRID)
        axes.set_xlabel(f"{_spoken(operation)}: median here, as printed there (log scale)")
        found = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        axes.legend(
            list(found.values()), list(found), loc="lower left", bbox_to_anchor=(0, 1), ncols=4
        )
    return axes


def plot_tradeoff(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw bytes on the chain (public key and signature) against the time of one verification.

    Takes a measurement frame; of each signature scheme the fastest implementation counts. Sizes
    come from the registry. Raises DataError if columns are missing, UsageError if no
    verification was measured.
    """
    _require(measurements, "algorithm implementation operation median_seconds status")
    fine = measurements[(measurements["operation"] == "verify") & (measurements["status"] == "ok")]
    fastest = fine.groupby("algorithm")["median_seconds"].min()
    chosen = [row for row in ALGORITHMS.values() if row.name in fastest.index]
    if not chosen:
        raise UsageError("no verification with status 'ok' in this frame; measure signatures")
    looks = _family_looks(row.family for row in chosen)
    bytes_on_chain = [row.public_key_bytes + row.signature_bytes for row in chosen]
    times = [float(fastest[row.name]) for row in chosen]
    with _canvas(ax, 4.2) as axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        for row, size, time in zip(chosen, bytes_on_chain, times, strict=True):
            colour, marker = looks[row.family]
            hollow = not row.family_facts.post_quantum
            axes.plot(
                [size], [time], linestyle="none", marker=marker, color=colour, markersize=6,
                fillstyle="none" if hollow else "full", label=row.name,
                markeredgecolor=colour if hollow else PAPER, markeredgewidth=1.0 if hollow else 0.5,
            )  # fmt: skip
        axes.margins(0.14)
        _log_ticks(axes, "x", _bytes_label)
        _log_ticks(axes, "y", lambda value: display.seconds(value, 1))
        axes.grid(visible=True, which="major", color=GRID)
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
    _require(
        blocks,
        "algorithm implementation threads transactions block_bytes transaction_bytes "
        "verify_median_seconds apply_median_seconds status",
    )
    bytes_in_all = blocks["block_bytes"].astype("float64")
    values, label, show = {
        "bytes": (
            blocks["transaction_bytes"],
            "bytes of block per transaction (log scale)",
            _bytes_label,
        ),
        "verify": (
            blocks["verify_median_seconds"] / blocks["transactions"].astype("float64"),
            "checking one signature of a block (median)",
            lambda value: display.seconds(value, 1),
        ),
        "rate": (
            bytes_in_all / blocks["apply_median_seconds"],
            "block validated in a second, all of it (median)",
            lambda value: f"{_bytes_label(value)}/s",
        ),
    }[quantity]
    threads = blocks["threads"].astype("int64")
    named = threads.map(lambda n: f"{n} thread{'s'[: n > 1]}")
    frame = blocks.assign(row=blocks["algorithm"], value=values, operation=named, implementation="")
    if quantity == "bytes":
        frame = frame.drop_duplicates("algorithm")
    ordered = dict.fromkeys(named[threads.sort_values().index])
    return _dots(
        frame,
        value="value",
        axis_label=label,
        axis_format=show,
        ax=ax,
        look=dict(zip(ordered, _FAMILY_LOOK * (1 + len(ordered) // 8), strict=False)),
        joined=True,
    )


def speedups(measurements: pd.DataFrame) -> pd.DataFrame:
    """Pair /ref with /avx2 rows of one library.

    Columns: algorithm, operation, library, ref_seconds, avx2_seconds, speedup (ref / avx2).
    Only pairs of which both have status "ok". Raises DataError if columns are missing.
    """
    _require(measurements, "algorithm implementation operation median_seconds status")
    fine = measurements[measurements["status"] == "ok"]
    split = fine["implementation"].str.extract("^(?P<library>.*)/(?P<variant>.*)$")
    fine = fine.assign(library=split["library"], variant=split["variant"])
    keys = ["algorithm", "operation", "library"]
    ref = fine[fine["variant"] == "ref"].set_index(keys)["median_seconds"].rename("ref_seconds")
    avx2 = fine[fine["variant"] == "avx2"].set_index(keys)["median_seconds"].rename("avx2_seconds")
    paired = pd.concat([ref, avx2], axis=1, join="inner").reset_index()
    return paired.assign(speedup=paired["ref_seconds"] / paired["avx2_seconds"])


def figure_bytes(figure: Figure | Axes, file_format: Literal["svg", "png", "pdf"]) -> bytes:
    """Render to bytes that depend on the picture only: no date, no random identifiers."""
    owner = figure if isinstance(figure, Figure) else figure.get_figure(root=True)
    if not isinstance(owner, Figure):
        raise UsageError("these axes belong to no figure; create them with Figure().subplots()")
    buffer = io.BytesIO()
    undated: dict[str, Any] = {
        "svg": {"Date": None, "Creator": None},
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }[file_format]
    with mpl.rc_context({"svg.hashsalt": "pqchain", "svg.fonttype": "path"}):
        owner.savefig(buffer, format=file_format, metadata=undated, dpi=220)
    return buffer.getvalue()


@contextmanager
def _canvas(ax: Axes | None, height_inches: float) -> Iterator[Axes]:
    """Give the caller's axes as they are, or new ones in our style for as long as we draw."""
    if ax is not None:
        yield ax
        return
    with as_file(files("pqchain") / "pqchain.mplstyle") as path:
        style = mpl.rc_params_from_file(path, use_default_template=False)
    with mpl.rc_context(style):
        figure = Figure(figsize=(_WIDTH_INCHES, height_inches), layout="constrained")
        axes = figure.subplots()
        # Ticks are made when the figure is drawn, which is after this style has ended.
        axes.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=8)
        yield axes


def _dots(
    frame: pd.DataFrame,
    *,
    value: str,
    axis_label: str,
    axis_format: Any,
    ax: Axes | None,
    whiskers: tuple[str, str] | None = None,
    origin: float | None = None,
    look: dict[str, tuple[str, str]] | None = None,
    joined: bool = False,
) -> Axes:
    """Draw one line of dots per `row`: marker and colour by operation, filling by implementation.

    `origin` draws a reference line and a stem from it; `joined` ties the dots of a row together.
    """
    if frame.empty:
        raise UsageError("nothing to plot: the frame has no rows")
    look = look or OPERATION_LOOK
    heights = _heights(frame[["row", "algorithm"]].drop_duplicates("row"))
    operations = [name for name in look if name in set(frame["operation"])]
    shift = {name: 0.0 if joined else _SHIFT.get(name, 0.0) for name in operations}
    drawn = frame[(frame["status"] == "ok") & np.isfinite(frame[value])]
    drawn = drawn[drawn[value] > 0]
    inches = 1.0 + _ROW_INCHES * (max(heights.values()) + 1)
    with _canvas(ax, inches) as axes:
        axes.set_xscale("log")
        if origin is not None:
            axes.axvline(origin, color=INK, linewidth=0.8, zorder=1)
            values = [*drawn[value], origin]
            axes.set_xlim(min(*values, origin / 1.8) / 1.15, max(*values, origin * 1.8) * 1.15)
        if joined:
            for name, group in drawn.groupby("row"):
                ends = group[value].min(), group[value].max()
                axes.hlines(heights[str(name)], *ends, color=MUTED, linewidth=1.2, zorder=1)
        for key, group in _ranked(drawn).groupby(["operation", "rank"], sort=True):
            operation, rank = str(key[0]), int(group["rank"].iloc[0])
            colour, marker = look[operation]
            levels = group["row"].map(heights) + shift[operation]
            if whiskers is not None:
                axes.hlines(
                    levels, group[whiskers[0]], group[whiskers[1]], color=colour, linewidth=1.0,
                    alpha=0.55, zorder=2,
                )  # fmt: skip
            if origin is not None:
                axes.hlines(
                    levels, origin, group[value], color=colour, linewidth=0.8, alpha=0.55, zorder=2
                )
            axes.plot(
                group[value], levels, linestyle="none", marker=marker, color=colour, zorder=3,
                fillstyle=_FILLINGS[rank % 4], markerfacecoloralt="none", markersize=4.6,
                label=_spoken(operation),
            )  # fmt: skip
        _label_rows(axes, heights, frame, drawn)
        _log_ticks(axes, "x", axis_format)
        axes.grid(visible=True, which="major", axis="x", color=GRID)
        axes.set_xlabel(axis_label)
        _legend(axes, operations, look, _ranked(frame))
    return axes


def _ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the place of each implementation among those that its algorithm has."""
    others = list(dict.fromkeys(frame["implementation"]))

    def rank(algorithm: str, implementation: str) -> int:
        known = ALGORITHMS[algorithm].implementations if algorithm in ALGORITHMS else ()
        return (known if implementation in known else others).index(implementation)

    pairs = zip(frame["algorithm"], frame["implementation"], strict=True)
    return frame.assign(rank=[rank(*pair) for pair in pairs])


def _heights(rows: pd.DataFrame) -> dict[str, float]:
    """Place rows from the top in the registry's order, with more air between families."""
    order = {name: index for index, name in enumerate(ALGORITHMS)}
    ranked = sorted(
        zip(rows["row"], rows["algorithm"], strict=True),
        key=lambda pair: order.get(pair[1], len(order)),
    )
    heights: dict[str, float] = {}
    height, previous = 0.0, None
    for row, algorithm in ranked:
        facts = ALGORITHMS[algorithm].family_facts if algorithm in ALGORITHMS else None
        family = "" if facts is None else facts.name if facts.post_quantum else "classical"
        if previous is not None:
            height += 1.0 if family == previous else 1.45
        heights[row], previous = height, family
    return heights


def _label_rows(
    axes: Axes, heights: dict[str, float], frame: pd.DataFrame, drawn: pd.DataFrame
) -> None:
    """Name the rows, first on top; a row without a dot says that it was not measured."""
    axes.set_yticks(list(heights.values()), list(heights))
    axes.set_ylim(max(heights.values()) + 0.7, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    present = set(drawn["row"])
    for row in dict.fromkeys(frame["row"]):
        if row not in present:
            axes.text(
                0.01, heights[row], "not measured here", transform=axes.get_yaxis_transform(),
                va="center", color=MUTED, style="italic", fontsize=7.5,
            )  # fmt: skip


def _legend(
    axes: Axes, operations: Sequence[str], look: dict[str, tuple[str, str]], frame: pd.DataFrame
) -> None:
    """Explain markers, and fillings where more than one is in use, above the plot."""
    handles = [
        Line2D(
            [], [], linestyle="none", color=look[name][0], marker=look[name][1],
            label=_spoken(name),
        )
        for name in operations
    ]  # fmt: skip
    named = frame[frame["implementation"] != ""]
    ranks = sorted(set(named["rank"]))
    fillings = [
        Line2D(
            [], [], linestyle="none", color=MUTED, marker="o", markerfacecoloralt="none",
            fillstyle=_FILLINGS[rank % 4],
            label=", ".join(dict.fromkeys(named.loc[named["rank"] == rank, "implementation"])),
        )
        for rank in ranks
    ]  # fmt: skip
    figure = axes.get_figure(root=True)
    above = axes.transAxes
    for lines in (fillings if len(fillings) > 1 else []), (handles if len(handles) > 1 else []):
        for row in [lines] if lines is handles else [[line] for line in reversed(lines)]:
            if not row or not isinstance(figure, Figure):
                continue
            legend = Legend(
                axes, row, [str(line.get_label()) for line in row], loc="lower left",
                bbox_to_anchor=(0.0, 1.0), bbox_transform=above, ncols=len(row), borderpad=0.1,
                borderaxespad=0.2, handletextpad=0.3, columnspacing=1.4, frameon=False,
            )  # fmt: skip
            axes.add_artist(legend)
            # Clipped to the axes it would be left out of the layout, being above them.
            legend.set_clip_on(False)
            above = above + ScaledTranslation(0, _LEGEND_INCHES, figure.dpi_scale_trans)


def _spoken(operation: str) -> str:
    """Write an operation as people say it."""
    return operation.replace("_", " ").replace("keypair", "key pair")


def _log_ticks(axes: Axes, which: Literal["x", "y"], label: Any) -> None:
    """Put readable ticks on a log axis: every decade, and 2 and 5 where there are few decades."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    narrow = low > 0 and high / low < 500
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=12))
    axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis=which, which="minor", length=0)


def _bytes_label(value: float) -> str:
    """Show a tick in B, kB or MB."""
    for scale, unit in ((1e6, "MB"), (1e3, "kB")):
        if value >= scale:
            return f"{value / scale:g}{display.NARROW_SPACE}{unit}"
    return f"{value:g}{display.NARROW_SPACE}B"


def _family_looks(families: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give every family a colour and a marker, in the registry's order."""
    present = set(families)
    ordered = [name for name in FAMILIES if name in present]
    return {name: _FAMILY_LOOK[index % 8] for index, name in enumerate(ordered)}


def _place_labels(
    axes: Axes, x: Sequence[float], y: Sequence[float], labels: Sequence[str]
) -> None:
    """Write a label beside every point, on the side where it covers least of the others.

    Works on estimated extents, in points, because the final layout is known only when drawn.
    """
    height_points, character_points, size = 9.0, 4.1, 7.5
    figure = axes.get_figure(root=True)
    extent = figure.get_size_inches() * 72 * 0.85 if isinstance(figure, Figure) else (410, 260)
    scaled = []
    for values, limits, points in (
        (x, axes.get_xlim(), extent[0]),
        (y, axes.get_ylim(), extent[1]),
    ):
        low, high = np.log10(limits)
        scaled.append((np.log10(values) - low) / (high - low) * points)
    taken = [(px - 4, py - 4, px + 4, py + 4) for px, py in zip(*scaled, strict=True)]
    sides = [
        (7, 0),
        (-7, 0),
        (0, 9),
        (0, -9),
        (7, 8),
        (-7, 8),
        (7, -8),
        (-7, -8),
        (7, 15),
        (7, -15),
    ]
    for index, text in enumerate(labels):
        width = character_points * len(text)
        options = []
        for dx, dy in sides:
            left = scaled[0][index] + dx - (0 if dx > 0 else width if dx < 0 else width / 2)
            bottom = scaled[1][index] + dy - height_points / 2
            box = (left, bottom, left + width, bottom + height_points)
            cost = sum(_overlap(box, other) for at, other in enumerate(taken) if at != index)
            outside = max(0.0, -left) + max(0.0, box[2] - extent[0])
            options.append((cost + 20 * outside, dx, dy, box))
        cost, dx, dy, box = min(options, key=lambda option: option[0])
        taken.append(box)
        axes.annotate(
            text, (x[index], y[index]), xytext=(dx, dy), textcoords="offset points",
            ha="left" if dx > 0 else "right" if dx < 0 else "center", va="center",
            fontsize=size, color=INK,
        )  # fmt: skip


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> float:
    """Area that two boxes (left, bottom, right, top) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _require(frame: pd.DataFrame, columns: str) -> None:
    """Refuse a frame that lacks columns, naming them."""
    missing = [name for name in columns.split() if name not in frame.columns]
    if missing:
        raise DataError(
            f"this plot needs the columns {missing}, but the frame has {list(frame.columns)}"
        )
