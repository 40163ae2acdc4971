"""A node, without sockets, threads or clock: events and the time in, messages and tasks out.

It watches the others by heartbeats. When one is dead, the living one with the lowest number
announces a placement, everyone passes it on, gathers any k chunks of each block, decodes, verifies,
encodes with the new code, stores its own new chunk and says so. Old chunks are dropped only when
every member of the placement has confirmed the same manifest.

Peers have proven who they are; their word on the membership is taken. Their bytes are not: every
chunk and every block is checked against its hash.

The node knows the placement and the order of things; of its parts `peers` knows who lives,
`chunks` whom to ask and what to give, `gather` what to compute.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.chunks import Fetcher
from pqchain.reencode.protocol.gather import Gather, Recoder
from pqchain.reencode.protocol.peers import MOST_PARTIAL_BYTES, Peer, Peers
from pqchain.reencode.protocol.placement import Confirmations, Placement
from pqchain.reencode.protocol.server import Server
from pqchain.reencode.protocol.work import Own
from pqchain.reencode.scenario import Scenario, from_plain
from pqchain.reencode.storage.store import DIGEST_DIGITS, ChunkStore, Manifest
from pqchain.wire.messages import Message, Reader
from pqchain.wire.node import Task
from pqchain.wire.session import Event, Filled, Key, Opened, Received, Transport

LOG = logging.getLogger("pqchain.reencode")

_BROKEN = (DataError, AttributeError, LookupError, ArithmeticError, TypeError, ValueError)
"""What a message raises that does not keep the protocol."""


_LARGE_PART = 1 << 12
"""Of a message that is not whole; then all parts are added up. Honest messages are shorter."""


class ReencodingNode:
    """One node of the mesh, for the drivers of `pqchain.wire`."""

    def __init__(
        self,
        index: int,
        scenario: Scenario,
        chunks: ChunkStore,
        transport: Transport,
        *,
        misbehaves: str = "",
    ) -> None:
        """Read the store; who `misbehaves` lets others "stall" or sends them "corrupt" chunks."""
        self.index = index
        self.error: PqchainError | None = None
        self.placement: Placement | None = None
        """The one that the node follows."""
        self._own = own = Own(index, scenario, chunks, transport)
        self.record = own.record
        self._manifests = chunks.manifests()
        self._known = range(scenario.nodes)
        self._waiting: deque[Manifest] = deque()
        self._gathers: dict[str, Gather] = {}
        """The blocks under way, by their hash."""
        self._confirmations = Confirmations()
        self._peers = Peers(own, self._news, lambda *over: self._fetcher.forget(*over))
        self._recoder = Recoder(own, self._leave)
        self._fetcher = Fetcher(own, self._peers, self._recoder, self._fail)
        self._server = Server(own, self._manifests, misbehaves)

    def start(self, now: float) -> None:
        """Dial everyone and begin to listen."""
        self._count(now)
        self._peers.start()
        self._tick()

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""
        return self._peers.connected

    @property
    def begun(self) -> bool:
        """Whether there is a placement to follow, or an exchange."""
        return self.record.begun is not None

    @property
    def done(self) -> bool:
        """Whether everything is stored and confirmed, or will never be."""
        return self.record.ended is not None or self.error is not None

    @property
    def progress(self) -> int:
        """Bytes of chunks that have come."""
        return self.record.received_bytes

    def report(self) -> Mapping[str, Any]:
        """Return the fields of `Record`."""
        return asdict(self.record)

    def begin(self, now: float) -> None:
        """Ask everyone for everything: the experiment "exchange"."""
        self._count(now)
        self.placement = Placement(0, 0, tuple(self._known))
        self._begin()

    def handle(self, event: Event, now: float) -> None:
        """Take in what the transport tells."""
        self._count(now)
        if isinstance(event, Received | Filled):
            self._received(event)
        elif isinstance(event, Opened):
            peer = self._peers.opened(event)
            if event.dialled:
                self._fetcher.opened(event, peer)
                self._choose_all()
            else:
                self.record.early_sessions += event.early
        else:
            self._closed(event.session, event.reason)

    def timer(self) -> float | None:
        """Return when `handle_timer` wants to be called."""
        return self._peers.next_beat

    def handle_timer(self, now: float) -> None:
        """Send heartbeats, look for the dead and the slow."""
        self._count(now)
        if self._peers.next_beat is not None and now >= self._peers.next_beat:
            self._tick()

    def poll(self) -> Task | None:
        """Return the next task; there is one at a time."""
        return self._own.poll()

    def started(self, now: float) -> None:
        """Note that the task from `poll` begins."""
        self._count(now)
        self._own.started()

    def finished(self, outcome: Any, now: float) -> None:
        """Take the result of the task, or the PqchainError that it raised."""
        self._count(now)
        try:
            self._own.finished(outcome)
        except PqchainError as error:
            self._fail(error)

    def _count(self, now: float) -> None:
        """Go on to that time, and count what has passed for what the node was doing."""
        phase = None
        if self.begun and not self.done:
            running = self._own.running
            phase = running.kind if running else "other"
            if any(not each.complete for each in self._gathers.values()):
                phase = "transfer"
        self._own.count(now, phase)

    def _choose_all(self) -> None:
        for gather in list(self._gathers.values()):
            self._fetcher.choose(gather)

    def _tick(self) -> None:
        if self._peers.tick():
            if self.record.noticed is None:
                self.record.noticed = self._own.now
            self._confirmed()
        self._lead()
        self._fetcher.drop_slow(self._gathers.values())
        self._choose_all()

    def _news(self) -> Message:
        """Return what we plan, whether we have failed, what we have stored, for the heartbeats."""
        return {
            "plan": self.placement.plain() if self.placement and self.placement.epoch else None,
            "failed": self.error is not None,
            "stored": self._confirmations.of(self.index),
        }

    # The placement.

    def _lead(self) -> None:
        """Announce a placement if a node is dead and this is the lowest that lives."""
        if self.placement is not None or self._own.scenario.experiment != "reencode":
            return
        living = [at for at in self._known if at == self.index or self._peers.all[at].alive]
        everyone = len(living) == len(self._known)
        if everyone or living[0] != self.index or not self._manifests:
            return
        epoch = max(manifest.epoch for manifest in self._manifests) + 1
        members = tuple(living[: self._recoder.after.chunks])
        self._adopt(Placement(epoch, self.index, members))

    def _adopt(self, placement: Placement) -> None:
        """Follow a placement unless a better one is known, and pass it on."""
        before = self.placement
        if before is not None and placement.rank <= before.rank:
            return
        places, most = set(placement.members), self._recoder.after.chunks
        if not len(places) == len(placement.members) <= most or not places.issubset(self._known):
            return  # a place for a stranger, or two for one node, or too many
        self.placement = placement
        if before is not None and before.agrees(placement):
            return  # two nodes have announced the same
        if before is not None:
            # Two leaders did not hear each other. What was stored for the other one is replaced.
            for gather in self._gathers.values():
                self._fetcher.cancel_rest(gather)
            self._drop_gathers()
            self._confirmations.clear()
            self.record.ended = None
        LOG.info("node %d: follows %s", self.index, placement)
        self._begin()
        self._peers.beat_all()

    def _begin(self) -> None:
        assert self.placement is not None
        members, epoch = self.placement.members, self.placement.epoch
        if self.record.begun is None:
            self.record.begun = self._own.now
        self._waiting.clear()
        if self.index not in members:
            self.record.ended = self._own.now
            return
        for manifest in self._manifests:
            if epoch and manifest.epoch >= epoch:  # stored before a restart
                self._confirmations.add(self.index, manifest.block_hash, manifest.digest)
            else:
                self._waiting.append(manifest)
        self._next_blocks()
        self._confirmed()

    def _next_blocks(self) -> None:
        assert self.placement is not None
        while self._waiting and len(self._gathers) < self._own.scenario.blocks_at_once:
            gather = self._recoder.new_gather(self._waiting.popleft(), self.placement)
            self._gathers[gather.manifest.block_hash] = gather
            self._fetcher.read_own(gather)
            self._fetcher.choose(gather)

    def _leave(self, gather: Gather, stored: Manifest | None) -> None:
        """Be done with a block, say so if something was stored, and go on to the next."""
        block = gather.manifest.block_hash
        del self._gathers[block]
        gather.wanted = False
        begun = self.record.begun or 0.0
        self.record.arrivals += [at - begun for at in gather.arrivals]
        if stored is not None:
            self._confirmations.add(self.index, block, stored.digest)
        self._next_blocks()
        self._confirmed()
        if stored is not None:
            self._peers.beat_all()

    def _drop_gathers(self) -> None:
        for gather in self._gathers.values():
            gather.wanted = False
        self._gathers.clear()

    def _note_stored(self, peer: Peer, message: Message) -> None:
        if self.placement is None or message["plan"] != self.placement.plain():
            return
        known = {manifest.block_hash for manifest in self._manifests}
        for block, digest in message["stored"].items():
            if block in known and isinstance(digest, str) and len(digest) == DIGEST_DIGITS:
                self._confirmations.add(peer.index, block, digest)
        self._confirmed()

    def _confirmed(self) -> None:
        """See whether everyone who lives has confirmed, and drop the old if really everyone has."""
        placement = self.placement
        if placement is None or self.done or self._gathers or self._waiting:
            return
        if self._own.scenario.experiment == "exchange":
            self.record.ended = self._own.now
            return
        blocks = {manifest.block_hash for manifest in self._manifests}
        others = [index for index in placement.members if index != self.index]
        # The dead and those who have given up will not confirm; the old chunks are kept for them.
        peers = self._peers.all
        awaited = [index for index in others if peers[index].alive and not peers[index].failed]
        if not self._confirmations.agree(self.index, awaited, blocks):
            return
        self.record.ended = self._own.now
        if self._confirmations.agree(self.index, others, blocks):
            for manifest in self._manifests:
                if manifest.epoch < placement.epoch:
                    self._own.store.remove(manifest.block_hash, manifest.epoch)
            self._server.cache.clear()

    def _fail(self, error: PqchainError) -> None:
        """End the node's own work; it goes on serving others."""
        if self.error is None:
            LOG.warning("node %d: %s", self.index, error)
            self.error = error
        self._drop_gathers()
        self._waiting.clear()

    # What comes in.

    def _received(self, event: Received | Filled) -> None:
        if (peer := self._peers.by_session.get(event.session)) is None:
            return
        self._peers.heard(peer)
        key = (event.session, event.channel)
        reader = self._peers.readers.get(key)
        ours = event.session == peer.session or self._fetcher.asks_on(peer, event.session)
        if reader is None and ours:
            return  # of a channel that we have stopped
        try:
            reader = reader or self._peers.accept(key)
            if isinstance(event, Filled):
                self._fetcher.chunk_bytes(key, reader.filled(event.count))
            else:
                self._read(peer, key, reader, event.data)
                if reader.partial_bytes > _LARGE_PART and (
                    self._peers.partial_bytes(peer) > MOST_PARTIAL_BYTES
                ):
                    raise DataError("too many messages that are not whole")
            if reader.left and not reader.placed:
                reader.placed = True
                place = self._own.transport.place
                place(*key, reader.memory, reader.free, offset=reader.offset)
        except _BROKEN as error:
            LOG.warning(
                "node %d: node %d broke the protocol: %.200s", self.index, peer.index, error
            )
            self._own.transport.close(event.session, "protocol broken", now=self._own.now)
            self._closed(event.session, "protocol broken")
            return
        if event.end and key not in self._fetcher.lines:
            self._peers.ended(key)

    def _read(self, peer: Peer, key: Key, reader: Reader, data: bytes) -> None:
        for item in reader.feed(data):
            if isinstance(item, int):
                self._fetcher.chunk_bytes(key, item)
            else:
                self._message(peer, key, reader, item)

    def _message(self, peer: Peer, key: Key, reader: Reader, message: Message) -> None:
        kind = message["type"]
        if kind == "beat":
            self._peers.beaten(peer, key, message)
            if message["plan"] is not None:
                self._adopt(Placement.from_plain(message["plan"]))
            self._note_stored(peer, message)
        elif kind == "echo":
            self._peers.echoed(peer, message)
        elif kind == "get":
            if reader.is_answered:
                raise DataError("a second request on a channel that the first answer ends")
            reader.is_answered = self._server.ends
            block, epoch, index = message["block"], message["epoch"], message["index"]
            self._server.serve(peer.index, key, str(block), int(epoch), int(index))
        elif kind in ("chunk", "none"):
            self._fetcher.announced(peer, key, reader, message)
        else:
            raise DataError(f"unknown message {kind!r}")

    def _closed(self, session: int, reason: str) -> None:
        peer = self._peers.closed(session)
        if peer is not None:
            LOG.info("node %d: session with %d closed: %s", self.index, peer.index, reason)
            self._choose_all()


def build(
    index: int,
    transport: Transport,
    folder: Path,
    *,
    scenario: Mapping[str, Any],
    misbehaving: Mapping[str, str],
) -> ReencodingNode:
    """Make a node for a driver: `scenario` is plain, `misbehaving` says by node what it does."""
    one, misbehaves = from_plain(scenario), misbehaving.get(str(index), "")
    chunks = ChunkStore(folder, synchronise=one.synchronise)
    return ReencodingNode(index, one, chunks, transport, misbehaves=misbehaves)
