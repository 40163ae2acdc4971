"""Colours and marks of schemes, and parts that plots share: ticks, labels, legends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.offsetbox import AnchoredOffsetbox, DrawingArea
from matplotlib.text import Annotation
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.algorithms import FAMILIES as FAMILY_FACTS
from pqchain.figures import SECONDS
from pqchain.plots import paper
from pqchain.plots.canvas import GRID, INK, MUTED, PAPER, Drawing, figure_of
from pqchain.render import palette

FAMILIES: dict[str, tuple[str, str]] = {
    "ML-DSA": ("blue", "o"), "Dilithium": ("blue", "s"),
    "Falcon": ("vermilion", "^"), "Falcon-recovery": ("vermilion", "v"),
    "Hawk": ("amber", "D"),
    "SLH-DSA": ("green", "P"), "SLH-DSA-2^24": ("green", "H"), "SPHINCS+": ("green", "X"),
    "XMSS": ("green", "p"), "LMS": ("green", "h"), "leanXMSS": ("green", "*"),
    "SHRINCS": ("green", "d"),
    "MAYO": ("purple", "v"), "UOV": ("purple", "<"), "Rainbow": ("purple", ">"),
    "CROSS": ("brown", "d"),
    "secp256k1": ("grey", "o"), "P-256": ("grey", "s"), "Ed25519": ("grey", "D"),
    "BLS12-381": ("grey", "p"),
    "ML-KEM": ("sky", "o"), "Kyber": ("sky", "s"), "Saber": ("sky", "^"), "FrodoKEM": ("sky", "D"),
    "NTRU": ("amber", ">"), "NTRU-Prime": ("amber", "<"),
    "Classic-McEliece": ("brown", "P"), "BIKE": ("brown", "X"),
}  # fmt: skip
"""Colour and mark of each family of schemes, in every figure. Families of one colour rest on
related problems; grey ones are broken by Shor's algorithm."""

OPERATION_MARKS = {
    "generate_keypair": "d", "sign": ">", "encapsulate": ">", "verify": "o", "decapsulate": "o",
    "decode_key": "x",
}  # fmt: skip
"""Marks of operations where rows name the schemes; the colour is that of the family."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Colour and mark of a scheme."""

    colour: str
    marker: str
    post_quantum: bool

    def style(self, size: float = 6.5, *, is_published: bool = False) -> dict[str, Any]:
        """Return the properties of the scheme's points; published values are hollow."""
        filling = props(markerfacecolor=self.colour, markeredgecolor=PAPER, markeredgewidth=0.6)
        if is_published:
            filling = props(markerfacecolor=PAPER, markeredgecolor=self.colour, markeredgewidth=1.2)
        return props(color=self.colour, marker=self.marker, markersize=size) | filling


def mark_of(algorithm: str) -> Mark:
    """Return the colour and mark of a scheme; a user's scheme is an ink star."""
    known = ALGORITHMS.get(algorithm)
    return family_mark(known.family if known else "")


def family_mark(family: str) -> Mark:
    """Return the colour and mark of a family; those without an entry have an ink star."""
    name, marker = FAMILIES.get(family, ("ink", "*"))
    facts = FAMILY_FACTS.get(family)
    return Mark(palette.light(name), marker, facts is None or facts.post_quantum)


DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
"""Lines of the sets of one family, in order of appearance."""


HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo", "**")
"""Hatching in addition to colour, so that fields of one colour differ."""


def dashes(algorithms: Iterable[str]) -> dict[str, Any]:
    """Return the dashes of the line of each scheme: sets of one family differ."""
    chosen: dict[str, Any] = {}
    for name in algorithms:
        mark = mark_of(name)
        before = sum(mark_of(other).colour == mark.colour for other in chosen)
        chosen[name] = DASHES[before % len(DASHES)]
    return chosen


with_prefix = partial(EngFormatter, sep=figures.NARROW_SPACE)
"""Tick labels with SI prefixes: `with_prefix("B")` writes 10 kB."""

brief = partial(SECONDS.text, digits=1)
"""Tick labels of times with SI prefixes."""

SAMPLES = "whisker: fastest sample to 95th percentile"
INTERVAL = f"whisker: 95{figures.NARROW_SPACE}% interval"
DEVIATION = "whisker: median absolute deviation"
RUNS = "whisker: shortest to longest run"
"""Explanations of whiskers, in the same words in every figure."""

HOLLOW = "hollow mark: published"
"""The meaning of hollow marks, in every figure."""


def chain_of(frame: pd.DataFrame) -> str:
    """Return the chain of the column `study`, the title of a plan; "" without this column."""
    return str(frame["study"].iloc[0]).partition(":")[0] if "study" in frame else ""


def change(percent: float, decimals: int = 1) -> str:
    """Format a change in percent, with a minus sign instead of a hyphen."""
    return figures.percent(percent, decimals).replace("-", "\N{MINUS SIGN}")


def as_printed(more: float, less: float, digits: int = 2) -> str:
    """Format in words the ratio of two numbers as a figure prints them, rounded to digits."""
    one, other = (float(f"{value:.{digits - 1}e}") for value in (more, less))
    return times(one / other, digits)


def times(ratio: float, digits: int = 2) -> str:
    """Format a ratio in words: 3.3 times."""
    if ratio >= 1000:
        rounded = float(f"{ratio:.{digits - 1}e}")
        return f"{figures.integer(rounded)} times"
    return f"{figures.significant(ratio, digits)} times"


_LONG_TIMES = (
    *(factor * 10.0**power for power in range(-9, 1) for factor in (1, 2, 5)), 10, 30,
    *(60 * minutes for minutes in (1, 2, 5, 10, 30)), *(3600 * hours for hours in (1, 2, 6, 12)),
    *(86_400 * days for days in (2, 10, 30, 100)),
)  # fmt: skip


def log_ticks(axes: Axes, which: Literal["x", "y"], label: Callable[[float], str]) -> None:
    """Put ticks at the decades of a log axis, and also between them if it has few decades."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    ratio = high / low if low > 0 else np.inf
    locator: Locator = LogLocator(subs=(1.0,), numticks=12)
    if ratio < 4:
        locator = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
    elif ratio < 15:
        locator = LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0), numticks=12)
    elif ratio < 500:
        locator = LogLocator(subs=(1.0, 2.0, 5.0), numticks=12)
    if label is brief and high > 100 and ratio >= 4:
        # Minutes and hours are not decimal.
        at = [time for time in _LONG_TIMES if low <= time <= high]
        locator, label = FixedLocator(at[:: 1 + len(at) // 9]), _clock
    elif label is brief and ratio < 15:
        label = partial(SECONDS.text, digits=2)
    # The axis starts at a label, so that small values can be read.
    least = float(axes.dataLim.minposx if which == "x" else axes.dataLim.minposy)
    steps: tuple[float, ...] = (1, 2, 5) if ratio < 500 else (1,)
    below = [time for time in _LONG_TIMES if time <= least]
    if label is not _clock and np.isfinite(least):
        below = [step * 10 ** np.floor(np.log10(least)) for step in steps]
    start = max((value for value in below if value <= least * 1.0001), default=low)
    # Not across most of an empty decade.
    is_near = which == "x" and least < 3 * start
    if start < low and ratio >= 4 and (is_near or len(steps) > 1 or label is _clock):
        (axes.set_xlim if which == "x" else axes.set_ylim)(start * 0.999, high)
        if label is _clock:
            locator = FixedLocator([start, *locator.tick_values(low, high)])
    axis.set_major_locator(locator)
    # Round numbers of seconds between minutes and hours would mislead.
    minor = NullLocator() if label is _clock else LogLocator(subs=range(1, 10), numticks=12)
    axis.set_minor_locator(minor)
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis=which, which="minor", length=2)


def _clock(seconds: float) -> str:
    """Format a tick of _LONG_TIMES in the largest unit that makes it a whole number."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:g}{figures.NARROW_SPACE}{unit}"
    return brief(seconds)


def grid(axes: Axes, axis: Literal["x", "y", "both"] = "both") -> None:
    """Draw grid lines."""
    axes.grid(visible=True, which="major", axis=axis, color=GRID)


_BACKGROUND = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
"""Box behind a text, which lets lines shine through little."""


def name_levels(
    axes: Axes,
    names: Sequence[str],
    levels: Sequence[float] = (),
    *,
    top: float = 0.3,
    is_above: bool | None = None,
) -> None:
    """Name the rows of a plot, left of them or, by default in narrow figures, above them.

    `levels` are their positions, by default 0, 1, 2, ... from the top; bars and marks of a row
    reach `top` above it.
    """
    levels = levels or range(len(names))
    first, last = min(levels), max(levels)
    axes.tick_params(axis="y", length=0)
    if not (paper.narrow() if is_above is None else is_above):
        axes.set_yticks(levels, names)
        axes.set_ylim(last + 0.7, first - 0.7)
        return
    # Nearer to its own row than to the one before.
    rise = top + 0.42 * (1 - 2 * top)
    axes.set_yticks(
        [level - rise for level in levels], [name.replace("\n", ", ") for name in names]
    )
    axes.set_ylim(last + 0.65, first - rise - 0.4)
    axes.tick_params(axis="y", pad=-3)
    for label in axes.get_yticklabels():
        # Names within the plot, of which none narrows it.
        label.set(
            ha="left",
            in_layout=False,
            bbox=_BACKGROUND,
        )
    if isinstance(figure := figure_of(axes), Drawing):
        paper.add_lines(figure, (0.85 if top else 1.1) * len(names))


def enclose(axes: Axes, panels_across: int = 1) -> None:
    """Widen the x axis so that the numbers next to its marks end within it."""
    figure, size = figure_of(axes), paper.points()
    width = float(figure.get_size_inches()[0])
    names = [
        label for label in axes.get_yticklabels() if label.get_horizontalalignment() == "right"
    ]
    rows = [row for label in names for row in paper.shortened(label.get_text()).split("\n")]
    left = max((paper.text_inches(row, size) for row in rows), default=0.0)
    is_new = isinstance(figure, Drawing)
    width = (width - left - 0.3) / panels_across if is_new else width * axes.get_position().width
    is_log = axes.get_xscale() == "log"
    low, high = np.log10(axes.get_xlim()) if is_log else axes.get_xlim()
    for text in axes.texts:
        if isinstance(text, Annotation) and text.anncoords == "offset points":
            offset = abs(text.xyann[0]) + 8
            share = (paper.text_inches(text.get_text(), size) + offset / 72) / width
            at = float(np.log10(text.xy[0]) if is_log else text.xy[0])
            if share < 0.7 and text.get_horizontalalignment() == "left":
                high = max(high, low + (at - low) / (1 - share))
            elif share < 0.7 and text.get_horizontalalignment() == "right":
                low = min(low, high - (high - at) / (1 - share))
    axes.set_xlim(*(np.power(10.0, (low, high)) if is_log else (low, high)))


def annotate(
    axes: Axes,
    text: str,
    point: tuple[float, float],
    offset: tuple[float, float] = (3, 0),
    *,
    size: float = 0.0,
    colour: str = INK,
) -> None:
    """Write a text next to a point, at an offset in points."""
    side = "left" if offset[0] > 0 else "right" if offset[0] < 0 else "center"
    look = props(textcoords="offset points", size=size or paper.points(), color=colour)
    look |= props(va="center", annotation_clip=False)
    # Lines that cross a label are interrupted there; marks are drawn above it.
    look |= props(bbox=_BACKGROUND, zorder=2.5)
    axes.annotate(text, point, xytext=offset, ha=side, **look)


def label_ends(
    axes: Axes,
    ends: Sequence[tuple[str, tuple[float, float]]],
    *,
    gap: float = 7.0,
    clear: float = 0.0,
    between: float = 0.1,
) -> None:
    """Write names to the right of the ends of lines, moved apart, with thin grey leaders.

    `ends` are (name, point), `clear` is the distance in points that leaders keep from other ends,
    and `between` the space between names, in lines. All limits of the axes must be set before.
    """
    figure, size = figure_of(axes), paper.points()
    if paper.narrow():
        most = 0.27 * float(figure.get_size_inches()[0])
        ends = [(paper.wrapped(paper.shortened(name), most, size), point) for name, point in ends]
    figure.draw_without_rendering()
    # In points, because labels have the same size on every axis.
    to_points = 72 / figure.dpi
    box = axes.get_window_extent()
    heights = [
        (float(axes.transData.transform(point)[1]) - box.y0) * to_points for _, point in ends
    ]
    whole = box.height * to_points
    rows = 1 + max((name.count("\n") for name, _ in ends), default=0)
    least = (between + 1.2 * rows) * size
    room = [float(box.x1 - axes.transData.transform(point)[0]) for _, point in ends]
    far = {index for index in range(len(ends)) if room[index] > 0.1 * box.width}
    # Names at the ends of lines must not meet any other name.
    is_free = all(
        abs(heights[index] - heights[other]) >= least
        for index in far
        for other in range(len(ends))
        if other != index
    )
    inside = far if is_free else set()
    outside = [index for index in range(len(ends)) if index not in inside]
    for index in inside:
        # At the end of the line, because a stroke across the plot would look like data.
        name, point = ends[index]
        annotate(axes, name, point, (gap + 2, 0))
    # Whole names within the height of the axes, above which a legend may be, if all have room.
    bottom = 0.6 * rows * size
    bottom = bottom if len(outside) * least <= whole - 2 * bottom else 0.0
    places = apart([heights[index] for index in outside], least, bottom, whole - bottom)
    for _ in range(10 if clear else 0):
        for at, index in enumerate(outside):
            for other, to_edge in enumerate(room):
                # The share of the leader that ends at the mark of the other line.
                share = (room[index] - to_edge) / (room[index] + gap / to_points)
                over = heights[index] + share * (places[at] - heights[index]) - heights[other]
                if share > 0.1 and abs(over) < clear:
                    places[at] += float(np.copysign(clear - abs(over), over)) / share
        places = apart(places, least, bottom, whole - bottom)
    # From the edge of the axes, which the layout moves to make room for the names.
    edge = axes.transAxes + ScaledTranslation(gap / 72, 0, figure.dpi_scale_trans)
    for index, place in zip(outside, places, strict=True):
        name, point = ends[index]
        # Unlike a line of data, and from the middle of the name's left side.
        stroke = props(color=MUTED, linewidth=0.5, arrowstyle="-", relpos=(0, 0.5))
        stroke |= props(shrinkA=0, shrinkB=gap / 2)
        look = props(textcoords=edge, size=size, color=INK, va="center", ha="left")
        look |= props(annotation_clip=False, arrowprops=stroke)
        axes.annotate(name, point, xytext=(1.0, place / whole), **look)


def apart(places: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Return places near the given ones that differ by `least` and lie between low and high."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [float(place) for place in places]
    for _ in range(200):
        for before, after in pairwise(order):
            if (missing := least - (moved[after] - moved[before])) > 0:
                moved[before] -= missing / 2
                moved[after] += missing / 2
        room = len(places) * least <= high - low
        if room:
            moved = [min(max(place, low), high) for place in moved]
    return moved


def legend_above(axes: Axes, columns: int, handles: Sequence[Any] | None = None) -> None:
    """Put a legend above the plot and its title, each label once, in as many columns as fit."""
    entries = _entries(axes, handles)
    figure, size = figure_of(axes), paper.points()
    entries = {paper.legend_label(label, size): handle for label, handle in entries.items()}
    width = float(figure.get_size_inches()[0])
    columns = paper.columns_that_fit(list(entries), size, columns, width)
    if isinstance(figure, Drawing):
        paper.add_lines(figure, -(-len(entries) // columns) - 1)
    title = axes.get_title(loc="left")
    rise = (1.6 + 1.2 * title.count("\n")) * size / 72 if title else 0.0
    above = axes.transAxes + ScaledTranslation(0, rise, figure.dpi_scale_trans)
    place = props(loc="lower left", bbox_to_anchor=(0, 1), bbox_transform=above)
    # At the edge of the figure, where a legend of many entries has most room.
    if isinstance(figure, Drawing):
        place |= props(bbox_transform=blended_transform_factory(figure.transFigure, above))
    place |= props(fontsize=size, handletextpad=0.4, columnspacing=1.6, borderaxespad=0.3)
    legend = axes.legend(entries.values(), entries, ncol=columns, **place)
    if isinstance(figure, Drawing):
        # A legend beyond the sides of the axes would narrow them; only the height is kept free.
        legend.set_in_layout(False)
        room = DrawingArea(1, (1.6 * -(-len(entries) // columns) + 0.8) * size)
        corner = props(bbox_to_anchor=(0, 1), bbox_transform=above, pad=0, borderpad=0)
        axes.add_artist(AnchoredOffsetbox("lower left", child=room, frameon=False, **corner))


def _entries(axes: Axes, handles: Sequence[Any] | None) -> dict[str, Any]:
    drawn = axes.get_legend_handles_labels()[0] if handles is None else handles
    return {str(handle.get_label()): handle for handle in drawn}


def props(**named: Any) -> dict[str, Any]:
    """Return keyword arguments as a dictionary."""
    return named
