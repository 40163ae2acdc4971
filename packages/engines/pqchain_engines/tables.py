"""Tables of engines and their runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from pqchain.consensus.runs import KINDS
from pqchain.figures import SECONDS, Kind, Unit, percent
from pqchain.render.table import Column, Table, verdict
from pqchain_engines.registry import Engine

_RUN = ("engine", "algorithm", "mode", "nodes", "rate_bits_per_second", "block_bytes")


def availability(engines: Iterable[Engine]) -> Table:
    """Return a table of engines, with the reason and remedy where one cannot run here."""
    columns = [Column(name) for name in ("engine", "project", "version", "language", "status")]
    rows, remarks = [], []
    for engine in engines:
        reason = engine.unavailable_reason()
        status = verdict("unsupported" if reason else "ok")
        rows.append([engine.name, engine.title, engine.version, engine.language, status])
        remarks.append(reason)
    return Table(columns=columns, rows=rows, remarks=remarks)


def runs(frame: pd.DataFrame) -> Table:
    """Return a table of runs; `frame` is RUNS."""
    columns: list[Column | str] = [
        *_RUN,
        "latency_seconds",
        "interval_seconds",
        Column("messages", key="sent_messages", numeric=True),
        Column("bytes", key="sent_bytes", numeric=True),
        "cpu_seconds",
        Column("final heights", key="final_heights", numeric=True),
    ]
    kinds = [Kind(kind) for kind in dict.fromkeys(frame["kind"])]
    caption = "Medians per block height; messages and bytes of all validators."
    return Table.of(frame, columns, remark="reason", caption=caption, source=kinds)


def precompiles(frame: pd.DataFrame) -> Table:
    """Return a table of precompiles; `frame` is PRECOMPILES."""
    columns = [
        Column("precompile"),
        Column("one call", key="call_seconds", numeric=True, unit=SECONDS),
        Column("low", group="95 % interval", key="low_seconds", numeric=True, unit=SECONDS),
        Column("high", group="95 % interval", key="high_seconds", numeric=True, unit=SECONDS),
        Column("price", key="gas", numeric=True, unit="gas"),
        Column("rate", key="mgas_per_second", numeric=True, unit="Mgas/s"),
        Column("same block time as ecrecover", key="block_gas", numeric=True, unit="gas"),
    ]
    caption = (
        "Verifications as precompiles of revm. Same block time: the price at which a block of such "
        "calls takes as long as a block of ecrecover."
    )
    # A precompile without a stated price has no number instead of None.
    frame = frame.assign(gas=frame["gas"].astype("float64"))
    return Table.of(frame, columns, remark="reason", caption=caption, source=[Kind.MEASURED])


def comparison(frame: pd.DataFrame) -> list[Table]:
    """Return tables of latencies and ratios by run, of errors, and of rows outside the goal.

    `frame` is COMPARED.
    """
    values = [
        Column("engine", key="engine_value", numeric=True),
        Column("model", key="model_value", numeric=True),
        Column("error", key="error_percent", numeric=True, show=percent),
    ]
    setup = [
        Column("algorithm"),
        Column.of("nodes", frame),
        Column("rate", key="rate_bits_per_second", numeric=True, show=_rate),
        Column("block", key="block_bytes", numeric=True),
        *([Column("txs", key="transactions", numeric=True)] if frame["transactions"].any() else []),
    ]
    tables = []
    titles = {"latency_seconds": ("Latency", "s"), "ratio": ("Ratio of latency to Ed25519", "")}
    for (mode, quantity), rows in frame.groupby(["mode", "quantity"], sort=False):
        if quantity in titles:
            title, unit = titles[quantity]
            columns = [*setup, *(replace(value, unit=unit) for value in values[:2]), values[2]]
            sources = [KINDS[str(mode)], Kind.MODELLED]
            tables.append(Table.of(rows, columns, caption=f"{title}, mode {mode}.", source=sources))
    errors = frame.groupby(["mode", "quantity", "goal_percent"], sort=False).agg(
        rows=("within", "size"), within=("within", "sum"),
        low=("error_percent", "min"), high=("error_percent", "max"),
    ).reset_index()  # fmt: skip
    columns = [
        *(Column("mode"), Column("quantity"), Column("rows", numeric=True)),
        Column("within the goal", key="within", numeric=True),
        Column("error from", key="low", numeric=True, show=percent),
        Column("to", key="high", numeric=True, show=percent),
        Column("goal", key="goal_percent", numeric=True, show="{:g} %".format),
    ]
    tables.append(Table.of(errors, columns, caption="Errors of the model by quantity."))
    if not frame["within"].all():
        rows = frame[~frame["within"]]
        columns = [*setup[:2], Column("mode"), Column("quantity"), *values]
        caption = "Rows outside the goal, with causes."
        tables.append(Table.of(rows, columns, remark="cause", caption=caption))
    return tables


def _rate(bits_per_second: float) -> str:
    return Unit.of("bits_per_second").text(bits_per_second) if bits_per_second else "unlimited"
