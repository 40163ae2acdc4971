"""One node with a recording transport: its answers to honest and faulty peers."""

from collections import Counter

import pytest

from pqchain.reencode import runs
from pqchain.reencode.protocol.gather import MAX_WAITING
from pqchain.reencode.protocol.messages import pack
from pqchain.reencode.protocol.node import ReencodingNode
from pqchain.reencode.protocol.peers import MAX_CHANNELS, MAX_SESSIONS
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.session import Closed, Opened, Received
from tests.reencode.mesh import Wire, beat, run, small, works

PLAN = {"epoch": 2, "leader": 1, "members": [0, 1, 2, 3]}


@pytest.fixture
def mesh(tmp_path):
    """Return node 0 of five connected to all, its transport, sessions and all stores."""
    one = small(streams="single")
    runs.prepare(one, tmp_path)
    wire = Wire()
    node = ReencodingNode(0, one, ChunkStore(tmp_path / "0"), wire)
    node.start(0.0)
    sessions = {peer: session for session, peer in wire.dialled.items()}
    for peer, session in sessions.items():
        node.handle(Opened(session, peer, True), 0.01)
        node.handle(Opened(100 + peer, peer, False), 0.01)
    return node, wire, sessions, tmp_path


def get(node, **changes):
    """Return a request of the chunk of a node."""
    (block,) = node._blocks
    return pack({"type": "get", "block": block, "index": 0, "epoch": 1, **changes})


def ask(node, wire, **changes):
    """Let node 1 request a chunk; return the kinds of answers."""
    node.handle(Received(101, 7, get(node, **changes), False), 0.02)
    works(node, 0.02)
    return [item["type"] for at, on, item in wire.said("chunk") + wire.said("none")
            if (at, on) == (101, 7)]  # fmt: skip


def test_node_greets_all_and_serves_its_chunk(mesh):
    node, wire, sessions, folder = mesh
    assert node.connected
    assert {session for session, _, _ in wire.said("beat")} == set(sessions.values())
    (manifest,) = ChunkStore(folder / "0").manifests()
    assert ask(node, wire) == ["chunk"]
    assert wire.sent[-1][2] == ChunkStore(folder / "0").get(manifest, 0).tobytes()


@pytest.mark.parametrize(
    "data",
    [
        bytes(5), pack({"type": "dance"}), pack({"no": "type"}), b"\xff\xff\xff\xff....",
        pack({"type": "get", "block": "00"}), beat(plan={"epoch": "x"}), beat(queued=[]),
        beat(queued=float("inf")), pack([1]), beat(plan=PLAN) + beat(plan=PLAN, stored=[1]),
        pack({"type": "chunk", "bytes": 3}) + b"abc",
    ],
)  # fmt: skip
def test_only_the_violating_peer_is_disconnected(mesh, data):
    node, wire, _, _ = mesh
    node.handle(Received(101, 7, data, False), 0.02)
    assert wire.closed == [(101, "protocol violation")]
    assert node.error is None
    node.handle(Received(101, 7, b"more", False), 0.03)
    assert wire.closed == [(101, "protocol violation")]


def gathering(mesh):
    """Let the node start gathering: a peer reports node 4 as dead."""
    node, wire, sessions, _ = mesh
    node.handle(Received(101, 0, beat(plan=PLAN), False), 0.02)
    works(node, 0.02)
    return node, wire, sessions


def asked(wire):
    """Return the session and channel of the request to each node."""
    return {wire.dialled[session]: (session, channel) for session, channel, _ in wire.said("get")}


def test_chunk_of_a_wrong_length_is_rejected_and_not_requested_again(mesh):
    node, wire, _ = gathering(mesh)
    assert set(asked(wire)) == {1, 2}
    session, channel = asked(wire)[1]
    node.handle(Received(session, channel, pack({"type": "chunk", "bytes": 5}), False), 0.03)
    assert wire.closed == [(session, "protocol violation")]
    assert set(asked(wire)) == {1, 2, 3}
    before = len(wire.said("get"))
    # It reconnects, but is not asked for this chunk again, although 4 is gone.
    node.handle_timer(0.3)
    fresh = max(wire.dialled)
    assert wire.dialled[fresh] == 1
    node.handle(Opened(fresh, 1, True), 0.31)
    assert len(wire.said("get")) == before


def test_invalid_and_worse_placements_are_ignored(mesh):
    node, _, _ = gathering(mesh)
    placement = node.placement
    for other in (
        {"epoch": 3, "leader": 1, "members": [0, 77]},
        {"epoch": 3, "leader": 1, "members": [0, 0, 1, 2]},
        {"epoch": 3, "leader": 1, "members": [0, 1, 2, 3, 4]},
        {"epoch": 2, "leader": 3, "members": [0, 1, 2, 4]},
        {"epoch": 1, "leader": 0, "members": [0, 1, 2, 3]},
    ):
        node.handle(Received(102, 0, beat(plan=other), False), 0.03)
    assert node.placement == placement


def test_unfinished_requests_per_member_are_bounded(mesh):
    """Counts bytes of partial messages, waiting requests and stored confirmations."""
    node, wire, *_ = mesh
    half = (1_000_000).to_bytes(4, "big") + b"x" * 900_000
    for channel in range(100, 110):
        node.handle(Received(101, channel, half, False), 0.02)
    assert wire.closed == [(101, "protocol violation")]
    assert node._peers.readers.keys() <= {key for key in node._peers.readers if key[0] != 101}
    for epoch in range(MAX_WAITING + 50):
        node.handle(Received(102, 7, get(node, epoch=epoch), False), 0.02)
    assert node._server.waiting == {2: MAX_WAITING}
    assert len(wire.said("none")) == 50
    node.handle(Received(103, 5, get(node), False), 0.02)
    assert node._server.waiting == {2: MAX_WAITING, 3: 1}  # one peer does not displace others
    assert len(wire.said("none")) == 50
    stored = {f"{number:064x}": "0" * 16 for number in range(1000)}
    node.handle(Received(103, 7, beat(plan=PLAN) + beat(plan=PLAN, stored=stored), False), 0.02)
    assert len(node._confirmations._digests) == 0


def test_channels_and_sessions_per_member_are_bounded(mesh):
    node, wire, *_ = mesh
    before = len(node._peers.readers)
    for channel in range(MAX_CHANNELS):
        node.handle(Received(101, channel, b"\0", False), 0.02)
    assert len(node._peers.readers) == before + MAX_CHANNELS
    node.handle(Received(101, MAX_CHANNELS, b"\0", False), 0.02)
    assert wire.closed == [(101, "protocol violation")]
    assert len(node._peers.readers) == before
    for channel in range(2 * MAX_CHANNELS):  # closed channels do not count
        node.handle(Received(102, channel, get(node), True), 0.02)
    assert wire.closed == [(101, "protocol violation")]
    for session in range(1000, 1000 + 3 * MAX_SESSIONS):
        node.handle(Opened(session, 3, False), 0.02)
    closed = [session for session, reason in wire.closed if reason == "too many sessions"]
    assert closed == [103, *range(1000, 1000 + 2 * MAX_SESSIONS)]
    node.handle(Received(1000 + 3 * MAX_SESSIONS - 1, 0, beat(), False), 0.03)
    assert wire.said("echo")


def test_second_request_on_a_channel_is_rejected(tmp_path):
    """Bytes after the end of a stream would raise in the transport and end the node."""
    runs.prepare(small(), tmp_path)
    wire = Wire()
    node = ReencodingNode(0, small(), ChunkStore(tmp_path / "0"), wire)
    node.start(0.0)
    node.handle(Opened(101, 1, False), 0.01)
    node.handle(Received(101, 7, get(node), False), 0.02)
    works(node, 0.02)
    node.handle(Received(101, 8, get(node), True), 0.02)
    assert len(wire.said("chunk")) == 2
    assert wire.closed == []
    node.handle(Received(101, 7, get(node), False), 0.02)
    assert wire.closed == [(101, "protocol violation")]
    assert len(wire.said("chunk")) == 2


@pytest.mark.parametrize("blocks", [2, 5])
def test_session_carries_each_confirmation_once(blocks, tmp_path, monkeypatch):
    """Heartbeats with all confirmations so far made a block the dearer the more there were."""
    carried = Counter()
    content = ReencodingNode._heartbeat_content

    def counted(node, peer):
        message = content(node, peer)
        carried[node.index, peer.index] += len(message["stored"])
        return message

    monkeypatch.setattr(ReencodingNode, "_heartbeat_content", counted)
    outcome = run(small(blocks=blocks), tmp_path)
    assert len(outcome.working) == 4
    pairs = {(node, peer) for node in range(4) for peer in range(4) if node != peer}
    assert {pair: carried[pair] for pair in pairs} == dict.fromkeys(pairs, blocks)


def test_new_session_and_new_placement_carry_all_confirmations(mesh):
    node, wire, sessions, _ = mesh
    node.handle(Received(103, 7, beat(plan=PLAN), False), 0.02)
    block = next(iter(node._blocks))
    node._confirmations.add(0, block, "0" * 16)

    def stored(peer):
        session = node._peers.all[peer].session
        return [message["stored"] for at, _, message in wire.said("beat") if at == session][-1]

    def reported():
        node._peers.send_heartbeats()
        return stored(1), stored(2)

    everything = {block: "0" * 16}
    assert reported() == (everything, everything) and reported() == ({}, {})
    node.handle(Closed(sessions[1], 1, "lost"), 0.03)
    node.handle_timer(0.25)
    again = max(number for number, peer in wire.dialled.items() if peer == 1)
    node.handle(Opened(again, 1, True), 0.26)
    assert node._peers.all[1].session == again and stored(1) == everything
    assert reported() == ({}, {})
    # The same members, announced by another leader: peers that follow it ignored the first list.
    node.handle(Received(103, 7, beat(plan=PLAN | {"leader": 0}), False), 0.27)
    assert reported() == (everything, everything)


@pytest.mark.parametrize(
    "request_", [{"block": "0" * 64}, {"block": "../../1"}, {"index": 3}, {"epoch": 9}]
)
def test_missing_chunk_is_answered(mesh, request_):
    node, wire, *_ = mesh
    assert ask(node, wire, **request_) == ["none"]
    assert wire.closed == []


def test_two_leaders_agree_on_one_placement(mesh):
    node, _, _ = gathering(mesh)
    other = {"epoch": 2, "leader": 0, "members": [0, 1, 2, 4]}
    node.handle(Received(102, 0, beat(plan=other), False), 0.03)
    assert node.placement.plain() == other
    assert node.record.ended is None
