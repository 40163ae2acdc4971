"""One block on its way through a node: chunks come in, the block is decoded and encoded anew.

Knows memory, codec and hashes of that one block; neither who is asked for its chunks, nor when.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from pqchain.reencode.protocol.placement import Placement
from pqchain.reencode.storage.erasure import ALIGNMENT_BYTES, ReedSolomon
from pqchain.reencode.storage.field import Bytes
from pqchain.reencode.storage.store import Manifest, manifest_of
from pqchain.wire.messages import Reader

STRIPE_BYTES = 1 << 20
"""What must have come of every source before another piece is decoded, if decoding overlaps."""


@dataclass(slots=True, eq=False)
class Fetch:
    """One chunk that was asked of one peer."""

    index: int
    peer: int
    heard: float
    """When bytes of it last came, or it was asked for."""
    session: int = 0
    channel: int = 0
    reader: Reader | None = None
    received: int = 0
    complete: bool = False


@dataclass(slots=True, eq=False)
class Gather:
    """The state of one block. Rows are preallocated; chunks are received where they belong."""

    manifest: Manifest
    placement: Placement
    needed: int
    """How many chunks must be here: as many as data chunks, or all in an exchange."""
    capacity: int
    wanted: bool = True
    """Whether it is still under way: the block may be done, the placement or the node given up."""
    buffer: Bytes = field(init=False)
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
    redone: bool = False
    whole: bool = False
    """Whether the block was verified."""
    stuck_since: float | None = None
    arrivals: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reserve memory that holds the block in both codes, zeros behind it."""
        self.buffer = np.zeros(self.capacity, np.uint8)

    def row(self, index: int) -> Bytes:
        """Return the memory of a chunk: within the block for data, beside it for parity."""
        size = self.manifest.chunk_bytes
        if index < self.manifest.data_chunks:
            return self.buffer[index * size : (index + 1) * size]
        if index not in self.extra:
            self.extra[index] = np.empty(size, np.uint8)
        return self.extra[index]

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

    def decode(self, code: ReedSolomon, start: int, stop: int, sources: tuple[int, ...]) -> None:
        """Compute that piece of the data chunks that are not among the sources."""
        present = {index: self.row(index)[start:stop] for index in sources}
        absent = {index: self.row(index)[start:stop] for index in code.missing(sources)}
        code.recover(present, absent)

    def check_block(self) -> bool:
        """Return whether the decoded block is the one that the manifest names."""
        view = self.buffer.data[: self.manifest.block_bytes]
        return hashlib.sha3_256(view).hexdigest() == self.manifest.block_hash

    def encode(self, code: ReedSolomon) -> list[Bytes]:
        """Return all chunks in the new code; data chunks are views of the block."""
        return code.chunks_of(self.buffer, self.manifest.block_bytes)

    def new_manifest(self, code: ReedSolomon, chunks: list[Bytes]) -> Manifest:
        """Return the manifest of the placement's epoch."""
        old, new = self.manifest, self.placement
        return manifest_of(
            old.block_hash, old.block_bytes, code, chunks, epoch=new.epoch, members=new.members
        )
