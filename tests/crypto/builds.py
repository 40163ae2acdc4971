"""The builds of liboqs that tests compare, permitted skips, and sets that sign slowly."""

import shlex
import subprocess
from pathlib import Path

import pytest

from pqchain import algorithms
from pqchain.crypto import native
from pqchain.crypto.diagnosis import FOLDER, build_command
from pqchain.results import machine

BUILDS = ("liboqs-0.13/avx2", "liboqs-0.13/ref")
"""Both builds of the same source."""

ROUND3_BUILDS = ("liboqs-0.7.1/avx2", "liboqs-0.7.1/ref")
"""Both builds of the older source."""

IMPLEMENTATIONS = (*BUILDS, None)
"""Both builds and the default."""


ORDERS = {
    "ECDSA-secp256k1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    "Schnorr-secp256k1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    "ECDSA-P256": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "Ed25519": 2**252 + 27742317777372353535851937790883648493,
}
"""Orders of the groups of the classical schemes."""


def has_small_signatures(name: str) -> bool:
    """Whether this is a small set of SLH-DSA or SPHINCS+, which takes up to a second to sign."""
    hash_based = name.startswith(("SLH-DSA", "SPHINCS+"))
    return hash_based and name.removesuffix("-simple").endswith("s")


def need(implementation: str | None, name: str) -> None:
    """Skip a build that this processor cannot run; a missing expected build fails."""
    row = algorithms.implementation(implementation or "liboqs-0.13/dispatch")
    if missing := machine.missing_flags(row):
        pytest.skip(f"{row.name} needs {', '.join(missing)}")
    optional = not algorithms.get(name).default_build
    if optional and name not in native.library(row.name).names():
        pytest.skip("not in this build; PQCHAIN_ALGORITHMS=all builds it")


def example_library(folder: Path, *changes: tuple[str, str], name: str = "changed") -> Path:
    """Build the example with changes in its source, by the command of `doctor --example`."""
    text = (FOLDER / "example.c").read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    source, library = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(text, encoding="utf-8")
    command = build_command(str(source), str(library)).replace("-O3", "-O1")
    subprocess.run(shlex.split(command), check=True)
    return library
