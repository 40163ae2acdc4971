"""The page of all machines: rows, files and histories."""

import importlib
import sys
from pathlib import Path

import pytest

from pqchain import results
from pqchain.bench import stored
from pqchain.bench.runs import HISTORY
from pqchain.installation import VERSION
from tests import frames

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The HTML of two machines, of which the first has twelve runs and becomes faster."""
    pytest.importorskip("sphinx", reason="`make docs` installs it")
    monkeypatch.setattr(stored, "folder", lambda: tmp_path)
    frame = frames.measurements(["Ed25519", "ML-DSA-44"])
    for name in ("first-00000000", "second-00000000"):
        about = frames.PROVENANCE | {"machine_id": name, "pqchain": VERSION}
        results.save(frame, tmp_path / name / stored.FILE, provenance=about)
    parts = [
        frame.assign(
            date=f"2026-11-{day:02}T00:00:00+00:00", commit=f"{day:07}{0:033}", pqchain=VERSION,
            machine_id="first-00000000", preset="paper",
            median_seconds=frame["median_seconds"] * (0.8 if day > 6 else 1.0),
        )
        for day in range(1, 13)
    ]  # fmt: skip
    history = results.joined(parts, HISTORY)
    results.save(history, tmp_path / "first-00000000" / stored.HISTORY, provenance={})
    monkeypatch.syspath_prepend(str(DOCS))
    sys.modules.pop("machines", None)
    import machines

    yield "".join(machines.sections())
    sys.modules.pop("machines", None)


def test_page_has_every_machine_with_its_files(page):
    for name in ("first-00000000", "second-00000000"):
        assert f'id="machine-{name}"' in page
        assert f'href="machines/{name}/{stored.FILE}"' in page
    assert page.count("history.csv</a>") == 1
    assert "on 2 machines, preset paper" in page


def test_page_draws_the_history(page):
    assert 'id="history-first-00000000"' in page and "<svg" in page


def test_schemes_without_stored_times_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="`make docs` installs it")
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.delitem(sys.modules, "studies", raising=False)
    left_out = importlib.import_module("studies").left_out
    assert left_out(["Falcon-512", "Hawk-512"], ["Falcon-512", "Hawk-512"]) == []
    (sentence,) = left_out(["Falcon-512", "SHRINCS"], ["Falcon-512"])
    assert sentence.endswith("lack them: SHRINCS.")
