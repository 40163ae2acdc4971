"""Test whether the cycles of an attempt depend on the key, by Welch's t-test on two keys.

`python -m hls_kernels.rtl.leaks <library>` signs on the netlist with two fixed keys in turn, and
with a new message and seed for each attempt. As in test vector leakage assessment (G. Goodwill et
al., 2011), |t| above 4.5 is a leak, here on the cycles. The cycles outside the sampler's rounds,
verdicts and random bits must be equal in all attempts. An engine that keeps expanded keys signs
with a kept one, which changes every KEPT_ATTEMPTS. The result goes to data/falcon/rtl.json.
Attempts are stored next to the library, so an interrupted run continues.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.falcon import FalconSigner, core, kernel
from pqchain.falcon.netlist import Netlist
from pqchain.falcon.rtl import COMPACT, FAST

KEYS = (1, 2)
"""Seeds of the two keys."""

THRESHOLD = 4.5
"""Threshold of |t|, exceeded by chance about once in 150,000 tests."""

SAMPLER = ("attempt", "exact", "verdicts", "random bits")
"""Counters of the cycles that rejections and further random bytes cost."""

KEPT_ATTEMPTS = 10
"""Attempts with a kept key before the other one is expanded, which is not timed."""

CHUNK = 100
"""Attempts per file and per step of the progress bar; the chunk number seeds their randomness."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Cycles of one attempt."""

    key: int
    cycles: int
    sampler: int
    """The part for the sampler's rounds, verdicts and waits."""
    rounds: int

    @property
    def rest(self) -> int:
        """Cycles outside the sampler."""
        return self.cycles - self.sampler


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Welch's t of two samples; infinite if both are constant and differ."""
    difference = statistics.fmean(first) - statistics.fmean(second)
    variances = [statistics.variance(sample) / len(sample) for sample in (first, second)]
    error = math.sqrt(sum(variances))
    if error == 0:
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)
    return difference / error


def attempts(library: Path, degree: int, chunk: int, count: int) -> list[Attempt]:
    """Run attempts on the netlist, with the keys in turn."""
    netlist, results = Netlist(library), []
    turn = KEPT_ATTEMPTS if netlist.keeps_keys() else 1
    random = NistDrbg(chunk.to_bytes(48, "big"))
    signers = [
        FalconSigner(degree, "kernel", random_bytes=NistDrbg(bytes([key] * 48))) for key in KEYS
    ]
    secret_keys = [signer.generate_keypair()[1] for signer in signers]
    for number in range(count):
        key = number // turn % 2
        inputs: dict[str, Any] = {
            "secret_key": secret_keys[key], "nonce": random(kernel.NONCE_BYTES),
            "message": random(32),
        }  # fmt: skip
        with kernel.request_of(signers[key].algorithm, **inputs) as request:
            logn = kernel.check_degree(degree)
            kernel.seed_request(request, random(kernel.SEED_BYTES), 0, logn)
            if turn > 1 and number % turn == 0:
                netlist.write("key", core.KEEP)
                netlist.attempt(request, logn)
                netlist.spent()
                netlist.write("key", core.USE)
            cycles = netlist.attempt(request, logn).cycles
        spent = netlist.spent()
        sampler = sum(spent[name][0] for name in SAMPLER)
        results.append(Attempt(key, cycles, sampler, spent["attempt"][1]))
    return results


def _folder(library: Path, degree: int) -> Path:
    """Return the folder for attempts of this netlist, named after the digest of its sources."""
    sources = sorted((Path(__file__).parent / "core").glob("*.sv"))
    images = sorted((library.parent / "rom").glob("*.hex"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, *images]))
    return library.parent / "leaks" / f"{degree}_{digest.hexdigest()[:12]}"


def chunk_of(library: Path, degree: int, chunk: int) -> list[Attempt]:
    """Return the attempts of a chunk, from its file if it exists; otherwise run and store them."""
    path = _folder(library, degree) / f"{chunk:04}.csv"
    if path.is_file():
        with path.open(newline="") as file:
            return [Attempt(*map(int, row)) for row in csv.reader(file)]
    results = attempts(library, degree, chunk, CHUNK)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="") as file:
        csv.writer(file).writerows(astuple(attempt) for attempt in results)
    temporary.replace(path)
    return results


def judge(results: Sequence[Attempt], degree: int) -> dict[str, Any]:
    """Return the statistics of a run: t on cycles, and the cycles outside the sampler."""
    by_key = [[attempt for attempt in results if attempt.key == key] for key in (0, 1)]
    cycles = [[float(attempt.cycles) for attempt in group] for group in by_key]
    rest = {attempt.rest for attempt in results}
    deviation = statistics.stdev([float(attempt.cycles) for attempt in results])
    return {
        "degree": degree,
        "attempts": len(results),
        "mean_cycles": [round(statistics.fmean(values), 1) for values in cycles],
        "standard_deviation": round(deviation, 1),
        "mean_rounds": [round(statistics.fmean(a.rounds for a in group), 2) for group in by_key],
        "t": round(welch(*cycles), 3),
        # A true difference of this many cycles is detected with a probability of one half.
        "least_difference": round(THRESHOLD * deviation * 2 / math.sqrt(len(results)), 1),
        "cycles_outside_the_sampler": sorted(rest),
    }


def leaks(run: dict[str, Any]) -> bool:
    """Return whether the statistics of `judge` distinguish the keys."""
    return abs(run["t"]) > THRESHOLD or len(run["cycles_outside_the_sampler"]) != 1


def run(library: Path, degree: int, count: int, processes: int) -> list[Attempt]:
    """Return attempts of a degree, those that were stored and those that were missing."""
    results: list[Attempt] = []
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        chunks = [
            pool.submit(chunk_of, library, degree, chunk) for chunk in range(-(-count // CHUNK))
        ]
        for chunk in tqdm(chunks, f"Falcon-{degree}, {CHUNK} attempts each", disable=None):
            results += chunk.result()
    return results


def main() -> bool:
    """Run, record and print; return whether there is no leak."""
    from hls_kernels.rtl.figures import record, recorded

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--degree", type=int, choices=(512, 1024), action="append")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    configuration = FAST if Netlist(options.library).keeps_keys() else COMPACT
    summaries = {row["degree"]: row for row in recorded("leaks", configuration)}
    good = True
    for degree in options.degree or (512, 1024):
        summary = judge(run(options.library, degree, options.attempts, options.processes), degree)
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in summary.items()))
        good = good and not leaks(summary)
        summaries[degree] = summary
        record("leaks", [summaries[degree] for degree in sorted(summaries)], configuration)
    return good


if __name__ == "__main__":
    sys.exit(not main())
