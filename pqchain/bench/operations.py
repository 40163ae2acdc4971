"""Benchmark of cryptographic operations.

The timed loop runs in C and reads the clock before and after each operation. Rounds alternate
between implementations, so that a drift of the machine's speed affects all of them alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd

from pqchain import algorithms as registry
from pqchain import crypto
from pqchain.algorithms import DECODE_KEY, GIVEN, OPERATIONS, Algorithm
from pqchain.bench import presets, variation
from pqchain.bench.presets import PresetName
from pqchain.bench.rounds import MESSAGE_BYTES, TimedCell, failure, run_round
from pqchain.bench.timing import median_and_mad, name_list, one_processor, with_bar
from pqchain.checks import integer
from pqchain.crypto import native
from pqchain.errors import CryptoFailure, PqchainError, UnknownName, UsageError
from pqchain.results import machine
from pqchain.results.kept import KeptValues
from pqchain.results.measurements import MEASUREMENT, user_scheme_provenance


def measure(
    algorithms: Iterable[str] | str | None = None,
    operations: Iterable[str] | str | None = None,
    implementations: Iterable[str] | str | Mapping[str, Iterable[str] | None] | None = None,
    *,
    preset: PresetName | None = None,
    rounds: int | None = None,
    progress: bool = False,
    keep_rounds: bool = False,
    fresh: bool = True,
    warn: bool = True,
) -> pd.DataFrame:
    """Measure operations of algorithms on one processor of this machine.

    By default every algorithm of the default build is measured in every implementation that can be
    timed directly. Each sample signs a fresh message, several key pairs are used, and results are
    checked outside the timed part. `preset` is by default that of PQCHAIN_PRESET, else "quick";
    `rounds` overrides its number of rounds. Every round is kept for 30 days in the user's cache;
    unless `fresh`, a kept round of this machine, the same code and the same preset is not measured
    again: `resumed_rounds` of the provenance is their number, and its date that of the oldest.
    `warn` logs a busy machine or unsteady times (logger pqchain.bench, by default on stderr).

    Returns a frame, one row per algorithm, implementation and operation, with the columns
    algorithm, implementation, operation, samples (without warm-up), median_seconds, mean_seconds,
    mad_seconds (median absolute deviation), min_seconds, p95_seconds, median_cycles (time-stamp
    counter at its constant rate; NaN where unknown), status ("ok", "unsupported", "failed") and
    reason (of the status, or a note). "decode_key" is measured if it is named.
    `attrs["provenance"]` describes machine and run; with `keep_rounds`, `attrs["rounds"]` is a list
    of the frames of single rounds. `implementations` may be those of each algorithm, instead of
    `algorithms`.

    Raises UnknownAlgorithm, UnknownImplementation, and UsageError for empty lists and for an
    algorithm that has none of the operations. An implementation that cannot run here has a row
    with the reason.
    """
    preset = preset or presets.preset()
    chosen = presets.named(preset)
    if rounds is not None:
        integer("rounds", rounds, least=1, most=1000)
        chosen = replace(chosen, rounds=rounds)
    cells, kept = _plan(algorithms, operations, implementations), KeptValues(fresh=fresh)
    # Rounds alternate between the implementations of one algorithm and operation.
    groups: dict[str, list[TimedCell]] = {}
    for cell in cells:
        groups.setdefault(f"{cell.algorithm.name} {cell.operation}", []).append(cell)
    preparing: dict[tuple[str, str], float] = {}
    stored: list[bool] = []
    with one_processor() as processor:
        # Each round covers all cells, so that a busy minute spoils one round of many cells and not
        # all rounds of a few, whose medians it would shift.
        turns = [(index, name) for index in range(chosen.rounds) for name in groups]
        for index, name in with_bar(turns, lambda turn: turn[1], unit="round", show=progress):
            for cell in groups[name]:
                if cell.status == "ok" and cell.implementation != GIVEN:
                    stored.append(run_round(cell, preset, index, preparing, kept))
    builds = ("liboqs-0.13/avx2", "liboqs-0.13/ref")
    clock = next((native.library(name) for name in builds if not crypto.obstacle(name)), None)
    provenance = machine.Provenance(
        {
            **_run_facts(preset, stored, kept),
            "preset": preset,
            "rounds": chosen.rounds,
            "message_bytes": MESSAGE_BYTES,
            "pinned_processor": processor,
            # Overhead of the clock, contained in each sample.
            "empty_sample_seconds": clock.empty_sample_seconds() if clock else None,
            **({"resumed_rounds": sum(stored)} if any(stored) else {}),
            **user_scheme_provenance(cell.algorithm for cell in cells),
        }
    )
    frame = _frame(cells, provenance)
    if keep_rounds:
        apart = ([cell.only(index) for cell in cells] for index in range(chosen.rounds))
        frame.attrs["rounds"] = [_frame(each, provenance) for each in apart]
    if warn:
        variation.announce(frame)
    return frame


def _run_facts(preset: str, stored: list[bool], kept: KeptValues) -> dict[str, Any]:
    """Return the provenance of a run; if all its rounds are kept, that of the earlier run."""
    name = f"run {machine.identifier()} {preset}"
    earlier = kept.get(name) if stored and all(stored) else None
    # The machine as it was then, and not its load and libraries now.
    facts: dict[str, Any] = earlier or machine.provenance()
    if math.isfinite(kept.oldest_seconds):
        oldest = datetime.fromtimestamp(kept.oldest_seconds, timezone.utc)
        facts["date"] = oldest.isoformat(timespec="seconds")
    elif stored:
        kept.put(name, facts)
    return facts


def _frame(cells: Iterable[TimedCell], provenance: machine.Provenance) -> pd.DataFrame:
    frame = MEASUREMENT.frame(map(_row, cells))
    frame.attrs["provenance"] = provenance
    return frame


def _plan(
    algorithms: Iterable[str] | str | None,
    operations: Iterable[str] | str | None,
    implementations: Iterable[str] | str | Mapping[str, Iterable[str] | None] | None,
) -> list[TimedCell]:
    if isinstance(implementations, Mapping):
        parts = [_plan(name, operations, of) for name, of in implementations.items()]
        return [cell for part in parts for cell in part]
    names = name_list(algorithms, "algorithm")
    known = (*OPERATIONS, DECODE_KEY)
    wanted = name_list(operations, "operation") or list(OPERATIONS)
    wanted = [name.casefold() if isinstance(name, str) else name for name in wanted]
    for operation in wanted:
        if operation not in known:
            raise UnknownName("operation", operation, known)
    chosen = name_list(implementations, "implementation")
    if chosen is not None:
        chosen = [registry.implementation(name).name for name in chosen]
    rows = [registry.get(name) for name in (registry.names() if names is None else names)]
    offered = {row: (*row.operations, *[DECODE_KEY][: row.kind == "signature"]) for row in rows}
    for row in () if names is None else rows:
        if not set(offered[row]) & set(wanted):
            *first, last = offered[row]
            raise UsageError(
                f"operation of {row.name} must be {', '.join(first)} or {last}; got "
                f"{', '.join(wanted)}"
            )
    cells = []
    for row, possible in offered.items():
        # [""]: an algorithm without implementations has one row per operation, with the reason.
        default = [name for name in row.implementations if _is_default(name)] or [""]
        for name in default if chosen is None else chosen:
            status = _status(row, name)
            for operation in (operation for operation in possible if operation in wanted):
                is_decoding = operation == DECODE_KEY and status[0] == "ok"
                state = _decoding(row, name) if is_decoding else status
                cells.append(TimedCell(row, name, operation, *state))
    return cells


def _is_default(implementation: str) -> bool:
    # Not measured: a Python package around a library that is measured directly. Optional builds
    # are measured where they were built.
    row = registry.implementation(implementation)
    repeats_another = bool(row.library and row.package)
    return not repeats_another and not (row.setting and crypto.obstacle(implementation))


def _status(algorithm: Algorithm, implementation: str) -> tuple[str, str]:
    """Return the status of a row before it is measured, and its reason or note."""
    if not algorithm.implementations:
        return "unsupported", f"this version of pqchain has no implementation of {algorithm.name}"
    if implementation not in algorithm.implementations:
        return "unsupported", f"{implementation} does not offer {algorithm.name}"
    try:
        crypto.open_scheme(algorithm, implementation)
    except PqchainError as error:
        is_failure = isinstance(error, CryptoFailure)
        return "failed" if is_failure else "unsupported", failure(error, implementation)
    return "ok", algorithm.note(implementation)


def _decoding(algorithm: Algorithm, implementation: str) -> tuple[str, str]:
    """Return the status of decoding keys, if the other operations can be measured."""
    if implementation == GIVEN or registry.implementation(implementation).location:
        return "unsupported", "only native libraries of pqchain have decoded keys"
    try:
        native.KeyDecoder(crypto.open_signer(algorithm.name, implementation))
    except PqchainError as error:
        return "unsupported", str(error)
    return "ok", ""


def _row(cell: TimedCell) -> dict[str, Any]:
    row = {**cell.names, "samples": 0, "status": cell.status, "reason": cell.reason}
    if cell.implementation == GIVEN and cell.operation != DECODE_KEY:
        # A time that the user gives is every statistic of the row.
        given, source = dict(cell.algorithm.given_seconds)[cell.operation], cell.algorithm.source
        if math.isnan(given):
            reason = f"{source}; without a time of {cell.operation}"
            return row | {"status": "unsupported", "reason": reason}
        names = ("median_seconds", "mean_seconds", "min_seconds", "p95_seconds")
        return row | dict.fromkeys(names, given) | {"status": "ok", "reason": source}
    if cell.status != "ok":
        return row  # without times
    counted = pd.concat(cell.rounds, ignore_index=True).query("not warmup")
    seconds = counted["seconds"].to_numpy()
    median, deviation = median_and_mad(seconds)
    return row | {
        "samples": len(seconds),
        "median_seconds": median,
        "mean_seconds": float(seconds.mean()),
        "mad_seconds": deviation,
        "min_seconds": float(seconds.min()),
        "p95_seconds": float(np.quantile(seconds, 0.95)),
        "median_cycles": float(np.median(counted["cycles"])),
    }
