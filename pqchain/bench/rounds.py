"""One round of the benchmark of a cryptographic operation.

The timed loop runs in C and reads the clock before and after each operation.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqchain import algorithms as registry
from pqchain import crypto, installation
from pqchain.algorithms import DECODE_KEY, OPERATIONS, Algorithm
from pqchain.bench import presets
from pqchain.bench.presets import Preset, PresetName
from pqchain.bench.timing import timed
from pqchain.crypto import isolation, native
from pqchain.crypto.abi import TimingPlan
from pqchain.errors import PqchainError
from pqchain.results import machine
from pqchain.results.kept import KeptValues

TIMED_IN_PYTHON = "timed through Python: each sample includes the call"
"""Note on rows whose library cannot be called from the C loop."""

KEYS_PER_SAMPLE = 64
"""Keys of the pool that one sample decodes in one call, because decoding one may take less than
reading the clock."""

MESSAGE_BYTES = 100
"""Length of a signed message, about that of a transaction without its signature."""

Array = NDArray[np.float64]


@dataclass(slots=True)
class TimedCell:
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
        """Algorithm, implementation and operation."""
        return {
            "algorithm": self.algorithm.name,
            "implementation": self.implementation,
            "operation": self.operation,
        }

    def only(self, index: int) -> TimedCell:
        """Return the cell with one of its rounds."""
        return replace(self, rounds=self.rounds[index : index + 1])

    @property
    def timing_note(self) -> str:
        """Note on rows that the C loop does not time."""
        if self.operation == DECODE_KEY:
            return f"mean of {KEYS_PER_SAMPLE} keys decoded in one call through Python"
        return "" if registry.implementation(self.implementation).timed_in_c else TIMED_IN_PYTHON


def failure(error: PqchainError, implementation: str) -> str:
    """Return the reason of a failed row, and how to test the library of a user."""
    command = registry.implementation(implementation).check_command
    return f"{error}; test it: {command}" if command else str(error)


def run_round(
    cell: TimedCell,
    preset: PresetName,
    index: int,
    preparing: dict[tuple[str, str], float],
    kept: KeptValues,
) -> bool:
    """Append the samples of one round of `cell`, measured now unless they are kept.

    If the measurement fails, mark the cell as failed. Returns whether the samples were kept.
    """
    key = (cell.algorithm.name, cell.implementation)
    code = code_on_machine(cell.implementation)
    name = f"{code} {preset} {MESSAGE_BYTES} {index} {' '.join(cell.names.values())}"
    samples = kept.get(name) if code else None
    is_stored = samples is not None
    if samples is None:
        try:
            samples = _measured_round(cell, preset, index, preparing.get(key, 0.0))
        except PqchainError as error:
            cell.status, cell.reason = "failed", failure(error, cell.implementation)
            return False
        if code:
            kept.put(name, samples)
    seconds, cycles = samples
    notes = cell.algorithm.note(cell.implementation), cell.timing_note
    cell.reason = "; ".join(filter(None, notes))
    warmup = np.arange(len(seconds)) < presets.named(preset).warmup
    cell.rounds.append(pd.DataFrame({"seconds": seconds, "cycles": cycles, "warmup": warmup}))
    if index == 0 and cell.operation in ("generate_keypair", "sign", "encapsulate"):
        preparing[key] = preparing.get(key, 0.0) + float(np.median(seconds))
    return is_stored


def code_on_machine(implementation: str) -> str:
    """Return a name of this machine and of the code of an implementation, for what is kept of it.

    "" for code of the user, which may be in other files.
    """
    row = registry.implementation(implementation)
    path = native.built_library(row) if row.library else None
    version = installation.package_version(row.package) if row.package else ""
    if row.file or not (path or version):
        return ""
    python = f"{platform.python_version()} {version}" * (not row.timed_in_c)
    return f"{machine.identifier()} {installation.sha256(path) if path else ''} {python}"


def _measured_round(
    cell: TimedCell, preset: PresetName, index: int, prepare_seconds: float
) -> tuple[list[float], list[float]]:
    chosen = presets.named(preset)
    # Preparing inputs must not take longer than measuring: SPHINCS+ signs for seconds.
    affordable = int(chosen.limit_seconds / (prepare_seconds + 1e-9))
    pool = max(1, min(chosen.pool, affordable))
    row = registry.implementation(cell.implementation)
    arguments: dict[str, Any] = {**cell.names, "preset": preset, "pool": pool, "index": index}
    if not row.location:
        return round_samples(**arguments)
    seconds, cycles = isolation.call(
        "pqchain.bench.rounds:round_samples", locations=[row.location], keep=True,
        limit_seconds=isolation.run_limit_seconds(), **arguments,
    )  # fmt: skip
    return seconds, cycles


def round_samples(
    algorithm: str, implementation: str, operation: str, preset: PresetName, pool: int, index: int
) -> tuple[list[float], list[float]]:
    """Measure one round; return the seconds and cycles (NaN where unknown) of each sample.

    Runs in the child process for user code. Raises PqchainError if an operation fails.
    """
    cell = TimedCell(registry.get(algorithm), implementation, operation, "ok", "")
    measure_round = _in_python if cell.timing_note else _in_c
    seconds, cycles = measure_round(cell, presets.named(preset), pool, index)
    return seconds.tolist(), cycles.tolist()


def _in_c(cell: TimedCell, preset: Preset, pool: int, index: int) -> tuple[Array, Array]:
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


def _in_python(cell: TimedCell, preset: Preset, pool: int, index: int) -> tuple[Array, Array]:
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
    cell: TimedCell, pool: int, index: int
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
