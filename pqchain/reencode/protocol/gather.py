"""One block on its way through a node: chunks come in, the block is decoded and encoded anew.

Knows memory, codec, hashes and files of that one block; neither who is asked for its chunks, nor
when. What takes time is a task, so that the node goes on answering meanwhile.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pqchain.errors import DataError
from pqchain.reencode.protocol.placement import Placement
from pqchain.reencode.protocol.work import Own, Tasks
from pqchain.reencode.storage.erasure import Bytes, ReedSolomon
from pqchain.reencode.storage.layout import ALIGNMENT_BYTES, chunk_bytes
from pqchain.reencode.storage.store import Manifest, manifest_of, sha256
from pqchain.wire.messages import Reader
from pqchain.wire.node import Task
from pqchain.wire.session import Key

STRIPE_BYTES = 1 << 20
"""What must have come of every source before another piece is decoded, if decoding overlaps."""


@dataclass(slots=True, eq=False)
class Fetch:
    """One chunk that was asked of one peer."""

    index: int
    peer: int
    heard: float
    """When bytes of it last came, or it was asked for."""
    key: Key = (0, 0)
    """Session and channel that it was asked on."""
    reader: Reader | None = None
    received: int = 0
    complete: bool = False
    hasher: hashlib._Hash = field(default_factory=hashlib.sha256)
    """Of what has come, in an exchange: that keeps no chunk."""


@dataclass(slots=True, eq=False)
class Gather:
    """The state of one block. Chunks are received where they belong."""

    manifest: Manifest
    placement: Placement
    needed: int
    """How many chunks must be here: as many as data chunks, or all in an exchange."""
    buffer: Bytes
    """Memory that holds the block in both codes, zeros behind it; none in an exchange."""
    wanted: bool = True
    """Whether it is still under way: the block may be done, the placement or the node given up."""
    extra: dict[int, Bytes] = field(default_factory=dict)
    fetches: dict[int, Fetch] = field(default_factory=dict)
    verified: set[int] = field(default_factory=set)
    own_asked: bool = False
    corrupt: set[int] = field(default_factory=set)
    """Peers that have no good chunk of this block: it is damaged, not there, or never comes."""
    slow: set[int] = field(default_factory=set)
    """Peers that stall; they are asked again when nobody else is left."""
    stalls: Counter[int] = field(default_factory=Counter)
    """How often each peer has stalled."""
    decoded: int = 0
    """Bytes of every chunk up to which the data chunks are complete."""
    decoding: bool = False
    aside: dict[int, list[tuple[int, Bytes]]] = field(default_factory=dict)
    """Decoded pieces of chunks that may still come themselves: where they begin, and their bytes.

    What comes is hashed in its row, so that nothing else may be written there: an honest peer would
    be blamed for what was decoded from another's damaged chunk.
    """
    redone: bool = False
    whole: bool = False
    """Whether the block was verified."""
    stuck_since: float | None = None
    arrivals: list[float] = field(default_factory=list)

    def row(self, index: int) -> Bytes:
        """Return the memory of a chunk: within the block for data, beside it for parity."""
        size = self.manifest.chunk_bytes
        if index < self.manifest.data_chunks:
            return self.buffer[index * size : (index + 1) * size]
        if index not in self.extra:
            self.extra[index] = np.empty(size, np.uint8)
        return self.extra[index]

    def drop_parity(self) -> None:
        """Let go of parity chunks that are decoded and that no check waits for."""
        for index in self.verified:
            self.extra.pop(index, None)

    @property
    def enough(self) -> bool:
        """Whether as many chunks as are needed are here and verified."""
        return len(self.verified) >= self.needed

    @property
    def complete(self) -> bool:
        """Whether all that is needed has arrived, be it verified or not."""
        arrived = sum(fetch.complete for fetch in self.fetches.values())
        return self.whole or len(self.verified) + arrived >= self.needed

    def is_current(self, fetch: Fetch) -> bool:
        """Return whether that fetch is still counted on."""
        return self.fetches.get(fetch.index) is fetch

    def progress(self, index: int) -> int:
        """Return how many bytes of a chunk are here."""
        if index in self.verified:
            return self.manifest.chunk_bytes
        fetch = self.fetches.get(index)
        return fetch.received if fetch is not None else 0

    def next_piece(self, *, overlap: bool) -> tuple[int, int, tuple[int, ...]] | None:
        """Return what can be decoded now: from, to, and the chunks that it takes."""
        size, needed = self.manifest.chunk_bytes, self.manifest.data_chunks
        if self.decoding or self.decoded == size:
            return None
        if len(self.verified) >= needed:
            return self.decoded, size, tuple(sorted(self.verified)[:needed])
        if not overlap:
            return None
        known = sorted({*self.verified, *self.fetches}, key=lambda at: (-self.progress(at), at))
        if len(known) < needed:
            return None
        ready = min(self.progress(at) for at in known[:needed])
        # The last piece waits for the hashes of the chunks.
        ready = min(ready, size - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
        if ready - self.decoded < STRIPE_BYTES:
            return None
        return self.decoded, ready, tuple(sorted(known[:needed]))


class Recoder:
    """What a node does with blocks whose chunks it has."""

    def __init__(self, own: Own, leave: Callable[[Gather, Manifest | None], None]) -> None:
        """Tell `leave` of a block that is done with, and of the new manifest if one was stored."""
        self._own, self._leave = own, leave
        self._exchange = own.scenario.experiment == "exchange"
        engine = own.scenario.engine
        self.before = ReedSolomon(*own.scenario.before, engine=engine)
        self.after = ReedSolomon(*own.scenario.after, engine=engine)

    def new_gather(self, manifest: Manifest, placement: Placement) -> Gather:
        """Return the empty state of a block, with memory for both codes."""
        if self._exchange:
            return Gather(manifest, placement, len(manifest.members), np.empty(0, np.uint8))
        after = chunk_bytes(manifest.block_bytes, self.after.data_chunks)
        capacity = max(manifest.data_chunks * manifest.chunk_bytes, self.after.data_chunks * after)
        memory = np.zeros(capacity, np.uint8)
        return Gather(manifest, placement, manifest.data_chunks, memory)

    def advance(self, gather: Gather) -> None:
        """Do the next step that the chunks allow."""
        if self._exchange:
            gather.whole = gather.enough
            if gather.whole:
                self._leave(gather, None)
        elif (piece := gather.next_piece(overlap=self._own.scenario.overlap)) is not None:
            gather.decoding = True
            self._own.add(self._recode(gather, *piece), wanted=lambda: gather.wanted)

    def _recode(self, gather: Gather, start: int, stop: int, sources: tuple[int, ...]) -> Tasks:
        """Decode a piece. After the last one verify the block, encode it, hash and store."""
        old, new, missing = gather.manifest, gather.placement, self.before.missing(sources)

        last = stop == old.chunk_bytes

        def decode() -> None:
            present = {index: gather.row(index)[start:stop] for index in sources}
            if not last:
                pieces = {index: np.empty(stop - start, np.uint8) for index in missing}
                self.before.recover(present, pieces)
                for index, piece in pieces.items():
                    gather.aside.setdefault(index, []).append((start, piece))
                return
            # Enough chunks are verified, and no more come.
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
        if not (yield Task("other", len(block), lambda: sha256(block) == old.block_hash)):
            if gather.redone:
                raise DataError(
                    f"block {old.block_hash[:16]} has another hash although all its chunks are "
                    "intact; its manifest is wrong: compare it with that of the other nodes"
                )
            # Pieces were decoded from a chunk that then turned out to be damaged.
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
        yield Task("io", len(chunks[index]), lambda: store.put(manifest, index, chunks[index]))
        self._leave(gather, manifest)
