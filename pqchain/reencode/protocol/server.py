"""Server side of chunk transfer: a chunk is read once for all its requests, and cached.

Requesting peers are authenticated.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from pqchain.errors import PqchainError
from pqchain.reencode.protocol.messages import pack
from pqchain.reencode.protocol.work import Own, Tasks
from pqchain.reencode.storage.erasure import Bytes
from pqchain.reencode.storage.store import Manifest
from pqchain.wire.node import Task
from pqchain.wire.session import Key

LOG = logging.getLogger("pqchain.reencode")

_Name = tuple[str, int, int]
"""Block, epoch and index of a chunk."""

MOST_WAITING = 10_000
"""Maximum number of a peer's requests that wait for files; further ones are answered "none"."""


class Server:
    """Chunk server of a node; `misbehaves` injects a fault: "corrupt", "stall", or "" for none."""

    def __init__(self, own: Own, manifests: Sequence[Manifest], misbehaves: str) -> None:
        self._own, self._misbehaves = own, misbehaves
        self._sizes = {manifest.block_hash: manifest.chunk_bytes for manifest in manifests}
        self.ends = own.scenario.streams == "multiplexed"
        """Whether an answer ends its channel."""
        self.cache: dict[_Name, Bytes] = {}
        """Requested chunks; cleared when all members have confirmed the new code."""
        self._waiting: dict[_Name, list[tuple[int, Key]]] = {}
        """Requests that wait for a chunk's file: peer and channel of each."""
        self.waiting: Counter[int] = Counter()
        """Number of waiting requests of each peer."""

    def serve(self, peer: int, key: Key, block: str, epoch: int, index: int) -> None:
        """Answer a request with a chunk, from the cache or its file, or with "none"."""
        wanted = block, epoch, index
        if wanted in self.cache:
            self._give(key, wanted)
        # An unknown block, or more waiting requests of one peer than are kept in memory.
        elif block not in self._sizes or self.waiting[peer] >= MOST_WAITING:
            self._refuse(key)
        elif wanted in self._waiting:
            self._waiting[wanted].append((peer, key))
            self.waiting[peer] += 1
        else:
            self._waiting[wanted] = [(peer, key)]
            self.waiting[peer] += 1
            self._own.add(self._reading(wanted))

    def _refuse(self, key: Key) -> None:
        self._own.transport.send(*key, pack({"type": "none"}), end=self.ends)

    def _reading(self, wanted: _Name) -> Tasks:
        own, (block, epoch, index) = self._own, wanted

        def read() -> Bytes:
            return own.store.get(own.store.manifest(block, epoch), index)

        try:
            chunk: Bytes = yield Task("io", self._sizes[block], read)
        except PqchainError as error:
            LOG.info("node %d: cannot serve: %s", own.index, error)
            for key in self._answered(wanted):
                self._refuse(key)
            return
        if self._misbehaves == "corrupt":
            chunk = chunk.copy()
            chunk[len(chunk) // 2] ^= 1
        self.cache[wanted] = chunk
        for key in self._answered(wanted):
            self._give(key, wanted)

    def _answered(self, wanted: _Name) -> list[Key]:
        """Pop the requests waiting for a chunk; return their channels."""
        requests = self._waiting.pop(wanted)
        self.waiting.subtract(peer for peer, _ in requests)
        return [key for _, key in requests]

    def _give(self, key: Key, wanted: _Name) -> None:
        transport, view = self._own.transport, self.cache[wanted].data
        transport.send(*key, pack({"type": "chunk", "bytes": len(view)}))
        if self._misbehaves == "stall":
            transport.send(*key, view[: len(view) // 2])
        else:
            transport.send(*key, view, end=self.ends)
