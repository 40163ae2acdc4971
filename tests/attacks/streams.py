"""Attacks on nodes by an authenticated member, with well-formed messages of wrong content.

The node must continue to run, close no session of other members, and serve their requests.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from pqchain.delegates.peers import Peers
from pqchain.delegates.stores import FileStore, Lock, SafetyRecord
from pqchain.errors import DataError
from pqchain.reencode import runs
from pqchain.reencode.protocol.messages import MessageParser, pack
from pqchain.reencode.protocol.node import ReencodingNode
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.session import Closed, Opened, Received
from pqchain.wire.transports import registry
from tests.attacks.files import Reads, file_attack
from tests.attacks.harness import MAX_MEMORY_MB, Attack, Input, Inputs, Outcome, Try
from tests.delegates import test_fuzz as fuzz
from tests.delegates.doubles import make_setting
from tests.reencode.mesh import Wire, beat, small, works
from tests.wire import floods

HOSTILE, HONEST = 1, 2
MESSAGES = 10
"""Messages per input."""

_STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308),
    *(float("inf"), float("nan"), "", "x", "0" * 64, "../../1", "\0", "\ud800", "9" * 5000),
    *([], {}, [[]], [1] * 50, {"a": {"b": []}}, [0, 0], [0, 1, 2, 3], ["0"], {"": ""}),
)

_GRAMMAR: dict[str, dict[str, Any]] = {
    "beat": {"number": 1, "since": 0.5, "queued": 0, "plan": None, "failed": False, "stored": {}},
    "echo": {"number": 1, "queued": 0},
    "get": {"block": "", "epoch": 1, "index": 0},
    "chunk": {"bytes": 20_000},
    "none": {},
}

_PLAN = {"epoch": 2, "leader": 1, "members": [0, 1, 2, 3]}


def messages(rng: random.Random, blocks: list[str]) -> bytes:
    """Return the bytes of one message, possibly damaged or followed by a chunk."""
    kind = rng.choice(tuple(_GRAMMAR))
    message = {"type": kind, **_GRAMMAR[kind]}
    if kind == "get":
        message["block"] = rng.choice(blocks)
    if kind == "beat" and rng.random() < 0.5:
        message["plan"] = dict(_PLAN, epoch=rng.randrange(4))
        message["stored"] = {rng.choice(blocks): "0" * 16}
    while rng.random() < 0.6:
        target = rng.choice((message, message["plan"])) if message.get("plan") else message
        if isinstance(target, dict):
            field = rng.choice((*target, "more"))
            if rng.random() < 0.2:
                target.pop(field, None)
            else:
                target[field] = deepcopy(rng.choice(_STRANGE))
    data = _pack(message)
    if kind == "chunk":
        data += rng.randbytes(rng.choice((0, 1, 100, 20_000)))
    return _damage(data, rng) if rng.random() < 0.3 else data


def _pack(message: dict[Any, Any]) -> bytes:
    text = json.dumps(message).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(4, "big") + text


def _damage(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(5)
    at = rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        return rng.choice((0, 1, 2**20, 2**32 - 1)).to_bytes(4, "big") + data[4:]
    if kind == 3:
        text = b"[" * 5000 if rng.random() < 0.5 else b'"' * 3
        return len(text).to_bytes(4, "big") + text
    return rng.randbytes(rng.randrange(1, 300))


def inputs(rng: random.Random, count: int) -> Iterator[Input]:
    for _ in range(count):
        seed = rng.randrange(2**62)
        yield Input(f"seed {seed}", seed)


class _Mesh:
    """Node 0 of five, connected to all others, in a given protocol state."""

    def __init__(self, folder: Path, state: str) -> None:
        scenario = small(streams="single" if state == "gathering" else "multiplexed")
        self.wire = Wire()
        self.node = ReencodingNode(0, scenario, ChunkStore(folder / "0"), self.wire)
        self.node.start(0.0)
        for session, peer in list(self.wire.dialled.items()):
            if state != "dialling":
                self.node.handle(Opened(session, peer, True), 0.01)
            self.node.handle(Opened(100 + peer, peer, False), 0.01)
        if state == "gathering":
            self.node.handle(Received(100 + HONEST, 0, beat(plan=_PLAN), False), 0.02)
        elif state == "exchanging":
            self.node.begin(0.02)
        works(self.node, 0.02)

    def serves(self, block: str) -> bool:
        """Whether an honest member, even if considered dead, dials and gets its chunk."""
        before, session = len(self.wire.sent), 300 + HONEST
        request = pack({"type": "get", "block": block, "index": 0, "epoch": 1})
        self.node.handle(Opened(session, HONEST, False), 9.0)
        self.node.handle(Received(session, 77, request, False), 9.0)
        works(self.node, 9.0)
        (head, *_) = [data for at, _, data in self.wire.sent[before:] if at == session]
        return next(iter(MessageParser().feed(head)))["type"] == "chunk"


def _prepare(folder: Path, state: str) -> tuple[Inputs, Try]:
    runs.prepare(small(), folder)
    (manifest,) = ChunkStore(folder / "0").manifests()
    blocks = [manifest.block_hash, "0" * 64, "../../1"]

    def attempt(seed: int) -> Outcome:
        rng, mesh, now = random.Random(seed), _Mesh(folder, state), 0.03
        node, wire = mesh.node, mesh.wire
        for number in range(MESSAGES):
            now += rng.random() * 0.05
            ours = [at for at, peer in wire.dialled.items() if peer == HOSTILE]
            session = rng.choice((*ours, 100 + HOSTILE, 200 + HOSTILE))
            if number == 3:
                node.handle(Opened(200 + HOSTILE, HOSTILE, False), now)
            data, channel = messages(rng, blocks), rng.choice((0, 1, 2, 5, 2**40))
            cut = rng.randrange(len(data) + 1)
            for piece in (data[:cut], data[cut:]):
                node.handle(Received(session, channel, piece, rng.random() < 0.1), now)
                works(node, now)
            if rng.random() < 0.1:
                node.handle(Closed(session, HOSTILE, "gone"), now)
            if rng.random() < 0.1:
                node.handle_timer(now)
        hostile = {*(at for at, peer in wire.dialled.items() if peer == HOSTILE)}
        broken = {at for at, reason in wire.closed if reason == "protocol violation"}
        cut_off = broken - hostile - {100 + HOSTILE, 200 + HOSTILE}
        if cut_off:
            return Outcome.WRONG
        if not mesh.serves(manifest.block_hash) and node.placement is None:
            return Outcome.WRONG
        return Outcome.REFUSED if wire.closed else Outcome.FINE

    return inputs, attempt


def _reader(folder: Path) -> tuple[Inputs, Try]:
    """Parse bytes in pieces of any length; the result must not depend on the cuts."""

    def parse(pieces: list[bytes]) -> list[Any]:
        reader, results = MessageParser(), []
        try:
            for piece in pieces:
                results += map(str, reader.feed(piece))
        except DataError as error:
            results.append(str(error))
        return results

    def attempt(seed: int) -> Outcome:
        rng = random.Random(seed)
        data = b"".join(messages(rng, ["0" * 64]) for _ in range(MESSAGES))
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 9)))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        return Outcome.FINE if parse(pieces) == parse([data]) else Outcome.WRONG

    return inputs, attempt


_FLOOD_SECONDS = 3.0

_FLOODS = {
    "bytes after a rejected frame": "refused-frame",
    "half messages on many channels": "half-messages",
    "valid messages without end": "valid",
    "responses that are not read": "deaf-requests",
}
"""Floods of `tests.wire.floods` by description; an input is a transport."""


def _flooded(_: Path, node: str, flood: str) -> tuple[Inputs, Try]:
    """Flood a node on loopback by a member in another process, over one transport."""

    def transports(rng: random.Random, count: int) -> Iterator[Input]:
        infos = registry.TRANSPORTS.values()
        names = [info.name for info in infos if not info.unavailable_reason()]
        return (Input(name, name) for name in names[:count])

    def attempt(transport: str) -> Outcome:
        result = asyncio.run(floods.measure(transport, node, flood, _FLOOD_SECONDS))
        if not result["grown"] <= MAX_MEMORY_MB:
            return Outcome.MEMORY
        if not result["opened"] or result["dial"] == float("inf"):
            return Outcome.WRONG
        return Outcome.REFUSED if result["cut_off"] else Outcome.FINE

    return transports, attempt


_NAME = f"{MESSAGES} messages of a member"
ATTACKS = [
    Attack(f"re-encoding node, {state}", _NAME, 40, 25_000, _prepare, (state,))
    for state in ("dialling", "waiting", "gathering", "exchanging")
]
ATTACKS.append(Attack("wire messages", f"{MESSAGES} messages in pieces", 100, 100_000, _reader))
ATTACKS += [
    Attack(
        surface, f"{name}, over each transport", 0, len(registry.TRANSPORTS), _flooded,
        (node, flood), 120,
    )
    for node, surface in (
        ("delegate", "delegate on sockets"), ("reencode", "re-encoding node, on sockets")
    )
    for name, flood in _FLOODS.items()
    if node in floods.FLOODS[flood]
]  # fmt: skip


DELEGATE_MESSAGES = 100
"""Messages per input."""

LONGEST, PIECE = 100_000, 1 << 14


def _delegate_messages(_: Path) -> tuple[Inputs, Try]:
    """Send damaged messages in any order: no delegate votes twice, or for an invalid block."""
    kinds = fuzz.by_kind(fuzz.recorded(make_setting()))
    setting = make_setting(modelled_clock=False)

    def attempt(seed: int) -> Outcome:
        rejected, _ = fuzz.live(setting, kinds, random.Random(seed), DELEGATE_MESSAGES)
        return Outcome.REFUSED if rejected else Outcome.FINE

    return inputs, attempt


def _refused(_: Path) -> tuple[Inputs, Try]:
    """Send a megabyte after a rejected frame, on several channels and sessions."""

    def attempt(seed: int) -> Outcome:
        rng, wire = random.Random(seed), Wire()
        peers = Peers(0, wire, dials=(), count=1, longest_bytes=LONGEST, rejected=Counter())
        data = rng.randbytes(PIECE)
        for session in range(4):
            peers.handle(Opened(session, 1, False), 0.0)
            head = rng.choice((rng.randrange(LONGEST, 2**32), rng.randrange(12)))
            peers.handle(Received(session, 0, head.to_bytes(4, "big"), False), 0.0)
            for _ in range((1 << 18) // PIECE):
                peers.handle(Received(session, rng.randrange(3), data, False), 0.0)
        if len(wire.closed) != 4 or any(row._partial for row in peers._frames.values()):
            return Outcome.WRONG
        return Outcome.REFUSED

    return inputs, attempt


def _store(folder: Path, name: str) -> tuple[Path, Reads]:
    """Restart a delegate: it has its votes and locks, or reports an error."""
    setting = make_setting()
    genesis = setting.pool.genesis
    store = FileStore(folder, genesis)
    for height in range(3):
        block = setting.propose(store.state, height, 0, 0).encode()
        store.add_final(block, setting.after(store.state, block), b"quorum %d" % height)
    store.save(SafetyRecord(3, 5, 4, Lock(4, bytes(range(32)), b"a block", b"a proof")))

    def content(store: FileStore) -> tuple[object, ...]:
        store.close()
        return store.state.tip, store.record, [store.final(height) for height in range(4)]

    expected = content(store)
    return folder / name, lambda: content(FileStore(folder, genesis)) == expected


ATTACKS += [
    Attack("delegate", f"{DELEGATE_MESSAGES} messages of a member", 20, 10_000, _delegate_messages),
    Attack("delegate", "a megabyte after a rejected frame", 10, 1000, _refused),
    file_attack("quorums of a delegate", 60, 10_000, _store, "quorums", text=False),
    file_attack("votes and locks of a delegate", 60, 10_000, _store, "bound", text=False),
]
