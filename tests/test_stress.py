"""Threads in native code under the debug allocator, see `tests.stress` and `make test-memory`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.native, pytest.mark.long]

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with its debug allocator, which detects use after free."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env=os.environ | {"PYTHONMALLOC": "debug"}, capture_output=True, text=True,
        check=False, timeout=290,
    )  # fmt: skip


def test_four_threads_pass_under_stress() -> None:
    completed = run("-m", "tests.stress", "--seconds", "20")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.endswith(" calls, 0 wrong\n")


@pytest.mark.parametrize(
    "tests",
    [
        "tests/crypto/test_native.py tests/crypto/test_batch.py",
        "tests/wire/transports/test_native.py tests/chain/test_bulk.py",
    ],
)
def test_c_calls_pass_under_the_debug_allocator(tests: str) -> None:
    completed = run("-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *tests.split())
    assert completed.returncode == 0, completed.stdout[-2000:]
