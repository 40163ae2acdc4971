"""Limits of the bytes that a peer can make a delegate or an observer buffer."""

from collections import Counter

import pytest

from pqchain.delegates import messages
from pqchain.delegates.core import _MESSAGE_BYTES
from pqchain.delegates.messages import Message, MessageKind
from pqchain.delegates.observer import ObserverNode
from pqchain.delegates.peers import REDIAL_SECONDS, Peers
from pqchain.delegates.stores import MemoryStore
from pqchain.delegates.timed_delegate import TimedDelegate
from pqchain.wire.session import Closed, Opened, Received
from tests.delegates.doubles import make_setting
from tests.reencode.mesh import Wire

LONGEST = 10_000
MEMBER, SESSION, CHANNEL = 1, 7, 3


class Connected:
    """A node with one member that has dialled it."""

    def __init__(self, dials=()):
        self.wire, self.rejected = Wire(), Counter()
        self.peers = Peers(
            0, self.wire, dials=dials, count=1, longest_bytes=LONGEST, rejected=self.rejected
        )
        assert self.peers.handle(Opened(SESSION, MEMBER, False), 1.0) == []

    def receive(self, data, *, channel=CHANNEL, end=False, session=SESSION):
        return self.peers.handle(Received(session, channel, data, end), 1.0)


def status(height=0):
    return messages.encode(Message(MessageKind.STATUS, MEMBER, height, 0, b""))


@pytest.mark.parametrize(
    "begin", [b"\xff" * 4, LONGEST.to_bytes(4, "big"), bytes(4), status()[:4] + b"\x63"]
)
def test_malformed_frame_closes_the_session_and_frees_its_buffers(begin):
    node = Connected(dials=[MEMBER])
    assert node.receive(status()) == [(MEMBER, status())]
    assert node.receive(begin + bytes(5000)) == []
    for _ in range(300):
        assert node.receive(bytes(1 << 20)) == []
    assert not any(frames._partial for frames in node.peers._frames.values())
    assert [session for session, _ in node.wire.closed] == [SESSION]
    assert node.rejected == {"malformed": 1}
    assert not node.peers.put(MEMBER, b"an answer")
    assert node.peers.redial == 1.0 + REDIAL_SECONDS


@pytest.mark.parametrize("end", ["channel", "session", "replaced"])
def test_closed_sessions_leave_no_state(end):
    node = Connected()
    node.receive(status()[:9])
    assert [len(frames._partial) for frames in node.peers._frames.values()] == [9]
    if end == "channel":
        node.receive(b"", end=True)
        assert node.wire.closed == [(SESSION, "the peer ended its channel")]
    elif end == "session":
        node.peers.handle(Closed(SESSION, MEMBER, "gone"), 1.0)
    else:
        node.peers.handle(Opened(8, MEMBER, False), 1.0)
        assert node.wire.closed == [(SESSION, "replaced by a newer session")]
        assert node.receive(status(), session=8) == [(MEMBER, status())]
        assert node.peers.put(MEMBER, b"an answer")
        assert node.wire.sent[-1] == (8, CHANNEL, b"an answer")
    assert not any(frames._partial for frames in node.peers._frames.values())
    assert node.receive(status()) == []


@pytest.fixture(scope="module")
def setting():
    return make_setting()


def test_longest_message_is_a_final_block_with_all_votes(setting):
    field = setting.field_bytes(MessageKind.VOTE)
    votes = 2 + setting.count * (3 + 2 + field)
    body = 4 + votes + setting.scenario.block_bytes
    assert setting.longest_bytes == 16 + body + setting.field_bytes(MessageKind.PROPOSAL)
    for height in range(3):
        block = setting.propose(setting.pool.genesis, height, 0, 0)
        assert len(block.encode()) <= setting.scenario.block_bytes


def test_queue_per_sender_at_a_delegate_is_bounded(setting):
    delegate = TimedDelegate(setting, 0, MemoryStore(setting.pool.genesis))
    delegate.start(0)
    for _ in range(20_000):
        delegate.receive(MEMBER, status(), 1)
    cost = len(status()) + _MESSAGE_BYTES
    assert (
        delegate._max_waiting_bytes - cost < delegate.waiting[MEMBER] <= delegate._max_waiting_bytes
    )
    assert delegate.rejected == {"buffer full": 20_000 - delegate.waiting[MEMBER] // cost}
    delegate.receive(2, status(), 1)
    assert delegate.waiting[2] == cost
    while (work := delegate.poll()) is not None:
        work.finish(work.run(), 2)
    assert (delegate.waiting[MEMBER], delegate.waiting[2]) == (0, 0)
    block = bytes(setting.longest_bytes - 16)
    early = messages.encode(Message(MessageKind.PROPOSAL, MEMBER, 1, 0, block))
    for _ in range(100):
        delegate.receive(MEMBER, early, 3)
    kept = sum(len(data) for data in delegate._early[MEMBER])
    assert 0 < kept <= delegate._max_waiting_bytes


def test_final_blocks_per_request_are_bounded(setting):
    delegate = TimedDelegate(setting, 0, MemoryStore(setting.pool.genesis))
    block = setting.propose(delegate.store.state, 0, 0, 0).encode()
    delegate.store.add_final(block, setting.after(delegate.store.state, block), bytes(4))
    delegate.start(0)
    delegate.out.clear()
    for _ in range(1000):
        delegate.receive(MEMBER, status(0), 1)
        delegate.receive(2, status(0), 1)
    answers = Counter(sending.to for sending in delegate.out if sending.kind is MessageKind.DECIDED)
    assert answers == {MEMBER: 8, 2: 8}


def test_queue_at_an_observer_is_bounded(setting, monkeypatch):
    monkeypatch.setattr("pqchain.delegates.observer.MAX_QUEUED_BYTES", 50_000)
    store = MemoryStore(setting.pool.genesis)
    node = ObserverNode(setting.count, Wire(), setting, store)
    decided = messages.encode(Message(MessageKind.DECIDED, 0, 0, 0, bytes(4000)))
    for session, peer in ((7, node._server), (8, node._server + 1)):
        node.handle(Opened(session, peer, False), 0.0)
        for _ in range(100):
            node.handle(Received(session, 1, decided + status(), False), 0.0)
    assert node.waiting_bytes == sum(map(len, node._waiting))
    assert 50_000 < node.waiting_bytes <= 50_000 + len(decided)
    assert node.rejected == {"buffer full": 100 - len(node._waiting), "unsolicited": 300}
