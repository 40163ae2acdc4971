"""A small part of `make fuzz-native` on the packaged builds: hostile calls of the C interface."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pqchain.crypto import native
from tests.crypto.builds import need

pytestmark = pytest.mark.native

SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

DIGESTS = {
    ("falcon/kernel", "Falcon-512"): "18d99f884c24fb1f",
    ("hawk/ref", "Hawk-512"): "31126531fb49a7cd",
    ("hawk/avx2", "Hawk-512"): "31126531fb49a7cd",
    ("liboqs-0.13/ref", "ML-DSA-44"): "4ebc500ebae4095e",
    ("liboqs-0.13/avx2", "ML-DSA-44"): "4ebc500ebae4095e",
}
"""Of all inputs and outcomes of 300: the same keys are refused and the same signatures wrong."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the driver, compiled with the sanitizers."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build the driver with")
    built = tmp_path_factory.mktemp("fuzz") / "native-fuzz"
    source = Path(__file__).with_name("native_fuzz.c")
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", *SANITIZE)
    subprocess.run([compiler, *flags, "-o", built, source, "-ldl"], check=True)
    return built


@pytest.mark.parametrize(("implementation", "name"), DIGESTS)
def test_fuzzed_keys_and_batches_give_pinned_results(
    program: Path, implementation: str, name: str
) -> None:
    need(implementation, name)
    completed = subprocess.run(
        [program, "300", native.library(implementation).path, name],
        capture_output=True,
        text=True,
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert completed.returncode == 0, completed.stderr
    match = re.fullmatch(
        rf"{name}: \d+ damaged keys, .*; digest ([0-9a-f]{{16}})\n", completed.stdout
    )
    assert match, completed.stdout
    assert match[1] == DIGESTS[implementation, name]
