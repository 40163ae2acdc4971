"""Results of a reproduction: measurements, computed frames and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain.installation import read_toml
from pqchain.works import printed
from pqchain.works.work import Frames, Work

PROSE = read_toml(Path(__file__).with_name("prose.toml"))
"""Texts of the pages that are not about a single work."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """Measurements, printed numbers, statements and computed frames of a run."""

    output: Path
    works: tuple[Work, ...]
    measurements: pd.DataFrame
    printed: pd.DataFrame
    """Every printed number with ours next to it; times and sizes are views of it."""
    claims: pd.DataFrame
    frames: Mapping[str, Frames]
    """The frames of each work by the work's key."""

    @cached_property
    def times(self) -> pd.DataFrame:
        """Printed times of operations with the times measured here."""
        return printed.times(self.printed)

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """Printed sizes with the sizes in the registry."""
        return printed.sizes(self.printed)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the works in the order of the report."""
        return tuple(work.key for work in self.works)

    @property
    def index(self) -> Path:
        """Path of the first page."""
        return self.output / "index.html"

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The provenance of the measurements."""
        facts: Mapping[str, Any] = self.measurements.attrs.get("provenance", {})
        return facts

    @property
    def failures(self) -> list[str]:
        """Messages about unexplained size differences and failed operations or computations."""
        broken = self.sizes[self.sizes["verdict"] == "different"]
        sizes = [
            f"{row['paper']}, {row['table']}: {row['quantity']} of {row['algorithm']} is printed "
            f"as {row['printed']:g} but is {row['ours']:g}"
            for row in broken.to_dict("records")
        ]
        failed = self.measurements[self.measurements["status"] == "failed"]
        operations = [
            f"{row['operation']} of {row['algorithm']} in {row['implementation']} failed: "
            f"{row['reason']}"
            for row in failed.to_dict("records")
        ]
        computed = [
            failure for work in self.works for failure in work.failures(self.frames[work.key])
        ]
        # A failed run may be several rows, such as one for each phase, with the same text.
        return list(dict.fromkeys([*sizes, *operations, *computed]))
