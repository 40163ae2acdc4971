"""Four threads in native code under frequent thread switches and garbage collections.

    PYTHONMALLOC=debug python -m tests.stress --seconds 60

Each thread repeatedly takes the next job: an operation of one implementation, a batch, a
block, an erasure code, a run of delegates over QUIC. Results are compared with expected ones.
"""

import argparse
import faulthandler
import gc
import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator

import numpy as np

from pqchain import algorithms, delegates
from pqchain.crypto import native, open_kem, open_signer, unavailable_reason
from pqchain.crypto.random_source import Stream
from pqchain.reencode.storage.erasure import ReedSolomon
from tests.chain.test_bulk import chain
from tests.delegates.test_modes import star

Job = tuple[str, Callable[[], object], object]
"""Name, call, and what it must return."""

THREADS = 4

SLOW = ("s-simple", "McEliece", "Rainbow")
"""Parts of names of schemes of which one operation takes a tenth of a second and more."""


def signer_jobs(name: str, implementation: str) -> Iterator[Job]:
    """Yield signing and verification of a scheme, alone, in a batch, and from a seed."""
    signer = open_signer(name, implementation)
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"m", secret_key)
    columns = ([b"m", b"n"] * 4, [signature] * 8, [public_key] * 8)
    label = f"{name} of {implementation}"

    def round_trip() -> tuple[bool, bool]:
        made = signer.sign(b"m", secret_key)
        return signer.verify(b"m", made, public_key), signer.verify(b"n", made, public_key)

    yield label, round_trip, (True, False)
    yield f"{label}, batch", lambda: signer.verify_batch(*columns, threads=2), [1, 3, 5, 7]
    row = algorithms.implementation(implementation)
    if row.library:

        def seeded() -> bytes:
            with native.library(implementation).randomness(Stream(b"stress")):
                return signer.sign(b"m", secret_key)

        yield f"{label}, seeded", seeded, seeded()


def kem_jobs(name: str, implementation: str) -> Iterator[Job]:
    """Yield the key exchange of a KEM."""
    kem = open_kem(name, implementation)

    def exchange() -> bool:
        public_key, secret_key = kem.generate_keypair()
        ciphertext, secret = kem.encapsulate(public_key)
        return kem.decapsulate(ciphertext, secret_key) == secret

    yield f"{name} of {implementation}", exchange, True


def other_jobs() -> Iterator[Job]:
    """Yield a block, an erasure code and a run of delegates."""
    state, block = chain(5)
    encoded = block.encode()
    yield "block", lambda: state.apply(encoded).tip, state.apply(encoded).tip
    code, data = ReedSolomon(6, 3), np.arange(6 * 50_000, dtype=np.uint32).view(np.uint8)

    def encode() -> bytes:
        return b"".join(row.tobytes() for row in code.chunks_of(data.copy(), len(data)))

    yield "erasure code", encode, encode()

    def delegate_digest() -> str:
        run = delegates.run(star(blocks=1), mode="virtual", transport="native")
        return run.datagram_sha256

    yield "delegates over QUIC", delegate_digest, delegate_digest()


def jobs() -> list[Job]:
    """Return the jobs of every implementation that can run here."""
    result = list(other_jobs())
    for name in algorithms.names():
        row = algorithms.get(name)
        make = kem_jobs if row.kind == "kem" else signer_jobs
        for implementation in row.implementations:
            if not unavailable_reason(implementation) and not any(part in name for part in SLOW):
                result += make(name, implementation)
    return result


def main() -> int:
    """Run for a time and at least every job once; return 1 if a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    faulthandler.enable()
    todo = jobs()
    turns, failures, done = itertools.count(), [], itertools.count()
    end = time.monotonic() + options.seconds

    def work() -> None:
        while (turn := next(turns)) < len(todo) or time.monotonic() < end:
            name, call, expected = todo[turn % len(todo)]
            try:
                if (result := call()) != expected:
                    failures.append(f"{name}: {result!r:.200}")
            except Exception:  # noqa: BLE001 - whatever it is, it is a failure of that job
                failures.append(f"{name}: {traceback.format_exc()}")
            next(done)

    sys.setswitchinterval(1e-5)
    gc.set_threshold(1)
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write("".join(f"{failure}\n" for failure in failures[:20]))
    sys.stdout.write(f"{len(todo)} jobs, {next(done)} calls, {len(failures)} wrong\n")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
