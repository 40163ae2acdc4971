"""State and processing of one block: arrival of its chunks, decoding, re-encoding, storage.

This module handles memory, codec, hashes and files of one block; `chunks` decides when to
request which chunk from which peer. Long operations are tasks, so that the node can still answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pqchain.errors import DataError
from pqchain.reencode.protocol.messages import MessageParser, Placement
from pqchain.reencode.protocol.work import NodeContext, Tasks
from pqchain.reencode.storage import chunk_bytes
from pqchain.reencode.storage.erasure import Bytes, ReedSolomon
from pqchain.reencode.storage.store import Manifest, manifest_of, sha256
from pqchain.wire.node import Task
from pqchain.wire.session import Key


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
        missing = self.before.missing(sources)

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
