"""Tables of the results of consensus runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain.render.table import Column, Table

_SIZES = ("algorithm", "network", "nodes", "delegates")
_MEANS = ("latency_seconds", "throughput_per_second")
_RESULTS = (*_SIZES, *_MEANS, "transactions_per_block")
_PREDICTED = (
    Column("± 95 %", key="latency_half_width_seconds", numeric=True),
    "predicted_latency_seconds",
    "prediction_error_percent",
)
_OVER_PLAIN = (
    "plain_latency_seconds",
    Column("more than plain", key="over_plain_percent", numeric=True),
)
"""Overhead of handshakes, acknowledgements and congestion control."""


def delegates(frame: pd.DataFrame) -> Table:
    """Return a table of executed runs, with sent messages and predictions where recorded."""
    columns: list[Column | str] = [*_RESULTS]
    if frame["sent_bytes"].notna().any():
        columns += ["sent_messages", "sent_bytes"]
    if frame["predicted_latency_seconds"].notna().any():
        columns += _PREDICTED
    if frame["over_plain_percent"].notna().any():
        columns += _OVER_PLAIN
    rows = frame.assign(remark=[_remark(row) for row in frame.to_dict("records")])
    if rows["remark"].any():
        columns.append("remark")
    return Table.of(rows, columns)


def runs(runs: pd.DataFrame, printed: Mapping[str, float]) -> Table:
    """Return a table of modelled runs, with relative errors where `printed` has a paper's values.

    `printed` maps scenario identifiers to latencies in seconds that a paper prints; may be empty.
    """
    rows = runs.assign(remark=[_remark(row) for row in runs.to_dict("records")])
    columns: list[Column | str] = [*_RESULTS]
    if printed:
        rows["printed_seconds"] = runs["scenario"].map(printed)
        rows["error_percent"] = 100 * (runs["latency_seconds"] / rows["printed_seconds"] - 1)
        columns += [Column("printed", key="printed_seconds", numeric=True, exact=True)]
        columns += ["error_percent"]
    columns.append("messages")
    if rows["remark"].any():
        columns.append("remark")
    return Table.of(rows, columns)


def over_seeds(means: pd.DataFrame) -> Table:
    """Return a table of means over seeds with half-widths of their 95 % confidence intervals."""
    columns: list[Column | str] = [*_SIZES]
    for mean in _MEANS:
        columns += [mean, Column("± 95 %", key=f"{mean}_half_width", numeric=True)]
    return Table.of(means, [*columns, "seeds", Column("live", numeric=True, unit="share")])


def _remark(row: dict[Any, Any]) -> str:
    """Return the remark on a run: why it failed, a warning if unsafe, or why it is not live."""
    if row["status"] != "ok":
        return f"{row['status']}: {row['reason']}"
    if not row["is_safe"]:
        return "UNSAFE: different blocks are final at one height"
    return str(row["reason"])
