"""Plots: frame in, Axes out. The only importer of matplotlib, which it asks for no window.

Every `plot_*` draws into `ax`, or into a figure of its own, 170 mm wide, that no global list
keeps; `plot_winners` needs several axes and returns the figure. A frame that lacks columns is a
DataError, one without rows a UsageError. Colours are those of Okabe and Ito,
told apart without colour vision; operations differ by marker as well and implementations by
filling, so that the plots survive a black-and-white printer.
"""

from __future__ import annotations

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
