"""Mutate boundary vectors and compare the verdicts of all builds.

    python packages/conform/tests/fuzz.py 1000000 PROGRAM FOLDER

PROGRAM is the compiled fuzz.c of this folder; FOLDER has a folder for each library, as a build of
`pqchain/native` does. `make fuzz-conform` builds both with sanitizers.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pqchain import algorithms
from pqchain.algorithms import Implementation
from pqchain.results import machine
from pqchain_conform.generators import generate

CURRENT = ("liboqs-0.13/ref", "liboqs-0.13/avx2")
ROUND3 = ("liboqs-0.7.1/ref", "liboqs-0.7.1/avx2")
ML_DSA = (*CURRENT, "pqcp/avx2", "pqcp/avx512")
FALCON = (*CURRENT, "fn-dsa/avx2", "fn-dsa/ref", "falcon/kernel")

_ML_DSA_SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
_FALCON_SETS = ("Falcon-512", "Falcon-1024", "Falcon-padded-512", "Falcon-padded-1024")
RUNS = (
    *((name, ML_DSA) for name in _ML_DSA_SETS),
    *((name, CURRENT) for name in ("Dilithium3", "Dilithium5")),
    ("Dilithium2", (*CURRENT, *ROUND3)),
    *((name, FALCON) for name in _FALCON_SETS),
    ("Falcon-512", ROUND3),
)
"""Builds that must agree. liboqs 0.7.1 has Falcon of the second round, with another bound."""


def write_vectors(algorithm: str, path: Path) -> None:
    """Write the vectors with a key of the right length, which the C code requires."""
    length = algorithms.get(algorithm).public_key_bytes
    with path.open("wb") as file:
        for vector in generate(algorithm):
            if len(vector.public_key) == length:
                for field in (vector.message, vector.context, vector.signature, vector.public_key):
                    file.write(len(field).to_bytes(4, "little") + field)


def runnable(implementations: Iterable[str]) -> list[Implementation]:
    """Return the implementations that this processor can run."""
    rows = map(algorithms.implementation, implementations)
    return [row for row in rows if not machine.missing_flags(row)]


def fuzz(program, count, algorithm, libraries):
    """Send `count` cases to all libraries; exit code 1 if two of them differ."""
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors"
        write_vectors(algorithm, vectors)
        return subprocess.run(
            [program, str(count), vectors, algorithm, *libraries],
            capture_output=True, text=True, check=False,
        )  # fmt: skip


def main() -> int:
    """Return 0 if all agree, 1 if some differ or one fails."""
    count, program, folder = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    share = -(-count // len(RUNS))
    for algorithm, _ in RUNS:
        generate(algorithm)  # once, before the threads

    def run(case: tuple[str, tuple[str, ...]]) -> tuple[str, subprocess.CompletedProcess[str]]:
        algorithm, rows = case[0], runnable(case[1])
        libraries = [folder / row.library / "lib" / "liboqs.so" for row in rows]
        title = f"{algorithm} by {', '.join(row.name for row in rows)}"
        return title, fuzz(program, share, algorithm, libraries)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for title, process in pool.map(run, RUNS):
            success = process.returncode == 0
            output = process.stdout.strip() if success else process.stdout + process.stderr
            sys.stdout.write(f"{title}: {output}\n")
            sys.stdout.flush()
            failed += not success
    sys.stdout.write(f"{share * len(RUNS)} cases, {failed} of {len(RUNS)} runs failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
