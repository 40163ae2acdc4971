"""The pages of studies on the site."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_schemes_without_stored_times_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="`make docs` installs it")
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.delitem(sys.modules, "studies", raising=False)
    left_out = importlib.import_module("studies").left_out
    assert left_out(["Falcon-512", "Hawk-512"], ["Falcon-512", "Hawk-512"]) == []
    (sentence,) = left_out(["Falcon-512", "SHRINCS"], ["Falcon-512"])
    assert sentence.endswith("lack them: SHRINCS.")
