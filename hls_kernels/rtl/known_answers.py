"""The known answers of liboqs by the netlist, and its cycles.

100 vectors of each degree are liboqs's "all", 1 its "single"; keys and randomness come from liboqs
and NIST's generator, the heavy step from the netlist. Fails unless the digests are liboqs's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pqchain.crypto import native
from pqchain.falcon import FalconSigner, kernel
from pqchain.falcon.netlist import Netlist
from tests.crypto.builds import BUILDS
from tests.crypto.test_known_answers import ANSWERS, digest, signature_text


class Signer:
    """Keys by liboqs, signatures by the netlist, randomness from one place."""

    def __init__(self, degree: int, netlist: Netlist, counts: int) -> None:
        self.signer = FalconSigner(degree, "kernel")
        self.netlist, self.logn = netlist, kernel.check_degree(degree)
        self.library = native.library(self.signer._reference.implementation)
        self.cycles: list[int] = []
        self.spent: list[dict[str, tuple[int, int]]] = []
        self._draw: Callable[[int], bytes] = bytes
        self.progress = tqdm(total=counts, desc=f"Falcon-{degree}", disable=None)

    def randomness(self, source: Callable[[int], bytes]) -> AbstractContextManager[None]:
        """Let liboqs and the netlist's requests draw from one source."""
        self._draw = source
        return self.library.randomness(source)

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a key pair of liboqs."""
        return self.signer._reference.generate_keypair()

    def sign(self, message: bytes, secret_key: bytes) -> bytes:
        """Sign with the netlist; raises RuntimeError where its bus or status is wrong."""
        algorithm = self.signer.algorithm
        nonce, seed = self._draw(kernel.NONCE_BYTES), self._draw(kernel.SEED_BYTES)
        given: dict[str, Any] = {"secret_key": secret_key, "nonce": nonce, "message": message}
        with kernel.request_of(algorithm, **given) as request:
            for attempt in range(kernel.MAX_ATTEMPTS):
                kernel.seed_request(request, seed, attempt, self.logn)
                made = self.netlist.attempt(request, self.logn)
                self.cycles.append(made.cycles)
                self.spent.append(self.netlist.spent())
                if made.status == kernel.RETRY:
                    continue
                signature = kernel.encode_signature(algorithm, nonce, made.response)
                if made.status != kernel.SIGNED or signature is None:
                    raise RuntimeError(f"status {made.status}")
                self.progress.update()
                return signature
        raise RuntimeError("no attempt was short enough")

    def verify(self, *arguments: bytes) -> bool:
        """Verify with liboqs."""
        return self.signer.verify(*arguments)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a run of known answers gave."""

    degree: int
    digest: str
    right: bool
    """Whether the digest is liboqs's, and the bus kept its protocol."""
    cycles: list[int]
    """Of every attempt."""
    spent: list[dict[str, tuple[int, int]]]
    """Of every attempt: cycles and starts by kernel and other place."""


def run(library: Path, degree: int, counts: int) -> Answers:
    """Sign that many vectors, 1 or 100."""
    netlist = Netlist(library)
    signer = Signer(degree, netlist, counts)
    text = signature_text(f"Falcon-{degree}", signer, signer, counts)
    signer.progress.close()
    expected = ANSWERS[BUILDS]["signature"][f"Falcon-{degree}"]
    right = digest(text) == expected["all" if counts == 100 else "single"]
    right = right and netlist.violations() == 0
    return Answers(degree, digest(text), right, signer.cycles, signer.spent)


def main() -> bool:
    """Print a line per degree; return whether the digests are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--count", type=int, choices=(1, 100), default=100)
    parser.add_argument("--degree", type=int, choices=(512, 1024), action="append")
    options = parser.parse_args()
    good = True
    for degree in options.degree or (512, 1024):
        made = run(options.library, degree, options.count)
        good = good and made.right
        sys.stdout.write(
            f"Falcon-{degree}: {options.count} known answers, {len(made.cycles)} attempts, digest "
            f"{made.digest[:16]} {'equal' if made.right else 'DIFFERS'}; cycles mean "
            f"{statistics.fmean(made.cycles):.0f}, least {min(made.cycles)}, greatest "
            f"{max(made.cycles)}\n"
        )
    return good


if __name__ == "__main__":
    sys.exit(not main())
