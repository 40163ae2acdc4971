"""Colours and marks of schemes, and parts that plots share: ticks, labels, wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
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
from matplotlib.transforms import ScaledTranslation

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.algorithms import FAMILIES as FAMILY_FACTS
from pqchain.figures import SECONDS
from pqchain.plots import canvas

_FAMILIES_BY_COLOUR = {
    "blue": {"ML-DSA": "o", "Dilithium": "s"},
    "vermilion": {"Falcon": "^", "Falcon-recovery": "v"},
    "amber": {"Hawk": "D", "NTRU": ">", "NTRU-Prime": "<"},
    "green": {"SLH-DSA": "P", "SLH-DSA-2^24": "H", "SPHINCS+": "X"}
    | {"XMSS": "p", "LMS": "h", "leanXMSS": "*", "SHRINCS": "d"},
    "purple": {"MAYO": "v", "UOV": "<", "Rainbow": ">"},
    "brown": {"CROSS": "d", "Classic-McEliece": "P", "BIKE": "X"},
    "grey": {"secp256k1": "o", "P-256": "s", "Ed25519": "D", "BLS12-381": "p"},
    "sky": {"ML-KEM": "o", "Kyber": "s", "Saber": "^", "FrodoKEM": "D"},
}

FAMILIES: Mapping[str, tuple[str, str]] = {
    family: (colour, marker)
    for colour, markers in _FAMILIES_BY_COLOUR.items()
    for family, marker in markers.items()
}
"""Colour and mark of each family of schemes, in every figure. Families of one colour rest on
related problems; grey ones are broken by Shor's algorithm."""

OPERATION_MARKS = {
    "generate_keypair": "d",
    "sign": ">",
    "encapsulate": ">",
    "verify": "o",
    "decapsulate": "o",
    "decode_key": "x",
}
"""Marks of operations where rows name the schemes; the colour is that of the family."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Colour and mark of a scheme."""

    colour: str
    marker: str
    post_quantum: bool

    def style(self, size: float = 6.5, *, is_published: bool = False) -> dict[str, Any]:
        """Return the properties of the scheme's points; published values are hollow."""
        filling = props(
            markerfacecolor=self.colour, markeredgecolor=canvas.PAPER, markeredgewidth=0.6
        )
        if is_published:
            filling = props(
                markerfacecolor=canvas.PAPER, markeredgecolor=self.colour, markeredgewidth=1.2
            )
        return props(color=self.colour, marker=self.marker, markersize=size) | filling


def mark_of(algorithm: str) -> Mark:
    """Return the colour and mark of a scheme; a user's scheme is an ink star."""
    known = ALGORITHMS.get(algorithm)
    return family_mark(known.family if known else "")


def family_mark(family: str) -> Mark:
    """Return the colour and mark of a family; those without an entry have an ink star."""
    name, marker = FAMILIES.get(family, ("ink", "*"))
    facts = FAMILY_FACTS.get(family)
    return Mark(canvas.colour(name), marker, facts is None or facts.post_quantum)


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
HOLLOW = "hollow mark: published"
"""Explanations of whiskers and marks, in the same words in every figure."""

TIE = 1.02
"""Ratios below this are no difference, in every figure, as in `bench.comparing`."""

TIE_PERCENT = f"{100 * (TIE - 1):.0f}{figures.NARROW_SPACE}%"


def change(percent: float, decimals: int = 1) -> str:
    """Format a change in percent, with a minus sign instead of a hyphen."""
    return figures.percent(percent, decimals).replace("-", "\N{MINUS SIGN}")


def extremes(what: str, values: pd.Series[Any], show: Callable[[float], str]) -> str:
    """Return a title that names the least and the greatest of values, whose index has names."""
    known = values.dropna().sort_values(kind="stable")
    if known.empty:
        return what
    (least, low), (most, high) = ((known.index[at], show(known.iloc[at])) for at in (0, -1))
    if len(known) == 1:
        return f"{what}: {low} with {least}"
    return f"{what}: from {low} with {least} to {high} with {most}"


def quantity(column: str) -> str:
    """Return the words for a column: "time to verify", "size of a block"."""
    title = figures.title(column)
    if column.endswith("_seconds") and column.removesuffix("_seconds") in OPERATION_MARKS:
        return f"time to {title}"
    return f"size of a {title}" if column.endswith("_bytes") else title


def log_ticks(axes: Axes, which: Literal["x", "y"], label: Callable[[float], str]) -> None:
    """Put ticks at the decades of a log axis, and also between them if it has few decades."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    ratio = high / low if low > 0 else np.inf
    is_tight = canvas.narrow() and which == "x"
    most = 4 if is_tight else 12
    locator: Locator = LogLocator(subs=(1.0,), numticks=most)
    minor: Locator = LogLocator(subs=range(1, 10), numticks=12)
    if label is brief and high > 100 and ratio >= 4:
        # Minutes and hours are not decimal, so that round numbers of seconds would mislead.
        at = [time for time in _LONG_TIMES if low <= time <= high]
        locator, minor, label = FixedLocator(at[:: 1 + len(at) // most]), NullLocator(), _clock
    elif ratio < 4:
        locator = MaxNLocator(min(most, 5), steps=[1, 2, 2.5, 5, 10])
    elif ratio < (15 if is_tight else 100 if which == "x" else 500):
        locator = LogLocator(subs=(1.0, 2.0, 5.0), numticks=12)
    if label is brief and ratio < 15:
        label = partial(SECONDS.text, digits=2)
    axis.set_major_locator(locator)
    axis.set_minor_locator(minor)
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis=which, which="minor", length=2)


_CLOCK = ((86_400, "d"), (3600, "h"), (60, "min"))

_LONG_TIMES = (
    *(factor * 10.0**power for power in range(-9, 1) for factor in (1, 2, 5)),
    *(10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 6 * 3600, 12 * 3600),
    *(86_400 * days for days in (2, 10, 30, 100)),
)
"""Ticks of an axis that reaches minutes or more, in seconds."""


def _clock(seconds: float) -> str:
    """Format a tick of _LONG_TIMES in the largest unit that makes it a whole number."""
    for size, unit in _CLOCK:
        if seconds >= size:
            return f"{seconds / size:g}{figures.NARROW_SPACE}{unit}"
    return brief(seconds)


def grid(axes: Axes, axis: Literal["x", "y", "both"] = "both") -> None:
    """Draw grid lines."""
    axes.grid(visible=True, which="major", axis=axis, color=canvas.GRID)


def name_levels(axes: Axes, names: Sequence[str], levels: Sequence[float] = ()) -> None:
    """Name the rows of a plot left of them; `levels` are by default 0, 1, 2, ... from the top."""
    levels = levels or range(len(names))
    shown = [canvas.fill(name, 1.5) if canvas.narrow() else name for name in names]
    axes.set_yticks(levels, shown)
    axes.set_ylim(max(levels) + 0.7, min(levels) - 0.7)
    axes.tick_params(axis="y", length=0)


_BACKGROUND = {"facecolor": canvas.PAPER, "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
"""Box behind a text, which lets lines shine through little."""


def annotate(
    axes: Axes,
    text: str,
    point: tuple[float, float],
    offset: tuple[float, float] = (6, 0),
    *,
    colour: str = canvas.INK,
) -> None:
    """Write a text next to a point, at an offset in points."""
    side = "left" if offset[0] > 0 else "right" if offset[0] < 0 else "center"
    look = props(textcoords="offset points", size=canvas.points(), color=colour)
    look |= props(va="center", annotation_clip=False)
    # Lines that cross a label are interrupted there; marks are drawn above it.
    look |= props(bbox=dict(_BACKGROUND), zorder=2.5)
    axes.annotate(text, point, xytext=offset, ha=side, **look)


def label_ends(axes: Axes, ends: Sequence[tuple[str, tuple[float, float]]]) -> None:
    """Write names to the right of the ends of lines, moved apart, with thin grey leaders.

    `ends` are (name, point). All limits of the axes, title and legend must be set before.
    """
    figure, size = canvas.figure_of(axes), canvas.points()
    if canvas.narrow():
        ends = [(canvas.fill(name, 0.27 * canvas.figure_inches()), at) for name, at in ends]
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    places = [axes.transData.transform(point) for _, point in ends]
    is_outside = [place[0] > box.x1 - 0.2 * box.width for place in places]
    for (name, point), is_far in zip(ends, is_outside, strict=True):
        if not is_far:
            # At the end of the line, because a stroke across the plot would look like data.
            annotate(axes, name, point, (8, 0))
    outside = [end for end, is_far in zip(ends, is_outside, strict=True) if is_far]
    line = 1.25 * size * figure.dpi / 72 * (1 + max(name.count("\n") for name, _ in ends))
    heights = [place[1] - box.y0 for place, far in zip(places, is_outside, strict=True) if far]
    # From the edge of the axes, which the layout moves to make room for the names.
    edge = axes.transAxes + ScaledTranslation(9 / 72, 0, figure.dpi_scale_trans)
    # Unlike a line of data, and from the middle of the name's left side.
    stroke = props(color=canvas.MUTED, linewidth=0.5, arrowstyle="-", relpos=(0, 0.5))
    look = props(textcoords=edge, size=size, color=canvas.INK, va="center", ha="left")
    look |= props(annotation_clip=False, arrowprops=stroke | props(shrinkA=0, shrinkB=4))
    for (name, point), height in zip(outside, apart(heights, line, box.height), strict=True):
        axes.annotate(name, point, xytext=(1.0, height / box.height), **look)


def apart(places: Sequence[float], least: float, high: float) -> list[float]:
    """Return places near the given ones, `least` apart, and between 0 and `high` if they fit."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [float(place) for place in places]
    for _ in range(200):
        for before, after in pairwise(order):
            if (missing := least - (moved[after] - moved[before])) > 0:
                moved[before] -= missing / 2
                moved[after] += missing / 2
        if len(places) * least <= high:
            moved = [min(max(place, 0.0), high) for place in moved]
    return moved


def props(**named: Any) -> dict[str, Any]:
    """Return keyword arguments as a dictionary."""
    return named
