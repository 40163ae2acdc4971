"""A figure of a page or a report: a plot and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot that has been drawn, with what it shows to those who see it and who do not."""

    name: str
    """Unique within its chapter; its files are named after it."""
    axes: Any
    """What a `plot_*` of `pqchain.plots` returned."""
    description: str
    """For those who cannot see it."""
    caption: str
    part: str = ""
    """The part of a chapter that it belongs to."""
