"""The header of a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pqchain.bench.conditions import header
from pqchain.results import machine
from tests import frames

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def test_header_states_machine_load_and_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = frames.PROVENANCE | {"commit": f"{'a' * 40}-dirty"}
    monkeypatch.setattr(machine, "provenance", lambda: facts)
    monkeypatch.setenv("PQCHAIN_PRESET", "paper")
    assert str(header()) == (
        "Run on Imaginary 9000, 4 processors; load 0.5 at the start, preset paper, pqchain 0.0.0, "
        "commit aaaaaaa-dirty, 2026-11-21."
    )
    facts["load_average"] = 5.0
    assert str(header()).startswith("Warning: The machine was busy: a load of 5.0 on 4 processors")
    # Of a frame, the conditions under which it was measured.
    measured = frames.measurements(["Ed25519"])
    measured.attrs["provenance"] = facts | {"preset": "quick"}
    assert "preset quick" in str(header(measured))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_begins_with_its_header(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert "pq.header(" in first
