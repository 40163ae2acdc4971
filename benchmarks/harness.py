"""Helpers of the benchmark scripts: the extra native build and a table on stdout."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build() -> Path:
    """Build what the comparisons need beside the package; return the folder of the build."""
    cmake = shutil.which("cmake")
    if cmake is None:
        sys.exit("cmake was not found; install it (Debian: apt-get install cmake)")
    folder = ROOT / "build" / "benchmarks"
    configure = [cmake, "-S", str(ROOT / "pqchain" / "native"), "-B", str(folder)]
    if shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    subprocess.run([*configure, "-DPQCHAIN_BENCHMARKS=ON"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cmake, "--build", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


def pin() -> None:
    """Keep this process and its children on one processor, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Return least, median and greatest."""
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
