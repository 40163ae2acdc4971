"""Synthetic measurements and figures for tests of the report."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from pqchain import plots
from pqchain.report.run import Reproduction
from tests import frames

DRAW = plots.figure_bytes


def pages_of(reproduction: Reproduction) -> dict[str, str]:
    """Return the pages of a report by file name, the first one first."""
    names = ["index.html", *(f"{key}.html" for key in reproduction.keys), "machine.html"]
    assert sorted(names) == sorted(path.name for path in reproduction.output.glob("*.html"))
    return {name: (reproduction.output / name).read_text(encoding="utf-8") for name in names}


def fake_measure(
    change: Callable[[pd.DataFrame], None] | None = None,
) -> Callable[..., pd.DataFrame]:
    """Return a replacement of `bench.measure`."""

    def measure(names: list[str], *, preset: str, **options: object) -> pd.DataFrame:
        measured = frames.measurements(names)
        measured.attrs["provenance"] = {**frames.PROVENANCE, "preset": preset}
        if change is not None:
            change(measured)
        return measured

    return measure


def blank_figure(drawn: Any, file_format: str) -> bytes:
    """Replace `plots.figure_bytes` where figures do not matter."""
    return b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'


def svg_figure(drawn: Any, file_format: str) -> bytes:
    """Draw SVG figures for the pages; PNG files are tested with the plots."""
    return DRAW(drawn, file_format) if file_format == "svg" else b"\x89PNG"


def same_figure() -> Callable[[Any, str], bytes]:
    """Return a replacement of `plots.figure_bytes` that draws the first figure for all others."""
    drawings: dict[str, bytes] = {}

    def draw(drawn: Any, file_format: str) -> bytes:
        if file_format not in drawings:
            drawings[file_format] = svg_figure(drawn, file_format)
        return drawings[file_format]

    return draw


def fake_blocks(names: list[str], *, preset: str, **options: object) -> pd.DataFrame:
    """Replace `bench.measure_blocks`."""
    return frames.blocks(names)


def fake_replays(preset: str, *, progress: bool) -> dict[str, pd.DataFrame]:
    """Replace `replays.reproduce`."""
    return frames.replays()
