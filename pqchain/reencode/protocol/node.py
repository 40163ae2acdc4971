"""Sans-I/O re-encoding node: events and time in, messages and tasks out.

Heartbeats detect failures. When a node is dead, the living node with the lowest index announces a
placement. Every node passes it on, gathers any k chunks of each block, decodes, verifies, encodes
with the new code, stores its own new chunk and confirms it. Old chunks are deleted only when every
member of the placement has confirmed the same manifest.

Peers are authenticated, and their messages about membership are trusted. Their data is not: every
chunk and every block is checked with its hash.

This module handles placements and the order of steps. `peers` detects failures, `chunks` and
`server` transfer chunks, and `gather` processes blocks.
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
from pqchain.reencode.protocol.messages import Message, Reader
from pqchain.reencode.protocol.peers import MOST_PARTIAL_BYTES, Peer, Peers
from pqchain.reencode.protocol.placement import Confirmations, Placement
from pqchain.reencode.protocol.server import Server
from pqchain.reencode.protocol.work import Own
from pqchain.reencode.scenario import Scenario, from_plain
from pqchain.reencode.storage.store import DIGEST_DIGITS, ChunkStore, Manifest
from pqchain.wire.node import Task
from pqchain.wire.session import Event, Filled, Key, Opened, Received, Transport

LOG = logging.getLogger("pqchain.reencode")

_BROKEN = (DataError, AttributeError, LookupError, ArithmeticError, TypeError, ValueError)
"""Exceptions that a malformed message causes."""


_LARGE_PART = 1 << 12
"""Length of an incomplete message from which the peer's total is checked.

Honest messages are shorter, so that the total is rarely computed.
"""


class ReencodingNode:
    """One node of the mesh, as a `pqchain.wire.node.Node`."""

    def __init__(
        self,
        index: int,
        scenario: Scenario,
        chunks: ChunkStore,
        transport: Transport,
        *,
        misbehaves: str = "",
    ) -> None:
        """Read the store; `misbehaves` injects a fault: "stall", "corrupt", or "" for none."""
        self.index = index
        self.error: PqchainError | None = None
        self.placement: Placement | None = None
        """Placement that the node follows."""
        self._own = own = Own(index, scenario, chunks, transport)
        self.record = own.record
        self._manifests = chunks.manifests()
        self._known = range(scenario.nodes)
        self._waiting: deque[Manifest] = deque()
        self._gathers: dict[str, Gather] = {}
        """Blocks in progress by hash."""
        self._confirmations = Confirmations()
        # A late-bound call, because peers and fetcher refer to each other.
        self._peers = Peers(own, self._news, lambda *over: self._fetcher.forget(*over))
        self._recoder = Recoder(own, self._leave)
        self._fetcher = Fetcher(own, self._peers, self._recoder, self._fail)
        self._server = Server(own, self._manifests, misbehaves)

    def start(self, now: float) -> None:
        """Start the node: initialise the peers and dial them."""
        self._count(now)
        self._peers.start()
        self._tick()

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""
        return self._peers.connected

    @property
    def begun(self) -> bool:
        """Whether the node follows a placement or takes part in an exchange."""
        return self.record.begun is not None

    @property
    def done(self) -> bool:
        """Whether the node's work is stored and confirmed, or has failed."""
        return self.record.ended is not None or self.error is not None

    @property
    def progress(self) -> int:
        """Number of received bytes of chunks."""
        return self.record.received_bytes

    def report(self) -> Mapping[str, Any]:
        """Return the fields of `Record` as plain JSON."""
        return asdict(self.record)

    def begin(self, now: float) -> None:
        """Begin the experiment "exchange": request all chunks of all nodes."""
        self._count(now)
        self.placement = Placement(0, 0, tuple(self._known))
        self._begin()

    def handle(self, event: Event, now: float) -> None:
        """Handle a transport event."""
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
        """Return the time of the next heartbeat."""
        return self._peers.next_beat

    def handle_timer(self, now: float) -> None:
        """Send heartbeats, and detect dead peers and slow sources."""
        self._count(now)
        if self._peers.next_beat is not None and now >= self._peers.next_beat:
            self._tick()

    def poll(self) -> Task | None:
        """Return the next task, or None; at most one task runs at a time."""
        return self._own.poll()

    def started(self, now: float) -> None:
        """Record the start of the task that `poll` returned."""
        self._count(now)
        self._own.started()

    def finished(self, outcome: Any, now: float) -> None:
        """Handle the result of the task, or the PqchainError that it raised."""
        self._count(now)
        try:
            self._own.finished(outcome)
        except PqchainError as error:
            self._fail(error)

    def _count(self, now: float) -> None:
        """Advance to `now`, and charge the time passed to the node's current phase."""
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
        """Return the content of heartbeats: placement, failure and confirmations."""
        return {
            "plan": self.placement.plain() if self.placement and self.placement.epoch else None,
            "failed": self.error is not None,
            "stored": self._confirmations.of(self.index),
        }

    # Placement.

    def _lead(self) -> None:
        """Announce a placement if a node is dead and this node is the lowest living one."""
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
        """Follow a placement and pass it on, unless the current one has at least its rank."""
        before = self.placement
        if before is not None and placement.rank <= before.rank:
            return
        places, most = set(placement.members), self._recoder.after.chunks
        if not len(places) == len(placement.members) <= most or not places.issubset(self._known):
            return  # unknown or duplicate members, or too many
        self.placement = placement
        if before is not None and before.agrees(placement):
            return  # two nodes have announced the same
        if before is not None:
            # Two leaders announced placements independently. What was stored for the other one is
            # replaced.
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
            # Stored before this node restarted.
            if epoch and manifest.epoch >= epoch:
                self._confirmations.add(self.index, manifest.block_hash, manifest.digest)
            else:
                self._waiting.append(manifest)
        self._next_blocks()
        self._confirmed()

    def _next_blocks(self) -> None:
        assert self.placement is not None
        # Each block takes memory for both codes, so that their number is limited.
        while self._waiting and len(self._gathers) < self._own.scenario.blocks_at_once:
            gather = self._recoder.new_gather(self._waiting.popleft(), self.placement)
            self._gathers[gather.manifest.block_hash] = gather
            self._fetcher.read_own(gather)
            self._fetcher.choose(gather)

    def _leave(self, gather: Gather, stored: Manifest | None) -> None:
        """Remove a block, confirm it if something was stored, and start the next one."""
        block = gather.manifest.block_hash
        del self._gathers[block]
        gather.wanted = False
        begun = self.record.begun or 0.0
        self.record.arrivals += [at - begun for at in gather.arrivals]
        if stored is not None:
            self._confirmations.add(self.index, block, stored.digest)
        self._next_blocks()
        self._confirmed()
        # At once and not with the next heartbeat, because other nodes wait for the confirmation.
        if stored is not None:
            self._peers.beat_all()

    def _drop_gathers(self) -> None:
        for gather in self._gathers.values():
            gather.wanted = False
        self._gathers.clear()

    def _note_stored(self, peer: Peer, message: Message) -> None:
        # Confirmations of another placement do not count.
        if self.placement is None or message["plan"] != self.placement.plain():
            return
        known = {manifest.block_hash for manifest in self._manifests}
        # Only known blocks and digests of the right length, so that a peer cannot fill the memory.
        for block, digest in message["stored"].items():
            if block in known and isinstance(digest, str) and len(digest) == DIGEST_DIGITS:
                self._confirmations.add(peer.index, block, digest)
        self._confirmed()

    def _confirmed(self) -> None:
        """End the work once all living members have confirmed; if all have, delete old chunks."""
        placement = self.placement
        if placement is None or self.done or self._gathers or self._waiting:
            return
        if self._own.scenario.experiment == "exchange":
            self.record.ended = self._own.now
            return
        blocks = {manifest.block_hash for manifest in self._manifests}
        others = [index for index in placement.members if index != self.index]
        # Dead and failed members will not confirm; the old chunks are kept for them.
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
        """End the node's own work with an error; it continues to serve chunks."""
        if self.error is None:
            LOG.warning("node %d: %s", self.index, error)
            self.error = error
        self._drop_gathers()
        self._waiting.clear()

    # Received data.

    def _received(self, event: Received | Filled) -> None:
        if (peer := self._peers.by_session.get(event.session)) is None:
            return
        self._peers.heard(peer)
        key = (event.session, event.channel)
        reader = self._peers.readers.get(key)
        ours = event.session == peer.session or self._fetcher.asks_on(peer, event.session)
        if reader is None and ours:
            return  # late data of a stopped channel
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
    """Create a node for a driver.

    `scenario` is a plain scenario (`from_plain`), `misbehaving` the fault of each node by index.
    """
    one, misbehaves = from_plain(scenario), misbehaving.get(str(index), "")
    chunks = ChunkStore(folder, synchronise=one.synchronise)
    return ReencodingNode(index, one, chunks, transport, misbehaves=misbehaves)
