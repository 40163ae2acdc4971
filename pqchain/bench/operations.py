"""Benchmark of cryptographic operations.

The timed loop runs in C and reads the clock before and after each operation. Rounds alternate
between implementations, so that a drift of the machine's speed affects all of them alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqchain import algorithms as registry
from pqchain import crypto, results
from pqchain.algorithms import DECODE_KEY, GIVEN, OPERATIONS, Algorithm
from pqchain.bench import presets, variation
from pqchain.bench.presets import Preset, PresetName
from pqchain.bench.timing import median_and_mad, name_list, one_processor, timed, with_bar
from pqchain.checks import integer
from pqchain.crypto import isolation, native
from pqchain.crypto.abi import TimingPlan
from pqchain.errors import CryptoFailure, PqchainError, UnknownName, UsageError
from pqchain.results import machine
from pqchain.results.checkpoint import Checkpoint
from pqchain.results.measurements import MEASUREMENT, user_scheme_provenance

TIMED_IN_PYTHON = "timed through Python: each sample includes the call"
"""Note on rows whose library cannot be called from the C loop."""

KEYS_PER_SAMPLE = 64
"""Keys of the pool that one sample decodes in one call, because decoding one may take less than
reading the clock."""

MESSAGE_BYTES = 100
"""Length of a signed message, about that of a transaction without its signature."""

Array = NDArray[np.float64]


@dataclass(slots=True)
class _Cell:
    """One combination of algorithm, implementation and operation, with its samples."""

    algorithm: Algorithm
    implementation: str
    operation: str
    status: str
    reason: str
    rounds: list[pd.DataFrame] = field(default_factory=list)
    """Samples of each round: seconds, cycles (NaN where unknown), warmup (bool)."""

    @property
    def names(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm.name,
            "implementation": self.implementation,
            "operation": self.operation,
        }

    @property
    def samples(self) -> pd.DataFrame:
        return pd.concat(self.rounds, ignore_index=True)

    @property
    def timing_note(self) -> str:
        if self.operation == DECODE_KEY:
            return f"mean of {KEYS_PER_SAMPLE} keys decoded in one call through Python"
        return "" if registry.implementation(self.implementation).timed_in_c else TIMED_IN_PYTHON


def measure(
    algorithms: Iterable[str] | str | None = None,
    operations: Iterable[str] | str | None = None,
    implementations: Iterable[str] | str | None = None,
    *,
    preset: PresetName | None = None,
    rounds: int | None = None,
    progress: bool = False,
    keep_samples: bool = False,
    checkpoint: Checkpoint | None = None,
    warn: bool = True,
) -> pd.DataFrame:
    """Measure operations of algorithms on one processor of this machine.

    By default every algorithm of the default build is measured in every implementation that can be
    timed directly. Each sample signs a fresh message, several key pairs are used, and results are
    checked outside the timed part. `preset` is by default that of PQCHAIN_PRESET, else "quick";
    `rounds` overrides its number of rounds. `checkpoint` keeps each round, and rounds in it are not
    measured again; their number is `resumed_rounds` of the provenance. `warn` logs a busy machine
    or unsteady times (logger pqchain.bench, by default on stderr).

    Returns a frame, one row per algorithm, implementation and operation, with the columns
    algorithm, implementation, operation, samples (without warm-up), median_seconds, mean_seconds,
    mad_seconds (median absolute deviation), min_seconds, p95_seconds, median_cycles (time-stamp
    counter at its constant rate; NaN where unknown), status ("ok", "unsupported", "failed") and
    reason (of the status, or a note). "decode_key" is measured if it is named.
    `attrs["provenance"]` describes machine and run; with `keep_samples`, `attrs["samples"]` is the
    frame of all samples, warm-up labelled.

    Raises UnknownAlgorithm, UnknownImplementation, and UsageError for empty lists and for an
    algorithm that has none of the operations. An implementation that cannot run here has a row
    with the reason.
    """
    preset = preset or presets.preset()
    chosen = presets.named(preset)
    if rounds is not None:
        integer("rounds", rounds, least=1, most=1000)
        chosen = replace(chosen, rounds=rounds)
    cells = _plan(algorithms, operations, implementations)
    builds = ("liboqs-0.13/avx2", "liboqs-0.13/ref")
    clock = next((native.library(name) for name in builds if not crypto.obstacle(name)), None)
    # Rounds alternate between the implementations of one algorithm and operation.
    groups: dict[str, list[_Cell]] = {}
    for cell in cells:
        groups.setdefault(f"{cell.algorithm.name} {cell.operation}", []).append(cell)
    preparing: dict[tuple[str, str], float] = {}
    resumed = 0
    with one_processor() as processor:
        # Each round covers all cells, so that a busy minute spoils one round of many cells and not
        # all rounds of a few, whose medians it would shift.
        turns = [(index, name) for index in range(chosen.rounds) for name in groups]
        for index, name in with_bar(turns, lambda turn: turn[1], unit="round", show=progress):
            for cell in groups[name]:
                if cell.status == "ok" and cell.implementation != GIVEN:
                    resumed += _run_round(cell, preset, index, preparing, checkpoint)
    frame = MEASUREMENT.frame(map(_row, cells))
    frame.attrs["provenance"] = {
        **machine.provenance(),
        "preset": preset,
        "rounds": chosen.rounds,
        "message_bytes": MESSAGE_BYTES,
        "pinned_processor": processor,
        # Overhead of the clock, contained in each sample.
        "empty_sample_seconds": clock.empty_sample_seconds() if clock else None,
        **({"resumed_rounds": resumed} if resumed else {}),
        **user_scheme_provenance(cell.algorithm for cell in cells),
    }
    if keep_samples:
        measured = (cell for cell in cells if cell.rounds)
        numbered = (cell.samples.reset_index().assign(**cell.names) for cell in measured)
        frame.attrs["samples"] = results.joined(numbered, variation.SAMPLES)
    if warn:
        variation.announce(frame)
    return frame


def _plan(
    algorithms: Iterable[str] | str | None,
    operations: Iterable[str] | str | None,
    implementations: Iterable[str] | str | None,
) -> list[_Cell]:
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
                is_decoding = operation == DECODE_KEY
                state = _decoding(row, name, status) if is_decoding else status
                cells.append(_Cell(row, name, operation, *state))
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
    except CryptoFailure as error:
        return "failed", _failure(error, implementation)
    except PqchainError as error:
        return "unsupported", str(error)
    return "ok", algorithm.note(implementation)


def _decoding(
    algorithm: Algorithm, implementation: str, status: tuple[str, str]
) -> tuple[str, str]:
    """Return the status of decoding keys, given that of the other operations."""
    if status[0] != "ok":
        return status
    if implementation == GIVEN or registry.implementation(implementation).location:
        return "unsupported", "only native libraries of pqchain have decoded keys"
    try:
        native.KeyDecoder(crypto.open_signer(algorithm.name, implementation))
    except PqchainError as error:
        return "unsupported", str(error)
    return status


def _failure(error: PqchainError, implementation: str) -> str:
    """Return the reason of a failed row, and how to test the library of a user."""
    command = registry.implementation(implementation).check_command
    return f"{error}; test it: {command}" if command else str(error)


def _run_round(
    cell: _Cell,
    preset: PresetName,
    index: int,
    preparing: dict[tuple[str, str], float],
    checkpoint: Checkpoint | None,
) -> bool:
    """Append the samples of one round of `cell`, measured now unless the checkpoint has them.

    If the measurement fails, mark the cell as failed. Returns whether the checkpoint had the round.
    """
    key = (cell.algorithm.name, cell.implementation)
    stored = f"{' '.join(cell.names.values())} {index}"
    samples = checkpoint.get(stored) if checkpoint is not None else None
    is_stored = samples is not None
    if samples is None:
        try:
            samples = _measured_round(cell, preset, index, preparing.get(key, 0.0))
        except PqchainError as error:
            cell.status, cell.reason = "failed", _failure(error, cell.implementation)
            return False
        if checkpoint is not None:
            checkpoint.put(stored, samples)
    seconds, cycles = samples
    notes = cell.algorithm.note(cell.implementation), cell.timing_note
    cell.reason = "; ".join(filter(None, notes))
    warmup = np.arange(len(seconds)) < presets.named(preset).warmup
    cell.rounds.append(pd.DataFrame({"seconds": seconds, "cycles": cycles, "warmup": warmup}))
    if index == 0 and cell.operation in ("generate_keypair", "sign", "encapsulate"):
        preparing[key] = preparing.get(key, 0.0) + float(np.median(seconds))
    return is_stored


def _measured_round(
    cell: _Cell, preset: PresetName, index: int, prepare_seconds: float
) -> tuple[list[float], list[float]]:
    chosen = presets.named(preset)
    # Preparing inputs must not take longer than measuring: SPHINCS+ signs for seconds.
    affordable = int(chosen.limit_seconds / (prepare_seconds + 1e-9))
    pool = max(1, min(chosen.pool, affordable))
    row = registry.implementation(cell.implementation)
    arguments: dict[str, Any] = {**cell.names, "preset": preset, "pool": pool, "index": index}
    if not row.location:
        return round_samples(**arguments)
    # Key pairs and inputs of the pool, then the samples that are made in any case.
    operations = 2 * pool + chosen.warmup + chosen.minimum
    use_seconds = isolation.first_use_seconds(cell.algorithm.name, cell.implementation)
    seconds, cycles = isolation.call(
        "pqchain.bench.operations:round_samples", locations=[row.location], keep=True,
        expected_seconds=chosen.limit_seconds + operations * use_seconds, **arguments,
    )  # fmt: skip
    return seconds, cycles


def round_samples(
    algorithm: str, implementation: str, operation: str, preset: PresetName, pool: int, index: int
) -> tuple[list[float], list[float]]:
    """Measure one round; return the seconds and cycles (NaN where unknown) of each sample.

    Runs in the child process for user code. Raises PqchainError if an operation fails.
    """
    cell = _Cell(registry.get(algorithm), implementation, operation, "ok", "")
    measure_round = _in_python if cell.timing_note else _in_c
    seconds, cycles = measure_round(cell, presets.named(preset), pool, index)
    return seconds.tolist(), cycles.tolist()


def _in_c(cell: _Cell, preset: Preset, pool: int, index: int) -> tuple[Array, Array]:
    plan = TimingPlan(
        operation=OPERATIONS.index(cell.operation),
        warmup=preset.warmup,
        samples=preset.samples,
        minimum=preset.minimum,
        limit_ns=int(preset.limit_seconds * 1e9),
        pool=pool,
        message_bytes=MESSAGE_BYTES,
        seed=index + 1,
    )
    nanoseconds, cycles = native.library(cell.implementation).measure(cell.algorithm.name, plan)
    counted = np.asarray(cycles, dtype=np.float64)
    seconds = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    # The library reports 0 where the processor has no cycle counter that user code may read.
    return seconds, np.where(counted > 0, counted, np.nan)


def _in_python(cell: _Cell, preset: Preset, pool: int, index: int) -> tuple[Array, Array]:
    prepare, call = _operation(cell, pool, index)
    least, most = preset.warmup + preset.minimum, preset.warmup + preset.samples
    seconds: list[float] = []
    spent = 0.0
    # An operation slower than the time limit still gets its minimum number of samples.
    while len(seconds) < least or (len(seconds) < most and spent < preset.limit_seconds):
        elapsed, result = timed(call, *prepare(len(seconds)))
        if result is False:
            raise PqchainError(f"{cell.algorithm.name}: a valid signature did not verify")
        seconds.append(elapsed)
        spent += elapsed
    keys = KEYS_PER_SAMPLE if cell.operation == DECODE_KEY else 1
    return np.array(seconds) / keys, np.full(len(seconds), np.nan)


def _operation(
    cell: _Cell, pool: int, index: int
) -> tuple[Callable[[int], tuple[bytes, ...]], Callable[..., Any]]:
    """Return a function that prepares the arguments of sample i, and the function to time."""
    # The messages of a round are the same in every run; the keys are fresh.
    rng = np.random.default_rng([index, MESSAGE_BYTES])
    scheme = crypto.open_scheme(cell.algorithm, cell.implementation)
    if cell.operation == "generate_keypair":
        return lambda i: (), scheme.generate_keypair
    pairs = [scheme.generate_keypair() for _ in range(pool)]
    if isinstance(scheme, crypto.Kem):
        if cell.operation == "encapsulate":
            return lambda i: (pairs[i % pool][0],), scheme.encapsulate
        sealed = [(scheme.encapsulate(public)[0], secret) for public, secret in pairs]
        return lambda i: sealed[i % pool], scheme.decapsulate
    if cell.operation == DECODE_KEY:
        decoder, message, (public, secret) = native.KeyDecoder(scheme), b"a message", pairs[0]
        if not decoder.verify(message, scheme.sign(message, secret), decoder.decode(public)):
            name = cell.algorithm.name
            raise PqchainError(f"{name}: a decoded key rejects a valid signature")
        joined = b"".join(pairs[at % pool][0] for at in range(KEYS_PER_SAMPLE))
        return lambda i: (joined,), decoder.decode
    if cell.operation == "sign":
        return lambda i: (rng.bytes(MESSAGE_BYTES), pairs[i % pool][1]), scheme.sign
    messages = [rng.bytes(MESSAGE_BYTES) for _ in range(pool)]
    signed = [
        (message, scheme.sign(message, secret), public)
        for message, (public, secret) in zip(messages, pairs, strict=True)
    ]
    return lambda i: signed[i % pool], scheme.verify


def _row(cell: _Cell) -> dict[str, Any]:
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
    counted = cell.samples.query("not warmup")
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
