"""Plotting functions that take a DataFrame and return Axes; only this package imports matplotlib.

Every `plot_*` draws into `ax`, or into a new figure, 170 mm wide, and opens no window;
`plot_winners` needs several axes and returns the figure. A frame without a required column is a
DataError, one without rows a UsageError. A scheme has the colour and mark of its family in every
plot, `FAMILIES`; the mark and hatching double the colour. Titles are computed from the frame, and
left to the caption in the style "paper", where `axes.figure.caption` has them. Figures shown by a
notebook follow light and dark pages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lazy_loader

from pqchain.errors import UnknownName
from pqchain.installation import with_remedies

# Read from the source, so that a new plot needs no entry here: an import would load matplotlib.
_PLOTS = {
    path.stem: re.findall(r"^def (plot_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.name != "__init__.py"
}

KINDS = tuple(sorted(name.removeprefix("plot_") for names in _PLOTS.values() for name in names))
"""The kinds of plots; commands, chapters of works and documentation read it."""

_OTHERS = {
    "canvas": "INK figure_bytes screen_svg", "marks": "FAMILIES Mark mark_of", "paper": "style",
    "speed": "speedups",
}  # fmt: skip

_EXPORTS = {name: [*names, *_OTHERS.get(name, "").split()] for name, names in _PLOTS.items()}

__getattr__, __dir__, __all__ = with_remedies(
    __name__, lazy_loader.attach(__name__, submod_attrs=_EXPORTS)
)
__all__ += ["find"]


def find(kind: str) -> Callable[..., Any]:
    """Return the function that draws a kind of plot. Raises UnknownName."""
    # A command line may use hyphens.
    kind = kind.replace("-", "_")
    if kind not in KINDS:
        raise UnknownName("plot", kind, KINDS, "`pqchain plot`.")
    draw: Callable[..., Any] = getattr(sys.modules[__name__], f"plot_{kind}")
    return draw
