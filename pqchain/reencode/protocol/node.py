"""A node, without sockets, threads or clock: events and the time in, messages and tasks out.

It watches the others by heartbeats. When one is dead, the living one with the lowest number
announces a placement, everyone passes it on, gathers any k chunks of each block, decodes, verifies,
encodes with the new code, stores its own new chunk and says so. Old chunks are dropped only when
every member of the placement has confirmed the same manifest.

Peers have proven who they are; their word on the membership is taken. Their bytes are not: every
chunk and every block is checked against its hash.

The node knows the placement and the order of things. Its parts return the steps that it takes:
`peers` knows who lives, `fetching` whom to ask, `recoding` what to compute, `serving` what to give.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.fetching import Fetcher
from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.protocol.peers import Peer, Peers
from pqchain.reencode.protocol.placement import Confirmations, Placement
from pqchain.reencode.protocol.recoding import Recoder
from pqchain.reencode.protocol.serving import Server
from pqchain.reencode.protocol.steps import Choose, Fail, Leave, Step
from pqchain.reencode.protocol.work import Record, Shared, Work
from pqchain.reencode.scenario import Scenario, from_plain
from pqchain.reencode.storage.store import ChunkStore, Manifest
from pqchain.wire.messages import Message, Reader
from pqchain.wire.session import Event, Key, Opened, Received, Task, Transport

LOG = logging.getLogger("pqchain.reencode")

_BROKEN = (DataError, AttributeError, LookupError, ArithmeticError, TypeError, ValueError)
"""What a message raises that does not keep the protocol."""


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
        self.record = Record()
        self.error: PqchainError | None = None
        self.placement: Placement | None = None
        """The one that the node follows."""
        self._scenario = scenario
        self._store = chunks
        self._transport = transport
        self._manifests = chunks.manifests()
        self._known = range(scenario.nodes)
        self._waiting: deque[Manifest] = deque()
        self._gathers: dict[str, Gather] = {}
        """The blocks under way, by their hash."""
        self._confirmations = Confirmations()
        self._work = Work(self.record)
        shared = Shared(index, scenario, chunks, transport, self.record, self._work)
        self._peers = Peers(shared)
        self._fetcher = Fetcher(shared, self._peers)
        self._recoder = Recoder(shared)
        self._server = Server(shared, self._manifests, misbehaves)

    def start(self, now: float) -> None:
        """Dial everyone and begin to listen."""
        self._work.count(now)
        self._peers.start(now)
        self._tick(now)

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
        self.placement = Placement(0, 0, tuple(range(self._scenario.nodes)))
        self._begin(now)
        self._settle()

    def handle(self, event: Event, now: float) -> None:
        """Take in what the transport tells."""
        self._work.count(now)
        if isinstance(event, Received):
            self._received(event, now)
        elif isinstance(event, Opened):
            peer = self._peers.opened(event, self._news(), now)
            if event.dialled:
                self._fetcher.opened(event, peer, now)
                self._choose_all(now)
            else:
                self.record.early_sessions += event.early
        else:
            self._closed(event.session, event.reason, now)
        self._settle()

    def timer(self) -> float | None:
        """Return when `handle_timer` wants to be called."""
        return self._peers.next_beat

    def handle_timer(self, now: float) -> None:
        """Send heartbeats, look for the dead and the slow."""
        self._work.count(now)
        if self._peers.next_beat is not None and now >= self._peers.next_beat:
            self._tick(now)
        self._settle()

    def poll(self) -> Task | None:
        """Return the next task; there is one at a time."""
        return self._work.poll()

    def started(self, now: float) -> None:
        """Note that the task from `poll` begins."""
        self._work.count(now)
        self._work.started(now)
        self._settle()

    def finished(self, outcome: Any, now: float) -> None:
        """Take the result of the task, or the PqchainError that it raised."""
        self._work.count(now)
        item = self._work.finished(now)
        if isinstance(outcome, PqchainError):
            self._take(item.otherwise(outcome) if item.otherwise else Fail(outcome), now)
        else:
            self._take(item.then(outcome), now)
        self._settle()

    # What its parts want next.

    def _take(self, step: Step | None, now: float) -> None:
        """Do what a part wants, unless it is for a block that is no longer wanted."""
        if isinstance(step, Fail):
            self._fail(step.error)
        elif step is None or not step.gather.wanted:
            return
        elif isinstance(step, Choose):
            self._take(self._fetcher.choose(step.gather, now), now)
        elif isinstance(step, Leave):
            self._leave(step.gather, step.stored, now)
        elif not step.gather.whole:
            if step.gather.enough:
                self._fetcher.cancel_rest(step.gather)
            self._take(self._recoder.advance(step.gather), now)

    def _choose_all(self, now: float) -> None:
        for gather in list(self._gathers.values()):
            self._take(Choose(gather), now)

    def _forget_lost(self) -> None:
        for peer, session in self._peers.lost():
            self._fetcher.forget(peer, session)

    def _settle(self) -> None:
        if self.record.begun is None or self.done:
            self._work.phase = None
        elif any(not each.complete for each in self._gathers.values()):
            self._work.phase = "transfer"
        else:
            self._work.phase = self._work.running.kind if self._work.running else "other"

    def _tick(self, now: float) -> None:
        buried = self._peers.tick(self._news(), now)
        self._forget_lost()
        if buried:
            if self.record.noticed is None:
                self.record.noticed = now
            self._confirmed(now)
        self._lead(now)
        self._fetcher.drop_slow(self._gathers.values(), now)
        self._choose_all(now)

    def _news(self) -> Message:
        """Return what we plan, whether we have failed, what we have stored, for the heartbeats."""
        return {
            "plan": self.placement.plain() if self.placement and self.placement.epoch else None,
            "failed": self.error is not None,
            "stored": self._confirmations.of(self.index),
        }

    # The placement.

    def _lead(self, now: float) -> None:
        """Announce a placement if a node is dead and this is the lowest that lives."""
        if self.placement is not None or self._scenario.experiment != "reencode":
            return
        living = [at for at in self._known if at == self.index or self._peers.all[at].alive]
        everyone = len(living) == len(self._known)
        if everyone or living[0] != self.index or not self._manifests:
            return
        epoch = max(manifest.epoch for manifest in self._manifests) + 1
        members = tuple(living[: self._recoder.after.chunks])
        self._adopt(Placement(epoch, self.index, members), now)

    def _adopt(self, placement: Placement, now: float) -> None:
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
        self._begin(now)
        self._peers.beat_all(self._news(), now)

    def _begin(self, now: float) -> None:
        assert self.placement is not None
        members, epoch = self.placement.members, self.placement.epoch
        if self.record.begun is None:
            self.record.begun = now
            self._work.count(now)
        self._waiting.clear()
        if self.index not in members:
            self.record.ended = now
            return
        for manifest in self._manifests:
            if epoch and manifest.epoch >= epoch:  # stored before a restart
                self._confirmations.add(self.index, manifest.block_hash, manifest.digest)
            else:
                self._waiting.append(manifest)
        self._next_blocks(now)
        self._confirmed(now)

    def _next_blocks(self, now: float) -> None:
        assert self.placement is not None
        while self._waiting and len(self._gathers) < self._scenario.blocks_at_once:
            gather = self._recoder.new_gather(self._waiting.popleft(), self.placement)
            self._gathers[gather.manifest.block_hash] = gather
            self._recoder.read_own(gather)
            self._take(Choose(gather), now)

    def _leave(self, gather: Gather, stored: Manifest | None, now: float) -> None:
        """Be done with a block, say so if something was stored, and go on to the next."""
        block = gather.manifest.block_hash
        del self._gathers[block]
        gather.wanted = False
        begun = self.record.begun or 0.0
        self.record.arrivals += [at - begun for at in gather.arrivals]
        if stored is not None:
            self._confirmations.add(self.index, block, stored.digest)
        self._next_blocks(now)
        self._confirmed(now)
        if stored is not None:
            self._peers.beat_all(self._news(), now)

    def _drop_gathers(self) -> None:
        for gather in self._gathers.values():
            gather.wanted = False
        self._gathers.clear()

    def _note_stored(self, peer: Peer, message: Message, now: float) -> None:
        if self.placement is None or message["plan"] != self.placement.plain():
            return
        for block, digest in message["stored"].items():
            self._confirmations.add(peer.index, str(block), str(digest))
        self._confirmed(now)

    def _confirmed(self, now: float) -> None:
        """See whether everyone who lives has confirmed, and drop the old if really everyone has."""
        placement = self.placement
        if placement is None or self.done or self._gathers or self._waiting:
            return
        if self._scenario.experiment == "exchange":
            self.record.ended = now
            return
        blocks = {manifest.block_hash for manifest in self._manifests}
        others = [index for index in placement.members if index != self.index]
        # The dead and those who have given up will not confirm; the old chunks are kept for them.
        peers = self._peers.all
        awaited = [index for index in others if peers[index].alive and not peers[index].failed]
        if not self._confirmations.agree(self.index, awaited, blocks):
            return
        self._work.count(now)
        self.record.ended = now
        if self._confirmations.agree(self.index, others, blocks):
            for manifest in self._manifests:
                if manifest.epoch < placement.epoch:
                    self._store.remove(manifest.block_hash, manifest.epoch)
            self._server.forget()

    def _fail(self, error: PqchainError) -> None:
        """End the node's own work; it goes on serving others."""
        if self.error is None:
            LOG.warning("node %d: %s", self.index, error)
            self.error = error
        self._drop_gathers()
        self._waiting.clear()

    # What comes in.

    def _received(self, event: Received, now: float) -> None:
        if (peer := self._peers.by_session.get(event.session)) is None:
            return
        self._peers.heard(peer, now)
        key = (event.session, event.channel)
        reader = self._peers.readers.get(key)
        if reader is None:
            if event.session == peer.session or self._fetcher.asks_on(peer, event.session):
                return  # of a channel that we have stopped
            reader = self._peers.readers[key] = Reader()
        try:
            for item in reader.feed(event.data):
                if isinstance(item, int):
                    self._take(self._fetcher.chunk_bytes(peer, key, item, now), now)
                else:
                    self._message(peer, key, reader, item, now)
        except _BROKEN as error:
            LOG.warning("node %d: node %d broke the protocol: %s", self.index, peer.index, error)
            self._transport.close(event.session, "protocol broken", now=now)
            self._closed(event.session, "protocol broken", now)
            return
        if event.end and key not in self._fetcher.fetching:
            self._peers.readers.pop(key, None)

    def _message(self, peer: Peer, key: Key, reader: Reader, message: Message, now: float) -> None:
        kind = message["type"]
        if kind == "beat":
            self._peers.beaten(peer, key, message, now)
            self._forget_lost()
            if message["plan"] is not None:
                self._adopt(Placement.from_plain(message["plan"]), now)
            self._note_stored(peer, message, now)
        elif kind == "echo":
            self._peers.echoed(peer, message, now)
        elif kind == "get":
            block, epoch, index = message["block"], message["epoch"], message["index"]
            self._server.serve(key, str(block), int(epoch), int(index))
        elif kind in ("chunk", "none"):
            self._take(self._fetcher.announced(peer, key, reader, message), now)
        else:
            raise DataError(f"unknown message {kind!r}")

    def _closed(self, session: int, reason: str, now: float) -> None:
        peer = self._peers.closed(session)
        self._forget_lost()
        if peer is not None:
            LOG.info("node %d: session with %d closed: %s", self.index, peer.index, reason)
            self._choose_all(now)


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
