"""Bundled runs: found by machine, rejected if they contradict their provenance."""

import re
from pathlib import Path

import pandas as pd
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
    kept.unlink()
    with pytest.raises(DataError, match="pqchain bench --submit"):
        stored.load()


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """A run that can be stored, and an empty folder of stored runs."""
    monkeypatch.setattr(stored, "folder", lambda: tmp_path / "measurements")
    frame = frames.measurements(["Falcon-512", "Ed25519"])
    frame.attrs["provenance"] |= {"preset": "paper", "commit": "0" * 40}
    return frame


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"preset": "quick"}, "preset must be paper; got quick"),
        ({"commit": ""}, "commit must be known"),
        ({"commit": f"{'0' * 40}-dirty"}, "checkout must be clean"),
        ({"schemes": [{"name": "Mine"}]}, "leave out --scheme"),
        ({"load_average": 3.0}, "The machine was busy: a load of 3.0 on 4 processors"),
    ],
)
def test_run_with_another_provenance_is_refused(quiet, tmp_path, changed, reason) -> None:
    quiet.attrs["provenance"] |= changed
    with pytest.raises(DataError, match=re.escape(reason)):
        stored.save(quiet)
    assert not (tmp_path / "measurements").exists()


def test_run_with_slow_or_failed_rows_is_refused(quiet: pd.DataFrame, tmp_path: Path) -> None:
    busy = quiet.assign(min_seconds=quiet["median_seconds"] / 1.4)
    busy.attrs = quiet.attrs
    with pytest.raises(DataError, match=r"must be at most 1\.1; got 1\.40.*Nothing was written"):
        stored.save(busy)
    with pytest.raises(DataError, match="got nan"):
        stored.save(quiet.query("operation != 'verify'"))
    failed = quiet.assign(status=quiet["status"].where(quiet["algorithm"] != "Ed25519", "failed"))
    failed.attrs = quiet.attrs
    with pytest.raises(DataError, match="got failures of Ed25519"):
        stored.save(failed)
    assert not (tmp_path / "measurements").exists()


def test_stored_runs_of_a_machine_make_its_history(quiet: pd.DataFrame, tmp_path: Path) -> None:
    path = stored.save(quiet)
    assert path == tmp_path / "measurements" / "test-machine-00000000" / stored.FILE
    assert results.load(path).equals(quiet)
    quiet.attrs["provenance"] |= {"date": "2026-11-22T00:00:00+00:00"}
    elsewhere = stored.save(quiet, tmp_path / "mine").parent
    saved = results.load(elsewhere / stored.HISTORY)
    assert saved["date"].nunique() == 2 and len(saved) == 2 * len(quiet)
    history = stored.history("test-machine-00000000")
    assert history is not None and history["date"].nunique() == 1
    assert stored.history("other") is None


def test_bundled_runs_match_their_provenance() -> None:
    for machine in stored.machines():
        frame = stored.load(machine)
        assert frame.attrs["provenance"]["preset"] == "paper"
        assert not (frame["status"] == "failed").any()
        assert not variation.is_noisy(frame)
    assert stored.machines()
