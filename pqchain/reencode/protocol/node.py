"""A node, without sockets, threads or clock: events and the time in, messages and tasks out.

It watches the others by heartbeats. When one is dead, the living one with the lowest number
announces a plan, everyone passes it on, gathers any k chunks of each block, decodes, verifies,
encodes with the new code, stores its own new chunk and says so. Old chunks are dropped only when
every node of the plan has confirmed the same manifest.

Peers have proven who they are; their word on the membership is taken. Their bytes are not: every
chunk and every block is checked against its hash.

This module knows the plan and the order of things. Its parts know the rest: `peers` who lives,
`fetching` whom to ask, `recoding` what to compute, `serving` what to give, `work` where time goes.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.fetching import Fetcher, Gathers
from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.protocol.peers import Peer, Peers
from pqchain.reencode.protocol.plan import Confirmations, Plan
from pqchain.reencode.protocol.recoding import Recoder
from pqchain.reencode.protocol.serving import Server
from pqchain.reencode.protocol.work import PHASES, Record, Task, Work
from pqchain.reencode.scenario import Scenario
from pqchain.reencode.storage.store import ChunkStore, Manifest
from pqchain.wire.messages import Message, Reader
from pqchain.wire.session import Event, Key, Opened, Received, Transport

__all__ = ["PHASES", "Node", "Record", "Task"]

LOG = logging.getLogger("pqchain.reencode")


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
        self._scenario = scenario
        self._store = chunks
        self._transport = transport
        self._manifests = chunks.manifests()
        self._plan: Plan | None = None
        self._waiting: deque[Manifest] = deque()
        self._gathers: Gathers = {}
        self._confirmations = Confirmations()
        self._work = Work(self.record)
        self._peers = Peers(
            index, scenario, transport, news=self._news,
            forget=lambda peer, session: self._fetcher.forget(peer, session),
        )  # fmt: skip
        self._fetcher = Fetcher(
            index, scenario, self._peers, transport, self._work, self.record, self._gathers,
            advance=self._advance, fail=self._fail,
        )  # fmt: skip
        self._recoder = Recoder(
            index, scenario, chunks, self._work, self.record, self._gathers,
            cancel_rest=self._fetcher.cancel_rest, unreadable=self._fetcher.choose,
            left=self._left, fail=self._fail,
        )  # fmt: skip
        self._server = Server(
            index, chunks, self._manifests, transport, self._work,
            ends=scenario.streams == "multiplexed", corrupt=corrupt, stall=stall,
        )  # fmt: skip

    # What the driver calls.

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
        self._settle()

    def handle(self, event: Event, now: float) -> None:
        """Take in what the transport tells."""
        self._work.count(now)
        if isinstance(event, Received):
            self._received(event, now)
        elif isinstance(event, Opened):
            peer = self._peers.opened(event, now)
            if event.dialled:
                self._fetcher.opened(event, peer, now)
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
        due = self._peers.next_beat
        if due is not None and now >= due:
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
        task = self._work.finished(now)
        if not isinstance(outcome, PqchainError):
            task.then(outcome, now)
        elif task.otherwise is not None:
            task.otherwise(outcome, now)
        else:
            self._fail(outcome)
        self._settle()

    # What happens on its own.

    def _settle(self) -> None:
        """Note what the node does from here on."""
        running = self._work.running
        if self.record.begun is None or self.done:
            self._work.enter(None)
        elif any(not each.complete for each in self._gathers.values()):
            self._work.enter("transfer")
        else:
            self._work.enter(running.kind if running is not None else "other")

    def _tick(self, now: float) -> None:
        """Do what is due at every heartbeat."""
        buried = self._peers.tick(now)
        if buried:
            if self.record.noticed is None:
                self.record.noticed = now
            self._confirmed(now)
        self._lead(now)
        self._fetcher.drop_slow(now)
        self._fetcher.choose_all(now)

    def _news(self) -> Message:
        """Return what we plan, whether we have failed, what we have stored, for the heartbeats."""
        return {
            "plan": self._plan.plain() if self._plan is not None and self._plan.epoch else None,
            "failed": self.error is not None,
            "stored": self._confirmations.of(self.index),
        }

    # The plan.

    def _lead(self, now: float) -> None:
        """Announce a plan if a node is dead and this is the lowest that lives."""
        if self._plan is not None or self._scenario.experiment != "reencode":
            return
        dead = self._peers.dead
        living = [index for index in range(self._scenario.nodes) if index not in dead]
        if not dead or living[0] != self.index or not self._manifests:
            return
        epoch = max(manifest.epoch for manifest in self._manifests) + 1
        members = tuple(living[: self._recoder.after.chunks])
        self._adopt(Plan(epoch, self.index, members), now)

    def _adopt(self, plan: Plan, now: float) -> None:
        """Follow a plan unless a better one is known, and pass it on."""
        if self._plan is not None and plan.rank <= self._plan.rank:
            return
        known = range(self._scenario.nodes)
        if len(plan.members) > self._recoder.after.chunks or not plan.is_among(known):
            return
        before, self._plan = self._plan, plan
        if before is not None and before.agrees(plan):
            return  # two nodes have found the same
        if before is not None:
            # Two leaders did not hear each other. What was stored for the other plan is replaced.
            for gather in self._gathers.values():
                self._fetcher.cancel_rest(gather)
            self._gathers.clear()
            self._confirmations.clear()
            self.record.ended = None
        LOG.info("node %d: follows %s", self.index, plan)
        self._begin(now)
        self._peers.beat_all(now)

    def _begin(self, now: float) -> None:
        """Start with the blocks, if the node has a place in the plan."""
        assert self._plan is not None
        if self.record.begun is None:
            self.record.begun = now
            self._work.count(now)
        self._waiting.clear()
        if self.index not in self._plan.members:
            self.record.ended = now
            return
        for manifest in self._manifests:
            if manifest.epoch >= self._plan.epoch and self._plan.epoch:
                # Stored before a restart.
                self._confirmations.add(self.index, manifest.block_hash, manifest.digest)
            else:
                self._waiting.append(manifest)
        self._next_blocks(now)
        self._confirmed(now)

    def _next_blocks(self, now: float) -> None:
        """Begin with as many blocks as may be under way."""
        assert self._plan is not None
        while self._waiting and len(self._gathers) < self._scenario.blocks_at_once:
            gather = self._recoder.new_gather(self._waiting.popleft())
            self._gathers[gather.manifest.block_hash] = gather
            self._recoder.read_own(gather, self._plan)
            self._fetcher.choose(gather, now)

    def _advance(self, gather: Gather, now: float) -> None:
        """Do the next step of a block."""
        assert self._plan is not None
        self._recoder.advance(gather, self._plan, now)

    def _left(self, gather: Gather, stored: Manifest | None, now: float) -> None:
        """Be done with a block, say so if something was stored, and go on to the next."""
        block = gather.manifest.block_hash
        del self._gathers[block]
        begun = self.record.begun or 0.0
        self.record.arrivals += [at - begun for at in gather.arrivals]
        if stored is not None:
            self._confirmations.add(self.index, block, stored.digest)
        self._next_blocks(now)
        self._confirmed(now)
        if stored is not None:
            self._peers.beat_all(now)

    def _told(self, peer: Peer, message: Message, now: float) -> None:
        """Note what a peer has stored, if it follows the same plan."""
        if self._plan is None or message["plan"] != self._plan.plain():
            return
        for block, digest in message["stored"].items():
            self._confirmations.add(peer.index, str(block), str(digest))
        self._confirmed(now)

    def _confirmed(self, now: float) -> None:
        """See whether everyone who lives has confirmed, and drop the old if really everyone has."""
        plan = self._plan
        if plan is None or self.done or self._gathers or self._waiting:
            return
        if self._scenario.experiment == "exchange":
            self.record.ended = now
            return
        blocks = {manifest.block_hash for manifest in self._manifests}
        others = [index for index in plan.members if index != self.index]
        # The dead and those who have given up will not confirm; the old chunks are kept for them.
        peers = self._peers.all
        awaited = [index for index in others if peers[index].alive and not peers[index].failed]
        if not self._confirmations.agree(self.index, awaited, blocks):
            return
        self._work.count(now)
        self.record.ended = now
        if self._confirmations.agree(self.index, others, blocks):
            for manifest in self._manifests:
                if manifest.epoch < plan.epoch:
                    self._store.remove(manifest.block_hash, manifest.epoch)
            self._server.forget()

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
        peer = self._peers.of(event.session)
        if peer is None:
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
                    self._fetcher.chunk_bytes(peer, key, item, now)
                else:
                    self._message(peer, key, reader, item, now)
        except (
            DataError,
            AttributeError,
            LookupError,
            ArithmeticError,
            TypeError,
            ValueError,
        ) as error:
            LOG.warning("node %d: node %d broke the protocol: %s", self.index, peer.index, error)
            self._transport.close(event.session, "protocol broken", now=now)
            self._closed(event.session, "protocol broken", now)
            return
        if event.end and not self._fetcher.awaits(key):
            self._peers.readers.pop(key, None)

    def _message(self, peer: Peer, key: Key, reader: Reader, message: Message, now: float) -> None:
        """Act on a message."""
        kind = message["type"]
        if kind == "beat":
            self._peers.beaten(peer, key, message, now)
            if message["plan"] is not None:
                self._adopt(Plan.from_plain(message["plan"]), now)
            self._told(peer, message, now)
        elif kind == "echo":
            self._peers.echoed(peer, message, now)
        elif kind == "get":
            self._server.serve(
                key, str(message["block"]), int(message["epoch"]), int(message["index"])
            )
        elif kind in ("chunk", "none"):
            self._fetcher.announced(peer, key, reader, message, now)
        else:
            raise DataError(f"unknown message {kind!r}")

    def _closed(self, session: int, reason: str, now: float) -> None:
        """Forget a session and what was awaited on it."""
        peer = self._peers.closed(session)
        if peer is not None:
            LOG.info("node %d: session with %d closed: %s", self.index, peer.index, reason)
            self._fetcher.choose_all(now)
