"""Work of a node with its own memory and files: blocks that it gathers, and chunks that it serves.

`chunks` decides when to request which chunk from which peer. Long operations are tasks, so that the
node can still answer. A served chunk is read once and cached; requesting peers are authenticated.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.messages import MessageParser, Placement, pack
from pqchain.reencode.protocol.work import NodeContext, Tasks
from pqchain.reencode.storage import chunk_bytes
from pqchain.reencode.storage.erasure import Bytes, ReedSolomon
from pqchain.reencode.storage.store import Manifest, manifest_of, sha256
from pqchain.wire.node import Task
from pqchain.wire.session import Key

LOG = logging.getLogger("pqchain.reencode")

_Name = tuple[str, int, int]
"""Name of a chunk: block hash, epoch and index."""

MAX_WAITING = 10_000
"""Maximum number of a peer's requests that wait for files; further ones are answered "none"."""


@dataclass(slots=True, eq=False)
class Fetch:
    """Request of one chunk from one peer."""

    index: int
    peer: int
    heard: float
    """Time at which the last bytes arrived, or of the request if none have."""
    key: Key = (0, 0)
    reader: MessageParser | None = None
    received: int = 0
    complete: bool = False
    hasher: hashlib._Hash = field(default_factory=hashlib.sha256)
    """Hash of the bytes received in an exchange, in which chunks are not kept."""


@dataclass(slots=True, eq=False)
class Gather:
    """State of one block. Chunks are received directly into the block's memory."""

    manifest: Manifest
    placement: Placement
    needed: int
    """Number of verified chunks required: all in an exchange, else the number of data chunks."""
    buffer: Bytes
    """Memory for the zero-padded block in the old and new code; empty in an exchange."""
    active: bool = True
    """Whether the block is in progress, that is, neither finished nor abandoned."""
    parity: dict[int, Bytes] = field(default_factory=dict)
    fetches: dict[int, Fetch] = field(default_factory=dict)
    verified: set[int] = field(default_factory=set)
    reading_own_chunk: bool = False
    corrupt: set[int] = field(default_factory=set)
    """Peers whose chunk of this block was damaged, missing or repeatedly stalled."""
    slow: set[int] = field(default_factory=set)
    """Peers that have stalled; they are asked again when too few others are left."""
    stalls: Counter[int] = field(default_factory=Counter)
    decoding: bool = False
    block_verified: bool = False
    stuck_since: float | None = None
    arrivals: list[float] = field(default_factory=list)

    def row(self, index: int) -> Bytes:
        """Return the memory of a chunk: part of `buffer` for data, a separate array for parity."""
        size = self.manifest.chunk_bytes
        if index < self.manifest.data_chunks:
            return self.buffer[index * size : (index + 1) * size]
        if index not in self.parity:
            self.parity[index] = np.empty(size, np.uint8)
        return self.parity[index]

    @property
    def has_enough(self) -> bool:
        """Whether as many chunks as needed are verified."""
        return len(self.verified) >= self.needed

    @property
    def complete(self) -> bool:
        """Whether as many chunks as needed have arrived, verified or not."""
        arrived = sum(fetch.complete for fetch in self.fetches.values())
        return self.block_verified or len(self.verified) + arrived >= self.needed

    def is_current(self, fetch: Fetch) -> bool:
        """Return whether the request is neither cancelled nor replaced."""
        return self.fetches.get(fetch.index) is fetch


class Recoder:
    """Decoding, verification, encoding and storage of blocks."""

    def __init__(
        self, context: NodeContext, finish: Callable[[Gather, Manifest | None], None]
    ) -> None:
        # `finish` gets the new manifest if one was stored.
        self._context, self._finish = context, finish
        self._exchange = context.scenario.experiment == "exchange"
        self.before = ReedSolomon(*context.scenario.before)
        self.after = ReedSolomon(*context.scenario.after)

    def new_gather(self, manifest: Manifest, placement: Placement) -> Gather:
        """Return the initial state of a block, with memory for the old and the new code."""
        if self._exchange:
            return Gather(manifest, placement, len(manifest.members), np.empty(0, np.uint8))
        after = chunk_bytes(manifest.block_bytes, self.after.data_chunks)
        capacity = max(manifest.data_chunks * manifest.chunk_bytes, self.after.data_chunks * after)
        memory = np.zeros(capacity, np.uint8)
        return Gather(manifest, placement, manifest.data_chunks, memory)

    def advance(self, gather: Gather) -> None:
        """Start to decode the block, or end an exchange, once enough chunks are verified."""
        if not gather.has_enough or gather.decoding:
            return
        if self._exchange:
            gather.block_verified = True
            self._finish(gather, None)
            return
        gather.decoding = True
        self._context.add(self._recode(gather), wanted=lambda: gather.active)

    def _recode(self, gather: Gather) -> Tasks:
        old, new = gather.manifest, gather.placement
        sources = sorted(gather.verified)[: old.data_chunks]
        missing = set(range(old.data_chunks)) - set(sources)

        def decode() -> None:
            present = {index: gather.row(index) for index in sources}
            self.before.recover(present, {index: gather.row(index) for index in missing})

        yield Task("decode", old.chunk_bytes * old.data_chunks if missing else 0, decode)
        block = gather.buffer.data[: old.block_bytes]
        # The block's own hash is checked too, since a manifest may be wrong.
        if not (yield Task("other", len(block), lambda: sha256(block) == old.block_hash)):
            raise DataError(
                f"block {old.block_hash[:16]} must have the hash in its manifest; its chunks are "
                "intact, so the manifest is wrong. Compare it with the manifests of other nodes."
            )
        gather.block_verified = True
        # Parity memory is no longer needed, except that of chunks whose check still runs.
        for index in gather.verified:
            gather.parity.pop(index, None)
        self._context.record.verified_blocks += 1
        chunks: list[Bytes] = yield Task(
            "encode", len(block), lambda: self.after.chunks_of(gather.buffer, len(block))
        )

        def describe() -> Manifest:
            epoch, members = new.epoch, new.members
            block = old.block_hash, old.block_bytes
            return manifest_of(*block, self.after, chunks, epoch=epoch, members=members)

        manifest: Manifest = yield Task("other", sum(map(len, chunks)), describe)
        index = new.members.index(self._context.index)
        store = self._context.store
        # Every node encodes the whole block but stores only its own chunk.
        yield Task("io", len(chunks[index]), lambda: store.put(manifest, index, chunks[index]))
        self._finish(gather, manifest)


class ChunkServer:
    """Chunk server of a node, with the faults that the scenario has for it."""

    def __init__(self, context: NodeContext, manifests: Sequence[Manifest]) -> None:
        self._context = context
        faults = context.scenario.faults
        self._faults = {fault.kind for fault in faults if fault.node == context.index}
        self._sizes = {manifest.block_hash: manifest.chunk_bytes for manifest in manifests}
        self.ends = context.scenario.streams == "multiplexed"
        """Whether an answer ends its channel."""
        self.cache: dict[_Name, Bytes] = {}
        """Requested chunks; cleared when all members have confirmed the new code."""
        self._waiting: defaultdict[_Name, list[tuple[int, Key]]] = defaultdict(list)
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
        else:
            self.waiting[peer] += 1
            self._waiting[name].append((peer, key))
            if len(self._waiting[name]) == 1:
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
        if "corrupt" in self._faults:
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
        if "stall" in self._faults:
            transport.send(*key, view[: len(view) // 2])
        else:
            transport.send(*key, view, end=self.ends)
