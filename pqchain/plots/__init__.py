"""Plots: a frame in, Axes out. The only package that imports matplotlib; it opens no window.

Every `plot_*` draws into `ax`, or into a new figure, 170 mm wide, that pyplot does not keep;
`plot_winners` needs several axes and returns the figure. A frame without a required column is a
DataError, one without rows a UsageError. Colours are those of Okabe and Ito, which are distinct
without colour vision; operations also differ by marker and implementations by filling, so that the
plots are readable in black and white.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pqchain.errors import UnknownName
from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.plots.canvas import INK, figure_bytes
    from pqchain.plots.consensus import plot_cells, plot_computers, plot_networks, plot_winners
    from pqchain.plots.dots import OPERATION_LOOK
    from pqchain.plots.paper import style
    from pqchain.plots.reencode import plot_links, plot_phases, plot_streams, plot_transports
    from pqchain.plots.sizes import plot_blocks, plot_sizes, plot_tradeoff
    from pqchain.plots.speed import (
        plot_accelerator,
        plot_compared,
        plot_history,
        plot_operation,
        plot_ratio,
        plot_speed,
        plot_speedup,
        speedups,
    )
    from pqchain.plots.study import (
        plot_capacity,
        plot_load,
        plot_migration,
        plot_plane,
        plot_tornado,
    )

__all__ = [
    "INK",
    "OPERATION_LOOK",
    "figure_bytes",
    "find",
    "plot_accelerator",
    "plot_blocks",
    "plot_capacity",
    "plot_cells",
    "plot_compared",
    "plot_computers",
    "plot_history",
    "plot_links",
    "plot_load",
    "plot_migration",
    "plot_networks",
    "plot_operation",
    "plot_phases",
    "plot_plane",
    "plot_ratio",
    "plot_sizes",
    "plot_speed",
    "plot_speedup",
    "plot_streams",
    "plot_tornado",
    "plot_tradeoff",
    "plot_transports",
    "plot_winners",
    "speedups",
    "style",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "canvas": "INK figure_bytes",
        "consensus": "plot_cells plot_computers plot_networks plot_winners",
        "dots": "OPERATION_LOOK",
        "paper": "style",
        "reencode": "plot_links plot_phases plot_streams plot_transports",
        "sizes": "plot_blocks plot_sizes plot_tradeoff",
        "speed": "plot_accelerator plot_compared plot_history plot_operation plot_ratio "
        "plot_speed plot_speedup speedups",
        "study": "plot_capacity plot_load plot_migration plot_plane plot_tornado",
    },
)

KINDS = tuple(name.removeprefix("plot_") for name in __all__ if name.startswith("plot_"))
"""The kinds of plots; commands, chapters of works and documentation read it."""


def find(kind: str) -> Callable[..., Any]:
    """Return the function that draws a kind of plot. Raises UnknownName."""
    if kind not in KINDS:
        raise UnknownName("plot", kind, KINDS, "`pqchain plot`.")
    draw: Callable[..., Any] = getattr(sys.modules[__name__], f"plot_{kind}")
    return draw
