"""Tables of consensus runs, and sentences on what their numbers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain.costs import CostTable
from pqchain.figures import Kind
from pqchain.render.table import Column, Table

_SIZES = ("algorithm", "network", "nodes", "delegates")
_MEANS = ("latency_seconds", "throughput_per_second")
_RESULTS = (*_SIZES, *_MEANS, "transactions_per_block")
_SENT = ("sent_messages", "sent_bytes")
_PREDICTED = (
    Column("95 % from", key="latency_low_seconds", numeric=True),
    Column("to", key="latency_high_seconds", numeric=True),
    "predicted_latency_seconds",
    "prediction_error_percent",
)
_ON_CLUSTER = (
    "Measured on the machines of a cluster over {transport}: every signature was made and "
    "verified; --costs and --network have no effect."
)
_EXECUTED: dict[str, str] = {
    Kind.REPLAYED: "Replayed in virtual time over {transport}: bytes, signatures and protocol are "
    "real, time is modelled from the costs.",
    Kind.MEASURED: "Measured on this machine over {transport}: every signature was made and "
    "verified. The delegates share its processors; --costs and --network have no effect.",
}


def runs(frame: pd.DataFrame, printed: Mapping[str, float] | None = None) -> Table:
    """Return a table of runs: executed ones with messages and predictions where recorded.

    For modelled ones `printed` maps scenario identifiers to latencies in seconds that a paper
    prints; relative errors are added if there are any.
    """
    columns: list[Column | str] = [*_RESULTS]
    if printed:
        seconds = frame["scenario"].map(printed)
        errors = 100 * (frame["latency_seconds"] / seconds - 1)
        frame = frame.assign(printed_seconds=seconds, error_percent=errors)
        columns += [Column("printed", key="printed_seconds", numeric=True, exact=True)]
        columns += ["error_percent"]
    for name, more in (("sent_bytes", _SENT), ("predicted_latency_seconds", _PREDICTED)):
        columns += more if name in frame and frame[name].notna().any() else ()
    columns += ["messages"] if printed is not None else []
    remarks = [_remark(row) for row in frame.to_dict("records")]
    columns += ["remark"] if any(remarks) else []
    return Table.of(frame.assign(remark=remarks), columns)


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


def modelled_remarks(runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    """Yield the origin of the costs of modelled runs, and what limits their meaning."""
    origin = costs.source
    if costs.source == "paper:pqdpol":
        origin = "published, Tables 1 to 4 of pqdpol; lengths of Falcon's signatures counted"
    elif costs.source.startswith("paper:"):
        origin = f"published, {costs.source}"
    yield f"Modelled. Costs of the schemes: {origin}."
    if (runs["transactions_per_block"] % 1 != 0).any():
        yield (
            "Signatures vary in length: tx / block is the expected number, tx / s counts the "
            "transactions of the simulated blocks; with more --blocks or --seeds they agree."
        )
    if (runs["network"] == "paper-serial").any():
        yield (
            "paper-serial is not a network of the paper: its four coefficients are fitted to the "
            "paper's Table 6 and have no physical meaning. See `pqchain reproduce --only pqdpol`."
        )


def executed_remarks(runs: pd.DataFrame, *, is_cluster: bool) -> Iterator[str]:
    """Yield what executed runs measured or modelled."""
    remark = _ON_CLUSTER if is_cluster else _EXECUTED[runs["kind"].iloc[0]]
    yield remark.format(transport=runs["transport"].iloc[0])


def given_remarks(runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    """Yield the source of the costs of each scheme that the user gave by numbers."""
    for name in runs["algorithm"].unique():
        if costs[name].is_given:
            yield f"{name}: {costs[name].source}."
