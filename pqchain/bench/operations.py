"""Measure cryptography honestly: names in, a frame of measurements out.

The loop that is timed runs in C, one clock reading before and after each operation, in rounds that
alternate between implementations, so that a machine whose speed drifts treats them alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pqchain import algorithms as registry
from pqchain import crypto, machine, results
from pqchain.algorithms import OPERATIONS, Algorithm
from pqchain.bench import presets, rounds
from pqchain.bench.presets import Preset
from pqchain.bench.timing import median_and_mad, one_processor, with_bar
from pqchain.costs import MEASUREMENT
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.results import Contract

SAMPLES = Contract.of(
    "samples",
    ("str", "algorithm implementation operation"),
    ("Int64", "index"),
    ("bool", "warmup"),
    ("float64", "seconds cycles"),
)

TIMED_IN_PYTHON = "timed through Python: each sample includes the call"
"""Note on rows whose library cannot be called from our C loop."""


@dataclass(slots=True)
class _Cell:
    """One row in the making."""

    algorithm: Algorithm
    implementation: str
    operation: str
    status: str
    reason: str
    samples: list[rounds.Samples] = field(default_factory=list)
    """One array per round."""

    @property
    def names(self) -> dict[str, Any]:
        """The columns that say what was measured."""
        return {
            "algorithm": self.algorithm.name,
            "implementation": self.implementation,
            "operation": self.operation,
        }


def measure(
    algorithms: Iterable[str] | str | None = None,
    operations: Iterable[str] | str | None = None,
    implementations: Iterable[str] | str | None = None,
    *,
    preset: str = "quick",
    progress: bool = False,
    keep_samples: bool = False,
) -> pd.DataFrame:
    """Measure operations of algorithms in one run of this process, on one processor.

    Without arguments: every algorithm of the default build in every implementation that can be
    timed directly. A fresh message is signed in each sample, several key pairs are used, and each
    result is checked outside the timed part.

    Returns a frame, one row per algorithm, implementation and operation, with the columns
    algorithm, implementation, operation, samples (counted ones), median_seconds, mean_seconds,
    mad_seconds (median absolute deviation), min_seconds, p95_seconds, median_cycles (time-stamp
    counter at its constant rate; NaN where unknown), status ("ok", "unsupported", "failed") and
    reason (why not, or a note). `attrs["provenance"]` tells where it was made;
    `attrs["samples"]`, if asked for, is the frame of all samples, warm-ups labelled.

    Raises UnknownAlgorithm, UnknownImplementation, and UsageError for empty lists and for an
    algorithm that has none of the operations; what cannot run here is a row.
    """
    chosen = presets.named(preset)
    cells = _plan(algorithms, operations, implementations)
    # What alternates: one algorithm and operation, all its implementations.
    groups: dict[str, list[_Cell]] = {}
    for cell in cells:
        groups.setdefault(f"{cell.algorithm.name} {cell.operation}", []).append(cell)
    preparing: dict[tuple[str, str], float] = {}
    with one_processor() as processor:
        for name in with_bar(list(groups), str, unit="cell", show=progress):
            for index in range(chosen.rounds):
                for cell in groups[name]:
                    if cell.status == "ok":
                        _run_round(cell, chosen, index, preparing)
    frame = MEASUREMENT.frame(_row(cell) for cell in cells)
    frame.attrs["provenance"] = {
        **machine.provenance(),
        "preset": preset,
        "rounds": chosen.rounds,
        "message_bytes": rounds.MESSAGE_BYTES,
        "pinned_processor": processor,
        "empty_sample_seconds": rounds.empty_sample_seconds(),
    }
    if keep_samples:
        frame.attrs["samples"] = _samples_frame(cells)
    return frame


def _listed(value: Iterable[str] | str | None, what: str) -> list[str] | None:
    """Return a list of names; one name may stand alone. Raises UsageError if there is none."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else list(value)
    if not names:
        raise UsageError(f"no {what} was named; name at least one, or give None for all")
    return names


def _plan(
    algorithms: Iterable[str] | str | None,
    operations: Iterable[str] | str | None,
    implementations: Iterable[str] | str | None,
) -> list[_Cell]:
    names = _listed(algorithms, "algorithm")
    wanted = _listed(operations, "operation") or list(OPERATIONS)
    chosen = _listed(implementations, "implementation")
    for operation in wanted:
        if operation not in OPERATIONS:
            raise UnknownName("operation", operation, OPERATIONS)
    for implementation in chosen or ():
        registry.implementation(implementation)
    rows = [registry.get(name) for name in (registry.names() if names is None else names)]
    for row in () if names is None else rows:
        if not set(row.operations) & set(wanted):
            *first, last = row.operations
            raise UsageError(
                f"{row.name} has no {' or '.join(wanted)}; expected {', '.join(first)} or {last}"
            )
    cells = []
    for row in dict.fromkeys(rows):
        usual = [name for name in row.implementations if _is_usual(name)] or [""]
        for name in usual if chosen is None else chosen:
            reason = _why_not(row, name)
            status, note = ("unsupported", reason) if reason else ("ok", row.note(name))
            todo = [operation for operation in row.operations if operation in wanted]
            cells += [_Cell(row, name, operation, status, note) for operation in todo]
    return cells


def _is_usual(implementation: str) -> bool:
    """Whether to measure it unasked; what is built only on request is, where it was requested."""
    row = registry.implementation(implementation)
    repeats_another = bool(row.library and row.package)
    return not repeats_another and not (row.setting and crypto.obstacle(implementation))


def _why_not(algorithm: Algorithm, implementation: str) -> str:
    if not algorithm.implementations:
        return f"this version of pqchain has no implementation of {algorithm.name}"
    if implementation not in algorithm.implementations:
        return f"{implementation} does not offer {algorithm.name}"
    try:
        crypto.opened(algorithm, implementation)
    except PqchainError as error:
        return str(error)
    return ""


def _run_round(
    cell: _Cell, preset: Preset, index: int, preparing: dict[tuple[str, str], float]
) -> None:
    """Measure one round of a cell and append its samples, or mark the cell as failed."""
    key = (cell.algorithm.name, cell.implementation)
    # Preparing inputs must not take longer than measuring does: SPHINCS+ signs for seconds.
    affordable = int(preset.limit_seconds / (preparing.get(key, 0.0) + 1e-9))
    pool = max(1, min(preset.pool, affordable))
    try:
        what = (cell.algorithm, cell.implementation, cell.operation)
        samples = rounds.run(*what, preset=preset, pool=pool, index=index)
    except PqchainError as error:
        cell.status, cell.reason = "failed", str(error)
        return
    if not registry.implementation(cell.implementation).timed_in_c:
        note = cell.algorithm.note(cell.implementation)
        cell.reason = f"{note}; {TIMED_IN_PYTHON}" if note else TIMED_IN_PYTHON
    cell.samples.append(samples)
    if index == 0 and cell.operation in ("generate_keypair", "sign", "encapsulate"):
        preparing[key] = preparing.get(key, 0.0) + float(np.median(samples[:, 0]))


def _row(cell: _Cell) -> dict[str, Any]:
    row = {**cell.names, "samples": 0, "status": cell.status, "reason": cell.reason}
    if cell.status != "ok":
        return row  # without times
    table = np.concatenate(cell.samples)
    seconds, cycles = table[table[:, 2] == 0][:, :2].T
    median, deviation = median_and_mad(seconds)
    return row | {
        "samples": len(seconds),
        "median_seconds": median,
        "mean_seconds": float(seconds.mean()),
        "mad_seconds": deviation,
        "min_seconds": float(seconds.min()),
        "p95_seconds": float(np.quantile(seconds, 0.95)),
        "median_cycles": float(np.median(cycles)),
    }


def _samples_frame(cells: Sequence[_Cell]) -> pd.DataFrame:
    frames = []
    for cell in cells:
        if cell.samples:
            frame = pd.DataFrame(
                np.concatenate(cell.samples), columns=["seconds", "cycles", "warmup"]
            )
            warmup = frame["warmup"].astype(bool)
            frames.append(frame.assign(index=frame.index, warmup=warmup, **cell.names))
    return results.joined(frames, SAMPLES)
