"""Plotting functions that take a DataFrame and return Axes; only this package imports matplotlib.

Every `plot_*` draws into `ax`, or into a new figure, 170 mm wide, and opens no window;
`plot_winners` needs several axes and returns the figure. A frame without a required column is a
DataError, one without rows a UsageError. A scheme has the colour and mark of its family in every
plot, `FAMILIES`; the mark and hatching double the colour. Titles are computed from the frame, and
left to the caption in the style "paper", where `axes.figure.caption` has them. Figures shown by a
notebook follow light and dark pages.
"""

# The names of the star imports are those of _PLOTS.
# ruff: noqa: F403, F405
from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain.errors import UnknownName
from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.plots.canvas import INK, figure_bytes, screen_svg
    from pqchain.plots.certificates import *
    from pqchain.plots.consensus import *
    from pqchain.plots.fields import *
    from pqchain.plots.marks import FAMILIES, Mark, mark_of
    from pqchain.plots.paper import style
    from pqchain.plots.reencode import *
    from pqchain.plots.runs import *
    from pqchain.plots.sizes import *
    from pqchain.plots.speed import *
    from pqchain.plots.study import *
    from pqchain.plots.values import *

# Read from the source, so that a new plot needs no entry here: an import would load matplotlib.
_PLOTS = {
    path.stem: re.findall(r"^def (plot_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.name != "__init__.py"
}

KINDS = tuple(sorted(name.removeprefix("plot_") for names in _PLOTS.values() for name in names))
"""The kinds of plots; commands, chapters of works and documentation read it."""

__all__ = ["FAMILIES", "INK", "Mark", "figure_bytes", "find", "mark_of", "screen_svg", "speedups"]
__all__ += ["style"]
__all__ += [f"plot_{kind}" for kind in KINDS]

_OTHERS = {
    "canvas": "INK figure_bytes screen_svg", "marks": "FAMILIES Mark mark_of", "paper": "style",
    "speed": "speedups",
}  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {module: " ".join([*names, _OTHERS.get(module, "")]) for module, names in _PLOTS.items()},
)


def find(kind: str) -> Callable[..., Any]:
    """Return the function that draws a kind of plot. Raises UnknownName."""
    # A command line may use hyphens.
    kind = kind.replace("-", "_")
    if kind not in KINDS:
        raise UnknownName("plot", kind, KINDS, "`pqchain plot`.")
    draw: Callable[..., Any] = getattr(sys.modules[__name__], f"plot_{kind}")
    return draw
