"""`pqchain gas`: measured verification in units of chains, next to values in drafts."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from pqchain import figures
from pqchain.commands import console
from pqchain.figures import SECONDS

if TYPE_CHECKING:
    from pqchain.render.table import Table


def run(arguments: argparse.Namespace) -> int:
    """Measure verifications and convert them to gas."""
    own: list[str] = arguments.own
    names = console.beside(arguments.algorithm or (), own)
    # Imported after the names are checked, so that a wrong name is refused quickly.
    from pqchain.bench import gas

    frame = gas.measure_gas(
        names if arguments.algorithm else [*gas.SCHEMES, *own],
        anchor_gas=arguments.anchor_gas,
        rounds=arguments.rounds,
        progress=console.watched(),
    )
    console.save(frame, arguments.output)
    checked = gas.check_anchor(frame)
    plain = {
        "provenance": frame.attrs["provenance"],
        "gas": console.records(frame),
        "statements": gas.STATEMENTS,
        "anchor": checked,
    }
    fine = (frame["status"] == "ok").any() and not (frame["status"] == "failed").any()
    return console.show(arguments, plain, _table(frame), remarks=[checked], fine=bool(fine))


def _brief(gas: float) -> str:
    """Format gas with four digits, large values in units of 1e9."""
    return f"{gas / 1e9:.4g} G" if gas >= 1e8 else figures.integer(round(gas))


def _table(frame: Any) -> Table:
    """Lay out the gas of each scheme next to stated values."""
    from pqchain.bench.gas import STATEMENTS
    from pqchain.costs import GIVEN
    from pqchain.render.table import Column, Shown, Table

    rows, remarks = [], []
    given = frame["reason"].str.startswith(GIVEN).any()
    for row in frame.to_dict("records"):
        stated = [
            f"{_brief(each['gas'])} ({each['source']})"
            for each in STATEMENTS
            if (each["scheme"], each["unit"]) == (row["scheme"], row["unit"])
        ]
        shown = figures.MISSING
        if math.isfinite(row["gas"]):
            low, middle, high = (_brief(row[name]) for name in ("low", "gas", "high"))
            shown = f"{middle} ({low} to {high})"
        seconds = Shown(row["verify_seconds"], SECONDS.text(row["verify_seconds"]))
        size = Shown(row["input_bytes"], f"{row['input_bytes']:g}")
        rows.append([row["scheme"], row["unit"], Shown(row["gas"], shown), seconds, size,
                     "; ".join(stated) or figures.MISSING])  # fmt: skip
        remarks.append(row["reason"])
    return Table(
        columns=[
            Column("scheme"), Column("unit"), Column("gas", numeric=True),
            Column("worst verification", numeric=True), Column("input bytes", numeric=True),
            Column("stated elsewhere"),
        ],
        rows=rows,
        remarks=remarks,
        row_headers=2,
        caption="One verification, the worst of several signatures, priced by an anchor that was "
        "timed in the same rounds; in brackets the range of 90 % of the rounds.",
        source=["measured", "given", "cited"] if given else ["measured", "cited"],
    )  # fmt: skip
