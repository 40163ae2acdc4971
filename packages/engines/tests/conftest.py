"""A stand-in for every engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pqchain_engines import registry


@pytest.fixture
def fake_engine(tmp_path, monkeypatch):
    """Return a function that makes every engine a program of fakes.py."""
    fakes = Path(__file__).parent / "fakes.py"

    def use(kind: str) -> None:
        program = tmp_path / f"engine-{kind}"
        program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{fakes}' {kind}\n")
        program.chmod(0o755)
        monkeypatch.setattr(registry.Engine, "unavailable_reason", lambda self, algorithm="": "")
        monkeypatch.setattr(registry.Engine, "executable", lambda self, algorithm="": program)

    return use
