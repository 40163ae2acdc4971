"""Constant-time claims under valgrind: no secret-dependent branch or address."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pqchain.results import machine

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "pqchain" / "native"


def sources(folder: str, *without: str) -> list[Path]:
    """Return the C files of a folder except for names with these endings, and the shared hash."""
    files = sorted((NATIVE / folder).glob("*.c"))
    return [NATIVE / "shake.c", *(path for path in files if not path.stem.endswith(without))]


HAWK = sources("hawk", "_glue", "_study", "authors")
SLHDSA = sources("slhdsa", "_glue", "_ni")
CODE = {
    "slhdsa-ref": (SLHDSA, ["-DSLHDSA"]),
    "slhdsa-avx2": (SLHDSA, ["-DSLHDSA", "-mavx2", "-DSLH_VECTOR_BYTES=32"]),
    "hawk-ref": ([*HAWK, *sorted((NATIVE / "hawk" / "ref").glob("*.c"))], []),
    "hawk-avx2": (
        [*HAWK, *sorted((NATIVE / "hawk" / "avx2").glob("*.c"))],
        ["-mavx2", "-mbmi2", "-mpclmul"],
    ),
    "rainbow": (
        [*sources("rainbow", "_glue"), NATIVE / "slhdsa" / "sha2.c"],
        ["-mavx2", "-maes", "-DRAINBOW"],
    ),
}
"""Sources and flags of each signer. Memcheck lacks the SHA instructions of slhdsa/sha-ni."""


def checked(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Build the driver for a signer with the package's flags and run it under memcheck."""
    compiler, valgrind = shutil.which("cc"), shutil.which("valgrind")
    if compiler is None or valgrind is None or not Path("/usr/include/valgrind").is_dir():
        pytest.skip("needs a C compiler and valgrind with its headers (Debian: valgrind)")
    if (
        not name.endswith("-ref")
        and not {"avx2", "bmi2", "pclmulqdq", "aes"} <= machine.cpu_flags()
    ):
        pytest.skip("this processor has no AVX2")
    sources, flags = CODE[name]
    declassify = "-DDECLASSIFY(memory,bytes)=(void)VALGRIND_MAKE_MEM_DEFINED(memory,bytes)"
    program = folder / name
    subprocess.run(
        [
            *(compiler, "-std=gnu11", "-O3", "-g", "-Wall", "-Wextra", "-Werror", declassify),
            f"-I{NATIVE}",
            *("-include", "valgrind/memcheck.h", *flags, "-o", program, *sources),
            ROOT / "tests" / "crypto" / "constant_time.c",
        ],
        check=True,
    )
    return subprocess.run(
        [valgrind, "--quiet", "--error-exitcode=9", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", CODE)
def test_signing_has_no_secret_dependent_branches_or_addresses(name: str, tmp_path: Path) -> None:
    rounds = "1" if name.startswith("slhdsa") else "2"
    completed = checked(tmp_path, name, rounds)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout == f"{rounds} rounds\n"


def test_secret_dependent_branch_is_detected(tmp_path: Path) -> None:
    completed = checked(tmp_path, "hawk-ref", "leak")
    assert completed.returncode == 9
    assert "Conditional jump or move depends on uninitialised value" in completed.stderr
