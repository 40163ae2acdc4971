"""Whether the cycles of an attempt tell the key: two keys, many signatures, Welch's t-test.

`python -m hls_kernels.rtl.leaks <library>` signs with two fixed keys in turn, fresh messages and
seeds, on the netlist. As in test vector leakage assessment (G. Goodwill et al., 2011) a leak is |t|
above 4.5, here on the cycles. What is no part of the sampler's rounds, verdicts and random bits has
to be one number over all attempts. The result goes to data/falcon/rtl.json. Attempts are kept in
files beside the library, so a run that was stopped goes on where it was.
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
from pqchain.falcon import FalconSigner, kernel
from pqchain.falcon.netlist import Netlist

KEYS = (1, 2)
"""Seeds of both keys."""

THRESHOLD = 4.5
"""Of |t|: by chance about once in 150,000 tests."""

SAMPLER = ("attempt", "verdicts", "random bits")
"""Where the netlist spends what rejections and further random bytes cost."""

CHUNK = 100
"""Attempts between two steps of the progress bar, each with random bits of its own."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Cycles of one attempt."""

    key: int
    cycles: int
    sampler: int
    """Of these, what the sampler's rounds, verdicts and waits took."""
    rounds: int

    @property
    def rest(self) -> int:
        """Cycles of everything else."""
        return self.cycles - self.sampler


def welch(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Welch's t of two samples; infinite where both are constant and differ."""
    difference = statistics.fmean(one) - statistics.fmean(other)
    error = math.sqrt(statistics.variance(one) / len(one) + statistics.variance(other) / len(other))
    if error == 0:
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)
    return difference / error


def attempts(library: Path, degree: int, chunk: int, count: int) -> list[Attempt]:
    """Run attempts on the netlist, with the keys in turn."""
    netlist, made = Netlist(library), []
    random = NistDrbg(chunk.to_bytes(48, "big"))
    signers = [
        FalconSigner(degree, "kernel", random_bytes=NistDrbg(bytes([key] * 48))) for key in KEYS
    ]
    secret_keys = [signer.generate_keypair()[1] for signer in signers]
    for number in range(count):
        key = number % 2
        given: dict[str, Any] = {
            "secret_key": secret_keys[key], "nonce": random(kernel.NONCE_BYTES),
            "message": random(32),
        }  # fmt: skip
        with kernel.request_of(signers[key].algorithm, **given) as request:
            logn = kernel.check_degree(degree)
            kernel.seed_request(request, random(kernel.SEED_BYTES), 0, logn)
            cycles = netlist.attempt(request, logn).cycles
        spent = netlist.spent()
        sampler = sum(spent[place][0] for place in SAMPLER)
        made.append(Attempt(key, cycles, sampler, spent["attempt"][1]))
    return made


def _folder(library: Path, degree: int) -> Path:
    """Return where the attempts of this netlist are kept: another source has another folder."""
    sources = sorted((Path(__file__).parent / "core").glob("*.sv"))
    images = sorted((library.parent / "rom").glob("*.hex"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, *images]))
    return library.parent / "leaks" / f"{degree}_{digest.hexdigest()[:12]}"


def chunk_of(library: Path, degree: int, chunk: int) -> list[Attempt]:
    """Return the attempts of a chunk: from its file, or made now and kept."""
    path = _folder(library, degree) / f"{chunk:04}.csv"
    if path.is_file():
        with path.open(newline="") as file:
            return [Attempt(*map(int, row)) for row in csv.reader(file)]
    made = attempts(library, degree, chunk, CHUNK)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="") as file:
        csv.writer(file).writerows(astuple(each) for each in made)
    temporary.replace(path)
    return made


def judge(made: Sequence[Attempt], degree: int) -> dict[str, Any]:
    """Return the figures of a run: t on cycles, and the cycles outside the sampler."""
    by_key = [[each for each in made if each.key == key] for key in (0, 1)]
    cycles = [[float(each.cycles) for each in some] for some in by_key]
    rest = {each.rest for each in made}
    deviation = statistics.stdev([float(each.cycles) for each in made])
    return {
        "degree": degree,
        "attempts": len(made),
        "mean_cycles": [round(statistics.fmean(some), 1) for some in cycles],
        "standard_deviation": round(deviation, 1),
        "mean_rounds": [round(statistics.fmean(e.rounds for e in some), 2) for some in by_key],
        "t": round(welch(*cycles), 3),
        # a true difference of so many cycles would have been noticed half of the time
        "least_difference": round(THRESHOLD * deviation * 2 / math.sqrt(len(made)), 1),
        "cycles_outside_the_sampler": sorted(rest),
    }


def leaks(found: dict[str, Any]) -> bool:
    """Say whether the figures tell the keys apart."""
    return abs(found["t"]) > THRESHOLD or len(found["cycles_outside_the_sampler"]) != 1


def main() -> bool:
    """Run, record and print; return whether nothing was found."""
    from hls_kernels.rtl.figures import record

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--degree", type=int, choices=(512, 1024), default=512)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    chunks = -(-options.attempts // CHUNK)
    made: list[Attempt] = []
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        runs = [
            pool.submit(chunk_of, options.library, options.degree, chunk) for chunk in range(chunks)
        ]
        for each in tqdm(runs, desc=f"{CHUNK} attempts each", disable=None):
            made += each.result()
    found = judge(made, options.degree)
    record("leaks", [found])
    sys.stdout.write("".join(f"{name}: {value}\n" for name, value in found.items()))
    return not leaks(found)


if __name__ == "__main__":
    sys.exit(not main())
