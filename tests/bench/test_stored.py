"""Bundled runs: found by machine, rejected if they contradict their provenance."""

from __future__ import annotations

from pathlib import Path

import pytest

from pqchain import results
from pqchain.bench import stored, variation
from pqchain.errors import DataError, UnknownName
from pqchain.installation import VERSION
from tests import frames

MACHINE = "imaginary-9000-00000000"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored, "folder", lambda: tmp_path)
    frame = frames.measurements(["Falcon-512"])
    (tmp_path / MACHINE).mkdir()
    about = frames.PROVENANCE | {"machine_id": MACHINE, "pqchain": VERSION}
    return results.save(frame, tmp_path / MACHINE / stored.FILE, provenance=about)


def test_run_is_found_by_its_machine(kept: Path) -> None:
    assert stored.machines() == [MACHINE]
    assert stored.load().equals(stored.load(MACHINE.upper()))
    with pytest.raises(UnknownName, match="unknown machine 'other'"):
        stored.load("other")


def test_run_of_another_machine_or_version_is_rejected(kept: Path) -> None:
    results.save(frames.measurements(["Falcon-512"]), kept)
    with pytest.raises(DataError, match=r"got \('test-machine-00000000', '0\.0\.0'\)"):
        stored.load()


def test_run_of_a_busy_machine_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(stored, "folder", lambda: tmp_path / "measurements")
    frame = frames.measurements(["Falcon-512", "Ed25519"])
    busy = frame.assign(min_seconds=frame["median_seconds"] / 1.4)
    busy.attrs = frame.attrs
    with pytest.raises(DataError, match=r"must be at most 1\.1; got 1\.40.*Nothing was written"):
        stored.save(busy)
    with pytest.raises(DataError, match="got nan"):
        stored.save(frame.query("operation != 'verify'"))
    assert not (tmp_path / "measurements").exists()
    path = stored.save(frame)
    assert path == tmp_path / "measurements" / "test-machine-00000000" / stored.FILE
    assert results.load(path).equals(frame)


def test_missing_runs_name_the_command(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(stored, "folder", lambda: tmp_path)
    with pytest.raises(DataError, match="make measurements"):
        stored.load()


def test_bundled_runs_match_their_provenance() -> None:
    for machine in stored.machines():
        frame = stored.load(machine)
        assert frame.attrs["provenance"]["preset"] == "paper"
        assert not (frame["status"] == "failed").any()
        assert not variation.is_noisy(frame)
    assert stored.machines()
