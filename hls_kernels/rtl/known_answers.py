"""Run liboqs's known-answer tests on the netlist, and count its cycles.

The digest of 100 vectors of a degree is liboqs's "all", that of 1 vector its "single". Keys come
from liboqs, randomness from NIST's generator, and signatures from the netlist. An engine that keeps
expanded keys signs each vector twice, first with the key in the request and then without it. Exit
code 1 unless the digests are those of liboqs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from pqchain.crypto import native
from pqchain.falcon import FalconSigner, core, kernel
from pqchain.falcon.netlist import Attempt, Netlist
from tests.crypto.builds import BUILDS
from tests.crypto.test_known_answers import ANSWERS, digest, signature_text


class Engine(Protocol):
    """The netlist, or a board with it."""

    def attempt(self, request: bytearray, logn: int, /) -> Attempt:
        """Run one signing attempt."""

    def spent(self) -> dict[str, tuple[int, int]]:
        """Return cycles and starts of the last attempt, by counter."""

    def violations(self) -> int:
        """Return the number of violations of the bus protocol."""


class Signer:
    """Signer with keys by liboqs, signatures by an engine, and one source of randomness."""

    def __init__(self, degree: int, engine: Engine, counts: int) -> None:
        self.signer = FalconSigner(degree, "kernel")
        self.engine, self.logn = engine, kernel.check_degree(degree)
        self.keeps_keys = isinstance(engine, Netlist) and engine.keeps_keys()
        self.library = native.library(self.signer._reference.implementation)
        self.cycles: list[int] = []
        self.spent: list[dict[str, tuple[int, int]]] = []
        self.new_key: list[tuple[int, dict[str, tuple[int, int]]]] = []
        """Cycles, and those by kernel, of attempts that expand a key for the next one."""
        self._draw: Callable[[int], bytes] = bytes
        self.progress = tqdm(total=counts, desc=f"Falcon-{degree}", disable=None)

    def randomness(self, source: Callable[[int], bytes]) -> AbstractContextManager[None]:
        """Use one source of randomness for liboqs and for the requests of the engine."""
        self._draw = source
        return self.library.randomness(source)

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a key pair of liboqs."""
        return self.signer._reference.generate_keypair()

    def sign(self, message: bytes, secret_key: bytes) -> bytes:
        """Sign with the engine. Raises RuntimeError for a wrong status."""
        algorithm = self.signer.algorithm
        nonce, seed = self._draw(kernel.NONCE_BYTES), self._draw(kernel.SEED_BYTES)
        inputs: dict[str, Any] = {"secret_key": secret_key, "nonce": nonce, "message": message}
        with kernel.request_of(algorithm, **inputs) as request:
            for attempt in range(kernel.MAX_ATTEMPTS):
                kernel.seed_request(request, seed, attempt, self.logn)
                result = self._attempt(request)
                self.cycles.append(result.cycles)
                self.spent.append(self.engine.spent())
                if result.status == kernel.RETRY:
                    continue
                signature = kernel.encode_signature(algorithm, nonce, result.response)
                if result.status != kernel.SIGNED or signature is None:
                    raise RuntimeError(f"status must be {kernel.SIGNED}; got {result.status}")
                self.progress.update()
                return signature
        raise RuntimeError("no attempt gave a short enough signature")

    def _attempt(self, request: bytearray) -> Attempt:
        """Run an attempt; with the kept key after one with the key in the request, if possible."""
        netlist = self.engine
        if not isinstance(netlist, Netlist) or not self.keeps_keys:
            return netlist.attempt(request, self.logn)
        netlist.write("key", core.KEEP)
        first = netlist.attempt(request, self.logn)
        self.new_key.append((first.cycles, netlist.spent()))
        netlist.write("key", core.USE)
        keyless = bytes(4 << self.logn) + request[4 << self.logn :]
        result = netlist.attempt(keyless, self.logn)
        if (result.status, result.response) != (first.status, first.response):
            raise RuntimeError("the kept key must give the response of the request's key")
        return result

    def verify(self, *arguments: bytes) -> bool:
        """Verify with liboqs."""
        return self.signer.verify(*arguments)


@dataclass(frozen=True, slots=True)
class Answers:
    """The results of a known-answer run."""

    degree: int
    digest: str
    correct: bool
    """Whether the digest is that of liboqs and the bus followed its protocol."""
    cycles: list[int]
    """Cycles of every attempt."""
    spent: list[dict[str, tuple[int, int]]]
    """Cycles and starts of every attempt, by kernel and other counter."""
    new_key: list[tuple[int, dict[str, tuple[int, int]]]]
    """Both of the attempts before, with the key in the request, of an engine that keeps it."""


def sign_vectors(engine: Engine, degree: int, counts: int) -> Answers:
    """Sign 1 or 100 vectors with an engine."""
    signer = Signer(degree, engine, counts)
    text = signature_text(f"Falcon-{degree}", signer, signer, counts)
    signer.progress.close()
    expected = ANSWERS[BUILDS]["signature"][f"Falcon-{degree}"]
    correct = digest(text) == expected["all" if counts == 100 else "single"]
    correct = correct and engine.violations() == 0
    return Answers(degree, digest(text), correct, signer.cycles, signer.spent, signer.new_key)


def run(library: Path, degree: int, counts: int) -> Answers:
    """Sign 1 or 100 vectors with the netlist in a shared library."""
    return sign_vectors(Netlist(library), degree, counts)


def main() -> bool:
    """Print a line for each degree; return whether all digests are correct."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--count", type=int, choices=(1, 100), default=100)
    parser.add_argument("--degree", type=int, choices=(512, 1024), action="append")
    options = parser.parse_args()
    all_correct = True
    for degree in options.degree or (512, 1024):
        answers = run(options.library, degree, options.count)
        all_correct = all_correct and answers.correct
        sys.stdout.write(
            f"Falcon-{degree}: {options.count} known answers, {len(answers.cycles)} attempts, "
            f"digest {answers.digest[:16]} {'equal' if answers.correct else 'DIFFERS'}; "
            f"cycles mean {statistics.fmean(answers.cycles):.0f}, "
            f"least {min(answers.cycles)}, greatest "
            f"{max(answers.cycles)}\n"
        )
        if answers.new_key:
            new = [cycles for cycles, _ in answers.new_key]
            sys.stdout.write(
                f"  with a new key: mean {statistics.fmean(new):.0f}, least {min(new)}, "
                f"greatest {max(new)}\n"
            )
    return all_correct


if __name__ == "__main__":
    sys.exit(not main())
