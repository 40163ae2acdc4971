"""State and processing of one block: its chunks arrive, it is decoded and encoded anew.

This module handles memory, codec, hashes and files of one block; `chunks` decides which peer is
asked for what, and when. Long operations are tasks, so that the node keeps answering meanwhile.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pqchain.errors import DataError
from pqchain.reencode.protocol.messages import Reader
from pqchain.reencode.protocol.placement import Placement
from pqchain.reencode.protocol.work import Own, Tasks
from pqchain.reencode.storage.erasure import Bytes, ReedSolomon
from pqchain.reencode.storage.layout import ALIGNMENT_BYTES, chunk_bytes
from pqchain.reencode.storage.store import Manifest, manifest_of, sha256
from pqchain.wire.node import Task
from pqchain.wire.session import Key

STRIPE_BYTES = 1 << 20
"""Bytes that every source must have sent before the next piece is decoded, with overlap."""


@dataclass(slots=True, eq=False)
class Fetch:
    """Request of one chunk from one peer."""

    index: int
    peer: int
    heard: float
    """Time at which its last bytes arrived, or of the request."""
    key: Key = (0, 0)
    """Session and channel of the request."""
    reader: Reader | None = None
    received: int = 0
    complete: bool = False
    hasher: hashlib._Hash = field(default_factory=hashlib.sha256)
    """Hash of the received bytes in an exchange, which keeps no chunk."""


@dataclass(slots=True, eq=False)
class Gather:
    """State of one block. Chunks are received directly into the block's memory."""

    manifest: Manifest
    placement: Placement
    needed: int
    """Number of verified chunks required: that of data chunks, or of all in an exchange."""
    buffer: Bytes
    """Memory for the block in both codes, padded with zeros; empty in an exchange."""
    wanted: bool = True
    """Whether the block is in progress: not done, nor abandoned with its placement or node."""
    extra: dict[int, Bytes] = field(default_factory=dict)
    fetches: dict[int, Fetch] = field(default_factory=dict)
    verified: set[int] = field(default_factory=set)
    own_asked: bool = False
    corrupt: set[int] = field(default_factory=set)
    """Peers without a good chunk of this block: damaged, missing, or repeatedly stalled."""
    slow: set[int] = field(default_factory=set)
    """Peers that have stalled; they are asked again when too few others are left."""
    stalls: Counter[int] = field(default_factory=Counter)
    """Number of stalls of each peer."""
    decoded: int = 0
    """Length in bytes up to which all data chunks are decoded."""
    decoding: bool = False
    aside: dict[int, list[tuple[int, Bytes]]] = field(default_factory=dict)
    """Decoded pieces of chunks that may still arrive, by chunk: offset and bytes of each.

    A received chunk is hashed in its row, so that nothing else may be written there: an honest peer
    would be blamed for data that was decoded from another peer's damaged chunk.
    """
    redone: bool = False
    whole: bool = False
    """Whether the block is verified."""
    stuck_since: float | None = None
    arrivals: list[float] = field(default_factory=list)

    def row(self, index: int) -> Bytes:
        """Return the memory of a chunk: within the block for data, separate for parity."""
        size = self.manifest.chunk_bytes
        if index < self.manifest.data_chunks:
            return self.buffer[index * size : (index + 1) * size]
        if index not in self.extra:
            self.extra[index] = np.empty(size, np.uint8)
        return self.extra[index]

    def drop_parity(self) -> None:
        """Release parity chunks that are verified."""
        for index in self.verified:
            self.extra.pop(index, None)

    @property
    def enough(self) -> bool:
        """Whether enough chunks are verified."""
        return len(self.verified) >= self.needed

    @property
    def complete(self) -> bool:
        """Whether enough chunks have arrived, verified or not."""
        arrived = sum(fetch.complete for fetch in self.fetches.values())
        return self.whole or len(self.verified) + arrived >= self.needed

    def is_current(self, fetch: Fetch) -> bool:
        """Return whether the request is neither cancelled nor replaced."""
        return self.fetches.get(fetch.index) is fetch

    def progress(self, index: int) -> int:
        """Return the number of bytes of a chunk that have arrived."""
        if index in self.verified:
            return self.manifest.chunk_bytes
        fetch = self.fetches.get(index)
        return fetch.received if fetch is not None else 0

    def next_piece(self, *, overlap: bool) -> tuple[int, int, tuple[int, ...]] | None:
        """Return the next piece to decode: start, stop and the chunks to use; else None."""
        size, needed = self.manifest.chunk_bytes, self.manifest.data_chunks
        if self.decoding or self.decoded == size:
            return None
        if len(self.verified) >= needed:
            # All sources are verified, so that the rest is decoded in one piece.
            return self.decoded, size, tuple(sorted(self.verified)[:needed])
        if not overlap:
            return None
        # The most advanced chunks, of equal ones those with the lowest index: data before parity.
        known = sorted({*self.verified, *self.fetches}, key=lambda at: (-self.progress(at), at))
        if len(known) < needed:
            return None
        ready = min(self.progress(at) for at in known[:needed])
        # The last piece waits until the chunks are verified.
        ready = min(ready, size - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
        if ready - self.decoded < STRIPE_BYTES:
            return None
        return self.decoded, ready, tuple(sorted(known[:needed]))


class Recoder:
    """Decoding, verification, encoding and storage of blocks."""

    def __init__(self, own: Own, leave: Callable[[Gather, Manifest | None], None]) -> None:
        """Call `leave` for each block that is done, with the new manifest if one was stored."""
        self._own, self._leave = own, leave
        self._exchange = own.scenario.experiment == "exchange"
        engine = own.scenario.engine
        self.before = ReedSolomon(*own.scenario.before, engine=engine)
        self.after = ReedSolomon(*own.scenario.after, engine=engine)

    def new_gather(self, manifest: Manifest, placement: Placement) -> Gather:
        """Return the initial state of a block, with memory for both codes."""
        if self._exchange:
            return Gather(manifest, placement, len(manifest.members), np.empty(0, np.uint8))
        after = chunk_bytes(manifest.block_bytes, self.after.data_chunks)
        capacity = max(manifest.data_chunks * manifest.chunk_bytes, self.after.data_chunks * after)
        memory = np.zeros(capacity, np.uint8)
        return Gather(manifest, placement, manifest.data_chunks, memory)

    def advance(self, gather: Gather) -> None:
        """Start the next step that the arrived chunks allow."""
        if self._exchange:
            gather.whole = gather.enough
            if gather.whole:
                self._leave(gather, None)
        elif (piece := gather.next_piece(overlap=self._own.scenario.overlap)) is not None:
            gather.decoding = True
            self._own.add(self._recode(gather, *piece), wanted=lambda: gather.wanted)

    def _recode(self, gather: Gather, start: int, stop: int, sources: tuple[int, ...]) -> Tasks:
        """Decode a piece; after the last one verify and encode the block, and store its chunk."""
        old, new, missing = gather.manifest, gather.placement, self.before.missing(sources)

        last = stop == old.chunk_bytes

        def decode() -> None:
            # Runs on a worker thread; see `Gather.aside` for why pieces are kept apart.
            present = {index: gather.row(index)[start:stop] for index in sources}
            if not last:
                pieces = {index: np.empty(stop - start, np.uint8) for index in missing}
                self.before.recover(present, pieces)
                for index, piece in pieces.items():
                    gather.aside.setdefault(index, []).append((start, piece))
                return
            # Enough chunks are verified, and no more arrive, so that rows may be written.
            rows = {index: gather.row(index) for index in missing}
            self.before.recover(present, {index: row[start:] for index, row in rows.items()})
            for index, row in rows.items():
                for begin, piece in gather.aside.get(index, ()):
                    row[begin : begin + len(piece)] = piece

        yield Task("decode", (stop - start) * old.data_chunks if missing else 0, decode)
        gather.decoding = False
        gather.decoded = stop
        if not last:
            self.advance(gather)
            return
        gather.aside.clear()
        block = gather.buffer.data[: old.block_bytes]
        # The block's own hash is checked too, since a manifest may be wrong.
        if not (yield Task("other", len(block), lambda: sha256(block) == old.block_hash)):
            if gather.redone:
                raise DataError(
                    f"block {old.block_hash[:16]} has another hash although all its chunks are "
                    "intact; its manifest is wrong: compare it with that of the other nodes"
                )
            # With overlap, pieces were decoded from a chunk that later proved to be damaged: decode
            # all again.
            gather.redone = True
            gather.decoded = 0
            self.advance(gather)
            return
        gather.whole = True
        gather.drop_parity()
        self._own.record.verified_blocks += 1
        chunks: list[Bytes] = yield Task(
            "encode", len(block), lambda: self.after.chunks_of(gather.buffer, len(block))
        )

        def describe() -> Manifest:
            epoch, members = new.epoch, new.members
            block = old.block_hash, old.block_bytes
            return manifest_of(*block, self.after, chunks, epoch=epoch, members=members)

        manifest: Manifest = yield Task("other", sum(map(len, chunks)), describe)
        index = new.members.index(self._own.index)
        store = self._own.store
        # Every node encodes the whole block but stores only its own chunk.
        yield Task("io", len(chunks[index]), lambda: store.put(manifest, index, chunks[index]))
        self._leave(gather, manifest)
