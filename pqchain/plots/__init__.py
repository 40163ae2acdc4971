"""Plotting functions that take a DataFrame and return Axes; only this package imports matplotlib.

Every `plot_*` draws into `ax`, or into a new figure, 170 mm wide, and opens no window;
`plot_winners` needs several axes and returns the figure. A frame without a required column is a
DataError, one without rows a UsageError. A scheme has the colour and mark of its family in every
plot, `FAMILIES`; the mark and hatching double the colour. Titles name the least and
the greatest value, and are left to the caption in the style "paper", where `axes.figure.caption`
has them. Figures shown by a
notebook follow light and dark pages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import lazy_loader

from pqchain.errors import UnknownName
from pqchain.installation import with_remedies

_OTHERS = {
    "canvas": "INK figure_bytes screen_svg style",
    "marks": "FAMILIES Mark mark_of",
    "speed": "speedups",
}


@cache
def _plots() -> dict[str, list[str]]:
    """Return the plots of each module, read from its source: a new plot needs no entry here."""
    return {
        path.stem: re.findall(r"^def (plot_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in sorted(Path(__file__).parent.glob("*.py"))
    }


@cache
def _lazy() -> tuple[Callable[[str], Any], Any, list[str]]:
    exports = {name: [*names, *_OTHERS.get(name, "").split()] for name, names in _plots().items()}
    del exports["__init__"]
    return with_remedies(__name__, lazy_loader.attach(__name__, submod_attrs=exports))


def __getattr__(name: str) -> Any:
    if name == "KINDS":
        plots = (plot for names in _plots().values() for plot in names)
        return tuple(sorted(plot.removeprefix("plot_") for plot in plots))
    return __dir__() if name == "__all__" else _lazy()[0](name)


def __dir__() -> list[str]:
    return [*_lazy()[2], "find", "KINDS"]


def find(kind: str) -> Callable[..., Any]:
    """Return the function that draws a kind of plot. Raises UnknownName."""
    # A command line may use hyphens.
    kind = kind.replace("-", "_")
    kinds = __getattr__("KINDS")
    if kind not in kinds:
        raise UnknownName("plot", kind, kinds, "`pqchain plot`.")
    draw: Callable[..., Any] = getattr(sys.modules[__name__], f"plot_{kind}")
    return draw
