"""Runs of consensus as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from pqchain.render import numbers
from pqchain.render.table import Column, Table

_SIZES = (
    Column("algorithm"),
    Column("network"),
    Column("nodes", numeric=True, show=numbers.integer),
    Column("delegates", numeric=True, show=numbers.integer),
)

_RESULTS = (
    Column("latency", key="latency_seconds", numeric=True, show=numbers.seconds),
    Column("tx / s", key="throughput_per_second", numeric=True, show=numbers.significant),
)

_PERCENT = f"{numbers.NARROW_SPACE}%"

_FILL = Column("tx / block", key="transactions_per_block", numeric=True, show="{:.2f}".format)

_PREDICTED = (
    Column("± 95 %", key="latency_half_width_seconds", numeric=True, show=numbers.seconds),
    Column("predicted", key="predicted_latency_seconds", numeric=True, show=numbers.seconds),
    Column(
        "error",
        key="prediction_error_percent",
        numeric=True,
        show=partial(numbers.percent, digits=0),
    ),
)

_OVER_PLAIN = (
    Column("over plain", key="plain_latency_seconds", numeric=True, show=numbers.seconds),
    Column("costs more", key="over_plain_percent", numeric=True, show=numbers.percent),
)
"""What handshakes, acknowledgements and congestion control cost."""


def delegates(frame: pd.DataFrame) -> Table:
    """Lay out runs of delegates, with what was sent and predicted where that is known."""
    columns = [*_SIZES, *_RESULTS, _FILL]
    if frame["sent_bytes"].notna().any():
        columns += [
            Column("messages", key="sent_messages", numeric=True, show=numbers.integer),
            Column("bytes", key="sent_bytes", numeric=True, show=numbers.integer),
        ]
    if frame["predicted_latency_seconds"].notna().any():
        columns += _PREDICTED
    if frame["over_plain_percent"].notna().any():
        columns += _OVER_PLAIN
    rows = frame.assign(remark=[_remark(row) for row in frame.to_dict("records")])
    if rows["remark"].any():
        columns.append(Column("remark"))
    return Table.of(rows, columns)


def runs(runs: pd.DataFrame, printed: Mapping[str, float]) -> Table:
    """Lay out modelled runs; those of which a work prints the latency stand beside the print."""
    rows = runs.assign(remark=[_remark(row) for row in runs.to_dict("records")])
    columns = [*_SIZES, *_RESULTS, _FILL]
    if printed:
        cells = runs["scenario"].map(printed)
        error = 100 * (runs["latency_seconds"] / cells - 1)
        rows["printed"] = cells.map(numbers.exact_seconds, na_action="ignore").fillna("")
        rows["error"] = error.map(numbers.percent, na_action="ignore").fillna("")
        columns += [Column("printed", numeric=True), Column("error", numeric=True)]
    columns.append(Column("messages", numeric=True, show=numbers.integer))
    if rows["remark"].any():
        columns.append(Column("remark"))
    return Table.of(rows, columns)


def over_seeds(means: pd.DataFrame) -> Table:
    """Lay out means over seeds with half of their 95 % intervals."""
    columns = list(_SIZES)
    for mean in _RESULTS:
        half = replace(mean, title="± 95 %", key=f"{mean.key}_half_width")
        columns += [mean, half]
    columns.append(Column("seeds", numeric=True))
    columns.append(Column("live", numeric=True, show=lambda live: f"{100 * live:.0f}{_PERCENT}"))
    return Table.of(means, columns)


def _remark(row: dict[Any, Any]) -> str:
    """Say what is not as it should be; nothing if all is well."""
    if row["status"] != "ok":
        return f"{row['status']}: {row['reason']}"
    if not row["is_safe"]:
        return "UNSAFE: different blocks are final at one height"
    return str(row["reason"])
