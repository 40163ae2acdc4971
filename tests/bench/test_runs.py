"""Runs: names, histories, concatenation for plots, and sides of a comparison."""

from pathlib import Path

import pandas as pd
import pytest

import pqchain as pq
from pqchain import results
from pqchain.bench import runs
from pqchain.bench.comparing import summary
from pqchain.errors import DataError
from tests.frames import run_of


def test_runs_are_named_by_machine_or_file(tmp_path: Path) -> None:
    for name, frame in (("a", run_of("m1")), ("b", run_of("m1")), ("c", run_of("m2"))):
        results.save(frame, tmp_path / f"{name}.csv")
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    assert list(runs.concat_runs(files)["run"].unique()) == ["a", "b", "m2"]
    assert list(runs.concat_runs([run_of("m"), run_of("m")])["run"].unique()) == ["m", "m (2)"]
    assert list(runs.named_sides(files)) == ["a", "b", "m2"]
    assert list(runs.named_sides([files[:2], files[2]])) == ["m1", "m2"]


def test_history_has_every_added_run(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    for day in (1, 2, 3):
        whole = runs.append(run_of("m", day, date=f"2026-11-0{day}", commit="abc"), path)
    assert whole["date"].nunique() == 3
    together = pq.bench.concat_runs([path])
    assert together["run"].unique().tolist() == ["2026-11-01", "2026-11-02", "2026-11-03"]
    axes = pq.plots.plot_history(together)
    line = axes.get_lines()[0]
    assert [round(place) for place in line.get_xdata()] == [0, 1, 2]
    assert list(line.get_ydata()) == pytest.approx([1, 2, 3])  # relative to the first run
    results.save(run_of("m"), tmp_path / "other.csv")
    with pytest.raises(DataError, match="must be a history"):
        runs.append(run_of("m"), tmp_path / "other.csv")


def test_history_is_one_side_next_to_others_and_several_alone(tmp_path: Path) -> None:
    history = tmp_path / "old.csv"
    for day in (1, 2, 2):  # two short runs of one second must not count as one
        runs.append(run_of("m", date=f"2026-11-0{day}"), history)
    assert list(runs.named_sides(history)) == ["2026-11-01", "2026-11-02", "2026-11-02 (2)"]
    for sides in (
        runs.named_sides(history, [run_of("m")]),
        runs.named_sides([history, run_of("m")]),
    ):
        assert {name: len(side) for name, side in sides.items()} == {"old": 3, "m": 1}
    with pytest.raises(DataError, match="must be of one machine; got m1, m2"):
        runs.named_sides({"old": [run_of("m1"), run_of("m2")], "new": run_of("m1")})


def built(digest: str) -> pd.DataFrame:
    """Return a run with a library of that SHA-256 digest."""
    frame = run_of("m")
    frame.attrs["provenance"]["native"] = {
        "hawk-ref": {"library_sha256": digest},
        "old": {"source": "liboqs"},
    }
    return frame


def test_side_of_two_builds_of_a_library_is_rejected_and_sides_state_theirs() -> None:
    with pytest.raises(DataError, match="old must be of one build of hawk-ref; make several"):
        runs.named_sides({"old": [built("aa"), built("ab")], "new": built("aa")})
    comparison = pq.bench.compare_runs({"old": [built("aa")] * 2, "new": built("ab")})
    sides = comparison.attrs["runs"]
    assert sides["old"]["libraries"] == {"hawk-ref": "aa"}
    assert summary(sides).splitlines()[2:] == ["different builds: hawk-ref"]


def test_machines_have_distinct_styles() -> None:
    both = pq.bench.concat_runs({"laptop": run_of("a"), "board": run_of("b", 9)})
    labels = [label.get_text() for label in pq.plots.plot_speed(both).get_yticklabels()]
    assert labels == ["Falcon-512: laptop", "Falcon-512: board"]
    mixed = pd.concat([run_of("a"), run_of("b")], ignore_index=True)
    with pytest.raises(DataError, match=r"got two of .*pqchain\.bench\.concat_runs"):
        pq.plots.plot_speed(mixed)
    with pytest.raises(DataError, match="got two of"):
        pq.plots.plot_tradeoff(mixed)
