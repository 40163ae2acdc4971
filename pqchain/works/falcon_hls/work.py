"""The signing accelerator: what the paper printed beside what our model gives."""

from __future__ import annotations

import pandas as pd

from pqchain import results
from pqchain.falcon import model
from pqchain.results import Contract
from pqchain.works import papers

TABLE3 = Contract.of(
    "accelerator",
    ("str", "algorithm row kind"),
    ("float64", "seconds published_seconds ratio"),
    ("str", "assumptions"),
)


PAPER = "falcon-hls"
"""Key of the work whose Table 3 is rebuilt."""

_IN_SOFTWARE = "M4 software"


def table3(engine: model.Engine = model.PIPELINED) -> pd.DataFrame:
    """Return the paper's Table 3, printed and rebuilt.

    Columns: algorithm, row, kind ("published", "estimated" or "modelled", never mixed in a row),
    seconds, published_seconds (of the row's counterpart), ratio (seconds over published_seconds)
    and assumptions; the contract "accelerator". Nothing in it was measured on hardware.
    """
    printed = papers.published(PAPER)
    printed = printed[printed["quantity"] == "sign_seconds"]
    seconds = {
        (row["algorithm"], row["implementation"]): float(row["value"])
        for row in printed.to_dict("records")
    }
    rebuilt = model.rebuild_table3(engine)
    rows = []
    for algorithm, ours in rebuilt.groupby("algorithm", sort=False):
        for label, implementation in (
            ("printed: M4 SW", "cortex-m4"), ("printed: SW+HW", "cortex-m4+artix-7"),
        ):  # fmt: skip
            value = seconds[algorithm, implementation]
            rows.append((algorithm, label, "published", value, value, "168 MHz, Artix-7"))
        for row in ours.to_dict("records"):
            counterpart = "cortex-m4" if row["row"] == _IN_SOFTWARE else "cortex-m4+artix-7"
            rows.append(
                (
                    algorithm, row["row"], row["kind"], row["seconds"],
                    seconds[algorithm, counterpart], row["assumptions"],
                )
            )  # fmt: skip
    frame = pd.DataFrame(
        rows,
        columns=["algorithm", "row", "kind", "seconds", "published_seconds", "assumptions"],
    )
    frame.insert(5, "ratio", frame["seconds"] / frame["published_seconds"])
    return results.check(frame, TABLE3)
