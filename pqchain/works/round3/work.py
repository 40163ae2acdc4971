"""The round-3 comparison: Table 1 in its own layout, printed and measured here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pqchain.algorithms import OPERATIONS
from pqchain.render.figure import Figure
from pqchain.render.table import Table
from pqchain.works.round3 import tables
from pqchain.works.round3.table1 import cross_check, table1
from pqchain.works.work import Bench, Frames, Work


class Round3(Work):
    """Fourteen implementations beside each other, and two versions of liboqs."""

    key = "round3"

    def compute(self, bench: Bench) -> Frames:
        """Return `table1` and `cross-check`; nothing without a clock."""
        if bench.measurements is None:
            return {}
        return {
            "table1": table1(bench.measurements),
            "cross-check": cross_check(bench.measurements),
        }

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show both halves of Table 1, and the cross-check if there is one."""
        if frames:
            yield from tables.halves(frames["table1"], self.words)
        yield from super().tables(frames)

    def figures(self, frames: Frames) -> Iterable[Figure]:
        """Draw each operation of Table 1, and its sizes."""
        if not frames:
            return ()
        table = frames["table1"]
        rows: dict[str, Any] = {
            name: table[table["quantity"] == f"{name}_seconds"] for name in OPERATIONS
        }
        return super().figures(rows | {"algorithms": table["algorithm"].drop_duplicates()})
