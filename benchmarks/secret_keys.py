"""What it costs to look whether a secret key is one that can be, beside a signature with it.

    python benchmarks/secret_keys.py

Both are timed in turn in one process. The look includes Python's way to C, which only the default
implementation takes for it alone; the others look while they sign. Falcon's keys are looked at in
full once, and known again after that: "a new one" is what the first look takes.
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter

from pqchain.crypto import open_signer

NAMES = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "Dilithium2", "Dilithium3", "Dilithium5")
NAMES += ("Falcon-512", "Falcon-1024")
ROUNDS, LOOKS, FIRSTS, SIGNATURES = 21, 2000, 40, 50


def main() -> None:
    """Print a line for each algorithm and implementation."""
    for name in NAMES:
        for implementation in ("liboqs-0.13/avx2", "liboqs-0.13/ref", "liboqs-0.13/dispatch"):
            signer = open_signer(name, implementation)
            secret_key, other = (signer.generate_keypair()[1] for _ in range(2))
            in_range, scheme = signer.library.predicate("pq_secret_key_in_range"), signer._scheme
            looks, firsts, signatures = [], [], []
            for _ in range(ROUNDS):
                began = perf_counter()
                for _ in range(LOOKS):
                    in_range(scheme, secret_key)
                looked = perf_counter()
                for _ in range(FIRSTS // 2):  # the last good key is known, so these never are
                    in_range(scheme, other)
                    in_range(scheme, secret_key)
                firsts.append((perf_counter() - looked) / FIRSTS)
                looked_all = perf_counter()
                for number in range(SIGNATURES):
                    signer.sign(number.to_bytes(32, "big"), secret_key)
                looks.append((looked - began) / LOOKS)
                signatures.append((perf_counter() - looked_all) / SIGNATURES)
            share = median(look / sign for look, sign in zip(looks, signatures, strict=True))
            sys.stdout.write(
                f"{name:11s} {implementation:21s} look {median(looks) * 1e6:6.2f} us, at a new one "
                f"{median(firsts) * 1e6:6.2f} us, signature {median(signatures) * 1e6:7.1f} us: "
                f"{share:.2%}, at a new one {median(firsts) / median(signatures):.1%}\n"
            )


if __name__ == "__main__":
    main()
