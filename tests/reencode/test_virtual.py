"""Replays on the virtual clock: losses are recovered or reported; stored chunks are kept."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from pqchain.errors import ChunksLost
from pqchain.reencode import runs
from pqchain.reencode.scenario import Compute, Fault, Link
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.transports import registry
from tests.reencode.mesh import LARGE, SLOW, run, scenario, small, snapshot, stored


def assert_recovered(one, outcome, folder, dead):
    """Check that all running members store their new chunk and any k chunks give the block."""
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


def test_ten_nodes_lose_one_and_reencode(tmp_path):
    one = scenario()
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {9})
    assert stored(tmp_path, 9) == [(1, [9])]
    assert all(node.record.verified_blocks == 1 for node in outcome.nodes[:9])
    # All nodes have confirmed, so the old chunks are removed.
    for node in range(9):
        assert len(list((tmp_path / str(node)).glob("*/*"))) == 1
    assert 0.4 <= outcome.nodes[0].noticed_seconds < 0.9


def test_work_times_equal_the_scenario(tmp_path):
    compute = Compute(decode_bytes_per_second=1e6, encode_bytes_per_second=2e6)
    outcome = run(small(compute=compute), tmp_path)
    # Node 0 gets chunks 1 and 2, all data: nothing to decode.
    assert outcome.nodes[0].record.seconds["decode"] == 0
    assert outcome.nodes[3].record.seconds["decode"] == pytest.approx(3 * 20032 / 1e6)
    assert outcome.nodes[0].record.seconds["encode"] == pytest.approx(60_000 / 2e6)


@pytest.mark.parametrize(
    "changes",
    [
        {"streams": "single", "blocks": 3},
        {"streams": "multiplexed", "blocks": 3, "blocks_at_once": 1},
        {"sessions": "full"},
        {"sessions": "0-rtt"},
        {"sources": "all"},
        {"congestion": "cubic", "datagram_bytes": LARGE},
        {"block_bytes": 1},
        {"block_bytes": 12_289},
    ],
    ids=str,
)
def test_every_variant_recovers(changes, tmp_path):
    one = small(**changes)
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})
    early = sum(node.record.early_sessions for node in outcome.nodes)
    assert (early > 0) == (one.sessions == "0-rtt")


def test_exchange_delivers_all_chunks_to_all_nodes(tmp_path):
    one = small(experiment="exchange", blocks=2, jitter_seconds=0.001)
    outcome = run(one, tmp_path)
    assert all(node.state == "done" for node in outcome.nodes)
    assert all(len(node.record.arrivals) == 4 * 2 for node in outcome.nodes)
    assert [stored(tmp_path, node) for node in range(5)] == [[(1, [n])] * 2 for n in range(5)]


@pytest.mark.parametrize(
    ("lost", "draw"), [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3)]
)
def test_random_crashes_up_to_the_parity_are_survived(lost, draw, tmp_path):
    draws = np.random.default_rng([lost, draw])
    faults = tuple(
        Fault(node=int(node), kind="die", after_seconds=float(draws.uniform(0, 0.015)))
        for node in draws.choice(5, lost - 1, replace=False)
    )
    one = scenario(
        nodes=6, before=(3, 3), after=(2, 3), failed_node=5, link=SLOW, faults=faults,
        block_bytes=120_000,
    )  # fmt: skip
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {5, *(fault.node for fault in faults)})


def test_four_lost_chunks_are_named_and_change_nothing(tmp_path):
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


@pytest.mark.parametrize(
    ("fault", "changes"),
    [
        (Fault(node=2, kind="corrupt"), {}),
        (Fault(node=2, kind="stall"), {"streams": "single"}),
        (Fault(node=2, kind="stall"), {"streams": "multiplexed"}),
        (Fault(node=2, kind="stall"), {"streams": "single", "blocks": 3}),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_faulty_node_is_bypassed(fault, changes, tmp_path):
    one = small(faults=(fault,), **changes)
    outcome = run(one, tmp_path)
    assert_recovered(one, outcome, tmp_path, {4})
    # Nodes that asked it have noticed; depending on the queues, not all asked.
    wasted = [node.record.wasted_bytes for node in outcome.nodes]
    assert fault.kind != "corrupt" or sum(each >= one.chunk_bytes for each in wasted) >= 2
    if fault.kind == "stall" and one.blocks == 1:
        assert outcome.phases["transfer"] > one.stall_seconds / 2


@pytest.mark.parametrize("kind", ["die", "corrupt", "stall"])
def test_exchange_ends_without_lost_chunks(kind, tmp_path):
    one = small(
        experiment="exchange", link=SLOW,
        faults=(Fault(node=2, kind=kind, after_seconds=0.003),),
    )  # fmt: skip
    outcome = run(one, tmp_path)
    others = [node for node in outcome.nodes if node.node != 2]
    assert all(node.state == "done" for node in others)
    assert all(len(node.record.arrivals) >= 3 for node in others)


def test_damaged_file_is_replaced_from_a_peer(tmp_path):
    one = small()
    runs.prepare(one, tmp_path)
    (path,) = (tmp_path / "1").glob("*/1/chunk-1")
    data = bytearray(path.read_bytes())
    data[7] ^= 1
    path.write_bytes(data)
    assert_recovered(one, runs.run(one, tmp_path), tmp_path, {4})


def test_full_disk_stops_one_node_and_loses_nothing(tmp_path, monkeypatch):
    one = small()
    runs.prepare(one, tmp_path)
    old, full = snapshot(tmp_path), tmp_path / "2"
    write = Path.write_bytes

    def fail(path, data):
        if full in path.parents:
            raise OSError(28, "No space left on device", str(path))
        write(path, data)

    monkeypatch.setattr(Path, "write_bytes", fail)
    outcome = runs.run(one, tmp_path)
    assert "No space left on device" in str(outcome.result.failure)
    assert [node.state for node in outcome.nodes] == ["done", "done", "failed", "done", "dead"]
    # Old files are kept, none is partial; the other nodes also have their new chunks.
    after = snapshot(tmp_path)
    assert all(after[path] == content for path, content in old.items())
    assert not list(tmp_path.rglob("*.tmp")) and len(list(full.glob("*/*"))) == 1
    assert all(len(list((tmp_path / str(at)).glob("*/*"))) == 2 for at in (0, 1, 3))


@pytest.mark.parametrize("experiment", ["reencode", "exchange"])
def test_native_quic_and_aioquic_give_equal_events(experiment, tmp_path):
    """Acknowledgement rules differ, so only times differ slightly."""
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
