"""Server side of chunk transfer; each chunk is read once and cached for further requests.

Requesting peers are authenticated.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from pqchain.errors import PqchainError
from pqchain.reencode.protocol.messages import pack
from pqchain.reencode.protocol.work import NodeContext, Tasks
from pqchain.reencode.storage.erasure import Bytes
from pqchain.reencode.storage.store import Manifest
from pqchain.wire.node import Task
from pqchain.wire.session import Key

LOG = logging.getLogger("pqchain.reencode")

_Name = tuple[str, int, int]
"""Name of a chunk: block hash, epoch and index."""

MAX_WAITING = 10_000
"""Maximum number of a peer's requests that wait for files; further ones are answered "none"."""


class ChunkServer:
    """Chunk server of a node; `fault` injects a fault: "corrupt", "stall", or "" for none."""

    def __init__(self, context: NodeContext, manifests: Sequence[Manifest], fault: str) -> None:
        self._context, self._fault = context, fault
        self._sizes = {manifest.block_hash: manifest.chunk_bytes for manifest in manifests}
        self.ends = context.scenario.streams == "multiplexed"
        """Whether an answer ends its channel."""
        self.cache: dict[_Name, Bytes] = {}
        """Requested chunks; cleared when all members have confirmed the new code."""
        self._waiting: dict[_Name, list[tuple[int, Key]]] = {}
        """Requests that wait for a chunk's file: peer and channel of each."""
        self.waiting: Counter[int] = Counter()

    def serve(self, peer: int, key: Key, block: str, epoch: int, index: int) -> None:
        """Answer a request with a chunk, from the cache or its file, or with "none"."""
        name = block, epoch, index
        if name in self.cache:
            self._send_chunk(key, name)
        # An unknown block, or more waiting requests of one peer than are kept in memory.
        elif block not in self._sizes or self.waiting[peer] >= MAX_WAITING:
            self._send_none(key)
        elif name in self._waiting:
            self._waiting[name].append((peer, key))
            self.waiting[peer] += 1
        else:
            self._waiting[name] = [(peer, key)]
            self.waiting[peer] += 1
            self._context.add(self._read(name))

    def _send_none(self, key: Key) -> None:
        self._context.transport.send(*key, pack({"type": "none"}), end=self.ends)

    def _read(self, name: _Name) -> Tasks:
        context, (block, epoch, index) = self._context, name

        def read() -> Bytes:
            return context.store.get(context.store.manifest(block, epoch), index)

        try:
            chunk: Bytes = yield Task("io", self._sizes[block], read)
        except PqchainError as error:
            LOG.info("node %d: cannot serve: %s", context.index, error)
            for key in self._pop_waiting(name):
                self._send_none(key)
            return
        if self._fault == "corrupt":
            chunk = chunk.copy()
            chunk[len(chunk) // 2] ^= 1
        self.cache[name] = chunk
        for key in self._pop_waiting(name):
            self._send_chunk(key, name)

    def _pop_waiting(self, name: _Name) -> list[Key]:
        requests = self._waiting.pop(name)
        self.waiting.subtract(peer for peer, _ in requests)
        return [key for _, key in requests]

    def _send_chunk(self, key: Key, name: _Name) -> None:
        transport, view = self._context.transport, self.cache[name].data
        transport.send(*key, pack({"type": "chunk", "bytes": len(view)}))
        if self._fault == "stall":
            transport.send(*key, view[: len(view) // 2])
        else:
            transport.send(*key, view, end=self.ends)
