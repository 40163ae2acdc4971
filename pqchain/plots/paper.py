"""Plot styles for papers and narrow screens: exact width, labels that fit, colours in print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, MaxNLocator

from pqchain.errors import UsageError
from pqchain.render import palette

Width = Literal["single", "double"]

WIDTHS: dict[str, float] = {"single": 3.5, "double": 7.16}
"""Inches of one column of a two-column page of IEEE, and of both."""

_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}

LEAST_INCHES, MOST_INCHES = 2.5, 20.0

EMBEDDED: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""TrueType, which publishers require; the default of matplotlib is Type 3."""

GREYS = palette.in_print()
"""Colours in print, which differ in grey, by the colours of screens."""

SCREEN_POINTS = 9.0
"""Size of text on screens."""

_NARROW_INCHES = 5.0

_SHORTER = 0.85
"""Factor of the height of a narrow figure in print."""

_HIGHEST_INCHES = 5.0
"""Greatest height of a figure in a column of print, which leaves room for a caption and text."""

_LINES_INCHES = 0.25  # additional height for labels that are wrapped

_EDGE = 0.01  # margin of moved labels, as a share of the figure's width


@dataclass(frozen=True, slots=True)
class Style:
    """Style of plots of a given width."""

    width_inches: float
    in_print: bool = True
    """Whether colours are those of print and titles are left to the caption."""

    @property
    def narrow(self) -> bool:
        """Whether labels must be wrapped."""
        return self.width_inches < _NARROW_INCHES

    @property
    def points(self) -> float:
        """Size of text in points."""
        return SCREEN_POINTS if not self.in_print else 7.0 if self.narrow else 8.0

    @property
    def settings(self) -> dict[Any, Any]:
        """Return the settings that override the style sheet."""
        size = self.points
        names = (
            "font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize",
            "legend.fontsize",
        )  # fmt: skip
        return dict.fromkeys(names, size) | EMBEDDED


_STYLE: ContextVar[Style | None] = ContextVar("style", default=None)


@contextmanager
def style(
    name: Literal["paper", "screen"] = "paper", *, width: Width | float | str = "single"
) -> Iterator[None]:
    """Draw plots in this block for a paper: `with pq.plots.style("paper"): ...`.

    `width` is "single" (3.5 inches), "double" (7.16), inches, or a length such as "89mm". Figures
    have that width, text of 7 points in narrow ones, labels and legends inside, no title, and
    colours of different lightness; files saved in the block embed fonts as TrueType (Type 42), as
    `figure_bytes` always does. The style "screen" has that width and is otherwise that of figures
    outside of the block, with text of 9 points. Axes of the caller are not changed. Raises
    UsageError.

    >>> import pqchain as pq
    >>> with pq.plots.style("paper", width="single"):
    ...     axes = pq.plots.plot_sizes(["Falcon-512", "ML-DSA-44"])
    >>> axes.figure.get_size_inches()[0].item()
    3.5
    """
    if name not in ("paper", "screen"):
        raise UsageError(f"name must be 'paper' or 'screen'; got {name!r}")
    token = _STYLE.set(Style(inches(width), name == "paper"))
    try:
        with mpl.rc_context(EMBEDDED):
            yield
    finally:
        _STYLE.reset(token)


def inches(width: float | str) -> float:
    """Convert a width to inches. Raises UsageError."""
    text = str(width).strip().casefold()
    match = re.fullmatch(r"([0-9.]+)\s*(in|cm|mm|pt)?", text)
    try:
        value = WIDTHS[text] if text in WIDTHS else (
            float(match[1]) / _PER_INCH[match[2] or "in"] if match else 0.0
        )  # fmt: skip
    except ValueError:
        value = 0.0
    if not LEAST_INCHES <= value <= MOST_INCHES:
        raise UsageError(
            f"width must be single, double, or {LEAST_INCHES:g}in to {MOST_INCHES:g}in, also in "
            f"cm, mm or pt; got {width!r}"
        )
    return value


def current() -> Style | None:
    """Return the current style, or None outside `style`."""
    return _STYLE.get()


def narrow() -> bool:
    """Return whether the target is a narrow column."""
    chosen = current()
    return chosen is not None and chosen.narrow


def points() -> float:
    """Return the size of text in points: 9 on screens, 8 or 7 in print."""
    chosen = current()
    return SCREEN_POINTS if chosen is None else chosen.points


def in_print() -> bool:
    """Return whether the target is a paper, whose captions replace titles."""
    chosen = current()
    return chosen is not None and chosen.in_print


def size_of(figure_inches: tuple[float, float]) -> tuple[float, float]:
    """Return the size of a figure in inches, adapted to the current style."""
    chosen = current()
    if chosen is None:
        return figure_inches
    height = figure_inches[1]
    if chosen.narrow:
        height = (_SHORTER if chosen.in_print else 1.0) * height + _LINES_INCHES
    return chosen.width_inches, height


@lru_cache(maxsize=4096)
def text_inches(text: str, size: float) -> float:
    """Return the width of a line of text in inches."""
    if not text.strip():
        return 0.0
    # By the metrics of the font; the outline of a TextPath takes a hundred times longer to build.
    font = FontProperties(size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, cbook.is_math_text(text))
    return float(width) / 72


def columns_that_fit(labels: Sequence[str], size: float, most: int, width_inches: float) -> int:
    """Return the number of legend columns that fit in a width."""
    available, em = width_inches * (1 - 2 * _EDGE), size / 72
    widths = [max(text_inches(line, size) for line in label.split("\n")) for label in labels]
    for count in range(min(most, len(labels)), 1, -1):
        columns = [max(part) for part in np.array_split(widths, count)]
        spaces = len(columns) * 2.8 + (len(columns) - 1) * 2 + 2
        if sum(columns) + spaces * em <= available:
            return count
    return 1


def legend_label(label: str, size: float) -> str:
    """Return a label of a legend, wrapped to fit the figure."""
    chosen = current()
    if chosen is None or not chosen.narrow:
        return label
    label = shortened(label)
    return wrapped(label, chosen.width_inches * (1 - 2 * _EDGE) - 5 * size / 72, size)


def finish(figure: Figure) -> None:
    """Recolour a figure for a paper and move labels that do not fit."""
    chosen = current()
    if chosen is None:
        return
    # Recolouring afterwards keeps the plot functions independent of the target.
    for artist in figure.findobj() if chosen.in_print else ():
        _recolour(artist)
    with mpl.rc_context(chosen.settings):
        # Wrapping one label changes the layout of the others, so repeat until nothing moves.
        if chosen.narrow:
            _shorten_names(figure)
        add_lines(figure, 0)
        for _ in range(5):
            figure.draw_without_rendering()
            moved = list(map(_fit, figure.axes))
            if not any(moved):
                break
    for axes in figure.axes:
        add_lines(figure, axes.xaxis.label.get_text().count("\n"))


def add_lines(figure: Figure, count: float) -> None:
    """Make a figure higher by lines of text, so that they take no room from its plots."""
    height = float(figure.get_figheight()) + count * 1.25 * points() / 72
    is_column = in_print() and narrow()
    figure.set_figheight(min(height, _HIGHEST_INCHES) if is_column else height)


_LONG_NAMES = re.compile(r"(SPHINCS\+|SLH-DSA)-(\n?)SHA2-\n?(\d+[sf])(-\n?simple)?")


def _shorten_names(figure: Figure) -> None:
    """Leave out the hash function of schemes, unless one with another is in the figure."""
    texts = figure.findobj(Text)
    if any("SHAKE" in text.get_text() for text in texts):
        return
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label.get_text() for label in axis.get_majorticklabels()]
            if any(map(_LONG_NAMES.search, labels)):
                axis.set_ticks(axis.get_majorticklocs(), list(map(shortened, labels)))
    for text in texts:
        text.set_text(shortened(text.get_text()))


def shortened(text: str) -> str:
    """Return a text with short names of schemes."""
    return _LONG_NAMES.sub(r"\1-\2\3", text)


def _recolour(artist: Any) -> None:
    names: tuple[str, ...] = ()
    if isinstance(artist, Line2D):
        names = ("color", "markerfacecolor", "markeredgecolor")
    elif isinstance(artist, (Patch, Collection)):
        names = ("facecolor", "edgecolor")
    elif isinstance(artist, Annotation) and artist.arrow_patch is not None:
        _recolour(artist.arrow_patch)
    for name in names:
        now = getattr(artist, f"get_{name}")()
        if isinstance(artist, Collection):
            getattr(artist, f"set_{name}")([_grey(colour) for colour in now])
        elif not (isinstance(now, str) and now in ("none", "None", "auto")):
            getattr(artist, f"set_{name}")(_grey(now))
    # A pale mark needs an outline on white paper, of its hue: another would be another series.
    if isinstance(artist, Line2D):
        pale = filter(_is_pale, (artist.get_markerfacecolor(), artist.get_markeredgecolor()))
        for colour in list(pale)[:1]:
            red, green, blue = (0.62 * part for part in to_rgb(colour))
            artist.set_markeredgecolor((red, green, blue))


def _is_pale(colour: Any) -> bool:
    if isinstance(colour, str) and colour in ("none", "None", "auto"):
        return False
    red, green, blue = to_rgb(colour)
    return 0.59 < 0.3 * red + 0.59 * green + 0.11 * blue < 0.99


def _grey(colour: Any) -> str:
    plain = to_hex(colour, keep_alpha=True).lower()
    return GREYS.get(plain[:7], plain[:7]) + plain[7:]


def _fit(axes: Axes) -> bool:
    labels = axes.xaxis.label, axes.title, axes._left_title  # type: ignore[attr-defined]
    changed = [_fit_label(axes, label, upright=False) for label in labels]
    changed += [_fit_label(axes, axes.yaxis.label, upright=True)]
    return any([*changed, _thinned(axes.xaxis), _thinned(axes.yaxis)])


def _fit_label(axes: Axes, label: Text, *, upright: bool) -> bool:
    figure = getattr(axes.figure, "figure", None)
    if figure is None or not label.get_text():
        return False
    area, box, canvas = axes.get_window_extent(), label.get_window_extent(), figure.bbox
    first, last = ("y0", "y1") if upright else ("x0", "x1")
    low, high = getattr(area, first), getattr(area, last)
    end = canvas.height if upright else canvas.width
    margin = min(low, end - high)
    available = max(high - low + 2 * margin, 0.55 * end) * (1 - 2 * _EDGE)
    length = getattr(box, last) - getattr(box, first)
    if length > available:
        text = balanced(label.get_text(), available / figure.dpi, float(label.get_fontsize()))
        if text != label.get_text():
            label.set_text(text)
            return True
    over = getattr(box, last) - end * (1 - _EDGE)
    under = end * _EDGE - getattr(box, first)
    by = -over if over > 0 else under if under > 0 else 0.0
    if by and label is not axes.title:
        x, y = label.get_position()
        moved = by / (high - low)
        if abs(moved) > 0.005:
            label.set_position((x, y + moved) if upright else (x + moved, y))
            return True
    return False


def wrapped(text: str, width_inches: float, size: float) -> str:
    """Return a text in lines of at most this width."""
    rows: list[str] = []
    for line in text.split("\n"):
        rows.append("")
        # A narrow space joins a number with its unit, so lines break only at others.
        for word in line.split(" "):
            longer = f"{rows[-1]} {word}".strip()
            if rows[-1] and text_inches(longer, size) > width_inches:
                rows.append(word)
            else:
                rows[-1] = longer
    return "\n".join(rows)


def balanced(text: str, width_inches: float, size: float) -> str:
    """Return each line in as few lines of at most this width as possible, of similar lengths."""
    if "\n" in text:
        return "\n".join(balanced(line, width_inches, size) for line in text.split("\n"))
    best = wrapped(text, width_inches, size)
    count = best.count("\n")
    for share in (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55) if count else ():
        tighter = wrapped(text, share * width_inches, size)
        if tighter.count("\n") > count:
            break
        best = tighter
    return best


def drawn_labels(axis: Axis) -> list[Text]:
    """Return the tick labels within the axis limits that are not empty."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    labels = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
    return [label for at, label in labels if low - slack <= at <= high + slack and label.get_text()]


def _thinned(axis: Axis) -> bool:
    across = isinstance(axis, XAxis)
    boxes = [label.get_window_extent() for label in drawn_labels(axis)]
    boxes.sort(key=lambda box: float(box.x0 if across else box.y0))
    gaps = [
        (after.x0 - before.x1) if across else (after.y0 - before.y1)
        for before, after in pairwise(boxes)
    ]
    if len(boxes) < 3 or min(gaps) > (4 if across else -1):
        return False
    locator, formatter = axis.get_major_locator(), axis.get_major_formatter()
    if not across and isinstance(locator, FixedLocator) and axis.get_scale() == "linear":
        return False  # names of rows, for which a plot has the height
    if isinstance(locator, LogLocator):
        decades = [value for value in axis.get_majorticklocs() if _is_decade(value)]
        low, high = sorted(axis.get_view_interval())
        visible = [value for value in decades if low <= value <= high]
        kept = visible[::2] if len(visible) == len(boxes) else visible
        # Fewer than three labels would not tell the scale.
        every = axis.get_majorticklocs().tolist()
        others = max((every[::2], every[1::2]), key=lambda some: len({*some} & {*visible}))
        axis.set_major_locator(FixedLocator(kept if len(kept) > 2 else others))
    elif isinstance(formatter, FixedFormatter):
        axis.set_ticks(axis.get_majorticklocs()[::2], [*formatter.seq][::2])
    elif isinstance(locator, FixedLocator):
        axis.set_major_locator(FixedLocator(axis.get_majorticklocs()[::2].tolist()))
    else:
        axis.set_major_locator(MaxNLocator(max(2, len(boxes) - 2)))
    return True


def _is_decade(value: float) -> bool:
    return value > 0 and f"{value:e}".startswith("1.000000e")
