"""Client side of chunk transfer: choice of sources, requests, and verification of answers.

It uses peers, sessions, the store and the memory of a block (`Gather`). Peers are not trusted:
every chunk is hashed before it counts, and a source that sends a damaged chunk, has none, or stalls
three times is not asked for that block's chunk again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from pqchain.errors import ChunksLost, DataError, PqchainError
from pqchain.reencode.protocol.gather import Fetch, Gather, Recoder
from pqchain.reencode.protocol.messages import Message, Reader, pack
from pqchain.reencode.protocol.peers import Peer, Peers
from pqchain.reencode.protocol.work import Own, Tasks
from pqchain.reencode.storage import store
from pqchain.wire.node import Task
from pqchain.wire.session import Key, Opened

LOG = logging.getLogger("pqchain.reencode")

_CHANCES = 3
"""Number of stalls after which a source counts as having no chunk."""

_WINDOW_BYTES = 512 << 10
"""Size of the reused buffer for a chunk that is hashed on arrival and not kept."""

_Wish = tuple[Gather, Fetch]


@dataclass(slots=True, eq=False)
class _Source:
    """Channel state for chunks of one peer."""

    session: int = 0
    dialling: int = 0
    key: Key = (0, 0)
    """Session and channel of the last request."""
    waiting: list[_Wish] = field(default_factory=list)
    """Requests that are sent when the session is open."""


class Fetcher:
    """Requests chunks and receives them."""

    def __init__(
        self, own: Own, peers: Peers, recoder: Recoder, fail: Callable[[PqchainError], None]
    ) -> None:
        """Pass blocks to the recoder; call `fail` if too many chunks are lost."""
        self._own, self._peers, self._recoder, self._fail = own, peers, recoder, fail
        self._exchange = own.scenario.experiment == "exchange"
        self._single = own.scenario.streams == "single"
        self.lines: dict[Key, deque[_Wish]] = {}
        """Outstanding requests of each channel, in order; at most one if multiplexed."""
        others = set(range(own.scenario.nodes)) - {own.index}
        self._sources = {peer: _Source() for peer in others}

    # Choice of sources.

    def read_own(self, gather: Gather) -> None:
        """Read this node's own chunk into its row."""
        if held := self._own.store.held(gather.manifest):
            gather.own_asked = True
            self._own.add(self._reading(gather, held[0]))
        else:
            gather.corrupt.add(self._own.index)

    def _reading(self, gather: Gather, index: int) -> Tasks:
        def read() -> None:
            chunk = self._own.store.get(gather.manifest, index)
            # An exchange keeps no chunks.
            if not self._exchange:
                gather.row(index)[:] = chunk

        try:
            yield Task("io", gather.manifest.chunk_bytes, read)
        except PqchainError as error:
            LOG.warning("node %d: %s", self._own.index, error)
            gather.own_asked = False
            gather.corrupt.add(self._own.index)
            self.choose(gather)
        else:
            gather.own_asked = False
            gather.verified.add(index)
            self.advance(gather)

    def advance(self, gather: Gather) -> None:
        """Advance a block after more of it has arrived."""
        if gather.wanted and not gather.whole:
            if gather.enough:
                self.cancel_rest(gather)
            self._recoder.advance(gather)

    def choose(self, gather: Gather) -> None:
        """Request as many chunks as are needed and not yet requested."""
        if not gather.wanted:
            return
        manifest, now = gather.manifest, self._own.now
        if self._exchange:
            # An exchange wants every chunk that can still be had; dead holders are not waited for.
            gather.needed = max(manifest.data_chunks, self._left(gather))
        if gather.whole or gather.enough:
            self.advance(gather)
            return
        under_way = len(gather.verified) + len(gather.fetches) + gather.own_asked
        missing = max(gather.needed - under_way, 0)
        candidates = self._candidates(gather, missing)
        everything = self._own.scenario.sources == "all" or self._exchange
        chosen = candidates if everything else candidates[:missing]
        for peer, index in chosen:
            fetch = gather.fetches[index] = Fetch(index, peer.index, heard=now)
            self._ask(peer, gather, fetch)
        # Sources may come back, so that the node waits `give_up_seconds` before it fails.
        if under_way + len(chosen) >= manifest.data_chunks:
            gather.stuck_since = None
        elif gather.stuck_since is None:
            gather.stuck_since = now
        elif now - gather.stuck_since > self._own.scenario.give_up_seconds:
            self._fail(self._lost(gather))

    def _candidates(self, gather: Gather, missing: int) -> list[tuple[Peer, int]]:
        """Return the available sources with their chunk's index, the best first."""
        candidates = [
            (peer, index)
            for index, holder in enumerate(gather.manifest.members)
            if holder != self._own.index
            and index not in gather.verified
            and index not in gather.fetches
            and holder not in gather.corrupt
            and (peer := self._peers.all[holder]).alive
            and peer.session
        ]
        fresh = [each for each in candidates if each[0].index not in gather.slow]
        if len(fresh) < missing:
            # Too few fast sources are left: use slow ones too, and clear their record.
            gather.slow.clear()
            fresh = candidates
        return sorted(fresh, key=lambda each: self._preference(each[0]))

    def _left(self, gather: Gather) -> int:
        """Return how many chunks of a block can still be obtained, this node's own included."""
        alive = {peer.index for peer in self._peers.all.values() if peer.alive}
        good = {self._own.index, *alive} - gather.corrupt
        members = enumerate(gather.manifest.members)
        return sum(index in gather.verified or holder in good for index, holder in members)

    def _preference(self, peer: Peer) -> tuple[float, int]:
        """Return the sort key of a source, the lowest first.

        Ties are resolved by distance on the ring, so that every node serves about as much as it
        requests.
        """
        distance = (peer.index - self._own.index) % self._own.scenario.nodes
        if self._own.scenario.sources == "nearest":
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
            f"node {self._own.index}, {manifest.data_chunks} are needed; missing: chunk "
            f"{', '.join(missing)}. What is stored was not touched; "
            "bring one of these nodes back and start again"
        )

    # Requests.

    def opened(self, event: Opened, peer: Peer) -> None:
        """Use a newly dialled session, and send the requests that waited for it."""
        source = self._sources[peer.index]
        if event.session == source.dialling:
            source.session, source.dialling = event.session, 0
        elif event.session == peer.session and self._own.scenario.sessions == "kept":
            source.session = peer.session
        waiting, source.waiting = source.waiting, []
        for gather, fetch in waiting:
            self._ask(peer, gather, fetch)

    def _ask(self, peer: Peer, gather: Gather, fetch: Fetch) -> None:
        """Send the request for a chunk, on a new session if the scenario says so."""
        source, sessions = self._sources[peer.index], self._own.scenario.sessions
        if not source.session:
            source.waiting.append((gather, fetch))
            if not source.dialling and sessions != "kept":
                source.dialling = self._peers.dial(peer, early=sessions == "0-rtt")
            return
        # "single" reuses one channel per source; "multiplexed" opens one for each chunk.
        if not self._single or source.key not in self.lines:
            source.key = (source.session, self._own.transport.open(source.session))
            self.lines[source.key] = deque()
            self._peers.readers[source.key] = Reader()
        self.lines[source.key].append((gather, fetch))
        fetch.heard = self._own.now
        fetch.key = source.key
        block, epoch = gather.manifest.block_hash, gather.manifest.epoch
        request = pack({"type": "get", "block": block, "epoch": epoch, "index": fetch.index})
        self._own.transport.send(*fetch.key, request, end=not self._single)

    def asks_on(self, peer: Peer, session: int) -> bool:
        """Return whether chunks are requested from the peer on that session."""
        return session == self._sources[peer.index].session

    # Cancellation.

    def forget(self, peer: Peer, session: int) -> None:
        """Drop the outstanding requests of a session that has ended."""
        over = [wish for key in self.lines if key[0] == session for wish in self.lines[key]]
        self.lines = {key: line for key, line in self.lines.items() if key[0] != session}
        source = self._sources[peer.index]
        if session in (source.session, source.dialling):
            over += source.waiting
            self._sources[peer.index] = _Source()
        for gather, fetch in over:
            self._abandon(gather, fetch)

    def _abandon(self, gather: Gather, fetch: Fetch) -> None:
        # Bytes of an unfinished chunk are lost for the node, and counted as wasted.
        if gather.is_current(fetch) and not fetch.complete:
            del gather.fetches[fetch.index]
            self._own.record.wasted_bytes += fetch.received

    def cancel_rest(self, gather: Gather) -> None:
        """Cancel outstanding requests; discard late bytes."""
        for fetch in list(gather.fetches.values()):
            if not fetch.complete:
                self._cancel(gather, fetch, leave=not self._single)

    def _cancel(self, gather: Gather, fetch: Fetch, *, leave: bool) -> None:
        """Cancel a chunk; with `leave`, also its channel and all requests on it."""
        self._abandon(gather, fetch)
        if (reader := fetch.reader) is not None:
            reader.forget()
            # The rest of the chunk still arrives on the shared channel; let the transport discard
            # it.
            if not leave and reader.left:
                place = self._own.transport.place
                place(*fetch.key, None, reader.left, offset=reader.offset)
        if leave and fetch.key in self.lines:
            for each, other in self._leave(fetch.key):
                self._abandon(each, other)
            self._own.transport.stop(*fetch.key)

    def _leave(self, key: Key) -> Iterable[_Wish]:
        """Remove a channel; return its outstanding requests."""
        self._peers.readers.pop(key, None)
        return self.lines.pop(key)

    def drop_slow(self, gathers: Iterable[Gather]) -> None:
        """Cancel requests to sources that have sent nothing for `stall_seconds`."""
        now, stall_seconds = self._own.now, self._own.scenario.stall_seconds
        for gather in gathers:
            for fetch in list(gather.fetches.values()):
                line = self.lines.get(fetch.key, ())
                if line and line[0][1] is not fetch:
                    fetch.heard = now  # answers are in order: only the first can be expected
                elif now - fetch.heard > stall_seconds and not fetch.complete:
                    LOG.info("node %d: node %d stalls", self._own.index, fetch.peer)
                    gather.stalls[fetch.peer] += 1
                    if gather.stalls[fetch.peer] >= _CHANCES:
                        gather.corrupt.add(fetch.peer)
                    for each in {gather, *(each for each, _ in line)}:
                        each.slow.add(fetch.peer)
                    # Answers are in order, so that no other can arrive after a stalled one.
                    self._cancel(gather, fetch, leave=True)

    # Received data.

    def announced(self, peer: Peer, key: Key, reader: Reader, message: Message) -> None:
        """Prepare for the announced chunk, or record that the source has none. Raises DataError."""
        if not (line := self.lines.get(key)):
            raise DataError("an answer without a question")
        gather, fetch = line[0]
        count = int(message.get("bytes", 0))
        if message["type"] == "none":
            gather.corrupt.add(peer.index)
            self._abandon(gather, fetch)
            self._next_in_line(key)
            self.choose(gather)
        elif count != gather.manifest.chunk_bytes:
            gather.corrupt.add(peer.index)
            raise DataError(f"a chunk of {count} bytes instead of {gather.manifest.chunk_bytes}")
        else:
            fetch.reader = reader
            # Cancelled meanwhile: the chunk is parsed, to find the next message, and discarded.
            if not gather.is_current(fetch):
                reader.expect(count)
            elif self._exchange:
                window = np.empty(_WINDOW_BYTES, np.uint8)
                reader.expect(count, window.data, full=fetch.hasher.update)
            else:
                reader.expect(count, gather.row(fetch.index).data)

    def chunk_bytes(self, key: Key, count: int) -> None:
        """Count bytes of a chunk that were written to their row."""
        record = self._own.record
        if not (line := self.lines.get(key)):
            record.wasted_bytes += count
            return
        gather, fetch = line[0]
        fetch.received += count
        fetch.heard = self._own.now
        if current := gather.is_current(fetch):
            record.received_bytes += count
        else:
            record.wasted_bytes += count
        # Complete chunks are hashed before they count, since a peer may send anything.
        if fetch.received == gather.manifest.chunk_bytes:
            self._next_in_line(key)
            if current:
                fetch.complete = True
                gather.arrivals.append(self._own.now)
                self._own.add(self._checking(gather, fetch))
        elif current and self._own.scenario.overlap:
            self.advance(gather)

    def _next_in_line(self, key: Key) -> None:
        self.lines[key].popleft()
        if not self._single:
            self._leave(key)

    def _checking(self, gather: Gather, fetch: Fetch) -> Tasks:
        manifest, index = gather.manifest, fetch.index

        def check() -> None:
            if self._exchange:
                store.check_digest(manifest, index, fetch.hasher.hexdigest())
            else:
                store.check_chunk(manifest, index, gather.row(index).data)

        try:
            yield Task("other", manifest.chunk_bytes, check)
        except PqchainError as error:
            LOG.warning("node %d: node %d sent it: %s", self._own.index, fetch.peer, error)
            gather.fetches.pop(index, None)
            gather.corrupt.add(fetch.peer)
            self._own.record.wasted_bytes += manifest.chunk_bytes
            self.choose(gather)
        else:
            gather.fetches.pop(index, None)
            gather.verified.add(index)
            self.advance(gather)
