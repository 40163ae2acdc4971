"""Helpers of the benchmark scripts: native build, timing, and text tables."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pqchain.algorithms import OPERATIONS
from pqchain.bench.rounds import MESSAGE_BYTES
from pqchain.crypto import native

ROOT = Path(__file__).resolve().parent.parent


def build() -> Path:
    """Build the reference programs of the comparisons; return the build folder."""
    cmake = shutil.which("cmake")
    if cmake is None:
        sys.exit("cmake was not found. Install it (Debian: apt-get install cmake).")
    folder = ROOT / "build" / "benchmarks"
    configure = [cmake, "-S", str(ROOT / "pqchain" / "native"), "-B", str(folder)]
    if shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    subprocess.run([*configure, "-DPQCHAIN_BENCHMARKS=ON"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cmake, "--build", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


def pin() -> None:
    """Restrict this process and its children to one processor, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seconds(call: Callable[[], object]) -> float:
    """Return the duration of a call in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median_seconds(
    library: native.Library,
    algorithm: str,
    operation: str,
    *,
    warmup: int,
    samples: int,
    minimum: int,
    limit_seconds: float,
    pool: int,
) -> float:
    """Return the median duration of one operation in the library's timed loop, in seconds."""
    plan = native.TimingPlan(
        operation=OPERATIONS.index(operation), warmup=warmup, samples=samples, minimum=minimum,
        limit_ns=int(limit_seconds * 1e9), pool=pool, message_bytes=MESSAGE_BYTES, seed=1,
    )  # fmt: skip
    return statistics.median(library.measure(algorithm, plan)[0][warmup:]) * 1e-9


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Return the least value, the median and the greatest value."""
    values = sorted(values)
    return values[0], statistics.median(values), values[-1]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned text table."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) if i else cell.ljust(width)
                  for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in [head, *rows]
    )  # fmt: skip
