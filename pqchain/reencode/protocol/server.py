"""Chunks for others: read once however many ask, and kept until nobody wants them.

Who asks has proven who it is.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from pqchain.errors import PqchainError
from pqchain.reencode.protocol.work import Own, Tasks
from pqchain.reencode.storage.erasure import Bytes
from pqchain.reencode.storage.store import Manifest
from pqchain.wire.messages import pack
from pqchain.wire.node import Task
from pqchain.wire.session import Key

LOG = logging.getLogger("pqchain.reencode")

_Name = tuple[str, int, int]
"""Block, epoch and index of a chunk."""

MOST_WAITING = 10_000
"""Requests of one peer that may wait for files; those beyond are told that there is nothing."""


class Server:
    """What a node gives to others; it may misbehave: "corrupt", "stall", or not, ""."""

    def __init__(self, own: Own, manifests: Sequence[Manifest], misbehaves: str) -> None:
        self._own, self._misbehaves = own, misbehaves
        self._sizes = {manifest.block_hash: manifest.chunk_bytes for manifest in manifests}
        self.ends = own.scenario.streams == "multiplexed"
        """Whether an answer is the last on its channel."""
        self.cache: dict[_Name, Bytes] = {}
        """Chunks from the first request until nobody wants them."""
        self._waiting: dict[_Name, list[tuple[int, Key]]] = {}
        """Who has asked for a chunk that is being read: it is read once."""
        self.waiting: Counter[int] = Counter()
        """How many requests of each peer that are."""

    def serve(self, peer: int, key: Key, block: str, epoch: int, index: int) -> None:
        """Answer a peer's request for a chunk, from memory or when its file was read."""
        wanted = block, epoch, index
        if wanted in self.cache:
            self._give(key, wanted)
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
        """Return who waits for a chunk, and let them wait no longer."""
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
