"""Tables of a gas frame: prices by unit, parts of a verification, prices that others state."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.bench.gas_units import OWN, PriceUnit, clients, statements, units
from pqchain.costs import GIVEN
from pqchain.figures import BYTES, COUNT, SECONDS, Figure, Kind, Unit
from pqchain.render.table import Column, Shown, Table


def gas_tables(frame: pd.DataFrame, notes: Iterable[str] = ()) -> list[Table]:
    """Return the tables of a frame of `measure_gas`; `notes` are added below the prices."""
    return [_prices(frame, notes), _parts(frame), _statements(frame)]


def _by_verifier(frame: pd.DataFrame) -> list[dict[str, dict[str, Any]]]:
    """Return, for each scheme and verifier, its rows by unit."""
    rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for record in frame[frame["algorithm"] != ""].to_dict("records"):
        row = {str(name): value for name, value in record.items()}
        rows.setdefault((row["algorithm"], row["verifier"]), {})[row["unit"]] = row
    return list(rows.values())


def _prices(frame: pd.DataFrame, added: Iterable[str]) -> Table:
    columns = [
        Column("algorithm"), Column("verifier"),
        Column("slowest verification", numeric=True, unit=SECONDS),
        Column("input", numeric=True, unit=BYTES),
    ]  # fmt: skip
    for unit in units().values():
        columns.append(Column(unit.title, numeric=True, key=unit.name))
        if unit.benchmark_title:
            columns.append(Column(unit.benchmark_title, numeric=True, key=f"{unit.name}-benchmark"))
    rows, remarks = [], []
    for by_unit in _by_verifier(frame):
        first = by_unit["evm"]
        cells = [first["algorithm"], first["verifier"], first["verify_seconds"]]
        cells.append(first["input_bytes"])
        for unit in units().values():
            row = by_unit[unit.name]
            value, low, high = (row[end] / unit.scale for end in ("gas", "low", "high"))
            price = Figure(value, low, high, COUNT, Kind.MEASURED, "")
            # One interval: those of the other units differ little, and the CSV file has them.
            if unit.name != "evm":
                price = price.within(value, value, value)
            cells.append(Shown(row["gas"], price.text()))
            if unit.benchmark_title:
                cells.append(Shown(row["benchmark_gas"], COUNT.text(row["benchmark_gas"])))
        rows.append(cells)
        remarks.append(first["reason"])
    chains = [f"{name} ({row['chain']})" for name, row in clients().items() if "chain" in row]
    notes = [f"Verifiers that clients of chains run: {', '.join(chains)}."]
    notes += [f"{unit.title}: {_anchor(frame, unit)}. {unit.rule}." for unit in units().values()]
    notes += added
    notes += [
        f"{row['verifier']}: {row['reason']}."
        for row in frame[frame["algorithm"] == ""].to_dict("records")
    ]
    has_given = frame["reason"].str.startswith(GIVEN).any()
    return Table(
        columns=columns,
        rows=rows,
        remarks=remarks,
        notes=notes,
        row_headers=2,
        caption="Price of one verification, the slowest of several signatures, relative to an "
        "anchor timed in the same rounds; in brackets the 95 % interval of the median round.",
        source=[Kind.MEASURED, *([Kind.GIVEN] if has_given else [])],
    )


def _anchor(frame: pd.DataFrame, unit: PriceUnit) -> str:
    """Return which verifier timed a unit's anchor, or why the unit is missing."""
    rows = frame[frame["unit"] == unit.name].to_dict("records")
    if timed := next((row for row in rows if row["anchor_verifier"]), None):
        price = Unit(unit.symbol).text(timed["anchor_gas"], 4, exact=timed["anchor_gas"] < 1e8)
        return f"{price} for {unit.anchor} by {timed['anchor_verifier']}"
    return f"missing; {rows[0]['reason']}"


def _parts(frame: pd.DataFrame) -> Table:
    rows = []
    for by_unit in _by_verifier(frame):
        row = by_unit["evm"]
        decoding = row["decode_key_seconds"]
        if math.isnan(decoding) and math.isnan(row["word_seconds"]):
            continue
        gas_per_second = row["gas"] / row["verify_seconds"]
        known = row["verify_seconds"] - decoding
        rows.append([
            row["algorithm"], row["verifier"], decoding, row["decode_signature_seconds"], known,
            known * gas_per_second, row["word_seconds"], row["word_seconds"] * gas_per_second,
        ])  # fmt: skip
    return Table(
        columns=[
            Column("algorithm"), Column("verifier"),
            Column("decode key", numeric=True, unit=SECONDS),
            Column("decode signature", numeric=True, unit=SECONDS),
            Column("verification", group="with a decoded key", numeric=True, unit=SECONDS),
            Column("EVM gas", group="with a decoded key", numeric=True, unit="gas"),
            Column("time", group="32 bytes of message", numeric=True, unit=SECONDS),
            Column("EVM gas", group="32 bytes of message", numeric=True, unit="gas"),
        ],
        rows=rows,
        row_headers=2,
        caption="Parts of a verification, where the library's interface has them.",
        source=[Kind.MEASURED],
    )  # fmt: skip


def _statements(frame: pd.DataFrame) -> Table:
    rows = []
    for row in statements():
        unit = units()[row["unit"]]
        symbol = Unit(unit.symbol)
        same = frame[(frame["algorithm"] == row["algorithm"]) & (frame["unit"] == row["unit"])]
        if same.empty:
            continue
        rows.append([
            row["algorithm"], unit.name,
            Shown(row["gas"], symbol.text(row["gas"], 4, exact=row["gas"] < 1e8)),
            "the anchor" if row["algorithm"] == unit.anchor else _range(same, unit),
            row["what"], row["source"], row["date"],
        ])  # fmt: skip
    return Table(
        columns=[
            Column("algorithm"), Column("unit"), Column("stated", numeric=True),
            Column("here"), Column("meaning"), Column("source"), Column("date"),
        ],
        rows=rows,
        row_headers=2,
        caption="Prices stated by chains and drafts, and the least and largest of those above.",
        source=[Kind.CITED, Kind.MEASURED],
    )  # fmt: skip


def _range(rows: pd.DataFrame, unit: PriceUnit) -> str:
    """Return the least and the largest measured price with the verifiers that have it."""
    # A unit that is relative to one client's anchor is that client's.
    if OWN not in unit.anchor_verifiers:
        rows = rows[rows["verifier"].isin(unit.anchor_verifiers)]
    rows = rows[rows["status"] == "ok"].sort_values("gas")
    texts = []
    for row in rows.iloc[[0, -1][: len(rows)]].to_dict("records"):
        price = Figure(row["gas"], row["low"], row["high"], Unit(unit.symbol), Kind.MEASURED, "")
        texts.append(f"{price.text()} by {row['verifier']}")
    return "; ".join(texts) or figures.MISSING
