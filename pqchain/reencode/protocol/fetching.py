"""Chunks from others: whom to ask, on which channel, what becomes of the answer.

Knows peers, sessions and the memory of the block at hand (`Gather`). Trusts no peer: every chunk is
hashed before it counts, and who sends a damaged one, none, or stalls thrice is not asked for it
again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pqchain.errors import ChunksLost, DataError, PqchainError
from pqchain.reencode.protocol.gather import Fetch, Gather
from pqchain.reencode.protocol.peers import Peer, Peers
from pqchain.reencode.protocol.steps import Advance, Choose, Fail, Step
from pqchain.reencode.protocol.work import Item, Shared
from pqchain.reencode.storage import store
from pqchain.wire.messages import Message, Reader, pack
from pqchain.wire.session import Key, Opened

LOG = logging.getLogger("pqchain.reencode")

_CHANCES = 3
"""How often a source may stall before it counts as having nothing."""

_Wish = tuple[Gather, Fetch]


@dataclass(slots=True, eq=False)
class _Source:
    """What chunks of one peer come over."""

    session: int = 0
    dialling: int = 0
    channel: int = 0
    """The one channel for all chunks, where streams are single."""
    reader: Reader | None = None
    line: deque[_Wish] = field(default_factory=deque)
    """What was asked on that channel and has not come yet, in order."""
    waiting: list[_Wish] = field(default_factory=list)
    """What will be asked when the session is open."""


class Fetcher:
    """Asks for chunks and takes them in."""

    def __init__(self, shared: Shared, peers: Peers) -> None:
        self._index, self._scenario, self._record = shared.index, shared.scenario, shared.record
        self._work, self._transport = shared.work, shared.transport
        self._exchange = self._scenario.experiment == "exchange"
        self._peers = peers
        self.fetching: dict[Key, _Wish] = {}
        """What comes on a channel of its own."""
        others = set(range(self._scenario.nodes)) - {self._index}
        self._sources = {peer: _Source() for peer in others}

    # Whom to ask.

    def choose(self, gather: Gather, now: float) -> Step | None:
        """Ask as many sources as are needed and not yet asked."""
        manifest = gather.manifest
        if self._exchange:
            gather.needed = max(manifest.data_chunks, self._left(gather))
        if gather.whole:
            return None
        if gather.enough:
            return Advance(gather)
        under_way = len(gather.verified) + len(gather.fetches) + gather.own_asked
        missing = max(gather.needed - under_way, 0)
        candidates = self._candidates(gather, missing)
        everything = self._scenario.sources == "all" or self._exchange
        chosen = candidates if everything else candidates[:missing]
        for peer, index in chosen:
            fetch = Fetch(index, peer.index, heard=now)
            gather.fetches[index] = fetch
            self._ask(peer, gather, fetch, now)
        if under_way + len(chosen) >= manifest.data_chunks:
            gather.stuck_since = None
        elif gather.stuck_since is None:
            gather.stuck_since = now
        elif now - gather.stuck_since > self._scenario.give_up_seconds:
            return Fail(self._lost(gather))
        return None

    def _candidates(self, gather: Gather, missing: int) -> list[tuple[Peer, int]]:
        """Return who can be asked for which chunk, the best first."""
        candidates = [
            (peer, index)
            for index, holder in enumerate(gather.manifest.members)
            if holder != self._index
            and index not in gather.verified
            and index not in gather.fetches
            and holder not in gather.corrupt
            and (peer := self._peers.all[holder]).alive
            and peer.session
        ]
        fresh = [each for each in candidates if each[0].index not in gather.slow]
        if len(fresh) < missing:
            # Better a slow source than none; and it gets another chance.
            gather.slow.clear()
            fresh = candidates
        return sorted(fresh, key=lambda each: self._preference(each[0]))

    def _left(self, gather: Gather) -> int:
        """Return how many chunks of a block there are still to be had, our own included."""
        alive = {peer.index for peer in self._peers.all.values() if peer.alive}
        good = {self._index, *alive} - gather.corrupt
        members = enumerate(gather.manifest.members)
        return sum(index in gather.verified or holder in good for index, holder in members)

    def _preference(self, peer: Peer) -> tuple[float, int]:
        """Return the key by which sources are chosen, the lowest first.

        Equals are taken around the ring, so that every node serves about as much as it asks.
        """
        distance = (peer.index - self._index) % self._scenario.nodes
        if self._scenario.sources == "nearest":
            return peer.round_trip, distance
        return float(peer.queued), distance

    def _lost(self, gather: Gather) -> ChunksLost:
        manifest = gather.manifest
        reachable = {*gather.verified, *gather.fetches}
        missing = [
            f"{index} (node {holder})"
            for index, holder in enumerate(manifest.members)
            if index not in reachable
        ]
        return ChunksLost(
            f"block {manifest.block_hash[:16]}: {len(reachable)} chunks are within reach of "
            f"node {self._index}, {manifest.data_chunks} are needed; missing: chunk "
            f"{', '.join(missing)}. What is stored was not touched; "
            "bring one of these nodes back and start again"
        )

    # How to ask.

    def opened(self, event: Opened, peer: Peer, now: float) -> None:
        """Make use of a session that we dialled."""
        source = self._sources[peer.index]
        if event.session == source.dialling:
            source.session, source.dialling = event.session, 0
        elif event.session == peer.session and self._scenario.sessions == "kept":
            source.session = peer.session
        waiting, source.waiting = source.waiting, []
        for gather, fetch in waiting:
            self._ask(peer, gather, fetch, now)

    def _ask(self, peer: Peer, gather: Gather, fetch: Fetch, now: float) -> None:
        """Send the request for a chunk, on a fresh session if the scenario says so."""
        source, readers = self._sources[peer.index], self._peers.readers
        if not source.session:
            source.waiting.append((gather, fetch))
            if not source.dialling and self._scenario.sessions != "kept":
                early = self._scenario.sessions == "0-rtt"
                source.dialling = self._peers.dial(peer, early=early, now=now)
            return
        fetch.heard = now
        fetch.session = source.session
        block, epoch = gather.manifest.block_hash, gather.manifest.epoch
        request = pack({"type": "get", "block": block, "epoch": epoch, "index": fetch.index})
        if self._scenario.streams == "multiplexed":
            fetch.channel = self._transport.open(fetch.session)
            self.fetching[fetch.session, fetch.channel] = (gather, fetch)
            readers[fetch.session, fetch.channel] = Reader()
            self._transport.send(fetch.session, fetch.channel, request, end=True)
            return
        if source.reader is None:
            source.channel = self._transport.open(fetch.session)
            source.reader = readers[fetch.session, source.channel] = Reader()
        fetch.channel = source.channel
        source.line.append((gather, fetch))
        self._transport.send(fetch.session, fetch.channel, request)

    def asks_on(self, peer: Peer, session: int) -> bool:
        """Return whether we ask the peer on that session."""
        return session == self._sources[peer.index].session

    # When to stop.

    def forget(self, peer: Peer, session: int) -> None:
        """Count no more on what was to come over a session that is over."""
        for key in [key for key in self.fetching if key[0] == session]:
            self._abandon(*self.fetching.pop(key))
        source = self._sources[peer.index]
        if session in (source.session, source.dialling):
            for gather, fetch in [*source.waiting, *source.line]:
                self._abandon(gather, fetch)
            self._sources[peer.index] = _Source()

    def _abandon(self, gather: Gather, fetch: Fetch) -> None:
        if gather.is_current(fetch) and not fetch.complete:
            del gather.fetches[fetch.index]
            self._record.wasted_bytes += fetch.received

    def cancel_rest(self, gather: Gather) -> None:
        """Want no more of what has not come yet."""
        for fetch in list(gather.fetches.values()):
            if not fetch.complete:
                self._cancel(gather, fetch)

    def _cancel(self, gather: Gather, fetch: Fetch) -> None:
        """Tell the source that we want no more of it; what still comes is thrown away."""
        self._abandon(gather, fetch)
        if fetch.reader is not None:
            fetch.reader.forget()
        key = (fetch.session, fetch.channel)
        if self.fetching.pop(key, None) is not None:
            self._peers.readers.pop(key, None)
            self._transport.stop(*key)

    def drop_slow(self, gathers: Iterable[Gather], now: float) -> None:
        """Give up sources that have sent nothing for too long."""
        for gather in gathers:
            for fetch in list(gather.fetches.values()):
                source = self._sources[fetch.peer]
                line = [each for _, each in source.line]
                if fetch in line[1:]:
                    fetch.heard = now  # only the first in line can be expected to send
                elif now - fetch.heard > self._scenario.stall_seconds and not fetch.complete:
                    LOG.info("node %d: node %d stalls", self._index, fetch.peer)
                    gather.stalls[fetch.peer] += 1
                    if gather.stalls[fetch.peer] >= _CHANCES:
                        gather.corrupt.add(fetch.peer)
                    gather.slow.add(fetch.peer)
                    self._cancel(gather, fetch)
                    if fetch in line:
                        self._leave_channel(fetch.peer, source)

    def _leave_channel(self, peer: int, source: _Source) -> None:
        """Ask on another channel from now on: behind a stalled answer no other can come."""
        key = (source.session, source.channel)
        self._peers.readers.pop(key, None)
        self._transport.stop(*key)
        for gather, fetch in source.line:
            gather.slow.add(peer)
            self._abandon(gather, fetch)
        source.line.clear()
        source.channel, source.reader = 0, None

    # What comes.

    def announced(self, peer: Peer, key: Key, reader: Reader, message: Message) -> Step | None:
        """Make ready for the chunk that follows, or do without it. Raises DataError."""
        if (awaited := self._awaited(peer, key)) is None:
            raise DataError("an answer without a question")
        gather, fetch = awaited
        count = int(message.get("bytes", 0))
        if message["type"] == "none":
            gather.corrupt.add(peer.index)
            self._abandon(gather, fetch)
            self._next_in_line(peer, key)
            return Choose(gather)
        if count != gather.manifest.chunk_bytes:
            gather.corrupt.add(peer.index)
            raise DataError(f"a chunk of {count} bytes instead of {gather.manifest.chunk_bytes}")
        fetch.reader = reader
        reader.expect(count, gather.row(fetch.index).data if gather.is_current(fetch) else None)
        return None

    def chunk_bytes(self, peer: Peer, key: Key, count: int, now: float) -> Step | None:
        """Count bytes of a chunk that are in their place."""
        if (awaited := self._awaited(peer, key)) is None:
            self._record.wasted_bytes += count
            return None
        gather, fetch = awaited
        fetch.received += count
        fetch.heard = now
        if current := gather.is_current(fetch):
            self._record.received_bytes += count
        else:
            self._record.wasted_bytes += count
        if fetch.received == gather.manifest.chunk_bytes:
            self._next_in_line(peer, key)
            if current:
                fetch.complete = True
                gather.arrivals.append(now)
                self._check(gather, fetch)
        elif current and self._scenario.overlap:
            return Advance(gather)
        return None

    def _awaited(self, peer: Peer, key: Key) -> _Wish | None:
        if key in self.fetching:
            return self.fetching[key]
        source = self._sources[peer.index]
        first = source.line and key == (source.session, source.channel)
        return source.line[0] if first else None

    def _next_in_line(self, peer: Peer, key: Key) -> None:
        line = self._sources[peer.index].line
        if self.fetching.pop(key, None) is not None:
            self._peers.readers.pop(key, None)
        elif line:
            line.popleft()

    def _check(self, gather: Gather, fetch: Fetch) -> None:
        manifest, index = gather.manifest, fetch.index

        def check() -> None:
            store.check_chunk(manifest, index, gather.row(index).data)

        def then(_: Any) -> Step:
            gather.fetches.pop(index, None)
            gather.verified.add(index)
            return Advance(gather)

        def otherwise(error: PqchainError) -> Step:
            LOG.warning("node %d: node %d sent it: %s", self._index, fetch.peer, error)
            gather.fetches.pop(index, None)
            gather.corrupt.add(fetch.peer)
            self._record.wasted_bytes += manifest.chunk_bytes
            return Choose(gather)

        self._work.add(Item("other", manifest.chunk_bytes, check, then, otherwise))
