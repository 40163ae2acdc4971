"""One round of samples of one operation: in the C loop of a library of ours, or through Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqchain import crypto
from pqchain.algorithms import OPERATIONS, Algorithm, implementation
from pqchain.bench.presets import Preset
from pqchain.bench.timing import timed
from pqchain.crypto import native
from pqchain.errors import PqchainError

Samples = NDArray[np.float64]
"""A row per sample: seconds, cycles (NaN where unknown), and 1 for a warm-up."""

MESSAGE_BYTES = 100
"""Length of a message to sign: a transaction without its signature is about so long."""


def run(
    algorithm: Algorithm, by: str, operation: str, *, preset: Preset, pool: int, index: int
) -> Samples:
    """Return the samples of round `index`, with that many prepared key pairs and inputs.

    Raises Unsupported and CryptoFailure, and PqchainError if a valid signature did not verify.
    """
    measure = _in_c if implementation(by).timed_in_c else _in_python
    seconds, cycles = measure(algorithm, by, operation, preset, pool, index)
    warmup = np.arange(len(seconds)) < preset.warmup
    return np.column_stack([seconds, cycles, warmup])


def empty_sample_seconds() -> float | None:
    """Return what the clock adds to each sample, or None without a native library."""
    for name in ("liboqs-0.13/avx2", "liboqs-0.13/ref"):
        if not crypto.obstacle(name):
            return native.library(name).empty_sample_seconds()
    return None


def _in_c(
    algorithm: Algorithm, by: str, operation: str, preset: Preset, pool: int, index: int
) -> tuple[Samples, Samples]:
    plan = native.Plan(
        operation=OPERATIONS.index(operation),
        warmup=preset.warmup,
        samples=preset.samples,
        minimum=preset.minimum,
        limit_ns=int(preset.limit_seconds * 1e9),
        pool=pool,
        message_bytes=MESSAGE_BYTES,
        seed=index + 1,
    )
    nanoseconds, cycles = native.library(by).measure(algorithm.name, plan)
    counted = np.asarray(cycles, dtype=np.float64)
    seconds = np.asarray(nanoseconds, dtype=np.float64) * 1e-9
    return seconds, np.where(counted > 0, counted, np.nan)


def _in_python(
    algorithm: Algorithm, by: str, operation: str, preset: Preset, pool: int, index: int
) -> tuple[Samples, Samples]:
    prepare, call = _operation(algorithm, by, operation, pool, index)
    least, most = preset.warmup + preset.minimum, preset.warmup + preset.samples
    seconds: list[float] = []
    spent = 0.0
    while len(seconds) < least or (len(seconds) < most and spent < preset.limit_seconds):
        elapsed, result = timed(call, *prepare(len(seconds)))
        if result is False:
            raise PqchainError(f"{algorithm.name}: a valid signature did not verify")
        seconds.append(elapsed)
        spent += elapsed
    return np.array(seconds), np.full(len(seconds), np.nan)


def _operation(
    algorithm: Algorithm, by: str, operation: str, pool: int, index: int
) -> tuple[Callable[[int], tuple[bytes, ...]], Callable[..., Any]]:
    """Return what prepares the arguments of sample i, and the call to time."""
    rng = np.random.default_rng([index, MESSAGE_BYTES])
    scheme = crypto.opened(algorithm, by)
    if operation == "generate_keypair":
        return lambda i: (), scheme.generate_keypair
    pairs = [scheme.generate_keypair() for _ in range(pool)]
    if isinstance(scheme, crypto.Kem):
        if operation == "encapsulate":
            return lambda i: (pairs[i % pool][0],), scheme.encapsulate
        sealed = [(scheme.encapsulate(public)[0], secret) for public, secret in pairs]
        return lambda i: sealed[i % pool], scheme.decapsulate
    if operation == "sign":
        return lambda i: (rng.bytes(MESSAGE_BYTES), pairs[i % pool][1]), scheme.sign
    messages = [rng.bytes(MESSAGE_BYTES) for _ in range(pool)]
    signed = [
        (message, scheme.sign(message, secret), public)
        for message, (public, secret) in zip(messages, pairs, strict=True)
    ]
    return lambda i: signed[i % pool], scheme.verify
