"""`pqchain gas`: measured verification in units of chains, next to values in drafts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pqchain import figures
from pqchain.commands import console
from pqchain.figures import BYTES, SECONDS, Figure, Kind, Unit

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.render.table import Table

_UNITS = {"evm": Unit("gas"), "near": Unit("gas"), "solana": Unit("CU")}
"""Unit of the prices of each chain; CU: compute units."""


def run(arguments: argparse.Namespace) -> int:
    """Measure verifications and convert them to gas."""
    names = console.algorithm_names(arguments)
    # Imported after the names are checked, so that a wrong name is rejected quickly.
    from pqchain.bench import gas

    frame = gas.measure_gas(
        names if arguments.algorithm else [*gas.ALGORITHMS, *names],
        anchor_gas=arguments.anchor_gas,
        rounds=arguments.rounds,
        progress=console.is_interactive(),
    )
    console.save(frame, arguments.output)
    check = gas.check_anchor(frame)
    data = {
        "provenance": frame.attrs["provenance"],
        "gas": console.records(frame),
        "statements": gas.STATEMENTS,
        "anchor": check,
    }
    ok = console.all_ran(frame)
    return console.show(arguments, data, _table(frame), remarks=[check], ok=ok)


def _table(frame: pd.DataFrame) -> Table:
    from pqchain.bench.gas import STATEMENTS
    from pqchain.costs import GIVEN
    from pqchain.render.table import Column, Shown, Table

    rows = []
    for row in frame.to_dict("records"):
        unit = _UNITS[row["unit"]]
        stated = [
            f"{unit.text(statement['gas'], 4)} ({statement['source']})"
            for statement in STATEMENTS
            if (statement["algorithm"], statement["unit"]) == (row["algorithm"], row["unit"])
        ]
        # Four digits: 841 and 3814 gas are prices of drafts and compared exactly.
        gas = Figure(row["gas"], row["low"], row["high"], unit, Kind.MEASURED, "").text(4)
        rows.append([row["algorithm"], row["unit"], Shown(row["gas"], gas), row["verify_seconds"],
                     row["input_bytes"], "; ".join(stated) or figures.MISSING])  # fmt: skip
    has_given = frame["reason"].str.startswith(GIVEN).any()
    return Table(
        columns=[
            Column("algorithm"), Column("unit"), Column("gas", numeric=True),
            Column("slowest verification", numeric=True, unit=SECONDS),
            Column("input", numeric=True, unit=BYTES), Column("stated elsewhere"),
        ],
        rows=rows,
        remarks=list(frame["reason"]),
        row_headers=2,
        caption="Price of one verification, the slowest of several signatures, relative to an "
        "anchor timed in the same rounds; in brackets the range of 90 % of the rounds.",
        source=[Kind.MEASURED, *([Kind.GIVEN] if has_given else []), Kind.CITED],
    )  # fmt: skip
