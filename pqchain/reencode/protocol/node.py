"""Sans-I/O state machine of a re-encoding node.

Heartbeats detect failures. When a node is dead, the living node with the lowest index announces a
placement. Every node passes it on, gathers any k chunks of each block, decodes, verifies, encodes
with the new code, stores its own new chunk and confirms it. Old chunks are deleted only when every
member of the placement has confirmed the same manifest.

Peers are authenticated, and their messages about membership are trusted. Their data is not: every
chunk and every block is checked with its hash.

This module handles placements and the order of steps. `peers` detects failures, `chunks`
requests chunks, and `gather` serves them and processes blocks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqchain.checks import typed
from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.chunks import Fetcher
from pqchain.reencode.protocol.gather import ChunkServer, Gather, Recoder
from pqchain.reencode.protocol.messages import Confirmations, Message, MessageParser, Placement
from pqchain.reencode.protocol.peers import MAX_PARTIAL_BYTES, Peer, PeerSessions
from pqchain.reencode.protocol.work import NodeContext
from pqchain.reencode.scenario import ReplayScenario
from pqchain.reencode.storage.store import DIGEST_DIGITS, ChunkStore, Manifest
from pqchain.wire.node import Task
from pqchain.wire.session import Event, Filled, Key, Opened, Received, Transport

LOG = logging.getLogger("pqchain.reencode")

_MALFORMED = (DataError, AttributeError, LookupError, ArithmeticError, TypeError, ValueError)

# Length of an incomplete message from which the peer's total is checked; most are shorter.
_LARGE_PART = 1 << 12


class ReencodingNode:
    """Re-encoding node, an implementation of `pqchain.wire.node.Node`."""

    def __init__(
        self,
        index: int,
        scenario: ReplayScenario,
        chunks: ChunkStore,
        transport: Transport,
    ) -> None:
        """Read the store."""
        self.index = index
        self.error: PqchainError | None = None
        self.placement: Placement | None = None
        self._context = context = NodeContext(index, scenario, chunks, transport)
        self.record = context.record
        self._manifests = chunks.manifests()
        self._blocks = frozenset(manifest.block_hash for manifest in self._manifests)
        self._known = range(scenario.nodes)
        self._waiting: deque[Manifest] = deque()
        self._gathers: dict[str, Gather] = {}
        self._confirmations = Confirmations()
        # A late-bound call, because peers and fetcher refer to each other.
        self._peers = PeerSessions(
            context, self._heartbeat_content, lambda *ended: self._fetcher.forget(*ended)
        )
        self._recoder = Recoder(context, self._finish_block)
        self._fetcher = Fetcher(context, self._peers, self._recoder, self._fail)
        self._server = ChunkServer(context, self._manifests)

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
        """Whether all blocks are stored and confirmed, or the node's work has failed."""
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
        return self._peers.next_heartbeat

    def handle_timer(self, now: float) -> None:
        """Send heartbeats, and detect dead peers and slow sources."""
        self._count(now)
        if self._peers.next_heartbeat is not None and now >= self._peers.next_heartbeat:
            self._tick()

    def poll(self, now: float) -> Task | None:
        """Return the next task, which starts now, or None; at most one task runs at a time."""
        if (task := self._context.poll()) is not None:
            self._count(now)
            self._context.began = now
        return task

    def finished(self, outcome: Any, now: float) -> None:
        """Handle the result of the task, or the PqchainError that it raised."""
        self._count(now)
        try:
            self._context.finished(outcome)
        except PqchainError as error:
            self._fail(error)

    def _count(self, now: float) -> None:
        phase = None
        if self.begun and not self.done:
            running = self._context.running
            phase = running.kind if running else "other"
            if any(not gather.complete for gather in self._gathers.values()):
                phase = "transfer"
        self._context.count(now, phase)

    def _choose_all(self) -> None:
        for gather in list(self._gathers.values()):
            self._fetcher.choose(gather)

    def _tick(self) -> None:
        if self._peers.tick():
            if self.record.noticed is None:
                self.record.noticed = self._context.now
            self._check_confirmations()
        self._announce_placement()
        self._fetcher.drop_slow(self._gathers.values())
        self._choose_all()

    def _heartbeat_content(self, peer: Peer) -> Message:
        # Only what is new to the session, which loses nothing: the whole list with every block
        # would make the cost of a block grow with the number of blocks.
        stored = self._confirmations.of(self.index, start=peer.reported)
        peer.reported += len(stored)
        return {
            "plan": self.placement.plain() if self.placement and self.placement.epoch else None,
            "failed": self.error is not None,
            "stored": stored,
        }

    # Placement.

    def _announce_placement(self) -> None:
        if self.placement is not None or self._context.scenario.experiment != "reencode":
            return
        peers = self._peers.all
        living = [node for node in self._known if node == self.index or peers[node].alive]
        if len(living) == len(self._known) or living[0] != self.index or not self._manifests:
            return
        epoch = max(manifest.epoch for manifest in self._manifests) + 1
        members = tuple(living[: self._recoder.after.chunks])
        self._adopt(Placement(epoch, self.index, members))

    def _adopt(self, placement: Placement) -> None:
        previous = self.placement
        if previous is not None and placement.rank <= previous.rank:
            return
        members, limit = set(placement.members), self._recoder.after.chunks
        if not len(members) == len(placement.members) <= limit or not members <= {*self._known}:
            return  # unknown or duplicate members, or too many
        self.placement = placement
        # Confirmations count for one placement, also for one that another leader announced alike.
        for peer in self._peers.all.values():
            peer.reported = 0
        if previous is not None and previous.agrees(placement):
            return  # two nodes have announced the same
        if previous is not None:
            # Two leaders announced placements; chunks stored for the other one are replaced.
            for gather in self._gathers.values():
                self._fetcher.cancel_rest(gather)
            self._drop_gathers()
            self._confirmations = Confirmations()
            self.record.ended = None
        LOG.info("node %d: follows %s", self.index, placement)
        self._begin()
        self._peers.send_heartbeats()

    def _begin(self) -> None:
        assert self.placement is not None
        if self.record.begun is None:
            self.record.begun = self._context.now
        self._waiting.clear()
        if self.index not in self.placement.members:
            self.record.ended = self._context.now
            return
        self._waiting.extend(self._manifests)
        self._next_blocks()
        self._check_confirmations()

    def _next_blocks(self) -> None:
        assert self.placement is not None
        # Each block takes memory for both codes, so that their number is limited.
        while self._waiting and len(self._gathers) < self._context.scenario.blocks_at_once:
            gather = self._recoder.new_gather(self._waiting.popleft(), self.placement)
            self._gathers[gather.manifest.block_hash] = gather
            self._fetcher.read_own(gather)
            self._fetcher.choose(gather)

    def _finish_block(self, gather: Gather, stored: Manifest | None) -> None:
        block = gather.manifest.block_hash
        del self._gathers[block]
        gather.active = False
        begun = self.record.begun or 0.0
        self.record.arrivals += [at - begun for at in gather.arrivals]
        if stored is not None:
            self._confirmations.add(self.index, block, stored.digest)
        self._next_blocks()
        self._check_confirmations()
        # At once and not with the next heartbeat, because other nodes wait for the confirmation.
        if stored is not None:
            self._peers.send_heartbeats()

    def _drop_gathers(self) -> None:
        for gather in self._gathers.values():
            gather.active = False
        self._gathers.clear()

    def _note_stored(self, peer: Peer, message: Message) -> None:
        # Confirmations of another placement do not count.
        if self.placement is None or message["plan"] != self.placement.plain():
            return
        # Only known blocks and digests of the right length, so that a peer cannot fill the memory.
        for block, digest in message["stored"].items():
            if block in self._blocks and isinstance(digest, str) and len(digest) == DIGEST_DIGITS:
                self._confirmations.add(peer.index, block, digest)
        self._check_confirmations()

    def _check_confirmations(self) -> None:
        """Finish once all live members have confirmed; delete old chunks if all members have."""
        placement = self.placement
        if placement is None or self.done or self._gathers or self._waiting:
            return
        if self._context.scenario.experiment == "exchange":
            self.record.ended = self._context.now
            return
        others = [index for index in placement.members if index != self.index]
        # Dead and failed members will not confirm; the old chunks are kept for them.
        peers = self._peers.all
        awaited = [index for index in others if peers[index].alive and not peers[index].failed]
        if not self._confirmations.agree(self.index, awaited, self._blocks):
            return
        self.record.ended = self._context.now
        if self._confirmations.agree(self.index, others, self._blocks):
            for manifest in self._manifests:
                if manifest.epoch < placement.epoch:
                    self._context.store.remove(manifest.block_hash, manifest.epoch)
            self._server.cache.clear()

    def _fail(self, error: PqchainError) -> None:
        # The node continues to serve chunks.
        if self.error is None:
            LOG.warning("node %d: %s", self.index, error)
            self.error = error
        self._drop_gathers()
        self._waiting.clear()

    # Received data.

    def _received(self, event: Received | Filled) -> None:
        if (peer := self._peers.by_session.get(event.session)) is None:
            return
        self._peers.record_data(peer)
        key = (event.session, event.channel)
        reader = self._peers.readers.get(key)
        own_sessions = peer.session, self._fetcher.sources[peer.index].session
        if reader is None and event.session in own_sessions:
            return  # late data of a stopped channel
        try:
            reader = reader or self._peers.accept(key)
            if isinstance(event, Filled):
                self._fetcher.chunk_bytes(key, reader.filled(event.count))
            else:
                for item in reader.feed(event.data):
                    if isinstance(item, int):
                        self._fetcher.chunk_bytes(key, item)
                    else:
                        self._message(peer, key, reader, item)
                if reader.partial_bytes > _LARGE_PART and (
                    self._peers.partial_bytes(peer) > MAX_PARTIAL_BYTES
                ):
                    raise DataError(f"incomplete messages exceed {MAX_PARTIAL_BYTES} bytes")
            if reader.left and not reader.registered:
                reader.registered = True
                receive_into = self._context.transport.receive_into
                receive_into(*key, reader.memory, reader.free, offset=reader.offset)
        except _MALFORMED as error:
            LOG.warning(
                "node %d: node %d violates the protocol: %.200s", self.index, peer.index, error
            )
            self._context.transport.close(
                event.session, "protocol violation", now=self._context.now
            )
            self._closed(event.session, "protocol violation")
            return
        if event.end and key not in self._fetcher.requests:
            self._peers.ended(key)

    def _message(self, peer: Peer, key: Key, reader: MessageParser, message: Message) -> None:
        kind = message["type"]
        if kind == "beat":
            self._peers.handle_heartbeat(peer, key, message)
            if message["plan"] is not None:
                self._adopt(typed(message["plan"], Placement, "the placement"))
            self._note_stored(peer, message)
        elif kind == "echo":
            self._peers.handle_echo(peer, message)
        elif kind == "get":
            if reader.is_answered:
                raise DataError("a multiplexed channel must carry only one request")
            reader.is_answered = self._server.ends
            block, epoch, index = message["block"], message["epoch"], message["index"]
            self._server.serve(peer.index, key, str(block), int(epoch), int(index))
        elif kind in ("chunk", "none"):
            self._fetcher.announced(peer, key, reader, message)
        else:
            raise DataError(f"unknown message type {kind!r}")

    def _closed(self, session: int, reason: str) -> None:
        peer = self._peers.closed(session)
        if peer is not None:
            LOG.info("node %d: session with %d closed: %s", self.index, peer.index, reason)
            self._choose_all()


def build(
    index: int, transport: Transport, folder: Path, *, scenario: ReplayScenario
) -> ReencodingNode:
    """Create a node for a driver."""
    return ReencodingNode(index, scenario, ChunkStore(folder), transport)
