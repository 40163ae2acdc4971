"""Functions that read the contents of axes."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from pqchain.figures import NARROW_SPACE


def marked_points(axes: Axes) -> dict[str, dict[float, float]]:
    """Return the value at each height, by label of the markers."""
    values: dict[str, dict[float, float]] = {}
    for line in axes.get_lines():
        if line.get_marker() not in ("None", "", None):
            points = dict(zip(np.round(line.get_ydata(), 6), line.get_xdata(), strict=True))
            values.setdefault(str(line.get_label()), {}).update(points)
    return values


def row_heights(axes: Axes) -> dict[str, float]:
    """Return the height of each row by its label."""
    return {
        text.get_text(): height
        for text, height in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    }


def legend_texts(axes: Axes) -> list[str]:
    """Return the texts of the legend of the figure, which Matplotlib 3.5 has in its axes."""
    inside = [other.get_legend() for other in axes.figure.axes if other.get_legend()]
    legends = [*axes.figure.legends, *inside]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def notes(axes: Axes) -> str:
    """Return the label of the x axis and the notes below the figure, in one line."""
    note = axes.figure._supxlabel  # Matplotlib before 3.8 has no function for it.
    return f"{axes.get_xlabel()} {note.get_text() if note else ''}".replace("\n", " ")


def caption(axes: Axes) -> str:
    """Return the title that was computed, with plain spaces."""
    return str(axes.figure.caption).replace(NARROW_SPACE, " ")


def labelled_lines(axes: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """Return x and y of each labelled line."""
    return {
        str(line.get_label()): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.get_lines()
        if not str(line.get_label()).startswith("_")
    }


def lightness(colour: str) -> float:
    """Return CIE L*: 0 is black, 100 is white."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    ]
    luminance = sum(
        part * share for part, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)
    )
    return 116 * luminance ** (1 / 3) - 16


def contrast(colour: str, background: str) -> float:
    """Return the contrast of WCAG 2."""
    one, other = ((((lightness(side) + 16) / 116) ** 3) + 0.05 for side in (colour, background))
    return max(one, other) / min(one, other)
