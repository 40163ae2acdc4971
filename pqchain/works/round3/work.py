"""The round-3 comparison: Table 1 in its own layout, printed and measured here."""

from __future__ import annotations

from collections.abc import Iterable

from pqchain import algorithms, plots
from pqchain.render import numbers
from pqchain.render.figure import Figure
from pqchain.render.table import Table
from pqchain.works.round3 import tables
from pqchain.works.round3.table1 import cross_check, table1
from pqchain.works.work import SPEED, Bench, Frames, Work


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
            yield from tables.halves(frames["table1"])
            if len(frames["cross-check"]):
                yield tables.versions(frames["cross-check"])

    def figures(self, frames: Frames) -> Iterable[Figure]:
        """Draw each operation of Table 1, and its sizes."""
        if not frames:
            return
        table = frames["table1"]
        for operation in algorithms.OPERATIONS:
            rows = table[table["quantity"] == f"{operation}_seconds"]
            if not rows["here"].notna().any():
                continue
            spoken = numbers.spoken(operation)
            yield Figure(
                name=operation.partition("_")[0],
                axes=plots.plot_operation(table, operation),
                description=f"Bars on a logarithmic axis: {spoken} of every algorithm that has it, "
                "reference and AVX2, as printed and here. The table above holds the values.",
                caption=f"Table 1: {spoken}. Hatched: as printed, on another processor.",
                part=SPEED,
            )
        yield Figure(
            name="sizes",
            axes=plots.plot_sizes(dict.fromkeys(table["algorithm"]), secret_keys=True),
            description="Sizes of public key, secret key, and ciphertext or signature of the seven "
            "finalists on a logarithmic axis.",
            caption="Table 1: sizes, from the registry.",
            part=SPEED,
        )
