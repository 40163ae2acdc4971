"""What one run of the reproduction measured and found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from pqchain.works.pqdpol.work import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What one run measured and found. All frames keep their contracts."""

    output: Path
    keys: tuple[str, ...]
    measurements: pd.DataFrame
    comparison: pd.DataFrame
    sizes: pd.DataFrame
    claims: pd.DataFrame
    blocks: pd.DataFrame
    """Blocks of real transactions, for the works that measure them; else without rows."""
    block_comparison: pd.DataFrame
    replays: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """What the work's replays gave; empty if that work was not chosen."""
    study: Study | None = None
    """Tables 5 and 6 of the PQ-DPoL paper, rebuilt, if it is among the works."""

    @property
    def index(self) -> Path:
        """The page to open."""
        return self.output / "index.html"

    @property
    def failures(self) -> list[str]:
        """What is broken: sizes that differ without a known erratum, computations that failed."""
        broken = self.sizes[self.sizes["verdict"] == "different"]
        failed = self.measurements[self.measurements["status"] == "failed"]
        unsound = self.blocks[self.blocks["status"] == "failed"].drop_duplicates("algorithm")
        sizes = [
            f"{row['paper']}, {row['table']}: {row['quantity']} of {row['algorithm']} is printed "
            f"as {row['published_bytes']:g} but is {row['registry_bytes']:g}"
            for row in broken.to_dict("records")
        ]
        operations = [
            f"{row['operation']} of {row['algorithm']} in {row['implementation']} failed: "
            f"{row['reason']}"
            for row in failed.to_dict("records")
        ]
        blocks = [
            f"a block of {row['algorithm']} failed: {row['reason']}"
            for row in unsound.to_dict("records")
        ]
        table = self.replays.get("table1")
        rows = [] if table is None else table[table["status"] == "failed"].to_dict("records")
        replays = {f"the replay {row['run']} failed: {row['note']}": None for row in rows}
        return sizes + operations + blocks + list(replays)
