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
from pqchain.reencode.protocol.messages import Message, MessageParser, pack
from pqchain.reencode.protocol.peers import Peer, PeerSessions
from pqchain.reencode.protocol.work import NodeContext, Tasks
from pqchain.reencode.storage import store
from pqchain.wire.node import Task
from pqchain.wire.session import Key, Opened

LOG = logging.getLogger("pqchain.reencode")

# Number of stalls after which a source counts as having no chunk.
_MAX_STALLS = 3

# Size of the reused buffer for a chunk that is hashed on arrival and not kept.
_WINDOW_BYTES = 512 << 10

_Request = tuple[Gather, Fetch]


@dataclass(slots=True, eq=False)
class _Source:
    session: int = 0
    dialling: int = 0
    key: Key = (0, 0)
    """Session and channel of the last request."""
    waiting: list[_Request] = field(default_factory=list)
    """Requests to send when the session is open."""


class Fetcher:
    """Client that requests chunks from other nodes and receives them."""

    def __init__(
        self,
        context: NodeContext,
        peers: PeerSessions,
        recoder: Recoder,
        fail: Callable[[PqchainError], None],
    ) -> None:
        self._context, self._peers, self._recoder, self._fail = context, peers, recoder, fail
        self._exchange = context.scenario.experiment == "exchange"
        self._single = context.scenario.streams == "single"
        self.requests: dict[Key, deque[_Request]] = {}
        """Outstanding requests of each channel, in order; at most one if multiplexed."""
        others = set(range(context.scenario.nodes)) - {context.index}
        self.sources = {peer: _Source() for peer in others}

    # Choice of sources.

    def read_own(self, gather: Gather) -> None:
        """Read this node's stored chunk of a block from its file."""
        if stored := self._context.store.indices(gather.manifest):
            gather.reading_own_chunk = True
            self._context.add(self._read(gather, stored[0]))
        else:
            gather.corrupt.add(self._context.index)

    def _read(self, gather: Gather, index: int) -> Tasks:
        def read() -> None:
            chunk = self._context.store.get(gather.manifest, index)
            # Chunks are not kept in the experiment "exchange".
            if not self._exchange:
                gather.row(index)[:] = chunk

        try:
            yield Task("io", gather.manifest.chunk_bytes, read)
        except PqchainError as error:
            LOG.warning("node %d: %s", self._context.index, error)
            gather.reading_own_chunk = False
            gather.corrupt.add(self._context.index)
            self.choose(gather)
        else:
            gather.reading_own_chunk = False
            gather.verified.add(index)
            self.advance(gather)

    def advance(self, gather: Gather) -> None:
        """Start to decode a block once enough of its chunks are verified."""
        if gather.active and not gather.block_verified:
            if gather.has_enough:
                self.cancel_rest(gather)
            self._recoder.advance(gather)

    def choose(self, gather: Gather) -> None:
        """Request as many further chunks of a block as it still needs."""
        if not gather.active:
            return
        manifest, now = gather.manifest, self._context.now
        if self._exchange:
            # An exchange requests all chunks that are still obtainable, not those of dead nodes.
            gather.needed = max(manifest.data_chunks, self._obtainable(gather))
        if gather.block_verified or gather.has_enough:
            self.advance(gather)
            return
        under_way = len(gather.verified) + len(gather.fetches) + gather.reading_own_chunk
        missing = max(gather.needed - under_way, 0)
        candidates = self._candidates(gather, missing)
        everything = self._context.scenario.sources == "all" or self._exchange
        chosen = candidates if everything else candidates[:missing]
        for peer, index in chosen:
            fetch = gather.fetches[index] = Fetch(index, peer.index, heard=now)
            self._ask(peer, gather, fetch)
        # Sources may come back, so that the node waits `give_up_seconds` before it fails.
        if under_way + len(chosen) >= manifest.data_chunks:
            gather.stuck_since = None
        elif gather.stuck_since is None:
            gather.stuck_since = now
        elif now - gather.stuck_since > self._context.scenario.give_up_seconds:
            self._fail(self._lost(gather))

    def _candidates(self, gather: Gather, missing: int) -> list[tuple[Peer, int]]:
        candidates = [
            (peer, index)
            for index, holder in enumerate(gather.manifest.members)
            if holder != self._context.index
            and index not in gather.verified
            and index not in gather.fetches
            and holder not in gather.corrupt
            and (peer := self._peers.all[holder]).alive
            and peer.session
        ]
        fast = [candidate for candidate in candidates if candidate[0].index not in gather.slow]
        if len(fast) < missing:
            # Too few fast sources are left: use slow ones too, and clear their record.
            gather.slow.clear()
            fast = candidates
        # Distance on the ring breaks ties, so that every node serves about as much as it requests.
        index, nodes = self._context.index, self._context.scenario.nodes
        return sorted(fast, key=lambda row: (row[0].queued, (row[0].index - index) % nodes))

    def _obtainable(self, gather: Gather) -> int:
        """Return how many chunks of a block can still be obtained, this node's own included."""
        alive = {peer.index for peer in self._peers.all.values() if peer.alive}
        good = {self._context.index, *alive} - gather.corrupt
        members = enumerate(gather.manifest.members)
        return sum(index in gather.verified or holder in good for index, holder in members)

    def _lost(self, gather: Gather) -> ChunksLost:
        manifest = gather.manifest
        reachable = {*gather.verified, *gather.fetches}
        missing = [
            f"{index} (node {holder})"
            for index, holder in enumerate(manifest.members)
            if index not in reachable
        ]
        return ChunksLost(
            f"block {manifest.block_hash[:16]} needs {manifest.data_chunks} chunks; node "
            f"{self._context.index} can reach {len(reachable)}; missing: chunk "
            f"{', '.join(missing)}. Stored chunks are unchanged: restart one of these nodes, and "
            "run again."
        )

    # Requests.

    def opened(self, event: Opened, peer: Peer) -> None:
        """Use a newly dialled session, and send the requests that waited for it."""
        source = self.sources[peer.index]
        if event.session == source.dialling:
            source.session, source.dialling = event.session, 0
        elif event.session == peer.session and self._context.scenario.sessions == "kept":
            source.session = peer.session
        waiting, source.waiting = source.waiting, []
        for gather, fetch in waiting:
            self._ask(peer, gather, fetch)

    def _ask(self, peer: Peer, gather: Gather, fetch: Fetch) -> None:
        source, sessions = self.sources[peer.index], self._context.scenario.sessions
        if not source.session:
            source.waiting.append((gather, fetch))
            if not source.dialling and sessions != "kept":
                source.dialling = self._peers.dial(peer, early=sessions == "0-rtt")
            return
        # "single" reuses one channel per source; "multiplexed" opens one for each chunk.
        if not self._single or source.key not in self.requests:
            source.key = (source.session, self._context.transport.open(source.session))
            self.requests[source.key] = deque()
            self._peers.readers[source.key] = MessageParser()
        self.requests[source.key].append((gather, fetch))
        fetch.heard = self._context.now
        fetch.key = source.key
        block, epoch = gather.manifest.block_hash, gather.manifest.epoch
        request = pack({"type": "get", "block": block, "epoch": epoch, "index": fetch.index})
        self._context.transport.send(*fetch.key, request, end=not self._single)

    # Cancellation.

    def forget(self, peer: Peer, session: int) -> None:
        """Drop the outstanding requests of a session that has ended."""
        keys = [key for key in self.requests if key[0] == session]
        ended = [request for key in keys for request in self.requests.pop(key)]
        source = self.sources[peer.index]
        if session in (source.session, source.dialling):
            ended += source.waiting
            self.sources[peer.index] = _Source()
        for gather, fetch in ended:
            self._abandon(gather, fetch)

    def _abandon(self, gather: Gather, fetch: Fetch) -> None:
        # Bytes of an unfinished chunk are lost for the node, and counted as wasted.
        if gather.is_current(fetch) and not fetch.complete:
            del gather.fetches[fetch.index]
            self._context.record.wasted_bytes += fetch.received

    def cancel_rest(self, gather: Gather) -> None:
        """Cancel the outstanding requests of a block; discard late bytes."""
        for fetch in list(gather.fetches.values()):
            if not fetch.complete:
                self._cancel(gather, fetch, close_channel=not self._single)

    def _cancel(self, gather: Gather, fetch: Fetch, *, close_channel: bool) -> None:
        """Cancel the request of a chunk; with `close_channel`, also all others on its channel."""
        self._abandon(gather, fetch)
        if (reader := fetch.reader) is not None:
            reader.forget()
            # The rest of the chunk still arrives on the shared channel, and is discarded there.
            if not close_channel and reader.left:
                receive_into = self._context.transport.receive_into
                receive_into(*fetch.key, None, reader.left, offset=reader.offset)
        if close_channel and fetch.key in self.requests:
            for other_gather, other_fetch in self._remove_channel(fetch.key):
                self._abandon(other_gather, other_fetch)
            self._context.transport.stop(*fetch.key)

    def _remove_channel(self, key: Key) -> Iterable[_Request]:
        self._peers.readers.pop(key, None)
        return self.requests.pop(key)

    def drop_slow(self, gathers: Iterable[Gather]) -> None:
        """Cancel requests to sources that have sent nothing for `stall_seconds`."""
        now, stall_seconds = self._context.now, self._context.scenario.stall_seconds
        for gather in gathers:
            for fetch in list(gather.fetches.values()):
                requests = self.requests.get(fetch.key, ())
                if requests and requests[0][1] is not fetch:
                    fetch.heard = now  # answers are in order: only the first can be expected
                elif now - fetch.heard > stall_seconds and not fetch.complete:
                    LOG.info("node %d: node %d has stalled", self._context.index, fetch.peer)
                    gather.stalls[fetch.peer] += 1
                    if gather.stalls[fetch.peer] >= _MAX_STALLS:
                        gather.corrupt.add(fetch.peer)
                    for delayed in {gather, *(other for other, _ in requests)}:
                        delayed.slow.add(fetch.peer)
                    # Answers are in order, so that no other can arrive after a stalled one.
                    self._cancel(gather, fetch, close_channel=True)

    # Received data.

    def announced(self, peer: Peer, key: Key, reader: MessageParser, message: Message) -> None:
        """Expect the announced chunk, or record that the source lacks it. Raises DataError."""
        if not (requests := self.requests.get(key)):
            raise DataError("unsolicited response")
        gather, fetch = requests[0]
        count = int(message.get("bytes", 0))
        if message["type"] == "none":
            gather.corrupt.add(peer.index)
            self._abandon(gather, fetch)
            self._finish_request(key)
            self.choose(gather)
        elif count != gather.manifest.chunk_bytes:
            gather.corrupt.add(peer.index)
            raise DataError(f"a chunk must have {gather.manifest.chunk_bytes} bytes; got {count}")
        else:
            fetch.reader = reader
            # A cancelled chunk is parsed, to find the next message, and discarded.
            if not gather.is_current(fetch):
                reader.expect(count)
            elif self._exchange:
                window = np.empty(_WINDOW_BYTES, np.uint8)
                reader.expect(count, window.data, full=fetch.hasher.update)
            else:
                reader.expect(count, gather.row(fetch.index).data)

    def chunk_bytes(self, key: Key, count: int) -> None:
        """Count received bytes of a chunk, and start its verification when it is complete."""
        record = self._context.record
        if not (requests := self.requests.get(key)):
            record.wasted_bytes += count
            return
        gather, fetch = requests[0]
        fetch.received += count
        fetch.heard = self._context.now
        if current := gather.is_current(fetch):
            record.received_bytes += count
        else:
            record.wasted_bytes += count
        # Complete chunks are hashed before they count, since a peer may send anything.
        if fetch.received == gather.manifest.chunk_bytes:
            self._finish_request(key)
            if current:
                fetch.complete = True
                gather.arrivals.append(self._context.now)
                self._context.add(self._check(gather, fetch))

    def _finish_request(self, key: Key) -> None:
        self.requests[key].popleft()
        if not self._single:
            self._remove_channel(key)

    def _check(self, gather: Gather, fetch: Fetch) -> Tasks:
        manifest, index = gather.manifest, fetch.index

        def check() -> None:
            if not self._exchange:
                fetch.hasher.update(gather.row(index).data)
            store.check_digest(manifest, index, fetch.hasher.hexdigest())

        try:
            yield Task("other", manifest.chunk_bytes, check)
        except PqchainError as error:
            LOG.warning("node %d: from node %d: %s", self._context.index, fetch.peer, error)
            gather.fetches.pop(index, None)
            gather.corrupt.add(fetch.peer)
            self._context.record.wasted_bytes += manifest.chunk_bytes
            self.choose(gather)
        else:
            gather.fetches.pop(index, None)
            gather.verified.add(index)
            self.advance(gather)
