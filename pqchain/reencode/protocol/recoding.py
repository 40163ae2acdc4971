"""From chunks that are here to the node's new chunk: decode, verify, encode anew, store.

Knows codec, store and the block at hand; neither peers nor sessions. Every step is a task, so that
the node goes on answering meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.protocol.placement import Placement
from pqchain.reencode.protocol.steps import Advance, Choose, Fail, Leave, Step
from pqchain.reencode.protocol.work import Item, Shared
from pqchain.reencode.storage import erasure
from pqchain.reencode.storage.store import Manifest

LOG = logging.getLogger("pqchain.reencode")

_Tasks = Generator[tuple[str, int, Callable[[], Any]], Any, Step]
"""Kinds, sizes and tasks that follow each other; each outcome is sent back, the last is a step."""


class Recoder:
    """What a node does with blocks whose chunks it has."""

    def __init__(self, shared: Shared) -> None:
        self._index, self._store, self._scenario = shared.index, shared.store, shared.scenario
        self._work, self._record = shared.work, shared.record
        engine = self._scenario.engine
        self.before = erasure.ReedSolomon(*self._scenario.before, engine=engine)
        self.after = erasure.ReedSolomon(*self._scenario.after, engine=engine)
        self._exchange = self._scenario.experiment == "exchange"

    def new_gather(self, manifest: Manifest, placement: Placement) -> Gather:
        """Return the empty state of a block, with memory for both codes."""
        needed = len(manifest.members) if self._exchange else manifest.data_chunks
        after = erasure.chunk_bytes(manifest.block_bytes, self.after.data_chunks)
        capacity = max(manifest.data_chunks * manifest.chunk_bytes, self.after.data_chunks * after)
        return Gather(manifest, placement, needed, capacity)

    def read_own(self, gather: Gather) -> None:
        """Load our own chunk into its row."""
        manifest = gather.manifest
        if not (held := self._store.held(manifest)):
            gather.corrupt.add(self._index)
            return
        index = held[0]
        gather.own_asked = True

        def read() -> None:
            gather.row(index)[:] = self._store.get(manifest, index)

        def then(_: Any) -> Step:
            gather.own_asked = False
            gather.verified.add(index)
            return Advance(gather)

        def otherwise(error: PqchainError) -> Step:
            LOG.warning("node %d: %s", self._index, error)
            gather.own_asked = False
            gather.corrupt.add(self._index)
            return Choose(gather)

        self._work.add(Item("io", manifest.chunk_bytes, read, then, otherwise))

    def advance(self, gather: Gather) -> Step | None:
        """Do the next step that the chunks allow."""
        if self._exchange:
            gather.whole = gather.enough
            return Leave(gather, None) if gather.whole else None
        if (piece := gather.next_piece(overlap=self._scenario.overlap)) is None:
            return None
        gather.decoding = True
        start, stop, sources = piece
        lacking = self.before.missing(sources)
        size = (stop - start) * gather.manifest.data_chunks if lacking else 0

        def decode() -> None:
            gather.decode(self.before, start, stop, sources)

        def then(_: Any) -> Step | None:
            gather.decoding = False
            gather.decoded = stop
            if stop < gather.manifest.chunk_bytes:
                return Advance(gather)
            return self._next(gather, self._recoded(gather), None)

        self._work.add(Item("decode", size, decode, then))
        return None

    def _next(self, gather: Gather, tasks: _Tasks, outcome: Any) -> Step | None:
        """Queue the next task of a block, unless the block is no longer wanted."""
        if not gather.wanted:
            return None
        try:
            kind, size, task = tasks.send(outcome)
        except StopIteration as end:
            step: Step = end.value
            return step
        self._work.add(Item(kind, size, task, partial(self._next, gather, tasks)))
        return None

    def _recoded(self, gather: Gather) -> _Tasks:
        """Verify a decoded block, encode it, hash its new chunks, store ours."""
        block_bytes = gather.manifest.block_bytes
        if not (yield "other", block_bytes, gather.check_block):
            if gather.redone:
                block = gather.manifest.block_hash[:16]
                return Fail(
                    DataError(
                        f"block {block} has another hash although all its chunks are intact; its "
                        "manifest is wrong: compare it with that of the other nodes"
                    )
                )
            # Pieces were decoded from a chunk that then turned out to be damaged.
            gather.redone = True
            gather.decoded = 0
            return Advance(gather)
        gather.whole = True
        self._record.verified_blocks += 1
        chunks = yield "encode", block_bytes, lambda: gather.encode(self.after)
        size = sum(map(len, chunks))
        manifest = yield "other", size, lambda: gather.new_manifest(self.after, chunks)
        index = manifest.members.index(self._index)
        own = chunks[index]
        yield "io", len(own), lambda: self._store.put(manifest, index, own)
        return Leave(gather, manifest)
