"""Chunks for others: read once however many ask, and kept until nobody wants them.

Who asks has proven who it is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.work import Own, Tasks
from pqchain.reencode.storage.erasure import Bytes
from pqchain.reencode.storage.store import Manifest
from pqchain.wire.messages import pack
from pqchain.wire.node import Task
from pqchain.wire.session import Key

LOG = logging.getLogger("pqchain.reencode")

_Name = tuple[str, int, int]
"""Block, epoch and index of a chunk."""


class Server:
    """What a node gives to others; it may misbehave: "corrupt", "stall", or not, ""."""

    def __init__(self, own: Own, manifests: Sequence[Manifest], misbehaves: str) -> None:
        self._own, self._misbehaves = own, misbehaves
        self._sizes = {manifest.block_hash: manifest.chunk_bytes for manifest in manifests}
        self._ends = own.scenario.streams == "multiplexed"
        """Whether an answer is the last on its channel."""
        self.cache: dict[_Name, Bytes] = {}
        """Chunks from the first request until nobody wants them."""
        self._waiting: dict[_Name, list[Key]] = {}
        """Who has asked for a chunk that is being read: it is read once."""

    def serve(self, key: Key, block: str, epoch: int, index: int) -> None:
        """Answer a request for a chunk, from memory or when its file was read."""
        wanted = block, epoch, index
        if wanted in self.cache:
            self._give(key, wanted)
        elif wanted in self._waiting:
            self._waiting[wanted].append(key)
        else:
            self._waiting[wanted] = [key]
            self._own.add(self._reading(wanted))

    def _reading(self, wanted: _Name) -> Tasks:
        own, (block, epoch, index) = self._own, wanted

        def read() -> Bytes:
            # A name from outside is looked up before it becomes part of a path.
            if block not in self._sizes:
                raise DataError(f"block {block[:16]} is not known here")
            return own.store.get(own.store.manifest(block, epoch), index)

        try:
            chunk: Bytes = yield Task("io", self._sizes.get(block, 0), read)
        except PqchainError as error:
            LOG.info("node %d: cannot serve: %s", own.index, error)
            for key in self._waiting.pop(wanted):
                own.transport.send(*key, pack({"type": "none"}), end=self._ends)
            return
        if self._misbehaves == "corrupt":
            chunk = chunk.copy()
            chunk[len(chunk) // 2] ^= 1
        self.cache[wanted] = chunk
        for key in self._waiting.pop(wanted):
            self._give(key, wanted)

    def _give(self, key: Key, wanted: _Name) -> None:
        transport, view = self._own.transport, self.cache[wanted].data
        transport.send(*key, pack({"type": "chunk", "bytes": len(view)}))
        if self._misbehaves == "stall":
            transport.send(*key, view[: len(view) // 2])
        else:
            transport.send(*key, view, end=self._ends)
