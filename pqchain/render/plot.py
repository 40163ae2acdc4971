"""A plot of a page or a report, with its caption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot with its name, description and caption."""

    name: str
    """Unique within its chapter; its files are named after it."""
    axes: Any
    """Axes, as a `plot_*` function of `pqchain.plots` returns them."""
    description: str
    """Text for readers who cannot see the plot."""
    caption: str
    part: str = ""
    """The part of a chapter that the plot belongs to."""
