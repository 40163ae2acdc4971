"""Where the time of one signature goes. With `overlay` the only reader of a clock in this room."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import pandas as pd

from pqchain.crypto import native
from pqchain.errors import CryptoFailure
from pqchain.falcon import kernel
from pqchain.falcon.signer import Lap

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
    return pd.DataFrame(rows, columns=["step", "seconds", "calls", "where"])


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
    buffers = (memoryview(times), memoryview(calls))
    code = native.library(kernel.IMPLEMENTATION).call(
        "falcon_profile", secret_key, nonce, seed, message, len(message), logn, *buffers
    )
    if code <= 0:
        raise CryptoFailure("the secret key is damaged; pass it as key generation gave it")
    rows = zip(PARTS, times, calls, strict=True)
    return _frame([(step, ns * 1e-9, count, where) for (step, where), ns, count in rows])


def laps(run: Callable[[Lap], bytes]) -> pd.DataFrame:
    """Time what happens between the laps that `run` calls out."""
    seconds: dict[tuple[str, str], list[float]] = {}
    last = time.perf_counter()

    def lap(step: str, where: str) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds.setdefault((step, where), []).append(now - last)
        last = now

    run(lap)
    return _frame([(step, sum(each), len(each), where) for (step, where), each in seconds.items()])
