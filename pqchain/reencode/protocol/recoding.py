"""From chunks that are here to the node's new chunk: decode, verify, encode anew, store.

Knows codec, store and the blocks under way; neither peers nor sessions, and of the plan only whose
place is whose. Every step is a task, so that the node goes on answering meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.protocol.plan import Plan
from pqchain.reencode.protocol.work import Record, Task, Work
from pqchain.reencode.scenario import Scenario
from pqchain.reencode.storage import erasure
from pqchain.reencode.storage.field import Bytes
from pqchain.reencode.storage.store import ChunkStore, Manifest

LOG = logging.getLogger("pqchain.reencode")


class Recoder:
    """What a node does with blocks whose chunks it has."""

    def __init__(
        self,
        index: int,
        scenario: Scenario,
        chunks: ChunkStore,
        work: Work,
        record: Record,
        gathers: dict[str, Gather],
        *,
        cancel_rest: Callable[[Gather], None],
        unreadable: Callable[[Gather, float], None],
        left: Callable[[Gather, Manifest | None, float], None],
        fail: Callable[[PqchainError], None],
    ) -> None:
        """Work on blocks as long as they are in `gathers`.

        Calls `cancel_rest` when no more chunks are needed, `unreadable` when our own one is not to
        be had, `left` when a block is done, with the manifest of what was stored, and `fail`.
        """
        self.before = erasure.ReedSolomon(*scenario.before, engine=scenario.engine)
        self.after = erasure.ReedSolomon(*scenario.after, engine=scenario.engine)
        self._index = index
        self._scenario = scenario
        self._store = chunks
        self._work = work
        self._record = record
        self._gathers = gathers
        self._cancel_rest = cancel_rest
        self._unreadable = unreadable
        self._left = left
        self._fail = fail

    def new_gather(self, manifest: Manifest) -> Gather:
        """Return the empty state of a block, with memory for both codes."""
        exchange = self._scenario.experiment == "exchange"
        needed = len(manifest.members) if exchange else manifest.data_chunks
        after = erasure.chunk_bytes(manifest.block_bytes, self.after.data_chunks)
        capacity = max(manifest.data_chunks * manifest.chunk_bytes, self.after.data_chunks * after)
        return Gather(manifest, needed, capacity)

    def read_own(self, gather: Gather, plan: Plan) -> None:
        """Load our own chunk into its row."""
        manifest = gather.manifest
        held = self._store.held(manifest)
        if not held:
            gather.corrupt.add(self._index)
            return
        index = held[0]
        gather.own_asked = True

        def read() -> None:
            gather.row(index)[:] = self._store.get(manifest, index)

        def then(_: Any, now: float) -> None:
            gather.own_asked = False
            if self._wanted(gather):
                gather.verified.add(index)
                self.advance(gather, plan, now)

        def otherwise(error: PqchainError, now: float) -> None:
            LOG.warning("node %d: %s", self._index, error)
            gather.own_asked = False
            gather.corrupt.add(self._index)
            if self._wanted(gather):
                self._unreadable(gather, now)

        self._work.add(Task("io", manifest.chunk_bytes, read, then, otherwise))

    def advance(self, gather: Gather, plan: Plan, now: float) -> None:
        """Do the next step that the chunks allow."""
        manifest = gather.manifest
        if gather.whole or not self._wanted(gather):
            return
        if len(gather.verified) >= gather.needed:
            self._cancel_rest(gather)
        if self._scenario.experiment == "exchange":
            if len(gather.verified) >= gather.needed:
                gather.whole = True
                self._left(gather, None, now)
            return
        piece = gather.next_piece(overlap=self._scenario.overlap)
        if piece is None:
            return
        gather.decoding = True
        start, stop, sources = piece
        missing = self.before.missing(sources)
        size = (stop - start) * manifest.data_chunks if missing else 0

        def decode() -> None:
            gather.decode(self.before, start, stop, sources)

        def then(_: Any, now: float) -> None:
            gather.decoding = False
            gather.decoded = stop
            if not self._wanted(gather):
                return
            if stop == manifest.chunk_bytes:
                self._verify(gather, plan)
            else:
                self.advance(gather, plan, now)

        self._work.add(Task("decode", size, decode, then))

    def _verify(self, gather: Gather, plan: Plan) -> None:
        """Check the hash of the block."""

        def then(fine: bool, now: float) -> None:
            if not self._wanted(gather):
                return
            if fine:
                gather.whole = True
                self._record.verified_blocks += 1
                self._encode(gather, plan)
            elif not gather.redone:
                # Pieces were decoded from a chunk that then turned out to be damaged.
                gather.redone = True
                gather.decoded = 0
                self.advance(gather, plan, now)
            else:
                block = gather.manifest.block_hash[:16]
                self._fail(
                    DataError(
                        f"block {block} has another hash although all its chunks are intact; its "
                        "manifest is wrong: compare it with that of the other nodes"
                    )
                )

        self._work.add(Task("other", gather.manifest.block_bytes, gather.check_block, then))

    def _encode(self, gather: Gather, plan: Plan) -> None:
        """Encode with the new code, and hash the new chunks."""
        size = erasure.chunk_bytes(gather.manifest.block_bytes, self.after.data_chunks)

        def encoded(chunks: list[Bytes], now: float) -> None:
            if not self._wanted(gather):
                return

            def hashed(manifest: Manifest, now: float) -> None:
                if self._wanted(gather):
                    self._keep(gather, manifest, chunks[plan.members.index(self._index)])

            self._work.add(
                Task("other", size * self.after.chunks,
                     lambda: gather.new_manifest(self.after, chunks, plan), hashed)
            )  # fmt: skip

        self._work.add(
            Task("encode", gather.manifest.block_bytes, lambda: gather.encode(self.after), encoded)
        )

    def _keep(self, gather: Gather, manifest: Manifest, chunk: Bytes) -> None:
        """Store our own new chunk."""
        index = manifest.members.index(self._index)

        def then(_: Any, now: float) -> None:
            if self._wanted(gather):
                self._left(gather, manifest, now)

        self._work.add(
            Task("io", len(chunk), lambda: self._store.put(manifest, index, chunk), then)
        )

    def _wanted(self, gather: Gather) -> bool:
        """Return whether the block is still wanted: a better plan may have come, or an error."""
        return self._gathers.get(gather.manifest.block_hash) is gather
