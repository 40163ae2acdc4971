"""Answers to those who ask for a chunk, from memory or from its file.

Knows the store and the channel to answer on. Who asks has proven who it is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.work import Item, Shared
from pqchain.reencode.storage.field import Bytes
from pqchain.reencode.storage.store import Manifest
from pqchain.wire.messages import pack
from pqchain.wire.session import Key

LOG = logging.getLogger("pqchain.reencode")


class Server:
    """What a node gives to others; `misbehaves` is "corrupt", "stall" or nothing."""

    def __init__(self, shared: Shared, manifests: Sequence[Manifest], misbehaves: str) -> None:
        self._index, self._store, self._work = shared.index, shared.store, shared.work
        self._transport = shared.transport
        self._sizes = {manifest.block_hash: manifest.chunk_bytes for manifest in manifests}
        self._ends = shared.scenario.streams == "multiplexed"
        """Whether an answer is the last on its channel."""
        self._misbehaves = misbehaves
        self._cache: dict[tuple[str, int, int], Bytes] = {}

    def serve(self, key: Key, block: str, epoch: int, index: int) -> None:
        """Answer a request for a chunk."""
        wanted = (block, epoch, index)
        if wanted in self._cache:
            self._answer(key, self._cache[wanted])
            return

        def read() -> Bytes:
            # A name from outside is looked up before it becomes part of a path.
            if block not in self._sizes:
                raise DataError(f"block {block[:16]} is not known here")
            return self._store.get(self._store.manifest(block, epoch), index)

        def then(chunk: Bytes) -> None:
            if self._misbehaves == "corrupt":
                chunk = chunk.copy()
                chunk[len(chunk) // 2] ^= 1
            self._cache[wanted] = chunk
            self._answer(key, chunk)

        def otherwise(error: PqchainError) -> None:
            LOG.info("node %d: cannot serve: %s", self._index, error)
            self._transport.send(*key, pack({"type": "none"}), end=self._ends)

        self._work.add(Item("io", self._sizes.get(block, 0), read, then, otherwise))

    def forget(self) -> None:
        """Free the memory of chunks that nobody wants any more."""
        self._cache.clear()

    def _answer(self, key: Key, chunk: Bytes) -> None:
        view = chunk.data
        self._transport.send(*key, pack({"type": "chunk", "bytes": len(view)}))
        if self._misbehaves == "stall":
            self._transport.send(*key, view[: len(view) // 2])
        else:
            self._transport.send(*key, view, end=self._ends)
