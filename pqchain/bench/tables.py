"""Tables of benchmark results, for terminals and pages, and a text summary of one block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import algorithms, figures
from pqchain.costs import algorithms_of
from pqchain.figures import BYTES, RATIO, SECONDS
from pqchain.render.table import Column, Shown, Table, ours

Record = Mapping[Any, Any]


def lines(measured: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a text summary of one scheme, given its rows of a block frame."""
    records = measured.to_dict("records")
    first = records[0]
    yield f"{'algorithm':<20}{first['algorithm']}"
    if first["status"] != "ok":
        yield f"{first['status']:<20}{first['reason']}"
        return
    size = BYTES.text(first["block_bytes"], exact=True)
    facts: dict[str, Any] = {
        "implementation": first["implementation"],
        "public key": f"{BYTES.text(first['public_key_bytes'], exact=True)}, {first['key_mode']}",
        "signature": f"{BYTES.text(first['signature_bytes'], exact=True)} on average",
        "wallet": _timed(first, "wallet", f"for keys and address, {first['wallets']} wallets"),
        "sign": _timed(first, "sign", "for a transaction of the block"),
        "block": f"{first['transactions']} transactions, {size}",
        "transaction": f"{first['transaction_bytes']:.2f} B on average, header included",
        "previous hash": first["previous_hash"],
        "block hash": first["block_hash"],
        "valid": first["valid"],
        "tampered": f"refused, {first['tampered']}: one bit of the first signature flipped",
        "note": first["reason"],
    }
    yield from (f"{name:<20}{value}" for name, value in facts.items() if value)
    yield ""
    # A scheme that is given by numbers has no times.
    if math.isnan(first["verify_median_seconds"]):
        return
    yield _thread_table(records).text()
    yield ""
    yield (
        f"Medians of {first['rounds']} rounds. Whole block: from its bytes to the new state, of "
        f"which hashing {SECONDS.text(first['hash_median_seconds'])}; its rate."
    )
    bare, threads = first["loop_median_seconds"], first["threads"]
    if math.isfinite(bare):
        yield (
            f"A bare loop of C over the same signatures: {SECONDS.text(bare)}; "
            f"{threads} thread{'s'[: threads > 1]} here: "
            f"{RATIO.text(first['verify_median_seconds'] / bare)}."
        )


def _rate(bytes_per_second: float) -> str:
    known = math.isfinite(bytes_per_second)
    return f"{bytes_per_second / 1e6:.1f} MB/s" if known else figures.MISSING


def _numeric(titles: Iterable[str], show: Callable[[Any], str]) -> list[Column]:
    return [Column(title, numeric=True, show=show) for title in titles]


def _thread_table(records: Sequence[Record]) -> Table:
    alone = records[0]["verify_median_seconds"]
    columns = [
        *_numeric(["threads"], str),
        *_numeric(["signatures", "± MAD", "each"], SECONDS.text),
        *_numeric(["speed-up"], RATIO.text),
        *_numeric(["whole block", "± MAD"], SECONDS.text),
        *_numeric(["rate"], _rate),
    ]
    rows = []
    for row in records:
        verify, whole = row["verify_median_seconds"], row["apply_median_seconds"]
        signatures = [verify, row["verify_mad_seconds"], verify / row["transactions"]]
        block = [whole, row["apply_mad_seconds"], row["block_bytes"] / whole]
        rows.append([row["threads"], *signatures, alone / verify, *block])
    return Table(columns=columns, rows=rows)


def _or_missing(text: str) -> str:
    return text or figures.MISSING


_IMPLEMENTATION = Column("implementation", show=_or_missing)


def block_table(measured: pd.DataFrame, *, part: str = "") -> Table:
    """Return a table with a row per scheme of a block frame; times are per transaction."""
    counts = list(dict.fromkeys(measured["threads"]))
    times = ["wallet", "sign", *(f"verify ×{count}" for count in counts), f"whole ×{counts[-1]}"]
    columns = [
        Column("algorithm"),
        *_numeric(["public key", "signature", "tx", "B / tx"], figures.integer),
        *_numeric(times, SECONDS.text),
        *_numeric(["rate"], _rate),
        Column("tampered", show=_or_missing),
    ]
    about = measured.attrs.get("provenance", {})
    rows, remarks = [], []
    for name, group in measured.groupby("algorithm", sort=False):
        records = group.to_dict("records")
        first, last = records[0], records[-1]
        remarks.append(_remark(first))
        if first["status"] != "ok":
            rows.append([name, *[math.nan] * (len(columns) - 2), ""])
            continue
        verify = [row["verify_median_seconds"] / row["transactions"] for row in records]
        whole = last["apply_median_seconds"]
        block = [whole / last["transactions"], last["block_bytes"] / whole, first["tampered"]]
        sizes = [first[f"{what}_bytes"] for what in ("public_key", "signature")]
        count, asked = first["transactions"], about.get("transactions", first["transactions"])
        made = f"{figures.integer(count)} of {figures.integer(asked)}"
        sizes += [Shown(count, made) if count < asked else count, first["transaction_bytes"]]
        making = [first[f"{what}_median_seconds"] for what in ("wallet", "sign")]
        rows.append([name, *sizes, *making, *verify, *block])
    return Table(
        columns=columns,
        rows=rows,
        remarks=remarks,
        caption="Blocks of this machine. Times are per transaction; verify: signatures only, by "
        "number of threads; whole: from the bytes of the block to the new balances.",
        source=("measured",),
        part=part,
    )


def operation_table(measurements: pd.DataFrame) -> Table:
    """Return a table with a row per row of a measurement frame."""
    times = ("median_seconds", "mad_seconds", "min_seconds", "p95_seconds")
    columns: list[Column | str] = ["algorithm", _IMPLEMENTATION, "operation", *times, "samples"]
    remarks = list(map(_remark, measurements.to_dict("records")))
    return Table.of(measurements.assign(remark=remarks), columns, remark="remark")


def quartile_table(quartiles: pd.DataFrame) -> Table:
    """Return a table of quartiles and medians in cycles, in SUPERCOP's order."""
    columns = [
        Column("algorithm"),
        _IMPLEMENTATION,
        Column("operation"),
        *(
            Column(title, "cycles", True, figures.integer, f"{name}_cycles")
            for title, name in (("25 %", "q1"), ("50 %", "median"), ("75 %", "q3"))
        ),
        Column("samples", numeric=True),
    ]
    note = "Cycles of the time-stamp counter at its constant rate; none where Python was timed."
    return Table.of(quartiles, columns, notes=(note,))


def compared_table(compared: pd.DataFrame) -> Table:
    """Return a table of a frame of `compare_runs`."""
    cycles = compared["cycles_ratio"].notna().any()
    columns = [Column("algorithm"), _IMPLEMENTATION, Column("operation")]
    if compared["run"].nunique() > 1:
        columns.append(Column("run"))
    columns += [
        Column("baseline", "median", True, key="base_median_seconds"),
        Column("other", "median", True, key="median_seconds"),
    ]
    if cycles:
        columns += [
            Column("baseline", "cycles", True, figures.integer, "base_median_cycles"),
            Column("other", "cycles", True, figures.integer, "median_cycles"),
        ]
    columns += [
        Column("ratio", numeric=True),
        Column("95 %"),
        Column("verdict"),
    ]
    ends = zip(compared["low"], compared["high"], strict=True)
    shown = [
        f"{figures.significant(low)} to {figures.significant(high)}"
        if math.isfinite(low)
        else figures.MISSING
        for low, high in ends
    ]
    verdicts = compared["verdict"].where(compared["verdict"] != "", compared["reason"])
    rows = compared.assign(verdict=verdicts)
    rows["95 %"] = shown
    return Table.of(rows, columns, notes=_interval_notes(compared))


def _interval_notes(compared: pd.DataFrame) -> list[str]:
    made = set(compared["interval"])
    notes = []
    if "bootstrap" in made:
        notes.append("Intervals: bootstrap of rounds and of samples within them.")
    if "MAD" in made:
        notes.append(
            "Intervals by the MAD, as if a round were one sample; of runs with --samples they come "
            "from a bootstrap."
        )
    if made - {""}:
        notes.append(
            "An interval covers the scatter within its two runs, not what changed between them, "
            "such as other load: measure both again, in turn, before you conclude."
        )
    return notes


def measurement_tables(measurements: pd.DataFrame, *, part: str = "") -> list[Table]:
    """Return tables of medians and MADs: signature schemes, then key encapsulation."""
    kind_of = {row.name: row.kind for row in algorithms_of(measurements)}
    kinds = measurements["algorithm"].map(kind_of)
    titles = {"signature": "Signature schemes", "kem": "Key encapsulation"}
    return [
        _measurement_table(measurements[kinds == kind], title, part)
        for kind, title in titles.items()
        if (kinds == kind).any()
    ]


def _measurement_table(measurements: pd.DataFrame, title: str, part: str) -> Table:
    present = set(measurements["operation"])
    operations = [name for name in algorithms.OPERATIONS if name in present]
    columns = [Column("algorithm"), _IMPLEMENTATION]
    for name in map(figures.humanize, operations):
        columns += [
            Column("median", name, True, SECONDS.text),
            Column("± MAD", name, True, lambda value: SECONDS.text(value, 2)),
            Column("samples", name, True, figures.integer),
        ]
    rows, remarks = [], []
    for pair, group in measurements.groupby(["algorithm", "implementation"], sort=False):
        records = group.to_dict("records")
        timed = {record["operation"]: record for record in records if record["status"] == "ok"}
        row: list[Any] = [*pair]
        for record in map(timed.get, operations):
            known = record and [
                ours(record["median_seconds"]),
                record["mad_seconds"],
                record["samples"],
            ]
            row += known or [math.nan] * 3
        rows.append(row)
        remarks.append("; ".join(dict.fromkeys(filter(None, map(_remark, records)))))
    return Table(
        columns=columns,
        rows=rows,
        remarks=remarks,
        caption=f"{title}: median and MAD of each time.",
        source=("measured",),
        row_headers=2,
        part=part,
    )


def _remark(record: Record) -> str:
    ran = record["status"] == "ok"
    return str(record["reason"]) if ran else f"{record['status']}: {record['reason']}"


def _timed(record: Record, what: str, about: str) -> str:
    known = math.isfinite(record[f"{what}_median_seconds"])
    return f"{_spread(record, what)} {about}" if known else ""


def _spread(record: Record, what: str) -> str:
    median, deviation = record[f"{what}_median_seconds"], record[f"{what}_mad_seconds"]
    return f"{SECONDS.text(median)} ± {SECONDS.text(deviation)}"
