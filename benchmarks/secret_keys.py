"""Measure secret-key validation, compared with signing.

Validation and signing alternate in one process. The time of validation includes the call from
Python to C, which only the default implementation makes for validation alone; the others validate
while they sign. A Falcon key is validated in full once and recognised afterwards: "new key" is the
time of the first validation.
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter

from pqchain.crypto import abi, open_signer

NAMES = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "Dilithium2", "Dilithium3", "Dilithium5")
NAMES += ("Falcon-512", "Falcon-1024")
ROUNDS, REPEATS, NEW_KEYS, SIGNATURES = 21, 2000, 40, 50


def main() -> None:
    """Print a line for each algorithm and implementation."""
    for name in NAMES:
        for implementation in ("liboqs-0.13/avx2", "liboqs-0.13/ref", "liboqs-0.13/dispatch"):
            signer = open_signer(name, implementation)
            secret_key, other = (signer.generate_keypair()[1] for _ in range(2))
            in_range, scheme = signer.library._handle["pq_secret_key_in_range"], signer._scheme
            in_range.argtypes = abi.POINTER, abi.TEXT
            known, new, signatures = [], [], []
            for _ in range(ROUNDS):
                start = perf_counter()
                for _ in range(REPEATS):
                    in_range(scheme, secret_key)
                middle = perf_counter()
                for _ in range(
                    NEW_KEYS // 2
                ):  # only the last valid key is recognised, so these never are
                    in_range(scheme, other)
                    in_range(scheme, secret_key)
                new.append((perf_counter() - middle) / NEW_KEYS)
                end = perf_counter()
                for number in range(SIGNATURES):
                    signer.sign(number.to_bytes(32, "big"), secret_key)
                known.append((middle - start) / REPEATS)
                signatures.append((perf_counter() - end) / SIGNATURES)
            share = median(check / sign for check, sign in zip(known, signatures, strict=True))
            sys.stdout.write(
                f"{name:11s} {implementation:21s} check {median(known) * 1e6:6.2f} us, new key "
                f"{median(new) * 1e6:6.2f} us, signature {median(signatures) * 1e6:7.1f} us: "
                f"{share:.2%}, new key {median(new) / median(signatures):.1%}\n"
            )


if __name__ == "__main__":
    main()
