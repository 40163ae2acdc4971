"""Replays as frames: columns, resuming, and what an interval allows to say."""

from dataclasses import asdict, replace

import pandas as pd
import pytest

from pqchain import results
from pqchain.errors import DataError
from pqchain.reencode import ReplayScenario, replay, replays
from pqchain.reencode.protocol.work import Record
from pqchain.reencode.scenario import Link
from pqchain.wire.drivers.job import NodeResult
from pqchain.wire.transports import registry
from tests.reencode.mesh import small


def contrast(frame):
    """Compare with a claim of 3.7 %."""
    return replays.contrast(frame, claimed_percent=3.7)


def runs(pairs, **columns):
    """Return a frame of replays with these times of single and multiplexed transfers."""
    rows = [
        replays.unsupported(small(streams=kind), "").frame.assign(
            repeat=repeat, status="ok", transfer_seconds=seconds, **columns
        )
        for repeat, pair in enumerate(pairs)
        for kind, seconds in zip(("single", "multiplexed"), pair, strict=True)
    ]
    return pd.concat(rows, ignore_index=True)


def test_replay_frame_matches_its_contract(tmp_path):
    result = replay(small(), streams=("single", "multiplexed"), repeats=2)
    frame = result.frame
    assert list(frame["streams"]) == ["single", "multiplexed", "multiplexed", "single"]
    assert list(frame["repeat"]) == [0, 0, 1, 1]
    assert (frame["status"] == "ok").all()
    assert (frame["received_bytes"] == 4 * 2 * 20032).all()
    assert len(result.nodes) == 4 * 5
    assert "modelled" in frame.attrs["provenance"]
    path = results.save(frame, tmp_path / "runs.csv")
    assert results.load(path).equals(frame)


def test_equal_scenarios_give_equal_files(tmp_path):
    one = small(link=Link(loss=0.01))
    saved = [
        results.save(replay(one).frame, tmp_path / name).read_bytes() for name in ("a.csv", "b.csv")
    ]
    assert saved[0] == saved[1]


def test_paired_runs_start_from_equal_stores(monkeypatch):
    one, kinds = small(), ("single", "multiplexed")
    apart = [replay(replace(one, streams=kind)).frame for kind in kinds]
    made = []
    prepare = replays.runs.prepare
    monkeypatch.setattr(
        replays.runs, "prepare", lambda *all, **also: made.append(all) or prepare(*all, **also)
    )
    pair = replay(one, streams=kinds, repeats=2).frame
    assert len(made) == 2
    first = pair[pair["repeat"] == 0]["total_seconds"].tolist()
    assert first == [float(frame["total_seconds"].iloc[0]) for frame in apart]


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([(1, 0.5), (1, 0.501), (1, 0.499)] * 2, "multiplexing is faster; the interval excludes"),
        ([(1, 0.96), (1, 0.964), (1, 0.966)] * 2, "multiplexing is faster; the interval contains"),
        ([(1, 1.5), (1, 1.501), (1, 1.499)] * 2, "a single stream is faster"),
        ([(1, 0.99), (1, 1.01), (1, 1.0)] * 2, "no significant difference: the interval"),
        ([(1, 0.9)] * 6, "all repeats are equal"),
        ([(1, 0.9), (1, 0.91)], "no interval: fewer than 6 pairs"),
    ],
)  # fmt: skip
def test_comparison_follows_the_interval(pairs, verdict):
    assert contrast(runs(pairs)).iloc[0]["verdict"].startswith(verdict)


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": {}}, {"work": {"transfer": 1.0}}, {"begun": "0"}, {"arrivals": [None]},
        {"received_bytes": 1.5}, {"more": 1},
    ],
)  # fmt: skip
def test_wrong_report_of_a_node_is_rejected(change):
    report = asdict(Record(begun=1.0))
    assert replays.runs._synchronised(NodeResult(node=3, report=report)).begun == 1.0
    with pytest.raises(DataError, match="the report of node 3 "):
        replays.runs._synchronised(NodeResult(node=3, report=report | change))


REASON = registry.get("native").unavailable_reason()
built = pytest.mark.skipif(bool(REASON), reason=REASON)
# Its timeouts are long, because a node on a slow link is not dead.
TINY = ReplayScenario(
    nodes=5, before=(3, 2), after=(2, 2), failed_node=4, block_bytes=20_000, blocks=2,
    sources="all", limit_seconds=900.0, timeout_seconds=5.0, stall_seconds=300.0,
    give_up_seconds=300.0,
)  # fmt: skip


@built
def test_0_rtt_saves_a_round_trip_and_loss_costs_time():
    def run(sessions, loss):
        link = Link(bits_per_second=1e9, delay_seconds=0.02, loss=loss)
        return replay(replace(TINY, sessions=sessions, link=link), repeats=1).frame

    fresh, early, lossy = run("full", 0.0), run("0-rtt", 0.0), run("full", 0.05)
    # Of the two ways that a full handshake takes; a node waits for what was on its way before.
    saved = fresh["first_chunk_seconds"] - early["first_chunk_seconds"]
    assert saved.between(0.02, 0.045).all()
    assert (lossy["transfer_seconds"] > fresh["transfer_seconds"]).all()
    pd.testing.assert_frame_equal(run("full", 0.05), lossy)
