"""Replays on the virtual clock: what is lost is recovered, or said; what is stored stays."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from pqchain.errors import ChunksLost, PqchainError
from pqchain.reencode import runs
from pqchain.reencode.scenario import Compute, Fault, Link
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.transports import registry
from tests.reencode.mesh import LARGE, SLOW, run, scenario, small, snapshot, stored


def assert_recovered(one, outcome, folder, dead):
    """All living members hold their new chunk, and any k of those chunks are the block."""
    assert outcome.result.failure is None
    survivors = [node for node in range(one.nodes) if node not in dead]
    assert [n.node for n in outcome.nodes if n.state == "done"] == survivors
    assert all(outcome.nodes[node].record.verified_blocks <= one.blocks for node in survivors)
    stores = {node: ChunkStore(folder / str(node)) for node in survivors}
    manifests = {node: stores[node].manifests() for node in survivors}
    k = one.after[0]
    for place in range(one.blocks):
        chunks = {}
        for node in survivors:
            manifest = manifests[node][place]
            assert manifest.epoch == 2
            (index,) = stores[node].indices(manifest)
            assert manifest.members[index] == node
            chunks[index] = stores[node].get(manifest, index)
        missing = {at: np.zeros(manifest.chunk_bytes, np.uint8) for at in range(k)
                   if at not in chunks}  # fmt: skip
        code = ReedSolomon(*one.after)
        if len(chunks) >= k:
            code.recover(chunks, missing)
            block = b"".join((chunks | missing)[at].tobytes() for at in range(k))
            digest = hashlib.sha256(block[: manifest.block_bytes]).hexdigest()
            assert digest == manifest.block_hash


def test_ten_nodes_lose_one_and_re_encode(tmp_path):
    one = scenario()
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {9})
    assert stored(tmp_path, 9) == [(1, [9])]
    assert all(node.record.verified_blocks == 1 for node in outcome.nodes[:9])
    # Everyone has confirmed, so the old chunks are gone.
    for node in range(9):
        assert len(list((tmp_path / str(node)).glob("*/*"))) == 1
    assert 0.4 <= outcome.nodes[0].noticed_seconds < 0.9


def test_phases_add_up_to_the_total(tmp_path):
    outcome = run(small(), tmp_path)
    for record in (node.record for node in outcome.working):
        assert record.wall_seconds == pytest.approx(record.ended - record.begun)
        assert all(seconds >= 0 for seconds in record.seconds.values())
    assert outcome.total_seconds == pytest.approx(sum(outcome.phases.values()))
    assert outcome.total_seconds <= outcome.span_seconds * (1 + 1e-9)


def test_work_takes_what_the_scenario_says(tmp_path):
    compute = Compute(decode_bytes_per_second=1e6, encode_bytes_per_second=2e6)
    outcome = run(small(compute=compute), tmp_path)
    # Node 0 gets chunks 1 and 2, all data: nothing to decode.
    assert outcome.nodes[0].record.seconds["decode"] == 0
    assert outcome.nodes[3].record.seconds["decode"] == pytest.approx(3 * 20032 / 1e6)
    assert outcome.nodes[0].record.seconds["encode"] == pytest.approx(60_000 / 2e6)


def test_a_slow_processor_slows_the_transfer(tmp_path):
    fast = run(small(), tmp_path / "fast")
    slow = run(small(compute=Compute(datagram_seconds=1e-3)), tmp_path / "slow")
    # 40 kB are at least 28 datagrams, and someone has to take in each.
    assert slow.phases["transfer"] > fast.phases["transfer"] + 0.028
    assert "processor time for each datagram" in slow.verdict


@pytest.mark.parametrize(
    "changes",
    [
        {"streams": "single", "blocks": 3},
        {"streams": "multiplexed", "blocks": 3, "blocks_at_once": 1},
        {"sessions": "full"},
        {"sessions": "0-rtt"},
        {"sources": "nearest"},
        {"sources": "all"},
        {"congestion": "cubic", "datagram_bytes": LARGE},
        {"block_bytes": 1},
        {"block_bytes": 12_289, "engine": "numpy"},
    ],
    ids=str,
)
def test_every_variant_recovers(changes, tmp_path):
    one = small(**changes)
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})
    early = sum(node.record.early_sessions for node in outcome.nodes)
    assert (early > 0) == (one.sessions == "0-rtt")


def test_the_same_scenario_gives_the_same_bytes(tmp_path):
    one = small(link=Link(loss=0.02, bits_per_second=100e6), jitter_seconds=0.001)
    frames = [json.dumps(run(one, tmp_path / name).node_rows()) for name in "ab"]
    assert frames[0] == frames[1]
    assert json.dumps(frames)


def test_everyone_gets_everything_in_an_exchange(tmp_path):
    one = small(experiment="exchange", blocks=2, jitter_seconds=0.001)
    outcome = run(one, tmp_path)
    assert all(node.state == "done" for node in outcome.nodes)
    assert all(len(node.record.arrivals) == 4 * 2 for node in outcome.nodes)
    assert [stored(tmp_path, node) for node in range(5)] == [[(1, [n])] * 2 for n in range(5)]


def deaths(draws, nodes, count, seconds):
    """Let as many of the nodes die, each at a moment of an exchange that lasts longer than that."""
    return tuple(
        Fault(node=int(node), kind="die", after_seconds=float(draws.uniform(0, seconds)))
        for node in draws.choice(nodes, count, replace=False)
    )


@pytest.mark.parametrize(
    ("lost", "draw"), [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3)]
)
def test_up_to_as_many_nodes_as_parity_chunks_die_at_random_moments(lost, draw, tmp_path):
    faults = deaths(np.random.default_rng([lost, draw]), 5, lost - 1, 0.015)
    one = scenario(
        nodes=6, before=(3, 3), after=(2, 3), failed_node=5, link=SLOW, faults=faults,
        block_bytes=120_000,
    )  # fmt: skip
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {5, *(fault.node for fault in faults)})


def test_three_of_ten_die_and_the_old_chunks_are_kept(tmp_path):
    faults = deaths(np.random.default_rng(3), 9, 2, 0.01)
    one = scenario(link=SLOW, faults=faults)
    dead = {9, *(fault.node for fault in faults)}
    assert_recovered(one, run(one, tmp_path), tmp_path, dead)
    # Not everyone could confirm.
    for node in set(range(10)) - dead:
        assert len(list((tmp_path / str(node)).glob("*/*"))) == 2


def test_three_lost_at_once_of_a_single_stream(tmp_path):
    faults = tuple(Fault(node=node, kind="die") for node in (2, 7))
    one = scenario(link=SLOW, faults=faults, streams="single", sources="nearest")
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {2, 7, 9})


def test_four_lost_name_what_is_missing_and_touch_nothing(tmp_path):
    one = scenario(
        link=Link(bits_per_second=5e6), block_bytes=400_000, give_up_seconds=0.3,
        faults=tuple(Fault(node=node, kind="die") for node in (1, 4, 6)),
    )  # fmt: skip
    runs.prepare(one, tmp_path)
    before = snapshot(tmp_path)
    outcome = runs.run(one, tmp_path)
    assert isinstance(outcome.result.failure, ChunksLost)
    for lost in ("1 (node 1)", "4 (node 4)", "6 (node 6)", "9 (node 9)"):
        assert lost in str(outcome.result.failure)
    assert "can reach 6" in str(outcome.result.failure)
    assert "needs 7 chunks" in str(outcome.result.failure)
    assert snapshot(tmp_path) == before


def test_a_corrupting_node_is_found_out_and_passed_by(tmp_path):
    one = small(faults=(Fault(node=2, kind="corrupt"),))
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})
    # Whoever asked it has noticed; by the queues that they were told of, not all did.
    wasted = [node.record.wasted_bytes for node in outcome.nodes]
    assert sum(each >= one.chunk_bytes for each in wasted) >= 2


@pytest.mark.parametrize("streams", ["single", "multiplexed"])
def test_a_stalling_node_is_passed_by(streams, tmp_path):
    one = small(faults=(Fault(node=2, kind="stall"),), streams=streams)
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})
    assert outcome.phases["transfer"] > one.stall_seconds / 2


def test_five_percent_of_loss(tmp_path):
    one = small(link=replace(SLOW, loss=0.05), block_bytes=300_000)
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})
    assert outcome.result.lost_datagrams > 50


def test_a_stalled_stream_does_not_hold_up_the_blocks_behind_it(tmp_path):
    one = small(faults=(Fault(node=2, kind="stall"),), streams="single", blocks=3)
    assert_recovered(one, run(one, tmp_path), tmp_path, {4})


def test_who_always_stalls_is_given_up_at_last(tmp_path):
    # With 2 of 5 dead the staller is needed.
    faults = (Fault(node=2, kind="stall"), Fault(node=0, kind="die"))
    outcome = run(small(faults=faults), tmp_path)
    assert isinstance(outcome.result.failure, ChunksLost)
    assert "2 (node 2)" in str(outcome.result.failure)
    # Who has its own good chunk needs the staller as well: only the staller does not.
    assert [node.state for node in outcome.nodes] == ["dead", "failed", "done", "failed", "dead"]


@pytest.mark.parametrize("kind", ["die", "corrupt", "stall", "restart"])
def test_an_exchange_of_everything_ends_without_what_nobody_has(kind, tmp_path):
    one = small(
        experiment="exchange", link=SLOW,
        faults=(Fault(node=2, kind=kind, after_seconds=0.003, down_seconds=0.1),),
    )  # fmt: skip
    outcome = run(one, tmp_path)
    others = [node for node in outcome.nodes if node.node != 2]
    assert all(node.state == "done" for node in others)
    least = 4 if kind == "restart" else 3
    assert all(len(node.record.arrivals) >= least for node in others)


@pytest.mark.parametrize("down", [0.05, 1.0])
def test_a_node_that_restarts_in_the_middle_catches_up(down, tmp_path):
    fault = Fault(node=1, kind="restart", after_seconds=0.004, down_seconds=down)
    one = small(link=SLOW, faults=(fault,))
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})


def test_a_damaged_file_is_replaced_by_anothers(tmp_path):
    one = small()
    runs.prepare(one, tmp_path)
    (path,) = (tmp_path / "1").glob("*/1/chunk-1")
    data = bytearray(path.read_bytes())
    data[7] ^= 1
    path.write_bytes(data)
    assert_recovered(one, runs.run(one, tmp_path), tmp_path, {4})


def test_a_full_disk_ends_one_nodes_work_and_loses_nothing(tmp_path, monkeypatch):
    one = small()
    runs.prepare(one, tmp_path)
    old, full = snapshot(tmp_path), tmp_path / "2"
    write = ChunkStore._write

    def fail(self, path, data):
        if self.folder == full:
            raise OSError(28, "No space left on device", str(path))
        write(self, path, data)

    monkeypatch.setattr(ChunkStore, "_write", fail)
    outcome = runs.run(one, tmp_path)
    assert "No space left on device" in str(outcome.result.failure)
    assert [node.state for node in outcome.nodes] == ["done", "done", "failed", "done", "dead"]
    # What was there is there, nothing half-written is; the others have their new chunks besides.
    after = snapshot(tmp_path)
    assert all(after[path] == content for path, content in old.items())
    assert not list(tmp_path.rglob("*.tmp")) and len(list(full.glob("*/*"))) == 1
    assert all(len(list((tmp_path / str(at)).glob("*/*"))) == 2 for at in (0, 1, 3))


def test_a_replay_that_does_not_end_is_ended(tmp_path):
    one = small(limit_seconds=0.2)
    with pytest.raises(PqchainError, match=r"did not end within 0\.2 s of its modelled clock"):
        run(one, tmp_path)


@pytest.mark.parametrize("experiment", ["reencode", "exchange"])
def test_over_our_quic_and_over_aioquics_nodes_do_the_same(experiment, tmp_path):
    """They acknowledge by rules of their own, so that only times differ, and not by much."""
    if reason := registry.get("native").unavailable_reason():
        pytest.skip(reason)
    did, times = [], []
    for transport in ("native", "aioquic"):
        one = small(transport=transport, experiment=experiment, block_bytes=600_000, link=SLOW)
        outcome = run(one, tmp_path / transport)
        did.append([
            (node.state, node.record.verified_blocks, len(node.record.arrivals),
             node.record.received_bytes, node.record.wasted_bytes)
            for node in outcome.nodes
        ])  # fmt: skip
        times.append(outcome.phases["transfer"])
    assert did[0] == did[1]
    assert 0.5 < times[0] / times[1] < 2
