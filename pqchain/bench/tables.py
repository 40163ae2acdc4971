"""Tables of benchmark results, for terminals and pages, and a text summary of one block."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import algorithms, figures
from pqchain.bench import variation
from pqchain.bench.comparing import FLOOR, RESOLUTION
from pqchain.figures import BYTES, COUNT, RATIO, SECONDS, Kind, Unit
from pqchain.render.table import Column, Shown, Table

Record = Mapping[Any, Any]

_RATE = Unit("B/s")


def block_summary(frame: pd.DataFrame) -> str:
    """Return a text summary of one scheme's block, given its rows from `measure_blocks`."""
    records = frame.to_dict("records")
    first = records[0]
    if first["status"] != "ok":
        return f"{'algorithm':<20}{first['algorithm']}\n{first['status']:<20}{first['reason']}"
    size = BYTES.text(first["block_bytes"], exact=True)
    facts: dict[str, Any] = {
        "algorithm": first["algorithm"],
        "implementation": first["implementation"],
        "public key": f"{BYTES.text(first['public_key_bytes'], exact=True)}, {first['key_mode']}",
        "signature": f"{BYTES.text(first['signature_bytes'], exact=True)} on average",
        "wallet": _spread(first, "wallet", f"for keys and address, {first['wallets']} wallets"),
        "sign": _spread(first, "sign", "for a transaction of the block"),
        "block": f"{first['transactions']} transactions, {size}",
        "transaction": f"{first['transaction_bytes']:.2f} B on average, header included",
        "previous hash": first["previous_hash"],
        "block hash": first["block_hash"],
        "valid": first["valid"],
        "tampered": f"rejected, {first['tampered']}: one bit of the first signature flipped",
        "note": first["reason"],
        "security": " ".join(algorithms.cautions([first["algorithm"]])),
    }
    text = "\n".join(f"{name:<20}{value}" for name, value in facts.items() if value)
    # A scheme that is given by numbers has no times.
    if math.isnan(first["verify_median_seconds"]):
        return f"{text}\n"
    note = (
        f"Medians of {first['rounds']} rounds. Whole block: from its bytes to the new state, of "
        f"which hashing {SECONDS.text(first['hash_median_seconds'])}; its rate."
    )
    note += f"\nCode of decoding, hashing and settlement: {first['apply_code']}."
    loop, threads = first["loop_median_seconds"], first["threads"]
    if math.isfinite(loop):
        note += (
            f"\nA plain C loop over the same signatures: {SECONDS.text(loop)}; "
            f"{threads} thread{'s'[: threads > 1]} here: "
            f"{RATIO.text(first['verify_median_seconds'] / loop)}."
        )
    return f"{text}\n\n{_thread_table(records).text()}\n\n{note}"


def _numeric(titles: Iterable[str], unit: Unit) -> list[Column]:
    return [Column(title, numeric=True, unit=unit) for title in titles]


def _thread_table(records: Sequence[Record]) -> Table:
    first = records[0]["verify_median_seconds"]
    columns = [
        *_numeric(["threads"], COUNT),
        *_numeric(["signatures", "± MAD", "per signature"], SECONDS),
        *_numeric(["speed-up"], RATIO),
        *_numeric(["whole block", "± MAD"], SECONDS),
        *_numeric(["rate"], _RATE),
    ]
    rows = []
    for row in records:
        verify, apply = row["verify_median_seconds"], row["apply_median_seconds"]
        signatures = [verify, row["verify_mad_seconds"], verify / row["transactions"]]
        block = [apply, row["apply_mad_seconds"], row["block_bytes"] / apply]
        rows.append([row["threads"], *signatures, first / verify, *block])
    return Table(columns=columns, rows=rows)


def _or_missing(text: str) -> str:
    return text or figures.MISSING


_IMPLEMENTATION = Column("implementation", show=_or_missing)


def block_table(frame: pd.DataFrame) -> Table:
    """Return a table of a `measure_blocks` frame, a row per scheme; times are per transaction."""
    counts = list(dict.fromkeys(frame["threads"]))
    times = ["wallet", "sign", *(f"verify ×{count}" for count in counts), f"whole ×{counts[-1]}"]
    columns = [
        Column("algorithm"),
        *(
            Column(title, numeric=True, show=figures.integer)
            for title in ("public key", "signature", "tx", "B / tx")
        ),
        *_numeric(times, SECONDS),
        *_numeric(["rate"], _RATE),
        Column("code", key="apply_code", show=_or_missing),
        Column("tampered", show=_or_missing),
    ]
    provenance = frame.attrs.get("provenance", {})
    rows, remarks = [], []
    for name, group in frame.groupby("algorithm", sort=False):
        records = group.to_dict("records")
        first, last = records[0], records[-1]
        remarks.append(_remark(first))
        if first["status"] != "ok":
            rows.append([name, *[math.nan] * (len(columns) - 3), "", ""])
            continue
        verify = [row["verify_median_seconds"] / row["transactions"] for row in records]
        apply = last["apply_median_seconds"]
        block = [apply / last["transactions"], last["block_bytes"] / apply]
        block += [first["apply_code"], first["tampered"]]
        sizes = [first["public_key_bytes"], first["signature_bytes"]]
        count = first["transactions"]
        requested = provenance.get("transactions", count)
        # A slow scheme signs fewer transactions than requested.
        text = f"{figures.integer(count)} of {figures.integer(requested)}"
        sizes += [Shown(count, text) if count < requested else count, first["transaction_bytes"]]
        making = [first["wallet_median_seconds"], first["sign_median_seconds"]]
        rows.append([name, *sizes, *making, *verify, *block])
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
    columns: list[Column | str] = [
        "algorithm", _IMPLEMENTATION, "operation", "median_seconds", spread, "min_seconds",
        Column("p95", numeric=True, key="p95_seconds"), "samples",
    ]  # fmt: skip
    records = measurements.to_dict("records")
    shown = measurements.assign(
        remark=list(map(_remark, records)), spread=list(map(_deviation, records))
    )
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
    intervals = [
        f"{figures.significant(low)} to {figures.significant(high)}" if low == low else ""
        for low, high in witness[["low_ratio", "high_ratio"]].itertuples(index=False)
    ]
    note = (
        "Slowest of several signatures, by Python. Witness: a Pay-to-Merkle-Root input (BIP-360, "
        "draft) with a leaf at depth 1. block seconds: a block of 4,000,000 bytes of such "
        "witnesses on one processor."
    )
    return Table.of(witness.assign(**{"95 %": intervals}), columns, remark="reason", notes=(note,))


def quartile_table(quartiles: pd.DataFrame) -> Table:
    """Return a table of a frame of `quartiles`, in cycles and in SUPERCOP's column order."""
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
    """Return a table of the comparison that `compare_runs` returns."""
    columns = [Column("algorithm"), _IMPLEMENTATION, Column("operation")]
    if compared["run"].nunique() > 1:
        columns.append(Column("run"))
    columns += [
        Column("baseline", "median", True, key="base_median_seconds"),
        Column("other", "median", True, key="median_seconds"),
    ]
    if compared["cycles_ratio"].notna().any():
        columns += [
            Column("baseline", "cycles", True, figures.integer, "base_median_cycles"),
            Column("other", "cycles", True, figures.integer, "median_cycles"),
        ]
    columns += [Column("ratio", numeric=True), Column("95 %"), Column("verdict")]
    intervals = [
        f"{figures.significant(low)} to {figures.significant(high)}"
        if math.isfinite(low)
        else figures.MISSING
        for low, high in zip(compared["low"], compared["high"], strict=True)
    ]
    rows = compared.assign(**{"95 %": intervals})
    # Rows of one side only would bury the others; failed ones say why they have no ratio.
    one_sided = (compared["base_runs"].fillna(0) == 0) | (compared["runs"].fillna(0) == 0)
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
    if (compared["verdict"] == "").all():
        return []
    known = compared["verdict"] != ""
    return [
        "Times: geometric mean of the medians of separate runs, from five runs on without the "
        "fifth at each end. Intervals: Welch's t on their logarithms.",
        f"Faster, slower: by {100 * (FLOOR - 1):.0f} % or more, significant after Holm's "
        f"correction for {known.sum()} rows. No difference: the interval excludes "
        f"{100 * (RESOLUTION - 1):.0f} %.",
    ]


def _remark(record: Record) -> str:
    ran = record["status"] == "ok"
    return str(record["reason"]) if ran else f"{record['status']}: {record['reason']}"


def _spread(record: Record, part: str, note: str) -> str:
    median, deviation = record[f"{part}_median_seconds"], record[f"{part}_mad_seconds"]
    return f"{SECONDS.text(median)} ± {SECONDS.text(deviation)} {note}" if median == median else ""
