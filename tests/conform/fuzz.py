"""Damage boundary vectors and see that all our builds give each the same verdict.

    python tests/conform/fuzz.py 1000000

Some stay as they are. Half of the damage is single bits; the rest are lengths, runs of
bytes, parts of other vectors, and keys. The builds are the shipped ones, without sanitizers.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence

from pqchain import algorithms
from pqchain.conform.generators import generate
from pqchain.conform.vector import Vector
from pqchain.crypto import obstacle, open_signer

BUILDS = ("liboqs-0.13/ref", "liboqs-0.13/avx2", "falcon/kernel")
"""The first decides. liboqs 0.7.1 has Falcon of the second round, with another bound."""

NAMES = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "Falcon-512", "Falcon-1024")
"""The padded forms of Falcon are among these: verifiers of either take both lengths."""

STEP = 2_000

Case = tuple[bytes, bytes, bytes]


def damaged(rng: random.Random, seeds: Sequence[Vector]) -> Case:
    """Return message, signature and key of one hostile case; the key keeps its length."""
    seed = rng.choice(seeds)
    signature, key = bytearray(seed.signature), bytearray(seed.public_key)
    kind = rng.randrange(11)
    if kind == 10:
        return seed.message, seed.signature, seed.public_key  # both verdicts must occur
    target = key if kind == 9 else signature
    if kind < 5 or kind == 9:
        for _ in range(rng.randrange(1, 4)):
            if target:
                target[rng.randrange(len(target))] ^= 1 << rng.randrange(8)
    elif kind == 5:
        del signature[rng.randrange(len(signature) + 1) :]
    elif kind == 6:
        signature += rng.choice((bytes(1), bytes(34), rng.randbytes(5)))
    elif kind == 7 and signature:
        at = rng.randrange(len(signature))
        signature[at : at + 4] = rng.choice((b"\xff" * 4, bytes(4), rng.randbytes(4)))
    else:
        other = rng.choice(seeds).signature
        at = rng.randrange(len(other) + 1)
        signature[at : at + 40] = other[at : at + 40]
    return seed.message, bytes(signature), bytes(key)


def builds(name: str) -> list[str]:
    """Return the builds of an algorithm that can run here."""
    offered = algorithms.get(name).implementations
    return [each for each in BUILDS if each in offered and not obstacle(each)]


def fuzz(name: str, count: int, seed: int = 0) -> Counter[str]:
    """Return how many were accepted and rejected; raises AssertionError where builds differ."""
    rng, counts = random.Random(f"{name} {seed}"), Counter[str]()
    length = algorithms.get(name).public_key_bytes
    seeds = [v for v in generate(name) if len(v.public_key) == length and not v.context]
    signers = {build: open_signer(name, build) for build in builds(name)}
    while (done := counts.total()) < count:
        cases = [damaged(rng, seeds) for _ in range(min(STEP, count - done))]
        columns = [list(column) for column in zip(*cases, strict=True)]
        wrong = {build: set(s.verify_batch(*columns)) for build, s in signers.items()}
        expected = wrong[BUILDS[0]]
        for build, found in wrong.items():
            for index in sorted(found ^ expected):
                message, signature, key = cases[index]
                raise AssertionError(
                    f"{name}: {build} and {BUILDS[0]} differ on message {message.hex()}, "
                    f"signature {signature.hex()}, public key {key.hex()}"
                )
        counts["rejected"] += len(expected)
        counts["accepted"] += len(cases) - len(expected)
    return counts


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for name in NAMES:
        found = fuzz(name, count // len(NAMES))
        said = f"{found['accepted']} accepted, {found['rejected']} rejected"
        sys.stdout.write(f"{name}: {said}, the same by {', '.join(builds(name))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
