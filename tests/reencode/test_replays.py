"""Replays as frames: columns, resuming, and what an interval allows to say."""

import json
import sys
from dataclasses import replace

import pandas as pd
import pytest

from pqchain import results
from pqchain.errors import ChunksLost, DataError, UsageError
from pqchain.reencode import replay, replays
from pqchain.reencode.replays import estimate_seconds
from pqchain.reencode.scenario import Fault, Link, preset
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


def test_stored_blocks_are_not_run_again(tmp_path, monkeypatch):
    one = small(blocks=3, blocks_at_once=1)
    first = replay(one, store=tmp_path)
    assert list(first.frame["block"]) == [0, 1, 2]
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3
    kept[1].unlink()
    ran = []
    prepare = replays._prepare
    monkeypatch.setattr(
        replays, "_prepare", lambda one, block, to: ran.append(block) or prepare(one, block, to)
    )
    again = replay(one, store=tmp_path)
    assert ran == [1]
    assert again.frame.equals(first.frame)
    assert again.nodes.equals(first.nodes)


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


@pytest.mark.parametrize("content", ["{", json.dumps({"schema_version": 0})])
def test_damaged_resume_file_is_rejected(content, tmp_path):
    one = small()
    replay(one, store=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text(content)
    with pytest.raises(DataError, match="delete it"):
        replay(one, store=tmp_path)


def test_lost_chunks_are_named():
    faults = tuple(Fault(node=node, kind="die") for node in (0, 1))
    with pytest.raises(ChunksLost, match=r"missing: chunk 0 \(node 0\)"):
        replay(small(faults=faults, link=Link(bits_per_second=1e6)))


def test_qlogs_are_written_for_every_node(tmp_path):
    replay(small(transport="aioquic"), log=tmp_path)
    assert len(list(tmp_path.glob("*.qlog"))) == 4  # the fifth node has failed
    log = json.loads(next(tmp_path.glob("*.qlog")).read_text())
    assert log["traces"][0]["events"]
    with pytest.raises(UsageError, match="must be aioquic to write qlog; got native"):
        replay(small(transport="native"), log=tmp_path)


def test_interval_is_students_t():
    # Savings of 10, 20 and 30 %: mean 20, standard error 10 / sqrt 3, t = 4.303.
    row = contrast(runs([(1.0, 0.9), (2.0, 1.6), (1.0, 0.7)])).iloc[0]
    assert row["saving_percent"] == pytest.approx(20)
    assert row["low_percent"] == pytest.approx(20 - 4.3026527 * 10 / 3**0.5)
    assert row["high_percent"] == pytest.approx(20 + 4.3026527 * 10 / 3**0.5)
    assert row["verdict"].startswith("no significant difference")
    assert "contains 0 and contains the claimed 3.7 %" in row["verdict"]


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([(1, 0.5), (1, 0.501), (1, 0.499)], "multiplexing is faster; the interval excludes the"),
        ([(1, 0.96), (1, 0.964), (1, 0.966)], "multiplexing is faster; the interval contains"),
        ([(1, 1.5), (1, 1.501), (1, 1.499)], "a single stream is faster"),
        ([(1, 0.99), (1, 1.01), (1, 1.0)], "no significant difference: the interval contains 0"),
        ([(1, 0.9), (1, 0.9)], "all repeats are equal"),
    ],
)  # fmt: skip
def test_comparison_follows_the_interval(pairs, verdict):
    assert contrast(runs(pairs)).iloc[0]["verdict"].startswith(verdict)


def test_comparison_needs_pairs():
    with pytest.raises(UsageError, match="--repeats 10"):
        contrast(runs([(1.0, 0.9)]))
    with pytest.raises(UsageError, match=r"repeats must be .* got 0"):
        replay(small(), repeats=0)


def test_unsupported_transport_is_a_row():
    row = replays.unsupported(small(mode="netns"), "needs root").frame.iloc[0]
    assert (row["status"], row["verdict"], row["mode"]) == ("unsupported", "needs root", "netns")


def test_estimates_grow_with_the_work():
    quick, paper = preset("quick"), preset("paper")
    assert estimate_seconds(quick) < estimate_seconds(paper)
    by_aioquic = replace(paper, transport="aioquic")
    assert estimate_seconds(quick) < 30 < 600 < estimate_seconds(by_aioquic)
    live = preset("paper", mode="loopback")
    assert estimate_seconds(live, processors=8) < estimate_seconds(live, processors=2)
    # Also if a block has few bytes: its cost in messages and files is the same for each.
    for transport in registry.names():
        few, more, most = (
            estimate_seconds(
                preset("quick", mode="loopback", transport=transport, blocks=count, block_bytes=600)
            )
            for count in (1, 101, 201)
        )
        assert most - more == pytest.approx(more - few) and more > few + 100 * 0.01


@pytest.mark.parametrize("mode", ["loopback", "netns"])
def test_missing_library_is_named(mode, monkeypatch):
    monkeypatch.setattr("pqchain.wire.drivers.namespaces.unavailable_reason", lambda: "")
    monkeypatch.delitem(sys.modules, "pqchain.wire.transports.grpc", raising=False)
    monkeypatch.setitem(sys.modules, "grpc", None)
    reason = replays.unavailable_reason(small(mode=mode, transport="grpc"))
    assert reason.startswith("the transport grpc needs grpcio (")
    assert reason.endswith("pip install grpcio")
