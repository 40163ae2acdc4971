"""Synthetic measurements for tests of reproductions."""

from typing import Any

import pandas as pd

from tests import frames


def fake_measure(change=None):
    """Return a replacement of `bench.measure`."""

    def measure(names: list[str], *, preset: str, **options: object) -> pd.DataFrame:
        measured = frames.measurements(names)
        measured.attrs["provenance"] = {**frames.PROVENANCE, "preset": preset}
        if change is not None:
            change(measured)
        return measured

    return measure


def fake_blocks(names: list[str], *, preset: str, **options: object) -> pd.DataFrame:
    """Replace `bench.measure_blocks`."""
    return frames.blocks(names)


def fake_replays(preset: str, *, progress: bool) -> dict[str, pd.DataFrame]:
    """Replace `replays.reproduce`."""
    return frames.replays()


def no_pages(works: Any, results: Any, *, preset: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Replace `notebooks.write_pages` where pages do not matter."""
    return {}, ()
