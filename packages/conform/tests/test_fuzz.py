"""A small part of `make fuzz-conform`, on the shipped builds: they agree on damaged vectors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from packages.conform.tests import fuzz
from pqchain.crypto import native

pytestmark = pytest.mark.native

SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """Return the driver, compiled with the sanitizers."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build the driver with")
    built = tmp_path_factory.mktemp("fuzz") / "conform-fuzz"
    source = Path(fuzz.__file__).with_suffix(".c")
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZE, "-o", built, source],
        check=True,
    )
    return built


def shipped(implementations) -> list[Path | None]:
    """Return the files of these builds as packaged."""
    return [native.built_library(row) for row in fuzz.runnable(implementations)]


@pytest.mark.parametrize(
    ("algorithm", "implementations"), [("ML-DSA-44", fuzz.CURRENT), ("Falcon-512", fuzz.FALCON)]
)
def test_builds_agree_on_damaged_vectors(program, algorithm, implementations):
    process = fuzz.fuzz(program, 2000, algorithm, shipped(implementations))
    assert (process.returncode, process.stderr) == (0, "")
    accepted, rejected = (int(word) for word in process.stdout.split()[::2])
    assert accepted + rejected == 2000
    assert accepted > 50
    assert rejected > 1000


def test_differing_builds_are_detected(program):
    """Round-2 Falcon has a larger norm bound."""
    libraries = shipped(["liboqs-0.13/ref", "liboqs-0.7.1/ref"])
    process = fuzz.fuzz(program, 2000, "Falcon-512", libraries)
    assert process.returncode == 1
    assert f"{libraries[0]} says 1, {libraries[1]} says 0" in process.stdout
