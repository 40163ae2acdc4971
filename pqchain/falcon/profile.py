"""Where the time of one signature goes. With `overlay` the only reader of a clock in this room."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import pandas as pd

from pqchain.crypto import native
from pqchain.errors import CryptoFailure
from pqchain.falcon import kernel

COLUMNS = ("step", "seconds", "calls", "where")
"""Of every profile."""

PARTS = (
    ("decode the key", "software"),
    ("complete the key (NTT)", "software"),
    ("hash to a point", "software"),
    ("seed the generator", "software"),
    ("transforms", "engine"),
    ("splits and merges", "engine"),
    ("LDL decompositions", "engine"),
    ("polynomial arithmetic", "engine"),
    ("SamplerZ", "engine"),
    ("compress", "software"),
)
"""What falcon_profile times, in its order, and where each part is meant to run."""


def _frame(rows: list[tuple[str, float, int, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS))


def whole(sign: Callable[[], bytes]) -> pd.DataFrame:
    """Time one call."""
    start = time.perf_counter()
    sign()
    return _frame([("sign", time.perf_counter() - start, 1, "software")])


def parts(secret_key: bytes, nonce: bytes, seed: bytes, message: bytes, logn: int) -> pd.DataFrame:
    """Time the parts of the kernel; each includes two readings of the clock per call.

    Raises CryptoFailure if the key is damaged.
    """
    times, calls = array("Q", [0] * len(PARTS)), array("Q", [0] * len(PARTS))
    code = native.library(kernel.IMPLEMENTATION).call(
        "falcon_profile",
        secret_key,
        nonce,
        seed,
        message,
        len(message),
        logn,
        memoryview(times),
        memoryview(calls),
    )
    if code <= 0:
        raise CryptoFailure("the secret key is damaged; pass it as key generation gave it")
    return _frame(
        [
            (step, nanoseconds * 1e-9, count, where)
            for (step, where), nanoseconds, count in zip(PARTS, times, calls, strict=True)
        ]
    )


def laps(run: Callable[[Callable[[str], None]], bytes]) -> pd.DataFrame:
    """Time what happens between the laps that `run` calls out."""
    seconds: dict[str, float] = {}
    calls: dict[str, int] = {}
    last = time.perf_counter()

    def lap(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[step] = seconds.get(step, 0.0) + now - last
        calls[step] = calls.get(step, 0) + 1
        last = now

    run(lap)
    return _frame(
        [
            (step, seconds[step], calls[step], "board" if "board" in step else "software")
            for step in seconds
        ]
    )
