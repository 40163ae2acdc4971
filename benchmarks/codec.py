"""Measure the erasure-code engines on one block, compared with memcpy, on one processor.

Engines alternate. Exit code 1 unless the median rates of encoding reach 8 GB/s with isal and
500 MB/s with numpy.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from harness import pin, seconds, spread, table

from pqchain.reencode.storage import chunk_bytes
from pqchain.reencode.storage.erasure import ReedSolomon, unavailable_reason

CODES = ((7, 3), (6, 3))
MIN_RATES = {"isal": 8.0, "numpy": 0.5}
"""GB of data per second required of encoding with the first code, by engine."""


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=64, help="size of the block")
    parser.add_argument("--rounds", type=int, default=15, help="measurements of each case")
    arguments = parser.parse_args()
    size = arguments.megabytes * 1_000_000
    pin()
    block = np.random.default_rng(1).integers(0, 256, size + 100_000, np.uint8)
    copy = np.zeros_like(block)
    cases: dict[tuple[str, str], Callable[[], object]] = {
        ("memcpy", "copy the block"): lambda: np.copyto(copy[:size], block[:size])
    }
    for engine in MIN_RATES:
        if reason := unavailable_reason(engine):
            sys.exit(f"{engine}: {reason}")
        for code in CODES:
            cases |= _cases(ReedSolomon(*code, engine=engine), block, size)
    for run in cases.values():
        run()  # page faults of the first access are not the cost of the codec
    samples: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for _ in range(arguments.rounds):
        for case, run in cases.items():
            samples[case].append(size / seconds(run) / 1e9)
    rows, good = [], True
    for (engine, operation), rates in samples.items():
        low, middle, high = spread(rates)
        minimum = MIN_RATES.get(engine) if operation == f"encode {CODES[0]}" else None
        good &= minimum is None or middle >= minimum
        rows.append([
            f"{engine}, {operation}", f"{low:.2f}", f"{middle:.2f}", f"{high:.2f}",
            f">= {minimum:g}" if minimum else "",
        ])  # fmt: skip
    head = [f"{arguments.megabytes} MB, GB of data per second", "least", "median", "greatest", ""]
    print(table(head, rows))
    return 0 if good else 1


def _cases(
    code: ReedSolomon, block: np.typing.NDArray[np.uint8], size: int
) -> dict[tuple[str, str], Callable[[], object]]:
    """Return calls that encode a block, and recover it after the maximum loss of data chunks."""
    length = chunk_bytes(size, code.data_chunks)
    padded = np.zeros(code.data_chunks * length, np.uint8)
    padded[:size] = block[:size]
    data = list(padded.reshape(code.data_chunks, length))
    parity = list(np.zeros((code.parity_chunks, length), np.uint8))
    lost = list(np.zeros((code.parity_chunks, length), np.uint8))
    code.encode(data, parity)
    present = dict(enumerate([*data, *parity]))
    missing = {index: lost[index] for index in range(code.parity_chunks)}
    for index in missing:
        del present[index]
    name = (code.data_chunks, code.parity_chunks)
    return {
        (code.engine, f"encode {name}"): lambda: code.encode(data, parity),
        (code.engine, f"recover {len(missing)} of {name}"): lambda: code.recover(present, missing),
    }


if __name__ == "__main__":
    sys.exit(main())
