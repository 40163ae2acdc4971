"""Measure cryptography honestly: a plan in, a frame of measurements out.

The loop that is timed runs in C, one clock reading before and after each operation, in rounds that
alternate between implementations, so that a machine whose speed drifts treats them alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pqchain import algorithms as registry
from pqchain import crypto, machine, results
from pqchain.algorithms import OPERATIONS, Algorithm
from pqchain.costs import MEASUREMENT
from pqchain.crypto import native
from pqchain.errors import PqchainError, UsageError
from pqchain.results import Contract

SAMPLES = Contract.of(
    "samples",
    ("str", "algorithm implementation operation"),
    ("Int64", "index"),
    ("bool", "warmup"),
    ("float64", "seconds cycles"),
)


if TYPE_CHECKING:
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]

PRESET_VARIABLE = "PQCHAIN_PRESET"
"""Environment variable that chooses the preset of notebooks and `make reproduce`."""

MESSAGE_BYTES = 100
"""Length of a message to sign: a transaction without its signature is about so long."""

TIMED_IN_PYTHON = "timed through Python: each sample includes the call"
"""Note on rows whose library cannot be called from our C loop."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How long and how often to measure one cell (algorithm, implementation, operation)."""

    rounds: int
    """Separate runs, each with fresh keys; implementations alternate between them."""
    samples: int
    """The most samples of one round."""
    minimum: int
    """The fewest samples of one round, however long they take."""
    limit_seconds: float
    """Time for the samples of one round."""
    warmup: int
    """Samples before each round, recorded and left out of the statistics."""
    pool: int
    """The most prepared key pairs and inputs of one round."""


PRESETS: dict[str, Preset] = {
    "quick": Preset(rounds=3, samples=400, minimum=2, limit_seconds=0.05, warmup=1, pool=4),
    "paper": Preset(rounds=5, samples=2000, minimum=4, limit_seconds=0.4, warmup=3, pool=16),
}
"""`quick` for a look (2 to 3 minutes for everything), `paper` for numbers to quote."""


def preset() -> str:
    """Return the preset that the environment asks for: `quick` unless PQCHAIN_PRESET says `paper`.

    Raises UsageError if the variable holds anything else.
    """
    name = os.environ.get(PRESET_VARIABLE, "") or "quick"
    _preset(name, f"{PRESET_VARIABLE}={name}: ")
    return name


def _preset(name: str, source: str = "") -> Preset:
    """Return a preset by name; `source` says in an error where the name stands."""
    if name not in PRESETS:
        raise UsageError(f"{source}unknown preset {name!r}; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


@dataclass(slots=True)
class _Cell:
    """One row in the making."""

    algorithm: Algorithm
    implementation: str
    operation: str
    samples: list[Samples]
    """Columns seconds, cycles, warm-up (0 or 1); one array per round."""
    status: str = "ok"
    reason: str = ""


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
    chosen = _preset(preset)
    cells = _plan(algorithms, operations, implementations)
    groups = _groups(cells)
    costs: dict[tuple[str, str], float] = {}
    with _one_processor() as processor:
        for group in _progress(groups, progress):
            for index in range(chosen.rounds):
                for cell in group:
                    if cell.status == "ok":
                        _run_round(cell, chosen, index, costs)
    frame = results.check(pd.DataFrame([_row(cell) for cell in cells]), MEASUREMENT)
    frame.attrs["provenance"] = {
        **machine.provenance(),
        "preset": preset,
        "rounds": chosen.rounds,
        "message_bytes": MESSAGE_BYTES,
        "pinned_processor": processor,
        "empty_sample_seconds": _empty_sample_seconds(),
    }
    if keep_samples:
        frame.attrs["samples"] = _samples_frame(cells)
    return frame


def _as_list(value: Iterable[str] | str | None, what: str) -> list[str] | None:
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
    """Return the cells to measure, with those marked that cannot run here."""
    names = _as_list(algorithms, "algorithm")
    asked = _as_list(operations, "operation") or list(OPERATIONS)
    wanted = _as_list(implementations, "implementation")
    for operation in asked:
        if operation not in OPERATIONS:
            raise UsageError(
                f"unknown operation {operation!r}; expected one of {', '.join(OPERATIONS)}"
            )
    for implementation in wanted or ():
        registry.implementation(implementation)
    rows = [registry.get(name) for name in (registry.names() if names is None else names)]
    for row in () if names is None else rows:
        if not set(row.operations) & set(asked):
            *first, last = row.operations
            raise UsageError(
                f"{row.name} has no {' or '.join(asked)}; expected {', '.join(first)} or {last}"
            )
    cells: list[_Cell] = []
    for algorithm in dict.fromkeys(rows):
        offered = algorithm.implementations
        for implementation in (
            [name for name in offered if _is_usual(name)] or [""] if wanted is None else wanted
        ):
            reason = _why_not(algorithm, implementation)
            cells.extend(
                _Cell(
                    algorithm, implementation, operation, [],
                    "unsupported" if reason else "ok", reason or algorithm.note(implementation),
                )
                for operation in algorithm.operations
                if operation in asked
            )  # fmt: skip
    return cells


def _is_usual(implementation: str) -> bool:
    """Whether to measure it unasked; what is built only on request is, where it was requested."""
    if implementation.endswith("/dispatch"):  # repeats another
        return False
    on_request = registry.implementation(implementation).setting
    return not (on_request and crypto.available(implementation))


def _why_not(algorithm: Algorithm, implementation: str) -> str:
    """Return why the algorithm cannot run in the implementation here, or ""."""
    if not algorithm.implementations:
        return f"this version of pqchain has no implementation of {algorithm.name}"
    if implementation not in algorithm.implementations:
        return f"{implementation} does not offer {algorithm.name}"
    try:
        opener = crypto.open_signer if algorithm.kind == "signature" else crypto.open_kem
        opener(algorithm.name, implementation)
    except PqchainError as error:
        return str(error)
    return ""


def _groups(cells: Sequence[_Cell]) -> list[list[_Cell]]:
    """Group cells that alternate: one algorithm and operation, all its implementations."""
    grouped: dict[tuple[str, str], list[_Cell]] = {}
    for cell in cells:
        grouped.setdefault((cell.algorithm.name, cell.operation), []).append(cell)
    return list(grouped.values())


def _progress(groups: list[list[_Cell]], show: bool) -> Iterator[list[_Cell]]:
    """Yield the groups, with a bar on stderr if asked for."""
    if not show:
        yield from groups
        return
    from tqdm import tqdm

    bar = tqdm(groups, unit="cell")
    for group in bar:
        bar.set_description(f"{group[0].algorithm.name} {group[0].operation}")
        yield group


def _run_round(
    cell: _Cell, chosen: Preset, index: int, costs: dict[tuple[str, str], float]
) -> None:
    """Measure one round of a cell and append its samples, or mark the cell as failed."""
    key = (cell.algorithm.name, cell.implementation)
    # Preparing inputs must not take longer than measuring does: SPHINCS+ signs for seconds.
    pool = max(1, min(chosen.pool, int(chosen.limit_seconds / (costs.get(key, 0.0) + 1e-9))))
    run = (
        _round_in_c
        if registry.implementation(cell.implementation).library
        and not cell.implementation.endswith("/dispatch")
        else _round_in_python
    )
    try:
        seconds, cycles = run(cell, chosen, pool, index)
    except PqchainError as error:
        cell.status, cell.reason = "failed", str(error)
        return
    if run is _round_in_python:
        cell.reason = "; ".join(
            filter(None, (cell.algorithm.note(cell.implementation), TIMED_IN_PYTHON))
        )
    warm = np.arange(len(seconds)) < chosen.warmup
    cell.samples.append(np.column_stack([seconds, cycles, warm]))
    if index == 0 and cell.operation in ("generate_keypair", "sign", "encapsulate"):
        costs[key] = costs.get(key, 0.0) + float(np.median(seconds))


def _round_in_c(cell: _Cell, chosen: Preset, pool: int, index: int) -> tuple[Samples, Samples]:
    """Run one round in the C loop of the native library."""
    plan = native.Plan(
        operation=OPERATIONS.index(cell.operation),
        warmup=chosen.warmup,
        samples=chosen.samples,
        minimum=chosen.minimum,
        limit_ns=int(chosen.limit_seconds * 1e9),
        pool=pool,
        message_bytes=MESSAGE_BYTES,
        seed=index + 1,
    )
    nanoseconds, cycles = native.library(cell.implementation).measure(cell.algorithm.name, plan)
    counted = np.asarray(cycles, dtype=np.float64)
    return (
        np.asarray(nanoseconds, dtype=np.float64) * 1e-9,
        np.where(counted > 0, counted, np.nan),
    )


def _round_in_python(cell: _Cell, chosen: Preset, pool: int, index: int) -> tuple[Samples, Samples]:
    """Run one round through the Python interface, for libraries that our C loop cannot call."""
    prepare, operate = _python_operation(cell, pool, index)
    seconds: list[float] = []
    spent = 0.0
    while len(seconds) < chosen.warmup + chosen.samples and (
        spent < chosen.limit_seconds or len(seconds) < chosen.warmup + chosen.minimum
    ):
        arguments = prepare(len(seconds))
        start = time.perf_counter_ns()
        result = operate(*arguments)
        elapsed = (time.perf_counter_ns() - start) * 1e-9
        if result is False:
            raise PqchainError(f"{cell.algorithm.name}: a valid signature did not verify")
        seconds.append(elapsed)
        spent += elapsed
    return np.array(seconds), np.full(len(seconds), np.nan)


def _python_operation(
    cell: _Cell, pool: int, index: int
) -> tuple[Callable[[int], tuple[bytes, ...]], Callable[..., Any]]:
    """Return what prepares the arguments of sample i, and the call to time."""
    rng = np.random.default_rng([index, MESSAGE_BYTES])
    if cell.algorithm.kind == "kem":
        kem = crypto.open_kem(cell.algorithm.name, cell.implementation)
        pairs = [kem.generate_keypair() for _ in range(pool)]
        if cell.operation == "generate_keypair":
            return lambda i: (), kem.generate_keypair
        if cell.operation == "encapsulate":
            return lambda i: (pairs[i % pool][0],), kem.encapsulate
        sealed = [(kem.encapsulate(public)[0], secret) for public, secret in pairs]
        return lambda i: sealed[i % pool], kem.decapsulate
    signer = crypto.open_signer(cell.algorithm.name, cell.implementation)
    if cell.operation == "generate_keypair":
        return lambda i: (), signer.generate_keypair
    pairs = [signer.generate_keypair() for _ in range(pool)]
    if cell.operation == "sign":
        return lambda i: (rng.bytes(MESSAGE_BYTES), pairs[i % pool][1]), signer.sign
    messages = [rng.bytes(MESSAGE_BYTES) for _ in range(pool)]
    signed = [
        (message, signer.sign(message, secret), public)
        for message, (public, secret) in zip(messages, pairs, strict=True)
    ]
    return lambda i: signed[i % pool], signer.verify


@contextmanager
def _one_processor() -> Iterator[int | None]:
    """Stay on one processor within the block, where the system can; yield its number."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    allowed = os.sched_getaffinity(0)
    processor = max(allowed)
    try:
        os.sched_setaffinity(0, {processor})
    except OSError:
        yield None
        return
    try:
        yield processor
    finally:
        os.sched_setaffinity(0, allowed)


def _empty_sample_seconds() -> float | None:
    """Return what the clock adds to each sample, or None without a native library."""
    for implementation in ("liboqs-0.13/avx2", "liboqs-0.13/ref"):
        if not native.available(implementation):
            return native.library(implementation).empty_sample_seconds()
    return None


def _row(cell: _Cell) -> dict[str, Any]:
    """Return the row of a cell."""
    row: dict[str, Any] = {
        "algorithm": cell.algorithm.name,
        "implementation": cell.implementation,
        "operation": cell.operation,
        "samples": 0,
        **dict.fromkeys(
            (
                "median_seconds", "mean_seconds", "mad_seconds", "min_seconds", "p95_seconds",
                "median_cycles",
            ),
            float("nan"),
        ),
        "status": cell.status,
        "reason": cell.reason,
    }  # fmt: skip
    if cell.status != "ok":
        return row
    table = np.concatenate(cell.samples)
    counted = table[table[:, 2] == 0]
    seconds = counted[:, 0]
    median = float(np.median(seconds))
    row.update(
        samples=len(seconds),
        median_seconds=median,
        mean_seconds=float(seconds.mean()),
        mad_seconds=float(np.median(np.abs(seconds - median))),
        min_seconds=float(seconds.min()),
        p95_seconds=float(np.quantile(seconds, 0.95)),
        median_cycles=float(np.median(counted[:, 1])),
    )
    return row


def _samples_frame(cells: Sequence[_Cell]) -> pd.DataFrame:
    """Return all samples, warm-ups labelled (contract "samples")."""
    parts = []
    for cell in cells:
        if not cell.samples:
            continue
        table = np.concatenate(cell.samples)
        parts.append(
            pd.DataFrame(
                {
                    "algorithm": cell.algorithm.name,
                    "implementation": cell.implementation,
                    "operation": cell.operation,
                    "index": np.arange(len(table)),
                    "warmup": table[:, 2].astype(bool),
                    "seconds": table[:, 0],
                    "cycles": table[:, 1],
                }
            )
        )
    columns = list(SAMPLES.columns)
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return results.check(frame, SAMPLES)
