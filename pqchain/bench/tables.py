"""Tables of benchmark results, for terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.bench import variation
from pqchain.bench.comparing import FLOOR, RESOLUTION
from pqchain.bench.gas_units import OWN, PriceUnit, clients, statements, units
from pqchain.costs import GIVEN
from pqchain.figures import BYTES, COUNT, SECONDS, Figure, Kind, Unit
from pqchain.render.table import Column, Shown, Table

Record = Mapping[Any, Any]

_RATE = Unit("B/s")


def _columns(*columns: tuple[str, str, Unit], group: str = "") -> list[Column]:
    """Return numeric columns with title, key of the frame ("" for the title) and unit."""
    return [Column(title, group, numeric=True, key=key, unit=unit) for title, key, unit in columns]


def _or_missing(text: str) -> str:
    return text or figures.MISSING


_IMPLEMENTATION = Column("implementation", show=_or_missing)


def block_table(frame: pd.DataFrame) -> Table:
    """Return a table of a `measure_blocks` frame, a row per scheme; times are per transaction."""
    counts = list(dict.fromkeys(frame["threads"]))
    columns = [
        Column("algorithm"),
        *(
            Column(title, numeric=True, show=figures.integer)
            for title in ("public key", "signature", "tx", "B / tx")
        ),
        *_columns(*((name, "", SECONDS) for name in ("wallet", "sign"))),
        *_columns(*((f"verify ×{count}", "", SECONDS) for count in counts)),
        *_columns((f"whole ×{counts[-1]}", "", SECONDS), ("rate", "", _RATE)),
        Column("code", show=_or_missing),
        Column("tampered", show=_or_missing),
    ]
    requested = frame.attrs.get("provenance", {}).get("transactions", 0)
    rows: list[list[Any]] = []
    remarks = []
    for name, group in frame.groupby("algorithm", sort=False):
        records = group.to_dict("records")
        first, last = records[0], records[-1]
        remarks.append(_remark(first))
        if first["status"] != "ok":
            rows.append([name, *[math.nan] * (len(columns) - 3), "", ""])
            continue
        # A slow scheme signs fewer transactions than requested.
        count = first["transactions"]
        text = f"{figures.integer(count)} of {figures.integer(requested)}"
        rows.append([
            name, first["public_key_bytes"], first["signature_bytes"],
            Shown(count, text) if count < requested else count, first["transaction_bytes"],
            first["wallet_median_seconds"], first["sign_median_seconds"],
            *(row["verify_median_seconds"] / row["transactions"] for row in records),
            last["apply_median_seconds"] / last["transactions"],
            last["block_bytes"] / last["apply_median_seconds"],
            first["apply_code"], first["tampered"],
        ])  # fmt: skip
    return Table(
        columns=columns,
        rows=rows,
        remarks=remarks,
        caption="Blocks of this machine. Times are per transaction; verify: signatures only, by "
        "number of threads; whole: from the bytes of the block to the new balances; code: what "
        "decodes, hashes and settles the whole block.",
        source=(Kind.MEASURED,),
    )


def operation_table(measurements: pd.DataFrame) -> Table:
    """Return a table that shows every row of a measurement frame."""
    spread = Column("spread", numeric=True, show=str)
    p95 = Column("p95", numeric=True, key="p95_seconds")
    columns: list[Column | str] = ["algorithm", _IMPLEMENTATION, "operation", "median_seconds"]
    columns += [spread, "min_seconds", p95, "samples"]
    records = measurements.to_dict("records")
    shown = measurements.assign(remark=[*map(_remark, records)], spread=[*map(_deviation, records)])
    notes = [_UNSTEADY] if any("!" in text for text in shown["spread"]) else []
    return Table.of(shown, columns, remark="remark", notes=notes)


_UNSTEADY = (
    "spread: median absolute deviation over the median; !: above "
    f"{100 * variation.MAX_DEVIATION:g} %, or the 95th percentile above "
    f"{variation.MAX_P95_OVER_MEDIAN:g} medians. Signing by rejection sampling varies by itself."
)


def _deviation(row: Record) -> str:
    deviation = variation.deviation(row)
    if math.isnan(deviation):
        return figures.MISSING
    text = figures.percent(100 * deviation, sign=False)
    return f"!{figures.NARROW_SPACE}{text}" if variation.is_unsteady(row) else text


def proof_table(proofs: pd.DataFrame) -> Table:
    """Return a table of a frame of `measure_proofs`."""
    columns = [
        "signatures", "children", "prove_seconds", "prove_cpu_seconds", "proof_bytes",
        "claims_bytes", "verify_seconds", "setup_seconds", "peak_bytes",
    ]  # fmt: skip
    first = proofs.to_dict("records")[0]
    if first["status"] == "unsupported":
        return Table.of(proofs, ["algorithm", "status", "reason"])
    note = (
        f"{first['algorithm']} by py-lean-pq {first['version']}, {first['cores']} processors. One "
        f"signature: {BYTES.text(first['signature_bytes'], exact=True)}, signed in "
        f"{SECONDS.text(first['sign_seconds'])}, verified in "
        f"{SECONDS.text(first['verify_signature_seconds'])}. A row with children merges that many "
        "proofs; the time is that of merging."
    )
    return Table.of(proofs, columns, remark="reason", notes=(note,))


def witness_table(witness: pd.DataFrame) -> Table:
    """Return a table of a frame of `measure_witness`."""
    ratio = Column("per byte", "relative to Schnorr", numeric=True, key="byte_ratio")
    columns: list[Column | str] = [
        "algorithm", _IMPLEMENTATION, Column("instructions", key="cpu_flags"), "witness_bytes",
        "verify_seconds", "byte_seconds", ratio, Column("95 %"), "block_seconds",
    ]  # fmt: skip
    intervals = _intervals(witness[["low_ratio", "high_ratio"]], "no interval")
    note = (
        "Slowest of several signatures, by Python. Witness: a Pay-to-Merkle-Root input (BIP-360, "
        "draft) with a leaf at depth 1. block seconds: a block of 4,000,000 bytes of such "
        "witnesses on one processor."
    )
    return Table.of(witness.assign(**{"95 %": intervals}), columns, remark="reason", notes=(note,))


def _intervals(ends: pd.DataFrame, missing: str) -> list[str]:
    pairs = zip(*(ends[end].map(figures.significant) for end in ends), strict=True)
    return [missing if figures.MISSING in pair else " to ".join(pair) for pair in pairs]


def compared_table(compared: pd.DataFrame) -> Table:
    """Return a table of the comparison that `compare_runs` returns."""
    columns: list[Column | str] = ["algorithm", _IMPLEMENTATION, "operation"]
    if compared["run"].nunique() > 1:
        columns.append("run")
    sides = (("baseline", "base_median"), ("other", "median"))
    columns += [Column(title, "median", True, key=f"{key}_seconds") for title, key in sides]
    if compared["cycles_ratio"].notna().any():
        columns += [
            Column(title, "cycles", True, figures.integer, f"{key}_cycles") for title, key in sides
        ]
    columns += [Column("ratio", numeric=True), "95 %", "verdict"]
    rows = compared.assign(**{"95 %": _intervals(compared[["low", "high"]], figures.MISSING)})
    # Rows of one side only would bury the others; failed ones say why they have no ratio.
    one_sided = (compared[["base_runs", "runs"]].fillna(0) == 0).any(axis=1)
    notes = _compared_notes(compared)
    if one_sided.any() and not one_sided.all():
        rows = rows[~one_sided]
        notes.append(f"{one_sided.sum()} rows are of one side only and left out; --json has them.")
    pairs = zip(rows["verdict"], rows["reason"], strict=True)
    verdicts = [": ".join(filter(None, pair)) for pair in pairs]
    # A reason of all rows is said once, because it would make the table too wide for a terminal.
    if len(verdicts) > 1 and len(set(verdicts)) == 1 and rows["reason"].iloc[0]:
        notes.insert(0, f"{rows['verdict'].iloc[0] or 'No verdict'}: {rows['reason'].iloc[0]}.")
        verdicts = [verdict or figures.MISSING for verdict in rows["verdict"]]
    return Table.of(rows.assign(verdict=verdicts), columns, notes=notes)


def _compared_notes(compared: pd.DataFrame) -> list[str]:
    known = compared["verdict"] != ""
    return bool(known.any()) * [
        "Times: geometric mean of the medians of separate runs, from five runs on without the "
        "fifth at each end. Intervals: Welch's t on their logarithms.",
        f"Faster, slower: by {100 * (FLOOR - 1):.0f} % or more, significant after Holm's "
        f"correction for {known.sum()} rows. No difference: the interval excludes "
        f"{100 * (RESOLUTION - 1):.0f} %.",
    ]


def _remark(record: Record) -> str:
    ran = record["status"] == "ok"
    return str(record["reason"]) if ran else f"{record['status']}: {record['reason']}"


def gas_tables(frame: pd.DataFrame, notes: Iterable[str] = ()) -> list[Table]:
    """Return the tables of a frame of `measure_gas`; `notes` are added below the prices."""
    return [_price_table(frame, notes), _part_table(frame), _statement_table(frame)]


def _price_table(frame: pd.DataFrame, added: Iterable[str]) -> Table:
    columns: list[Column | str] = ["algorithm", "verifier"]
    columns += _columns(
        ("slowest verification", "verify_seconds", SECONDS), ("input", "input_bytes", BYTES)
    )
    for unit in units().values():
        columns.append(Column(unit.title, numeric=True, key=unit.name))
        if unit.benchmark_title:
            columns.append(Column(unit.benchmark_title, numeric=True, key=f"{unit.name}-benchmark"))
    rows = []
    for _, group in frame[frame["algorithm"] != ""].groupby(["algorithm", "verifier"], sort=False):
        by_unit = {row["unit"]: row for row in group.to_dict("records")}
        cells = dict(by_unit["evm"])
        for unit in units().values():
            row = by_unit[unit.name]
            value, low, high = (row[end] / unit.scale for end in ("gas", "low", "high"))
            # One interval: those of the other units differ little, and the CSV file has them.
            ends = (low, high) if unit.name == "evm" else (value, value)
            price = Figure(value, *ends, COUNT, Kind.MEASURED, "")
            benchmark = Shown(row["benchmark_gas"], COUNT.text(row["benchmark_gas"]))
            cells |= {unit.name: Shown(row["gas"], price.text())}
            cells |= {f"{unit.name}-benchmark": benchmark}
        rows.append(cells)
    chains = [f"{name} ({row['chain']})" for name, row in clients().items() if "chain" in row]
    notes = [f"Verifiers that clients of chains run: {', '.join(chains)}."]
    notes += [f"{unit.title}: {_anchor(frame, unit)}. {unit.rule}." for unit in units().values()]
    notes += added
    priced = frame[frame["status"] == "ok"]
    notes += ["No intervals: fewer than 6 rounds."] * bool(priced["low"].isna().any())
    notes += [
        f"{row['verifier']}: {row['reason']}."
        for row in frame[frame["algorithm"] == ""].to_dict("records")
    ]
    has_given = frame["reason"].str.startswith(GIVEN).any()
    return Table.of(
        rows,
        columns,
        remark="reason",
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


def _part_table(frame: pd.DataFrame) -> Table:
    rows = frame[(frame["algorithm"] != "") & (frame["unit"] == "evm")]
    rows = rows.dropna(subset=["decode_key_seconds", "word_seconds"], how="all")
    known, word = rows["verify_seconds"] - rows["decode_key_seconds"], rows["word_seconds"]
    per_second, gas = rows["gas"] / rows["verify_seconds"], Unit("gas")
    computed = {"known": known, "known_gas": known * per_second, "word_gas": word * per_second}
    columns = [
        *_columns(
            ("decode key", "decode_key_seconds", SECONDS),
            ("decode signature", "decode_signature_seconds", SECONDS),
        ),
        *_columns(
            ("verification", "known", SECONDS),
            ("EVM gas", "known_gas", gas),
            group="with a decoded key",
        ),
        *_columns(
            ("time", "word_seconds", SECONDS),
            ("EVM gas", "word_gas", gas),
            group="32 bytes of message",
        ),
    ]
    return Table.of(
        rows.assign(**computed),
        ["algorithm", "verifier", *columns],
        row_headers=2,
        caption="Parts of a verification, where the library's interface has them.",
        source=[Kind.MEASURED],
    )


def _statement_table(frame: pd.DataFrame) -> Table:
    rows = []
    for row in statements():
        unit = units()[row["unit"]]
        same = frame[(frame["algorithm"] == row["algorithm"]) & (frame["unit"] == row["unit"])]
        if not same.empty:
            stated = Unit(unit.symbol).text(row["gas"], 4, exact=row["gas"] < 1e8)
            is_anchor = row["algorithm"] == unit.anchor
            here = "the anchor" if is_anchor else _price_range(same, unit)
            rows.append({**row, "stated": Shown(row["gas"], stated), "here": here})
    numeric = Column("stated", numeric=True)
    return Table.of(
        rows,
        ["algorithm", "unit", numeric, "here", Column("meaning", key="what"), "source", "date"],
        row_headers=2,
        caption="Prices stated by chains and drafts, and the least and largest of those above.",
        source=[Kind.CITED, Kind.MEASURED],
    )


def _price_range(rows: pd.DataFrame, unit: PriceUnit) -> str:
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
