"""The targets of the Makefile that the README names, without running them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["lab"], "-m jupyterlab notebooks"),
        (["notebooks"], "--inplace"),
        (["notebooks", "N=04", "OUT=folder"], "--output-dir folder"),
        (["notebooks", "N=04", "OUT=folder"], "notebooks/04*.ipynb"),
        (["notebooks", "PRESET=paper"], "PQCHAIN_PRESET=paper"),
        (["install", "--always-make"], "ready; next: . .venv/bin/activate; pqchain doctor"),
        (["-C", "hls_kernels/boards/ulx3s", "--always-make"], "--extra fpga"),
        (["docs"], "docs: draws the figures, reads and writes the pages"),
    ],
)
def test_target_runs_what_its_help_says(words: list[str], expected: str) -> None:
    shown = subprocess.run(
        ["make", "--dry-run", *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert expected in shown.stdout
