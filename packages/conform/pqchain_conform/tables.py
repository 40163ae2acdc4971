"""Conformance results as tables, for a terminal, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd

from pqchain import figures
from pqchain.render.table import Column, Table, verdict
from pqchain_conform.registry import VerifierSpec


def _count(title: str, group: str = "") -> Column:
    return Column(title, group, numeric=True, show=figures.integer, key=title)


def overview(summary: pd.DataFrame, *, known: Mapping[str, str] = MappingProxyType({})) -> Table:
    """Return a table of results with one row per verifier and algorithm.

    `summary` is SUMMARY of the runner; `known` maps verifiers to publicly known defects.
    """
    decided, left_open = ("right", "wrong", "crashes", "timeouts"), ("accepted", "rejected")
    columns = [
        Column("verifier", key="implementation"),
        *map(Column, ("version", "algorithm", "status")),
        *map(_count, decided),
        *(_count(name, group="left open") for name in left_open),
        Column("wrong in", key="families"),
    ]
    rows, remarks = [], []
    for (name, algorithm), group in summary.groupby(["implementation", "algorithm"], sort=False):
        sums = group.sum(numeric_only=True)
        bad = group[group["status"] == "failed"]["family"].tolist()
        status = "unsupported" if not algorithm else "failed" if bad else "ok"
        row = [name, group["version"].iloc[0], algorithm, verdict(status)]
        row += [*(int(sums[column]) for column in (*decided, *left_open)), ", ".join(bad)]
        rows.append(row)
        remark = "; ".join(dict.fromkeys(reason for reason in group["reason"] if reason))
        # A publicly known defect comes before the reasons of this run.
        if bad and str(name) in known:
            remark = "; ".join(filter(None, (f"publicly known: {known[str(name)]}", remark)))
        remarks.append(remark)
    return Table(
        columns=columns,
        rows=rows,
        caption="Verifiers on boundary vectors",
        source=("measured",),
        row_headers=2,
        remarks=remarks,
        notes=["Left open: the specification lets the verifier decide; a chain has to decide."],
    )


def wrong_verdicts(verdicts: pd.DataFrame, limit: int = 20) -> Table:
    """Return a table of wrong verdicts, crashes and timeouts, up to `limit` per verifier."""
    bad = verdicts[verdicts["outcome"].isin(["wrong", "crash", "timeout"])]
    columns = [
        Column("verifier", key="implementation"),
        Column("vector"),
        Column("probes", key="probe"),
        Column("expected"),
        Column("verdict"),
    ]
    rows = bad.groupby("implementation", sort=False).head(limit)
    omitted = len(bad) - len(rows)
    notes = [f"{omitted} more are left out here; `--output FOLDER` saves all."] if omitted else []
    return Table.of(
        rows, columns, caption="Wrong verdicts", source=("measured",), row_headers=1, notes=notes
    )


def availability(verifiers: list[VerifierSpec]) -> Table:
    """Return a table of verifiers, with the reason for each that is unavailable."""
    columns = [Column(name) for name in ("verifier", "version", "language", "status", "reason")]
    rows = []
    for verifier in verifiers:
        reason = verifier.unavailable_reason()
        status = verdict("unsupported" if reason else "ok")
        rows.append([verifier.name, verifier.version, verifier.language, status, reason])
    return Table(columns=columns, rows=rows, caption="Verifiers")
