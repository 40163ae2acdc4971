"""Tables of engines and their runs."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from pqchain.engines.registry import Engine
from pqchain.figures import SECONDS, Kind
from pqchain.render.table import Column, Table, verdict

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


def comparison(frame: pd.DataFrame) -> Table:
    """Return a table of the model and an engine; `frame` is COMPARED."""
    columns: list[Column | str] = [
        *("algorithm", "nodes", "rate_bits_per_second", "block_bytes", "quantity"),
        Column("engine", key="engine_value", numeric=True),
        Column("model", key="model_value", numeric=True),
        "error_percent",
    ]
    caption = "The consensus model and runs of the engine with the same setup and prices."
    sources = [Kind.REPLAYED, Kind.MODELLED]
    return Table.of(frame, columns, remark="cause", caption=caption, source=sources)
