"""Compare the code that pqchain chooses with every peer, in one interleaved run on one processor.

A row for each operation and code: every implementation of pqchain, of which "first" is the first of
the registry, and the peers, all in the same timed loop: crates and Go code of benchmarks/peers,
and the code of Hawk's authors if this installation was built with PQCHAIN_HAWK_SOURCE. OpenSSL is
called through the package cryptography. Ratios are medians of paired rounds with the least and the
greatest. Exit code 1 if the fastest of pqchain takes more than 1.10 of the time of the best peer.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from statistics import median

from harness import ROOT, median_seconds, pin, seconds, spread, table

from pqchain import algorithms, crypto
from pqchain.bench.operations import MESSAGE_BYTES
from pqchain.crypto import native, open_signer, source_builds
from pqchain_conform.implementations import openssl_verifier

SCHEMES = (
    "Falcon-512", "Falcon-1024", "ML-DSA-44", "ML-DSA-65", "SLH-DSA-SHA2-128f",
    "SLH-DSA-SHA2-128s", "Ed25519", "Hawk-512", "Hawk-1024",
)  # fmt: skip

MOST = 1.10
"""Largest ratio of the fastest of pqchain to the best peer."""

Timed = Callable[[], float]


def peers_library() -> native.Library | None:
    """Return the library of the peers, built at the first call; None without cargo."""
    build = source_builds.SourceBuild(ROOT / "benchmarks" / "peers", "peers", ("cargo", "cc"))
    os.environ["PQCHAIN_NATIVE_SOURCE"] = str(ROOT / "pqchain" / "native")
    status, reason = source_builds.build([build])[build.name]
    if status not in ("built", "cached"):
        print(f"the peers in Rust and Go are left out: {status}: {reason}", file=sys.stderr)
        return None
    return native.load(build.folder() / "peers.so")


def loop(library: native.Library, name: str, operation: str, slow: bool) -> Timed:
    """Return a function that times one round in a library's timed loop."""
    return lambda: median_seconds(
        library, name, operation, warmup=1 if slow else 5, samples=2000,
        minimum=2 if slow else 10, limit_seconds=0.05, pool=1 if slow else 8,
    )  # fmt: skip


def openssl(name: str) -> Timed | None:
    """Return a function that times a round of OpenSSL's verifier; None if it lacks the scheme."""
    verify = openssl_verifier(name) if name.startswith("ML-DSA") else None
    if verify is None:
        return None
    signer, message = open_signer(name), bytes(MESSAGE_BYTES)
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(message, secret_key)
    if not verify(message, signature, public_key, b""):
        sys.exit(f"OpenSSL rejects a valid signature of {name}")
    return lambda: median(
        seconds(lambda: verify(message, signature, public_key, b"")) for _ in range(50)
    )


def candidates(
    name: str, operation: str, peers: native.Library | None
) -> tuple[dict[str, Timed], dict[str, Timed]]:
    """Return what times pqchain's implementations of an operation, and the peers, by name."""
    slow = name.startswith("SLH-DSA") and operation == "sign"
    ours = {
        row: loop(native.library(row), name, operation, slow)
        for row in crypto.candidates(name)
        if algorithms.implementation(row).timed_in_c
    }
    others: dict[str, Timed] = {}
    for row in peers.names() if peers else ():
        peer, _, scheme = row.partition(" ")
        if scheme == name and (peer, operation) != ("aws-lc-rs", "sign"):
            others[peer] = loop(peers, row, operation, slow)
    if operation == "verify" and (timed := openssl(name)):
        others["OpenSSL"] = timed
    authors = "hawk-authors/avx2"
    if authors in algorithms.get(name).implementations and not crypto.obstacle(authors):
        others[authors] = loop(native.library(authors), name, operation, slow)
    return ours, others


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each operation")
    parser.add_argument("--algorithm", default=",".join(SCHEMES), help="schemes to compare")
    arguments = parser.parse_args()
    peers = peers_library()
    pin()
    rows, slower = [], []
    for name in arguments.algorithm.split(","):
        for operation in ("verify", "sign"):
            ours, others = candidates(name, operation, peers)
            every = ours | others
            rounds = [
                {who: timed() for who, timed in every.items()} for _ in range(arguments.rounds)
            ]
            middle = {who: median(each[who] for each in rounds) for who in every}
            fastest = min(ours, key=middle.__getitem__)
            best = min(others, key=middle.__getitem__, default="")
            for who in sorted(every, key=middle.__getitem__):
                low, ratio, high = spread(each[who] / each[fastest] for each in rounds)
                role = "fastest" if who == fastest else "first" if who == next(iter(ours)) else ""
                rows.append([
                    f"{name} {operation}", who, "peer" if who in others else f"ours {role}".strip(),
                    f"{middle[who] * 1e6:.1f}", f"{ratio:.3f}", f"{low:.3f}", f"{high:.3f}",
                ])  # fmt: skip
            if best and spread(each[fastest] / each[best] for each in rounds)[1] > MOST:
                slower.append(f"{name} {operation}: {best}")
    head = ["operation", "code", "whose", "us", "to our fastest", "least", "greatest"]
    print(table(head, rows))
    print(
        f"{arguments.rounds} interleaved rounds. Peers of which the fastest of pqchain takes more"
    )
    print(f"than {MOST:.2f} of the time: {', '.join(slower) or 'none'}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
