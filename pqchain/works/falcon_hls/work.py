"""The signing accelerator: the paper's Table 3 beside what our model gives."""

from __future__ import annotations

import pandas as pd

from pqchain.falcon import model
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.work import Bench, Frames, Work

TABLE3 = Contract.of(
    "accelerator",
    ("str", "algorithm row kind"),
    ("float64", "seconds published_seconds ratio"),
    ("str", "assumptions"),
)

_PRINTED = {"cortex-m4": "printed: M4 SW", "cortex-m4+artix-7": "printed: SW+HW"}
"""The printed implementations as rows."""

_IN_SOFTWARE = "M4 software"


class FalconHls(Work):
    """Table 3 rebuilt from a census of operations; nothing in it was measured on hardware."""

    key = "falcon-hls"

    def compute(self, bench: Bench) -> Frames:
        """Return `table3`."""
        return {"table3": table3()}


def table3(engine: model.Engine = model.PIPELINED) -> pd.DataFrame:
    """Return the paper's Table 3, printed and rebuilt.

    Columns: algorithm, row, kind ("published", "estimated" or "modelled", never mixed in a row),
    seconds, published_seconds (of the row's counterpart), ratio (seconds over published_seconds)
    and assumptions. Nothing in it was measured on hardware.
    """
    printed = papers.published(FalconHls.key).query("quantity == 'sign_seconds'")
    seconds = printed.set_index(["algorithm", "implementation"])["value"]
    rows = []
    for algorithm, rebuilt in model.rebuild_table3(engine).groupby("algorithm", sort=False):
        for implementation, label in _PRINTED.items():
            value = seconds[algorithm, implementation]
            rows.append([algorithm, label, "published", value, value, 1.0, "168 MHz, Artix-7"])
        for row in rebuilt.to_dict("records"):
            software = row["row"] == _IN_SOFTWARE
            value = seconds[algorithm, "cortex-m4" if software else "cortex-m4+artix-7"]
            ratio = row["seconds"] / value
            about = [algorithm, row["row"], row["kind"]]
            rows.append([*about, row["seconds"], value, ratio, row["assumptions"]])
    return TABLE3.frame(rows)
