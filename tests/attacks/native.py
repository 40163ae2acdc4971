"""The C interface under the sanitizers: damaged secret keys, and batches of damaged signatures.

The driver is `tests/crypto/native_fuzz.c`; `make fuzz-native` builds it and the libraries.
"""

import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pqchain.errors import UsageError
from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try

BUILD = Path(__file__).resolve().parents[2] / "build" / "fuzz"

SCHEMES = {
    "falcon-kernel": (
        *("Falcon-512", "Falcon-1024", "Falcon-padded-512", "Falcon-padded-1024"),
        *("Falcon-recovery-512", "Falcon-recovery-1024"),
    ),
    "hawk-ref": ("Hawk-512",),
    "hawk-avx2": ("Hawk-512",),
    "pqcp-avx2": ("ML-DSA-44", "ML-DSA-65"),
    "fn-dsa-avx2": ("Falcon-512", "Falcon-padded-1024"),
    "rainbow-avx2": ("Rainbow-I-Classic",),
    "liboqs-0.13-ref": ("ML-DSA-44", "ML-DSA-65", "Falcon-512", "Falcon-1024"),
    "liboqs-0.13-avx2": ("ML-DSA-44", "ML-DSA-65", "Falcon-512", "Falcon-1024"),
    "liboqs-0.7.1-ref": ("Dilithium2", "Falcon-512"),
    "slhdsa-avx2": ("SLH-DSA-SHA2-128f", "SLH-DSA-SHAKE-128f"),
    "slhdsa-sha-ni": ("SLH-DSA-SHA2-128f", "SLH-DSA-SHA2-192f"),
}
"""Schemes whose keys, signatures or batches are handled by pqchain's code, by library."""

_REPORT = re.compile(r"(\d+) damaged keys, (\d+) of them sign; (\d+) signatures in batches")


def _prepare(_: Path, library: str, scheme: str) -> tuple[Inputs, Try]:
    driver, built = BUILD / "native-fuzz", BUILD / "ours" / library / "lib" / "liboqs.so"
    if not (driver.exists() and built.exists()):
        raise UsageError(f"{built} is missing. Run make fuzz-native first.")

    def attempt(number: int) -> Counter[Outcome]:
        """Count checked signatures and damaged keys that sign as fine."""
        command = [driver, str(number), built, scheme]
        # The search for leaks at the end crashes in the thread storage of a library in Rust.
        options = {"ASAN_OPTIONS": "detect_leaks=0"} if library.startswith("fn-dsa") else {}
        process = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | options
        )
        match = _REPORT.search(process.stdout)
        if process.returncode or not match:
            raise AssertionError(f"exit code {process.returncode}: {process.stderr[-2000:]}")
        keys, signing, signatures = map(int, match.groups())
        return Counter({Outcome.FINE: signing + signatures, Outcome.REFUSED: keys - signing})

    def make(_: random.Random, count: int) -> Iterator[Input]:
        yield Input(f"{count} of {scheme}", count)

    return make, attempt


ATTACKS = [
    # A small number of inputs runs in tests/crypto/test_c_programs.py.
    Attack(
        f"C interface, {library} {scheme}", "keys, batches", 0, 1_000_000, _prepare,
        (library, scheme), 24 * 3600,
    )
    for library, schemes in SCHEMES.items()
    for scheme in schemes
]  # fmt: skip
