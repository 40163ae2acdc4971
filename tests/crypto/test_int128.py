"""128-bit integers in portable C compared with the compiler's type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.maxsize < 2**32, reason="this compiler has no numbers of 128 bits")
def test_int128_agrees_with_the_compiler(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    program, source = tmp_path / "int128", Path(__file__).with_name("int128.c")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'pqchain/native'}"]
    subprocess.run([compiler, *flags, "-o", program, source], check=True, timeout=60)
    subprocess.run([program, "50000"], check=True, timeout=60)
