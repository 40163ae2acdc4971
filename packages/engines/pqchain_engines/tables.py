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


def comparison(frame: pd.DataFrame, skills: pd.DataFrame) -> list[Table]:
    """Return tables of latencies and ratios by run, of skills, and of rows outside the goal.

    `frame` is COMPARED, `skills` SKILL of it.
    """
    values = [
        *(
            Column(name, key=f"{name}_value", numeric=True, digits=5)
            for name in ("engine", "model")
        ),
        *(_percent("error"), _percent("goal")),
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
            columns = [*setup, *(replace(value, unit=unit) for value in values[:2]), *values[2:]]
            columns.append(Column("status"))
            sources = [KINDS[str(mode)], Kind.MODELLED]
            tables.append(Table.of(rows, columns, caption=f"{title}, mode {mode}.", source=sources))
    columns = [
        *(Column(name) for name in ("engine", "mode", "quantity")),
        *(Column(name, numeric=True) for name in ("rows", "informative", "outside")),
        *(_percent("effect"), _percent("largest", "largest_effect_percent"), _percent("noise")),
    ]
    for group, names in (
        ("SSE", ("model", "no effect", "links")),
        ("skill", ("no effect", "links")),
    ):
        for name in names:
            key = f"{name.replace(' ', '_')}_{group.lower()}"
            columns.append(Column(name, group=group, key=key, numeric=True))
    columns += [_percent("bias"), Column("status")]
    caption = (
        "Effect of the scheme (latency: of all but the links) in the engine, and skill of the model"
        " beyond a model without any effect and one of the links' latency."
    )
    tables.append(Table.of(skills, columns, caption=caption))
    if (rows := frame[frame["status"] == "outside"]).size:
        columns = [*setup[:2], Column("mode"), Column("quantity"), *values]
        tables.append(Table.of(rows, columns, caption="Rows outside the goal."))
    return tables


def _percent(title: str, key: str = "") -> Column:
    return Column(title, key=key or f"{title}_percent", numeric=True, show=percent)


def _rate(bits_per_second: float) -> str:
    return Unit.of("bits_per_second").text(bits_per_second) if bits_per_second else "unlimited"
