"""What one run of the reproduction measured, computed and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain.installation import read_toml
from pqchain.works.work import Frames, Work

SAID = read_toml(Path(__file__).with_name("words.toml"))
"""The prose of the page that is about no one work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """All frames of a run; each keeps its contract."""

    output: Path
    works: tuple[Work, ...]
    measurements: pd.DataFrame
    comparison: pd.DataFrame
    sizes: pd.DataFrame
    claims: pd.DataFrame
    coverage: pd.DataFrame
    frames: Mapping[str, Frames]
    """What each work computed, by its key."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The works, in the order of the report."""
        return tuple(work.key for work in self.works)

    @property
    def index(self) -> Path:
        """The page to open."""
        return self.output / "index.html"

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the measurements were made."""
        facts: Mapping[str, Any] = self.measurements.attrs.get("provenance", {})
        return facts

    @property
    def failures(self) -> list[str]:
        """What is broken: sizes that differ without a known erratum, computations that failed."""
        broken = self.sizes[self.sizes["verdict"] == "different"]
        sizes = [
            f"{row['paper']}, {row['table']}: {row['quantity']} of {row['algorithm']} is printed "
            f"as {row['published_bytes']:g} but is {row['registry_bytes']:g}"
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
        return list(dict.fromkeys([*sizes, *operations, *computed]))
