"""The consensus model and simplex: rows, goals, causes."""

from __future__ import annotations

import pytest

from pqchain import results
from pqchain.errors import DataError
from pqchain_engines import comparison, frames, tables


def test_a_row_outside_the_goal_has_a_cause():
    # The first pair of runs in the same setup; the second takes twice as long as it did.
    runs = comparison.stored().iloc[:2].copy()
    assert runs["algorithm"].tolist() == ["Ed25519", "Falcon-padded-512"]
    runs.loc[1, "latency_seconds"] *= 2
    frame = comparison.compare(runs)
    rows = frame[frame["quantity"].isin(["latency_seconds", "ratio"])]
    assert rows["within"].tolist() == [True, False, False]
    assert rows["error_percent"].iloc[1] == pytest.approx(-50, abs=2)
    assert all(rows["cause"].tolist()[1:])


def test_what_cannot_be_compared_is_rejected(tmp_path):
    failed = comparison.stored().assign(status="failed")
    with pytest.raises(DataError, match="no run to compare"):
        comparison.compare(failed)
    path = tmp_path / "heights.csv"
    results.save(frames.HEIGHTS.frame(), path, provenance={"machine_id": "x"})
    with pytest.raises(DataError, match="engine_runs"):
        comparison.load(path)
    with pytest.raises(DataError, match="are stored"):
        comparison.stored("revm")


@pytest.mark.parametrize("nodes", [16, pytest.param(64, marks=pytest.mark.long)])
def test_every_stored_run_of_simplex_is_within_the_goal_of_the_model(nodes):
    stored = comparison.stored()
    frame = comparison.compare(stored[stored["nodes"] <= nodes])
    assert len(frame[frame["quantity"] == "latency_seconds"]) >= 60
    assert frame[frame["quantity"].isin(["latency_seconds", "ratio", "cpu_seconds"])][
        "within"
    ].all()
    outside = frame[~frame["within"]]
    # In one of 72 runs a validator did not vote for a block that was final already.
    assert outside["quantity"].tolist() == ["sent_messages"]
    assert outside["cause"].str.contains("before it voted").all()


def test_every_stored_run_of_cometbft_is_within_the_goal_of_the_model():
    frame = comparison.compare(comparison.stored("cometbft"))
    assert set(frame["quantity"]) == {
        *("latency_seconds", "ratio", "hops", "sent_messages", "sent_bytes", "commit_bytes"),
        "cpu_seconds",
    }
    assert set(frame["algorithm"]) >= {"Ed25519", "ML-DSA-44", "Falcon-padded-512"}
    assert frame[frame["mode"] == "virtual"]["within"].all()
    assert frame[frame["mode"] == "loopback"]["within"].all()
    outside = frame[~frame["within"]]
    assert set(outside["mode"]) == {"netns"}
    assert outside["quantity"].value_counts().to_dict() == {"cpu_seconds": 3, "latency_seconds": 1}
    assert outside["error_percent"].abs().max() < 27
    assert set(outside["cause"].str.extract("(speed|token bucket)")[0]) == {"speed", "token bucket"}
    rows = [table.text(200) for table in tables.comparison(frame)]
    assert "the first 32 kB" in rows[-1]
    assert "unlimited" in rows[0]
