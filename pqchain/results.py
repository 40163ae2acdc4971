"""Frames and files: the columns every frame promises, and CSV files with a JSON sidecar.

The sidecar holds the schema version, the contract, the checksum of the CSV and the provenance:
where and how the numbers were made. `pqchain.machine.provenance` lists the keys; the one that this
module itself reads is `machine_id`, because frames of different machines must not be mixed.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqchain.errors import DataError, MachineMismatch, UnknownName, UsageError

SCHEMA_VERSION = 1
"""Version of the file format. 1: the first one."""

CONTRACTS: dict[str, dict[str, str]] = {
    "measurement": {
        "algorithm": "str",
        "implementation": "str",
        "operation": "str",
        "samples": "Int64",
        "median_seconds": "float64",
        "mean_seconds": "float64",
        "mad_seconds": "float64",
        "min_seconds": "float64",
        "p95_seconds": "float64",
        "median_cycles": "float64",
        "status": "str",
        "reason": "str",
    },
    "samples": {
        "algorithm": "str",
        "implementation": "str",
        "operation": "str",
        "index": "Int64",
        "warmup": "bool",
        "seconds": "float64",
        "cycles": "float64",
    },
    "published": {
        "paper": "str",
        "table": "str",
        "algorithm": "str",
        "printed_name": "str",
        "implementation": "str",
        "quantity": "str",
        "value": "float64",
        "unit": "str",
        "note": "str",
    },
    "comparison": {
        "paper": "str",
        "table": "str",
        "algorithm": "str",
        "operation": "str",
        "published_implementation": "str",
        "published_seconds": "float64",
        "implementation": "str",
        "median_seconds": "float64",
        "mad_seconds": "float64",
        "ratio": "float64",
        "status": "str",
        "note": "str",
    },
    "sizes": {
        "paper": "str",
        "table": "str",
        "algorithm": "str",
        "quantity": "str",
        "published_bytes": "float64",
        "registry_bytes": "float64",
        "verdict": "str",
        "note": "str",
    },
    "table1": {
        "table": "str",
        "algorithm": "str",
        "printed_name": "str",
        "variant": "str",
        "quantity": "str",
        "published": "float64",
        "published_cycles": "float64",
        "published_speedup": "float64",
        "implementation": "str",
        "here": "float64",
        "here_mad": "float64",
        "here_cycles": "float64",
        "here_speedup": "float64",
        "status": "str",
        "note": "str",
    },
    "accelerator": {
        "algorithm": "str",
        "row": "str",
        "kind": "str",
        "seconds": "float64",
        "published_seconds": "float64",
        "ratio": "float64",
        "assumptions": "str",
    },
    "claims": {
        "paper": "str",
        "claim_id": "str",
        "section": "str",
        "statement": "str",
        "verdict": "str",
        "evidence": "str",
        "source": "str",
    },
    "block": {
        "algorithm": "str",
        "implementation": "str",
        "public_key": "str",
        "threads": "Int64",
        "transactions": "Int64",
        "public_key_bytes": "Int64",
        "signature_bytes": "float64",
        "block_bytes": "Int64",
        "transaction_bytes": "float64",
        "wallets": "Int64",
        "wallet_median_seconds": "float64",
        "wallet_mad_seconds": "float64",
        "sign_median_seconds": "float64",
        "sign_mad_seconds": "float64",
        "rounds": "Int64",
        "verify_median_seconds": "float64",
        "verify_mad_seconds": "float64",
        "loop_median_seconds": "float64",
        "apply_median_seconds": "float64",
        "apply_mad_seconds": "float64",
        "hash_median_seconds": "float64",
        "valid": "str",
        "tampered": "str",
        "previous_hash": "str",
        "block_hash": "str",
        "status": "str",
        "reason": "str",
    },
    "study": {
        "study": "str",
        "scheme": "str",
        "quantity": "str",
        "value": "float64",
        "unit": "str",
        "kind": "str",
        "source": "str",
    },
    "study-tornado": {
        "scheme": "str",
        "output": "str",
        "unit": "str",
        "input": "str",
        "base": "float64",
        "low": "float64",
        "high": "float64",
    },
    "study-plane": {
        "across": "str",
        "upwards": "str",
        "across_factor": "float64",
        "upwards_factor": "float64",
        "winner": "str",
        "capacity_per_second": "float64",
        "margin": "float64",
    },
    "block-comparison": {
        "paper": "str",
        "table": "str",
        "algorithm": "str",
        "printed_name": "str",
        "quantity": "str",
        "published": "str",
        "here": "str",
        "ratio": "float64",
        "note": "str",
    },
    "reencode": {
        "scenario_id": "str",
        "experiment": "str",
        "mode": "str",
        "transport": "str",
        "streams": "str",
        "repeat": "Int64",
        "block": "Int64",
        "seed": "Int64",
        "nodes": "Int64",
        "blocks": "Int64",
        "block_bytes": "Int64",
        "transfer_seconds": "float64",
        "decode_seconds": "float64",
        "encode_seconds": "float64",
        "io_seconds": "float64",
        "other_seconds": "float64",
        "total_seconds": "float64",
        "span_seconds": "float64",
        "first_chunk_seconds": "float64",
        "mean_chunk_seconds": "float64",
        "wire_limit_seconds": "float64",
        "cpu_seconds": "float64",
        "cpu_share": "float64",
        "machine_busy": "float64",
        "received_bytes": "Int64",
        "wasted_bytes": "Int64",
        "dropped_datagrams": "Int64",
        "lost_datagrams": "Int64",
        "engine": "str",
        "identity": "str",
        "status": "str",
        "verdict": "str",
    },
    "reencode_nodes": {
        "scenario_id": "str",
        "repeat": "Int64",
        "block": "Int64",
        "node": "Int64",
        "state": "str",
        "noticed_seconds": "float64",
        "begun_seconds": "float64",
        "transfer_seconds": "float64",
        "decode_seconds": "float64",
        "encode_seconds": "float64",
        "io_seconds": "float64",
        "other_seconds": "float64",
        "total_seconds": "float64",
        "decode_work_seconds": "float64",
        "encode_work_seconds": "float64",
        "cpu_seconds": "float64",
        "received_bytes": "Int64",
        "wasted_bytes": "Int64",
        "verified_blocks": "Int64",
        "reason": "str",
    },
    "reencode_contrast": {
        "experiment": "str",
        "mode": "str",
        "transport": "str",
        "repeats": "Int64",
        "single_seconds": "float64",
        "multiplexed_seconds": "float64",
        "saving_percent": "float64",
        "low_percent": "float64",
        "high_percent": "float64",
        "claimed_percent": "float64",
        "verdict": "str",
    },
    "reencode_table1": {
        "run": "str",
        "kind": "str",
        "phase": "str",
        "seconds": "float64",
        "share_percent": "float64",
        "payload_bytes": "Int64",
        "status": "str",
        "note": "str",
    },
    "reencode_figure1": {
        "kind": "str",
        "mode": "str",
        "streams": "str",
        "blocks": "Int64",
        "block_bytes": "Int64",
        "repeats": "Int64",
        "transfer_seconds": "float64",
        "low_seconds": "float64",
        "high_seconds": "float64",
    },
    "reencode_transports": {
        "mode": "str",
        "transport": "str",
        "bits_per_second": "float64",
        "block_bytes": "Int64",
        "repeats": "Int64",
        "transfer_seconds": "float64",
        "low_seconds": "float64",
        "high_seconds": "float64",
        "wire_limit_seconds": "float64",
        "cpu_seconds": "float64",
        "status": "str",
        "verdict": "str",
    },
    "consensus": {
        "scenario": "str",
        "costs": "str",
        "algorithm": "str",
        "nodes": "Int64",
        "delegates": "Int64",
        "network": "str",
        "exchange": "str",
        "vote_phases": "Int64",
        "proposal": "str",
        "seed": "Int64",
        "transactions_per_block": "float64",
        "latency_seconds": "float64",
        "throughput_per_second": "float64",
        "spread_seconds": "float64",
        "final_blocks": "Int64",
        "views": "Int64",
        "messages": "Int64",
        "rivals": "Int64",
        "is_safe": "bool",
        "is_live": "bool",
        "status": "str",
        "reason": "str",
    },
    "pqdpol-cells": {
        "algorithm": "str",
        "n": "Int64",
        "nodes": "Int64",
        "transactions_per_block": "float64",
        "published_latency_seconds": "float64",
        "latency_seconds": "float64",
        "latency_error_percent": "float64",
        "published_throughput_per_second": "float64",
        "throughput_per_second": "float64",
        "throughput_error_percent": "float64",
        "costs": "str",
        "scenario": "str",
        "note": "str",
    },
    "pqdpol-left-out": {
        "left_out": "str",
        "cells": "Int64",
        "rms_percent": "float64",
        "worst_percent": "float64",
        "pair_seconds": "float64",
        "byte_seconds": "float64",
        "verifies": "float64",
        "signs": "float64",
    },
    "pqdpol-forms": {
        "form": "str",
        "rms_percent": "float64",
        "worst_percent": "float64",
    },
    "landscape": {
        "question": "str",
        "setting": "str",
        "algorithm": "str",
        "nodes": "Int64",
        "delegates": "Int64",
        "seed": "Int64",
        "rate_bits_per_second": "float64",
        "block_bytes": "Int64",
        "transactions_per_block": "float64",
        "latency_seconds": "float64",
        "throughput_per_second": "float64",
        "spread_seconds": "float64",
        "costs": "str",
        "scenario": "str",
        "status": "str",
        "reason": "str",
    },
}
"""Columns, in order, and dtypes of every kind of frame. Text is never missing: it may be ""."""

_PARSERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "Int64": lambda text: int(text) if text else pd.NA,
    "float64": lambda text: float(text) if text else float("nan"),
    "bool": lambda text: text == "True",
}
"""How each dtype is read back. Python's own float() is exact in every version of pandas."""

_EXPECTED = {
    "str": "text without carriage returns",  # CSV writers do not agree on how to quote them
    "Int64": "a whole number or nothing",
    "float64": "a number",
    "bool": "True or False",
}
"""The dtypes in words, for errors."""


def check(frame: pd.DataFrame, contract: str) -> pd.DataFrame:
    """Return the frame with the contract's column order and dtypes, attrs kept, index dropped.

    Raises DataError if columns are missing or unexpected, or a value has the wrong type, and
    UnknownName if there is no such contract.
    """
    columns = _contract(contract)
    if sorted(map(str, frame.columns)) != sorted(columns):
        raise DataError(
            f"a {contract} frame has the columns {list(columns)}, but this one has "
            f"{list(frame.columns)}; add or drop columns until they agree"
        )
    ordered = frame[list(columns)].reset_index(drop=True)
    checked = pd.DataFrame(
        {
            name: _cast(ordered[name], dtype, f"column {name!r} of a {contract} frame")
            for name, dtype in columns.items()
        }
    )
    checked.attrs = dict(frame.attrs)
    return checked


def save(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    contract: str,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write the frame to `path` (.csv) and its sidecar (.json) beside it; return `path`.

    Without `provenance`, that of `frame.attrs["provenance"]` is written. Floats keep every bit.
    Each file is replaced in one step; a pair of which only one half was replaced does not load.
    Raises DataError as `check` does, and if the provenance is not plain JSON.
    """
    path = _csv_path(path)
    checked = check(frame, contract)
    table = checked.to_csv(index=False, lineterminator="\n").encode()
    if provenance is None:
        provenance = frame.attrs.get("provenance", {})
    sidecar = {
        "schema_version": SCHEMA_VERSION,
        "contract": contract,
        "rows": len(checked),
        "csv_sha256": hashlib.sha256(table).hexdigest(),
        "provenance": dict(provenance),
    }
    try:
        text = json.dumps(sidecar, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the provenance of {path.name} is not plain JSON ({error}); "
            "use text, finite numbers, lists and dictionaries only"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, table)
    write_atomically(path.with_suffix(".json"), text + "\n")
    return path


def load(path: str | Path) -> pd.DataFrame:
    """Read a frame that `save` wrote, with the columns of its contract.

    `attrs["provenance"]` is restored. Raises DataError if either file is missing, unreadable or
    of an unknown schema version, if the CSV is not the one that the sidecar describes, or if it
    breaks its contract.
    """
    path = _csv_path(path)
    sidecar = _sidecar(path)
    try:
        table = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if hashlib.sha256(table).hexdigest() != sidecar.get("csv_sha256"):
        raise DataError(
            f"{path} was changed after its sidecar was written, so its provenance no longer holds; "
            "restore both files or make the numbers again"
        )
    contract = str(sidecar.get("contract"))
    columns = _contract(contract)
    with path.open(encoding="utf-8", newline="") as file:
        printed = pd.read_csv(file, dtype=str, keep_default_na=False)
    if list(printed.columns) != list(columns):
        raise DataError(
            f"{path} should have the columns {list(columns)}, but has {list(printed.columns)}; "
            f"save it again as {contract!r}"
        )
    parsed: dict[str, Any] = {
        name: [_PARSERS[dtype](text) for text in printed[name]] for name, dtype in columns.items()
    }
    frame = pd.DataFrame({name: pd.Series(parsed[name], dtype=object) for name in columns})
    frame = check(frame, contract)
    frame.attrs["provenance"] = sidecar.get("provenance", {})
    return frame


def merge(frames: Iterable[pd.DataFrame], *, contract: str = "measurement") -> pd.DataFrame:
    """Return the rows of all frames in one, with the contract's columns.

    What all provenances agree on stays at the top of `attrs["provenance"]`; what differs is kept
    per frame in its list "runs". Raises MachineMismatch if the frames were made on different
    machines, and DataError if one does not say where it was made or there are none.
    """
    checked = [check(frame, contract) for frame in frames]
    if not checked:
        raise DataError("no frames to merge; give at least one")
    provenances: list[dict[str, Any]] = [frame.attrs.get("provenance", {}) for frame in checked]
    machines = [str(provenance.get("machine_id", "")) for provenance in provenances]
    if "" in machines:
        raise DataError(
            f"frame {machines.index('') + 1} of {len(machines)} does not say on which machine it "
            "was made; load frames with pqchain.results.load or set attrs['provenance']"
        )
    if len(set(machines)) > 1:
        raise MachineMismatch(
            f"measurements of different machines do not mix: {sorted(set(machines))}; "
            "compare them side by side, or measure again on one machine"
        )
    for frame in checked:
        frame.attrs = {}
    merged = pd.concat(checked, ignore_index=True)
    merged.attrs["provenance"] = _merged_provenance(provenances)
    return merged


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write the file under a temporary name in the same folder, then rename it over `path`.

    Raises UsageError if no file can have that name.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = _temporary(path)
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)  # noqa: PTH105 - the name says what happens to an old file
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path) -> None:
    """Refuse a file that `write_atomically` could not write, before the work for it is done.

    Raises UsageError with the reason. Makes and deletes a temporary file; `path` stays as it is.
    """
    path = Path(path)
    temporary = _temporary(path)
    try:
        temporary.touch(exist_ok=False)
        temporary.unlink()
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def _temporary(path: Path) -> Path:
    """Return a new name beside `path`; raises UsageError if no file can be there."""
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; expected the name of a file")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no ordinary file, and would be replaced; name another")
        if not path.parent.is_dir():
            raise UsageError(
                f"{path} cannot be written: there is no folder {path.parent}; make it, or name a "
                "file in another one"
            )
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def _unwritable(path: Path, error: OSError | ValueError) -> UsageError:
    """Say why a file cannot be written."""
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"{path} cannot be written: {reason}; name another file")


def _contract(name: str) -> dict[str, str]:
    """Return the columns of a contract."""
    if name not in CONTRACTS:
        raise UnknownName("contract", name, CONTRACTS, "pqchain.results.CONTRACTS.")
    return CONTRACTS[name]


def _csv_path(path: str | Path) -> Path:
    """Return the path, which must end in .csv so that the sidecar has a name of its own."""
    path = Path(path)
    if path.suffix != ".csv":
        raise DataError(f"{path} is not the name of a table; it should end in .csv")
    return path


def _sidecar(path: Path) -> dict[str, Any]:
    """Read the sidecar of a CSV file and check its schema version."""
    beside = path.with_suffix(".json")
    try:
        sidecar = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{path} has no sidecar {beside.name}, so nobody knows where its numbers come from; "
            "restore it, or write the table with pqchain.results.save"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the sidecar {beside}: {error}; restore it") from error
    version = sidecar.get("schema_version") if isinstance(sidecar, dict) else None
    if version != SCHEMA_VERSION:
        raise DataError(
            f"{beside} has the schema version {version!r}, but this pqchain reads "
            f"{SCHEMA_VERSION}; use the pqchain that wrote it, or make the numbers again"
        )
    return dict(sidecar)


def _cast(column: pd.Series[Any], dtype: str, what: str) -> pd.Series[Any]:
    """Return the column as that dtype; text is never parsed and nothing is rounded."""
    is_text = column.map(lambda value: isinstance(value, str)).astype(bool)
    is_line = column.map(lambda value: isinstance(value, str) and "\r" not in value).astype(bool)
    is_truth = column.map(lambda value: isinstance(value, (bool, np.bool_))).astype(bool)
    fits = {"str": is_line, "bool": is_truth}.get(dtype, ~(is_text | is_truth))
    wrong = column[~fits]
    if not wrong.empty:
        raise DataError(f"{what} holds {wrong.iloc[0]!r}; expected {_EXPECTED[dtype]} in every row")
    target: Any = dtype
    try:
        cast: pd.Series[Any] = column.astype(target)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} is not {dtype}: {error}") from error
    return cast


def _merged_provenance(provenances: list[dict[str, Any]]) -> dict[str, Any]:
    """Lift what all agree on; keep the rest per run. Runs of runs are flattened."""
    runs = []
    for provenance in provenances:
        shared = {key: value for key, value in provenance.items() if key != "runs"}
        runs += [shared | run for run in provenance.get("runs", [{}])]
    common = {
        key: value
        for key, value in runs[0].items()
        if all(key in run and run[key] == value for run in runs)
    }
    differing = [{key: run[key] for key in run if key not in common} for run in runs]
    return common | ({"runs": differing} if any(differing) else {})
