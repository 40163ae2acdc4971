"""A node, without sockets, threads or clock: events and the time in, messages and tasks out.

It watches the others by heartbeats. When one is dead, the living one with the lowest number
announces a plan, everyone passes it on, gathers any k chunks of each block, decodes, verifies,
encodes with the new code, stores its own new chunk and says so. Old chunks are dropped only when
every node of the plan has confirmed the same manifest.

Peers have proven who they are; their word on the membership is taken. Their bytes are not: every
chunk and every block is checked against its hash.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pqchain.errors import ChunksLost, DataError, PqchainError
from pqchain.reencode import erasure, store
from pqchain.reencode.field import Bytes
from pqchain.reencode.gather import Fetch, Gather, Plan
from pqchain.reencode.messages import Message, Reader, pack
from pqchain.reencode.scenario import Scenario
from pqchain.reencode.session import Closed, Event, Opened, Received, Transport
from pqchain.reencode.store import ChunkStore, Manifest

LOG = logging.getLogger("pqchain.reencode")

PHASES = ("transfer", "decode", "encode", "io", "other")
"""What a node's time is spent on. Each moment counts once: for the transfer while chunks are
awaited, whatever else is done meanwhile, then for the task that runs, else as other."""

_UNKNOWN_PATIENCE = 10
"""How many time-outs a node has that was never heard."""


@dataclass(slots=True, eq=False)
class Task:
    """Work that the driver does when it likes, where it likes: it blocks nothing."""

    kind: str
    size: int
    """Bytes that it works on, for the virtual clock."""
    run: Callable[[], Any]
    then: Callable[[Any, float], None]
    otherwise: Callable[[PqchainError, float], None] | None = None


@dataclass(slots=True, eq=False)
class _Peer:
    """What a node knows of another."""

    index: int
    heard: float
    alive: bool = True
    known: bool = False
    """Whether it was ever heard."""
    session: int = 0
    """The session that we dialled, once it is open."""
    dialling: int = 0
    channel: int = 0
    data_session: int = 0
    data_dialling: int = 0
    data_channel: int = 0
    """The one channel for all chunks, where streams are single."""
    data_reader: Reader | None = None
    line: deque[tuple[Gather, Fetch]] = field(default_factory=deque)
    """What was asked on that channel and has not come yet, in order."""
    waiting: list[tuple[Gather, Fetch]] = field(default_factory=list)
    """What will be asked when the data session is open."""
    sent: dict[int, float] = field(default_factory=dict)
    round_trip: float = float("inf")
    queued: int = 0
    since: float | None = None
    """When it started, by its own clock; another value means that it has restarted."""


@dataclass(slots=True)
class Record:
    """What a node did, in seconds of the driver's clock."""

    noticed: float | None = None
    begun: float | None = None
    ended: float | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    received_bytes: int = 0
    wasted_bytes: int = 0
    work: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    """How long tasks of each kind ran, those that the transfer hid included."""
    arrivals: list[float] = field(default_factory=list)
    verified_blocks: int = 0
    early_sessions: int = 0


class Node:
    """One node of the mesh. Call `poll` for tasks after everything else."""

    def __init__(
        self,
        index: int,
        scenario: Scenario,
        chunks: ChunkStore,
        transport: Transport,
        *,
        corrupt: bool = False,
        stall: bool = False,
    ) -> None:
        """Read the store; `corrupt` and `stall` make a node that misbehaves when it serves."""
        self.index = index
        self.record = Record()
        self.error: PqchainError | None = None
        self.corrupt, self.stall = corrupt, stall
        self._scenario = scenario
        self._store = chunks
        self._transport = transport
        self._before = erasure.ReedSolomon(*scenario.before, engine=scenario.engine)
        self._after = erasure.ReedSolomon(*scenario.after, engine=scenario.engine)
        self._manifests = chunks.manifests()
        self._peers: dict[int, _Peer] = {}
        self._by_session: dict[int, _Peer] = {}
        self._readers: dict[tuple[int, int], Reader] = {}
        self._fetching: dict[tuple[int, int], tuple[Gather, Fetch]] = {}
        self._plan: Plan | None = None
        self._waiting: deque[Manifest] = deque()
        self._gathers: dict[str, Gather] = {}
        self._stored: dict[str, dict[int, str]] = {}
        """For every block, which node has confirmed which manifest."""
        self._wanted: set[str] = set()
        self._tasks: deque[Task] = deque()
        self._running: Task | None = None
        self._cache: dict[tuple[str, int, int], Bytes] = {}
        self._beat = 0
        self._next_beat: float | None = None
        self._since = self._began = 0.0
        self._category: str | None = None
        self._accounted = 0.0

    # What the driver calls.

    def start(self, now: float) -> None:
        """Dial everyone and begin to listen."""
        for index in range(self._scenario.nodes):
            if index != self.index:
                self._peers[index] = _Peer(index, heard=now)
        self._accounted = self._since = now
        self._tick(now)

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""
        return all(peer.session for peer in self._peers.values())

    @property
    def plan(self) -> Plan | None:
        """The plan that the node follows."""
        return self._plan

    @property
    def done(self) -> bool:
        """Whether everything is stored and confirmed, or will never be."""
        return self.record.ended is not None or self.error is not None

    def begin_exchange(self, now: float) -> None:
        """Ask everyone for everything, without a failure: the first experiment of the work."""
        self._plan = Plan(0, 0, tuple(range(self._scenario.nodes)))
        self._begin(now)
        self._settle(now)

    def handle(self, event: Event, now: float) -> None:
        """Take in what the transport tells."""
        self._account(now)
        if isinstance(event, Received):
            self._received(event, now)
        elif isinstance(event, Opened):
            self._opened(event, now)
        else:
            self._closed(event, now)
        self._settle(now)

    def timer(self) -> float | None:
        """Return when `handle_timer` wants to be called."""
        return self._next_beat

    def handle_timer(self, now: float) -> None:
        """Send heartbeats, look for the dead and the slow."""
        self._account(now)
        if self._next_beat is not None and now >= self._next_beat:
            self._tick(now)
        self._settle(now)

    def poll(self) -> Task | None:
        """Return the next task; there is one at a time."""
        if self._running is not None or not self._tasks:
            return None
        self._running = self._tasks.popleft()
        return self._running

    def started(self, now: float) -> None:
        """Note that the task from `poll` begins."""
        self._account(now)
        self._began = now
        self._settle(now)

    def finished(self, outcome: Any, now: float) -> None:
        """Take the result of the task, or the PqchainError that it raised."""
        self._account(now)
        task, self._running = self._running, None
        assert task is not None
        self.record.work[task.kind] += now - self._began
        if isinstance(outcome, PqchainError):
            if task.otherwise is not None:
                task.otherwise(outcome, now)
            else:
                self._fail(outcome)
        else:
            task.then(outcome, now)
        self._settle(now)

    # Time.

    def _account(self, now: float) -> None:
        """Count the time since the last call for what the node was doing."""
        if self._category is not None:
            self.record.seconds[self._category] += now - self._accounted
        self._accounted = now

    def _settle(self, now: float) -> None:
        """Note what the node does from here on."""
        if self.record.begun is None or self.done:
            self._category = None
        elif any(not each.complete for each in self._gathers.values()):
            self._category = "transfer"
        elif self._running is not None:
            self._category = self._running.kind
        else:
            self._category = "other"

    def _tick(self, now: float) -> None:
        """Do what is due at every heartbeat."""
        self._next_beat = now + self._scenario.heartbeat_seconds
        self._beat += 1
        for peer in self._peers.values():
            if peer.session:
                self._send_beat(peer, now)
            elif not peer.dialling:
                peer.dialling = self._transport.dial(peer.index, early=False, now=now)
                self._by_session[peer.dialling] = peer
            # Who was never heard may still be starting; who has fallen silent is dead.
            patience = 1 if peer.known else _UNKNOWN_PATIENCE
            if peer.alive and now - peer.heard > patience * self._scenario.timeout_seconds:
                self._bury(peer, now)
        self._lead(now)
        self._drop_slow(now)
        for gather in list(self._gathers.values()):
            self._choose(gather, now)

    def _send_beat(self, peer: _Peer, now: float) -> None:
        """Tell a peer that we live, what we plan and what we have stored."""
        peer.sent = {number: at for number, at in peer.sent.items() if number > self._beat - 16}
        peer.sent[self._beat] = now
        mine = {block: told[self.index] for block, told in self._stored.items()
                if self.index in told}  # fmt: skip
        message: Message = {
            "type": "beat",
            "number": self._beat,
            "since": self._since,
            "queued": self._transport.queued_bytes(),
            "plan": self._plan.plain() if self._plan is not None and self._plan.epoch else None,
            "stored": mine,
        }
        self._transport.send(peer.session, peer.channel, pack(message))

    def _beat_all(self, now: float) -> None:
        """Send everyone a heartbeat ahead of time, because there is news."""
        self._beat += 1
        for peer in self._peers.values():
            if peer.session:
                self._send_beat(peer, now)

    # Sessions.

    def _opened(self, event: Opened, now: float) -> None:
        """Note a session, and make use of it."""
        peer = self._peers[event.peer]
        self._heard(peer, now)
        self._by_session[event.session] = peer
        self.record.early_sessions += event.early and not event.dialled
        if not event.dialled:
            return
        if event.session == peer.dialling:
            peer.session, peer.dialling = event.session, 0
            peer.channel = self._transport.open(peer.session)
            self._readers[peer.session, peer.channel] = Reader()
            self._send_beat(peer, now)
            if self._scenario.sessions == "kept":
                peer.data_session = peer.session
        elif event.session == peer.data_dialling:
            peer.data_session, peer.data_dialling = event.session, 0
        for gather, fetch in self._taken(peer.waiting):
            self._ask(peer, gather, fetch, now)
        for gather in list(self._gathers.values()):
            self._choose(gather, now)

    def _closed(self, event: Closed, now: float) -> None:
        """Forget a session and what was awaited on it."""
        peer = self._by_session.pop(event.session, None)
        if peer is None:
            return
        LOG.info("node %d: session with %d closed: %s", self.index, peer.index, event.reason)
        self._forget_session(peer, event.session)
        for gather in list(self._gathers.values()):
            self._choose(gather, now)

    def _forget_session(self, peer: _Peer, session: int) -> None:
        """Drop everything that hangs on a session; the next heartbeat dials again."""
        for key in [key for key in self._readers if key[0] == session]:
            del self._readers[key]
        for key in [key for key in self._fetching if key[0] == session]:
            gather, fetch = self._fetching.pop(key)
            self._abandon(gather, fetch)
        if session in (peer.session, peer.dialling):
            peer.session = peer.dialling = peer.channel = 0
        if session in (peer.data_session, peer.data_dialling):
            peer.data_session = peer.data_dialling = peer.data_channel = 0
            peer.data_reader = None
            for gather, fetch in [*self._taken(peer.waiting), *peer.line]:
                self._abandon(gather, fetch)
            peer.line.clear()

    def _heard(self, peer: _Peer, now: float) -> None:
        """Note a sign of life."""
        peer.heard = now
        peer.alive = peer.known = True

    def _bury(self, peer: _Peer, now: float) -> None:
        """Take a peer for dead."""
        peer.alive = False
        LOG.info("node %d: node %d is dead", self.index, peer.index)
        if self.record.noticed is None:
            self.record.noticed = now
        self._drop_sessions(peer, "taken for dead", now, but=0)
        for gather in list(self._gathers.values()):
            self._choose(gather, now)
        self._confirmed(now)

    def _reborn(self, peer: _Peer, session: int, now: float) -> None:
        """Dial a peer anew that has restarted: it knows nothing of our sessions with it."""
        self._drop_sessions(peer, "the other side has restarted", now, but=session)
        peer.dialling = self._transport.dial(peer.index, early=False, now=now)
        self._by_session[peer.dialling] = peer

    def _drop_sessions(self, peer: _Peer, reason: str, now: float, *, but: int) -> None:
        """Close all sessions with a peer, in either direction, but one."""
        for session in [at for at, owner in self._by_session.items() if owner is peer]:
            if session != but:
                self._forget_session(peer, session)
                del self._by_session[session]
                self._transport.close(session, reason, now=now)

    # Membership.

    def _lead(self, now: float) -> None:
        """Announce a plan if a node is dead and this is the lowest that lives."""
        if self._plan is not None or self._scenario.experiment != "reencode":
            return
        dead = [peer.index for peer in self._peers.values() if not peer.alive]
        if not dead or any(p.alive and p.index < self.index for p in self._peers.values()):
            return
        if not self._manifests:
            return
        epoch = max(manifest.epoch for manifest in self._manifests) + 1
        living = [index for index in range(self._scenario.nodes) if index not in dead]
        members = tuple(living[: self._after.chunks])
        self._adopt(Plan(epoch, self.index, members), now)

    def _adopt(self, plan: Plan, now: float) -> None:
        """Follow a plan unless a better one is known, and pass it on."""
        if self._plan is not None and plan.rank <= self._plan.rank:
            return
        if any(not 0 <= member < self._scenario.nodes for member in plan.members):
            return
        before, self._plan = self._plan, plan
        if before is not None and (before.epoch, before.members) == (plan.epoch, plan.members):
            return  # two nodes have found the same
        if before is not None:
            # Two leaders did not hear each other. What was stored for the other plan is replaced.
            for gather in self._gathers.values():
                for fetch in list(gather.fetches.values()):
                    self._cancel(gather, fetch)
            self._gathers.clear()
            self._stored.clear()
            self.record.ended = None
        LOG.info("node %d: follows %s", self.index, plan)
        self._begin(now)
        self._beat_all(now)

    def _begin(self, now: float) -> None:
        """Start with the blocks, if the node has a place in the plan."""
        assert self._plan is not None
        if self.record.begun is None:
            self.record.begun = now
            self._accounted = now
        self._wanted = {manifest.block_hash for manifest in self._manifests}
        self._waiting.clear()
        if self.index not in self._plan.members:
            self.record.ended = now
            return
        for manifest in self._manifests:
            if manifest.epoch >= self._plan.epoch and self._plan.epoch:
                # Stored before a restart.
                self._confirm(manifest)
            else:
                self._waiting.append(manifest)
        self._next_blocks(now)
        self._confirmed(now)

    def _next_blocks(self, now: float) -> None:
        """Begin with as many blocks as may be under way."""
        assert self._plan is not None
        while self._waiting and len(self._gathers) < self._scenario.blocks_at_once:
            manifest = self._waiting.popleft()
            exchange = self._scenario.experiment == "exchange"
            needed = len(manifest.members) if exchange else manifest.data_chunks
            after = erasure.chunk_bytes(manifest.block_bytes, self._after.data_chunks)
            capacity = max(
                manifest.data_chunks * manifest.chunk_bytes, self._after.data_chunks * after
            )
            gather = Gather(manifest, needed, capacity)
            self._gathers[manifest.block_hash] = gather
            self._read_own(gather)
            self._choose(gather, now)

    # Gathering.

    def _read_own(self, gather: Gather) -> None:
        """Load our own chunk into its row."""
        manifest = gather.manifest
        held = self._store.held(manifest)
        if not held:
            return
        index = held[0]
        gather.own_asked = True

        def read() -> None:
            gather.row(index)[:] = self._store.get(manifest, index)

        def then(_: Any, now: float) -> None:
            gather.own_asked = False
            if self._current(gather):
                gather.verified.add(index)
                self._advance(gather, now)

        def otherwise(error: PqchainError, now: float) -> None:
            LOG.warning("node %d: %s", self.index, error)
            gather.own_asked = False
            if self._current(gather):
                self._choose(gather, now)

        self._tasks.append(Task("io", manifest.chunk_bytes, read, then, otherwise))

    def _current(self, gather: Gather) -> bool:
        """Return whether the block is still wanted: a better plan may have come, or an error."""
        return self._gathers.get(gather.manifest.block_hash) is gather

    def _choose(self, gather: Gather, now: float) -> None:
        """Ask as many sources as are needed and not yet asked."""
        if gather.whole or len(gather.verified) >= gather.needed:
            return
        manifest = gather.manifest
        everything = self._scenario.sources == "all" or self._scenario.experiment == "exchange"
        under_way = len(gather.verified) + len(gather.fetches) + gather.own_asked
        missing = gather.needed - under_way
        candidates = [
            (self._peers[holder], index)
            for index, holder in enumerate(manifest.members)
            if holder != self.index
            and index not in gather.verified
            and index not in gather.fetches
            and holder not in gather.corrupt
            and self._peers[holder].alive
            and self._peers[holder].session
        ]
        fresh = [each for each in candidates if each[0].index not in gather.slow]
        if len(fresh) < missing:
            # Better a slow source than none; and it gets another chance.
            gather.slow.clear()
            fresh = candidates
        fresh.sort(key=lambda each: self._preference(each[0]))
        chosen = fresh if everything else fresh[: max(missing, 0)]
        for peer, index in chosen:
            fetch = Fetch(index, peer.index, asked=now, heard=now)
            gather.fetches[index] = fetch
            self._ask(peer, gather, fetch, now)
        if under_way + len(chosen) >= gather.manifest.data_chunks:
            gather.stuck_since = None
        elif gather.stuck_since is None:
            gather.stuck_since = now
        elif now - gather.stuck_since > self._scenario.give_up_seconds:
            self._give_up(gather)

    def _preference(self, peer: _Peer) -> tuple[float, int]:
        """Return the key by which sources are chosen, the lowest first.

        Equals are taken around the ring, so that every node serves about as much as it asks.
        """
        distance = (peer.index - self.index) % self._scenario.nodes
        if self._scenario.sources == "nearest":
            return peer.round_trip, distance
        return float(peer.queued), distance

    def _ask(self, peer: _Peer, gather: Gather, fetch: Fetch, now: float) -> None:
        """Send the request for a chunk, on a fresh session if the scenario says so."""
        if not peer.data_session:
            peer.waiting.append((gather, fetch))
            if not peer.data_dialling and self._scenario.sessions != "kept":
                early = self._scenario.sessions == "0-rtt"
                peer.data_dialling = self._transport.dial(peer.index, early=early, now=now)
                self._by_session[peer.data_dialling] = peer
            return
        fetch.asked = fetch.heard = now
        fetch.session = peer.data_session
        request = pack(
            {"type": "get", "block": gather.manifest.block_hash,
             "epoch": gather.manifest.epoch, "index": fetch.index}
        )  # fmt: skip
        if self._scenario.streams == "multiplexed":
            fetch.channel = self._transport.open(fetch.session)
            self._fetching[fetch.session, fetch.channel] = (gather, fetch)
            self._readers[fetch.session, fetch.channel] = Reader()
            self._transport.send(fetch.session, fetch.channel, request, end=True)
            return
        if not peer.data_reader:
            peer.data_channel = self._transport.open(fetch.session)
            peer.data_reader = Reader()
            self._readers[fetch.session, peer.data_channel] = peer.data_reader
        fetch.channel = peer.data_channel
        peer.line.append((gather, fetch))
        self._transport.send(fetch.session, fetch.channel, request)

    def _abandon(self, gather: Gather, fetch: Fetch) -> None:
        """Count no more on a fetch."""
        if gather.fetches.get(fetch.index) is fetch and not fetch.complete:
            del gather.fetches[fetch.index]
            self.record.wasted_bytes += fetch.received

    def _cancel(self, gather: Gather, fetch: Fetch) -> None:
        """Tell the source that we want no more of it; what still comes is thrown away."""
        self._abandon(gather, fetch)
        if fetch.reader is not None:
            fetch.reader.forget()
        key = (fetch.session, fetch.channel)
        if self._fetching.pop(key, None) is not None:
            self._readers.pop(key, None)
            self._transport.stop(*key)

    def _drop_slow(self, now: float) -> None:
        """Give up sources that have sent nothing for too long."""
        for gather in self._gathers.values():
            for fetch in list(gather.fetches.values()):
                peer = self._peers[fetch.peer]
                # On a single stream only the first in line can be expected to send.
                first = not peer.line or peer.line[0][1] is fetch or fetch not in [
                    each for _, each in peer.line
                ]  # fmt: skip
                late = now - fetch.heard > self._scenario.stall_seconds
                if late and first and not fetch.complete:
                    LOG.info("node %d: node %d stalls", self.index, fetch.peer)
                    gather.slow.add(fetch.peer)
                    self._cancel(gather, fetch)
                elif not first:
                    fetch.heard = now

    def _give_up(self, gather: Gather) -> None:
        """Say which chunks are missing; nothing that is stored is touched."""
        manifest = gather.manifest
        reachable = {*gather.verified, *gather.fetches}
        missing = [
            f"{index} (node {holder})"
            for index, holder in enumerate(manifest.members)
            if index not in reachable
        ]
        self._fail(
            ChunksLost(
                f"block {manifest.block_hash[:16]}: {len(reachable)} chunks are within reach of "
                f"node {self.index}, {manifest.data_chunks} are needed; missing: chunk "
                f"{', '.join(missing)}. What is stored was not touched; "
                "bring one of these nodes back and start again"
            )
        )

    def _fail(self, error: PqchainError) -> None:
        """End the node's own work; it goes on serving others."""
        if self.error is None:
            LOG.warning("node %d: %s", self.index, error)
            self.error = error
        self._gathers.clear()
        self._waiting.clear()

    # What comes in.

    def _received(self, event: Received, now: float) -> None:
        """Take bytes of a channel apart."""
        peer = self._by_session.get(event.session)
        if peer is None:
            return
        self._heard(peer, now)
        key = (event.session, event.channel)
        reader = self._readers.get(key)
        if reader is None:
            if key[0] in (peer.session, peer.data_session):
                return  # of a channel that we have stopped
            reader = self._readers[key] = Reader()
        try:
            for item in reader.feed(event.data):
                if isinstance(item, int):
                    self._chunk_bytes(peer, key, item, now)
                else:
                    self._message(peer, key, reader, item, now)
        except (DataError, KeyError, TypeError, ValueError) as error:
            LOG.warning("node %d: node %d broke the protocol: %s", self.index, peer.index, error)
            self._transport.close(event.session, "protocol broken", now=now)
            self._closed(Closed(event.session, peer.index, "protocol broken"), now)
            return
        if event.end and key not in self._fetching:
            self._readers.pop(key, None)

    def _message(
        self, peer: _Peer, key: tuple[int, int], reader: Reader, message: Message, now: float
    ) -> None:
        """Act on a message."""
        kind = message["type"]
        if kind == "beat":
            peer.queued = int(message["queued"])
            if peer.since not in (None, message["since"]):
                self._reborn(peer, key[0], now)
            peer.since = message["since"]
            echo = {"type": "echo", "number": message["number"],
                    "queued": self._transport.queued_bytes()}  # fmt: skip
            self._transport.send(*key, pack(echo))
            if message["plan"] is not None:
                self._adopt(Plan.from_plain(message["plan"]), now)
            self._told(peer, message, now)
        elif kind == "echo":
            peer.queued = int(message["queued"])
            sent = peer.sent.pop(int(message["number"]), None)
            if sent is not None:
                # The least of all is nearest to the way itself, without queues.
                peer.round_trip = min(peer.round_trip, now - sent)
        elif kind == "get":
            self._serve(key, str(message["block"]), int(message["epoch"]), int(message["index"]))
        elif kind in ("chunk", "none"):
            self._announced(peer, key, reader, message, now)
        else:
            raise DataError(f"unknown message {kind!r}")

    def _told(self, peer: _Peer, message: Message, now: float) -> None:
        """Note what a peer has stored, if it follows the same plan."""
        if self._plan is None or message["plan"] != self._plan.plain():
            return
        for block, digest in message["stored"].items():
            self._stored.setdefault(str(block), {})[peer.index] = str(digest)
        self._confirmed(now)

    def _awaited(self, peer: _Peer, key: tuple[int, int]) -> tuple[Gather, Fetch] | None:
        """Return whose bytes come next on a channel."""
        if key in self._fetching:
            return self._fetching[key]
        if peer.line and key == (peer.data_session, peer.data_channel):
            return peer.line[0]
        return None

    def _announced(
        self, peer: _Peer, key: tuple[int, int], reader: Reader, message: Message, now: float
    ) -> None:
        """Make ready for the chunk that follows, or do without it."""
        awaited = self._awaited(peer, key)
        if awaited is None:
            raise DataError("an answer without a question")
        gather, fetch = awaited
        count = int(message.get("bytes", 0))
        current = gather.fetches.get(fetch.index) is fetch
        if message["type"] == "none" or count != gather.manifest.chunk_bytes:
            if count:
                reader.expect(count)
            gather.corrupt.add(peer.index)
            self._abandon(gather, fetch)
            self._next_in_line(peer, key)
            self._choose(gather, now)
            return
        fetch.reader = reader
        reader.expect(count, gather.row(fetch.index).data if current else None)

    def _chunk_bytes(self, peer: _Peer, key: tuple[int, int], count: int, now: float) -> None:
        """Count bytes of a chunk that are in their place."""
        awaited = self._awaited(peer, key)
        if awaited is None:
            self.record.wasted_bytes += count
            return
        gather, fetch = awaited
        fetch.received += count
        fetch.heard = now
        current = gather.fetches.get(fetch.index) is fetch
        if current:
            self.record.received_bytes += count
        else:
            self.record.wasted_bytes += count
        if fetch.received == gather.manifest.chunk_bytes:
            self._next_in_line(peer, key)
            if current:
                fetch.complete = True
                gather.arrivals.append(now)
                self._check(gather, fetch)
        elif current and self._scenario.overlap:
            self._advance(gather, now)

    def _next_in_line(self, peer: _Peer, key: tuple[int, int]) -> None:
        """Be done with the answer that came on a channel."""
        if self._fetching.pop(key, None) is not None:
            self._readers.pop(key, None)
        elif peer.line:
            peer.line.popleft()

    def _check(self, gather: Gather, fetch: Fetch) -> None:
        """Check the hash of a chunk that is complete."""
        manifest, index = gather.manifest, fetch.index

        def check() -> None:
            store.check_chunk(manifest, index, gather.row(index).data)

        def then(_: Any, now: float) -> None:
            gather.fetches.pop(index, None)
            gather.verified.add(index)
            if self._current(gather):
                self._advance(gather, now)

        def otherwise(error: PqchainError, now: float) -> None:
            LOG.warning("node %d: node %d sent it: %s", self.index, fetch.peer, error)
            gather.fetches.pop(index, None)
            gather.corrupt.add(fetch.peer)
            self.record.wasted_bytes += manifest.chunk_bytes
            if self._current(gather):
                self._choose(gather, now)

        self._tasks.append(Task("other", manifest.chunk_bytes, check, then, otherwise))

    # From chunks to the new chunk.

    def _advance(self, gather: Gather, now: float) -> None:
        """Do the next step that the chunks allow."""
        manifest = gather.manifest
        if self.error is not None or gather.whole:
            return
        if len(gather.verified) >= gather.needed:
            for fetch in list(gather.fetches.values()):
                if not fetch.complete:
                    self._cancel(gather, fetch)
        if self._scenario.experiment == "exchange":
            if len(gather.verified) >= gather.needed:
                gather.whole = True
                self._leave(gather, now)
            return
        piece = gather.next_piece(overlap=self._scenario.overlap)
        if piece is None:
            return
        gather.decoding = True
        start, stop, sources = piece
        missing = self._before.missing(sources)
        size = (stop - start) * manifest.data_chunks if missing else 0

        def decode() -> None:
            gather.decode(self._before, start, stop, sources)

        def then(_: Any, now: float) -> None:
            gather.decoding = False
            gather.decoded = stop
            if not self._current(gather):
                return
            if stop == manifest.chunk_bytes:
                self._verify(gather)
            else:
                self._advance(gather, now)

        self._tasks.append(Task("decode", size, decode, then))

    def _verify(self, gather: Gather) -> None:
        """Check the hash of the block."""

        def then(fine: bool, now: float) -> None:
            if not self._current(gather):
                return
            if fine:
                gather.whole = True
                self.record.verified_blocks += 1
                self._encode(gather)
            elif not gather.redone:
                # Pieces were decoded from a chunk that then turned out to be damaged.
                gather.redone = True
                gather.decoded = 0
                self._advance(gather, now)
            else:
                block = gather.manifest.block_hash[:16]
                self._fail(
                    DataError(
                        f"block {block} has another hash although all its chunks are intact; its "
                        "manifest is wrong: compare it with that of the other nodes"
                    )
                )

        self._tasks.append(Task("other", gather.manifest.block_bytes, gather.check_block, then))

    def _encode(self, gather: Gather) -> None:
        """Encode with the new code, hash the new chunks, store our own."""
        plan = self._plan
        assert plan is not None
        size = erasure.chunk_bytes(gather.manifest.block_bytes, self._after.data_chunks)
        index = plan.members.index(self.index)

        def hashed(manifest: Manifest, now: float) -> None:
            if not self._current(gather):
                return

            def then(_: Any, now: float) -> None:
                if not self._current(gather):
                    return
                self._confirm(manifest)
                self._leave(gather, now)
                self._beat_all(now)

            self._tasks.append(
                Task("io", size, lambda: self._store.put(manifest, index, chunks[index]), then)
            )

        chunks: list[Bytes] = []

        def encoded(rows: list[Bytes], now: float) -> None:
            if not self._current(gather):
                return
            chunks.extend(rows)
            self._tasks.append(
                Task("other", size * self._after.chunks,
                     lambda: gather.new_manifest(self._after, chunks, plan), hashed)
            )  # fmt: skip

        self._tasks.append(
            Task("encode", gather.manifest.block_bytes, lambda: gather.encode(self._after), encoded)
        )

    def _leave(self, gather: Gather, now: float) -> None:
        """Be done with a block and go on to the next."""
        self._gathers.pop(gather.manifest.block_hash, None)
        begun = self.record.begun or 0.0
        self.record.arrivals += [at - begun for at in gather.arrivals]
        self._next_blocks(now)
        self._confirmed(now)

    def _confirm(self, manifest: Manifest) -> None:
        """Note that our own chunk of the new epoch is stored."""
        self._stored.setdefault(manifest.block_hash, {})[self.index] = manifest.digest

    def _confirmed(self, now: float) -> None:
        """See whether everyone who lives has confirmed, and drop the old if really everyone has."""
        if self._plan is None or self.done or self._gathers or self._waiting:
            return
        if self._scenario.experiment == "exchange":
            self.record.ended = now
            return
        others = [peer for peer in self._peers.values() if peer.index in self._plan.members]
        everyone = True
        for block in self._wanted:
            told = self._stored.get(block, {})
            mine = told.get(self.index)
            if mine is None or any(peer.alive and told.get(peer.index) != mine for peer in others):
                return
            everyone = everyone and all(told.get(peer.index) == mine for peer in others)
        self._account(now)
        self.record.ended = now
        if everyone:
            for manifest in self._manifests:
                if manifest.epoch < self._plan.epoch:
                    self._store.remove(manifest.block_hash, manifest.epoch)
            self._cache.clear()

    # Serving.

    def _serve(self, key: tuple[int, int], block: str, epoch: int, index: int) -> None:
        """Answer a request for a chunk, from memory or from its file."""
        wanted = (block, epoch, index)
        if wanted in self._cache:
            self._answer(key, wanted)
            return
        known = any(manifest.block_hash == block for manifest in self._manifests)

        def read() -> Bytes:
            if not known:
                raise DataError(f"block {block[:16]} is not known here")
            return self._store.get(self._store.manifest(block, epoch), index)

        def then(chunk: Bytes, now: float) -> None:
            if self.corrupt:
                chunk = chunk.copy()
                chunk[len(chunk) // 2] ^= 1
            self._cache[wanted] = chunk
            self._answer(key, wanted)

        def otherwise(error: PqchainError, now: float) -> None:
            LOG.info("node %d: cannot serve: %s", self.index, error)
            self._transport.send(*key, pack({"type": "none"}), end=self._ends)

        manifest = next((m for m in self._manifests if m.block_hash == block), None)
        size = manifest.chunk_bytes if manifest is not None else 0
        self._tasks.append(Task("io", size, read, then, otherwise))

    def _answer(self, key: tuple[int, int], wanted: tuple[str, int, int]) -> None:
        """Send a chunk behind its announcement."""
        chunk = self._cache[wanted]
        view = chunk.data
        self._transport.send(*key, pack({"type": "chunk", "bytes": len(view)}))
        if self.stall:
            self._transport.send(*key, view[: len(view) // 2])
            return
        self._transport.send(*key, view, end=self._ends)

    @property
    def _ends(self) -> bool:
        """Whether an answer is the last on its channel."""
        return self._scenario.streams == "multiplexed"

    @staticmethod
    def _taken(waiting: list[tuple[Gather, Fetch]]) -> list[tuple[Gather, Fetch]]:
        """Return what waits and empty the list."""
        taken = waiting[:]
        waiting.clear()
        return taken
