"""Sans-I/O delegate state machine.

Inputs are messages and the time in whole nanoseconds, outputs are messages and work. Each view
follows the protocol of `view` and `model`: accept the proposer's block, verify it, vote for it
unless locked on another one, count votes, lock, commit. A driver starts views, does the work and
reports its completion. Peers are not trusted: `rejected` counts invalid messages by reason.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

from pqchain.chain.block import Block, header_of
from pqchain.chain.state import BlockRejected, State
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE
from pqchain.delegates import messages
from pqchain.delegates.actions import (
    HONEST,
    FaultBehaviour,
    ReceivedBlock,
    Sending,
    SignatureTask,
    Validated,
    conflicting_block,
)
from pqchain.delegates.messages import BLOCK_KINDS, VOTE_KINDS, Message, MessageKind
from pqchain.delegates.setting import Setting, transactions_of
from pqchain.delegates.stores import Lock, MemoryStore, SafetyRecord
from pqchain.errors import Malformed

CLASSES = {
    MessageKind.PROPOSAL: BLOCK, MessageKind.COPY: VOTE,
    MessageKind.VOTE: VOTE, MessageKind.COMMIT: COMMIT,
}  # fmt: skip
"""Model message class of each wire message kind; the other kinds are not modelled."""

# Messages that the model does not have are handled after its messages that arrive simultaneously.
_NOT_MODELLED = 3

_MAX_BUFFERED_MESSAGES, _MIN_BUFFER_BYTES, _MESSAGE_BYTES = 8, 1 << 20, 256
"""Buffer limit per sender: the larger of eight longest messages and 1 MiB; each costs 256 more."""


class Delegate:
    """Delegate state machine; messages to send are in `out`, work to do is returned by `poll`."""

    def __init__(
        self,
        setting: Setting,
        rank: int,
        store: MemoryStore,
        *,
        behaviour: FaultBehaviour = HONEST,
    ) -> None:
        self.setting, self.rank, self.store, self.behaviour = setting, rank, store, behaviour
        self._live_count = int(setting.builder.alive.sum())
        self.is_echoed = False
        """Whether its broadcasts come back to it, as from the server of paper-serial."""
        self.phases, self.final_kind = setting.scenario.phases, CLASSES[setting.final_vote]
        self.height, self.view, self.proposer = 0, 0, 0
        self.rejected: Counter[str] = Counter()
        """Number of rejected messages and blocks by reason."""
        self._arrivals = 0
        self._max_waiting_bytes = max(
            _MAX_BUFFERED_MESSAGES * setting.longest_bytes, _MIN_BUFFER_BYTES
        )
        self.reset()

    def reset(self) -> None:
        """Reset all volatile state: queues, running work and vote counts; the store is kept."""
        self.out: list[Sending] = []
        self._inbox: list[tuple[int, int, int, int, bytes]] = []
        self.waiting: Counter[int] = Counter()
        """Bytes of buffered messages by sender."""
        self._is_busy = False
        self.signing: list[SignatureTask] = []
        """Messages to sign, which do not wait for verification."""
        self._votes: dict[tuple[int, int], dict[int, tuple[bytes, bytes]]] = defaultdict(dict)
        self._counts: Counter[tuple[int, int, bytes]] = Counter()
        self._reset_view()

    def _reset_view(self) -> None:
        self.block: ReceivedBlock | None = None
        self.verified_ns = self.prepared_ns = self.final_ns = NEVER
        self.releases_ns = NEVER
        """Time at which its block may be sent if it is the proposer."""

    def enter(self, height: int, view: int, now: int) -> None:
        """Enter a view at time `now` in nanoseconds."""
        # Votes and locks bind at one height only.
        if self.store.record.height != height:
            self.store.save(SafetyRecord(height=height))
        self.height, self.view = height, view
        self.proposer = self.setting.proposer(height, view)
        self._reset_view()
        if self.proposer == self.rank:
            self.releases_ns = now + self.setting.builder.wait_ns(height, self.rank)

    def wake(self, now: int) -> None:
        """Propose a block if this delegate is the proposer and its release time has come."""
        if now >= self.releases_ns:
            self.releases_ns = NEVER
            self._propose()

    def receive(self, link: int, data: bytes, now: int) -> None:
        """Buffer a message; `link` is its sender's authenticated rank, or -1 if it was relayed."""
        kind = messages.kind_of(data)
        if kind is None:
            self.rejected["malformed"] += 1
            return
        cost = len(data) + _MESSAGE_BYTES
        # A relayed message proves no sender: counted against the rank that it names, it would let
        # others use up that rank's quota.
        if link >= 0 and self.waiting[link] + cost > self._max_waiting_bytes:
            self.rejected["buffer full"] += 1
            return
        self.waiting[link] += cost
        self._arrivals += 1
        message_class = CLASSES.get(kind, _NOT_MODELLED)
        heapq.heappush(self._inbox, (now, message_class, link, self._arrivals, data))

    def poll(self) -> SignatureTask | None:
        """Return work that can start: signing first, else verifying the next message; or None."""
        if self.signing:
            return self.signing.pop(0)
        if self._is_busy or not self._inbox:
            return None
        _, _, link, _, data = heapq.heappop(self._inbox)
        self.waiting[link] -= len(data) + _MESSAGE_BYTES
        self._is_busy = True
        kind = messages.kind_of(data)
        is_block = kind in BLOCK_KINDS

        def run() -> Validated:
            try:
                return self._validate(link, data)
            except Malformed as error:
                return f"malformed: {error}"

        def finish(result: Validated, now: int) -> None:
            self._is_busy = False
            if isinstance(result, str):
                self.rejected[result.partition(":")[0]] += 1
            else:
                self._apply(*result, now)

        # Read without decoding, because drivers time the work by it before they run it.
        count = transactions_of(data[messages.HEADER_BYTES :]) if is_block else 0
        name = "copy" if kind is MessageKind.COPY else "block" if is_block else "vote"
        return SignatureTask(name, run, finish, count)

    def _validate(self, link: int, data: bytes) -> Validated:
        kind = messages.kind_of(data)
        assert kind is not None
        message = messages.decode(data, field_bytes=self.setting.field_bytes(kind))
        # A direct message must name the peer it came from; a relayed one (-1) may name another.
        if message.sender >= self.setting.count or link not in (message.sender, -1):
            return "wrong sender"
        if kind in VOTE_KINDS:
            digest, block = message.body, None
        elif kind in BLOCK_KINDS:
            block = self._execute(message.body)
            digest = block.digest
        else:
            return "unsolicited"
        if self.setting.field_bytes(kind) and not self.setting.keys.verify(
            message.sender, message.statement(digest), message.signature
        ):
            return "bad signature"
        return message, block

    def _execute(self, data: bytes) -> ReceivedBlock:
        """Return a block and the state after it; raise Malformed if it cannot be decoded."""
        try:
            state: State | None = self.setting.after(self.store.state, data)
        except BlockRejected as error:
            self.rejected[error.reason.value] += 1
            state = None
        return ReceivedBlock(data, state.tip if state else Block.decode(data).hash(), state)

    def _apply(self, message: Message, block: ReceivedBlock | None, now: int) -> None:
        """Process a valid message: accept its block, or count its vote."""
        if (message.height, message.view) != (self.height, self.view):
            self.rejected["wrong view"] += 1
        elif message.kind is MessageKind.PROPOSAL:
            assert block is not None
            if message.sender != self.proposer:
                self.rejected["not the proposer"] += 1
            elif self.block is None:
                self._accept(block, now)
        else:
            # A copy of all-to-all counts as a vote for the block that it contains.
            digest = block.digest if block else message.body
            kind = CLASSES[message.kind]
            self._add_vote(kind, self.view, message.sender, digest, message.signature)
            self._check_quorum(now)

    def _propose(self) -> None:
        setting, store, lock = self.setting, self.store, self.store.record.lock
        invalid = self.behaviour.invalid
        splits = self.behaviour.splits(self.rank) and not invalid
        # A locked delegate proposes its locked block again: others may have finalized it.
        if lock is not None and not splits and not invalid:
            data = lock.data
        else:
            data = setting.propose(
                store.state, self.height, self.view, self.rank,
                second=splits and self.rank % 2 == 1, invalid=invalid,
            ).encode()  # fmt: skip

        def finish(encoded: tuple[bytes, bytes], now: int) -> None:
            self._send(MessageKind.PROPOSAL, encoded)
            self._accept(self._execute(data), now)

        self._sign(MessageKind.PROPOSAL, data, splits, finish)

    def _vote(self, kind: MessageKind, block: ReceivedBlock) -> None:
        def finish(encoded: tuple[bytes, bytes], now: int) -> None:
            if not self._record_vote(kind, block):
                return
            # An echoed vote is counted when it comes back.
            if not self.is_echoed and (CLASSES[kind] == COMMIT or not self.behaviour.equivocates):
                vote = messages.decode(encoded[0], field_bytes=self.setting.field_bytes(kind))
                own = CLASSES[kind], self.view, self.rank, block.digest, vote.signature
                self._add_vote(*own)
                self._check_quorum(now)
            self._send(kind, encoded)

        splits = self.behaviour.splits(self.proposer) and block.state is not None
        self._sign(kind, block.data, splits, finish)

    def _sign(
        self,
        kind: MessageKind,
        data: bytes,
        splits: bool,
        finish: Callable[[tuple[bytes, bytes], int], None],
    ) -> None:
        """Queue signing of the messages to even and to odd ranks, which differ only if `splits`."""
        blocks = data, data
        if splits:
            before = self.store.state.timestamp
            other = conflicting_block(data, after=before)
            is_odd = (header_of(data).timestamp - before) % 2
            blocks = (other, data) if is_odd else (data, other)
        view = self.height, self.view

        def run() -> tuple[bytes, bytes]:
            even = self._message(kind, blocks[0])
            return even, self._message(kind, blocks[1]) if splits else even

        def finish_in_view(encoded: tuple[bytes, bytes], now: int) -> None:
            # The view may have ended while the message was signed.
            if (self.height, self.view) == view:
                finish(encoded, now)

        name = "sign block" if kind in BLOCK_KINDS else "sign vote"
        self.signing.append(SignatureTask(name, run, finish_in_view, message_class=CLASSES[kind]))

    def _message(self, kind: MessageKind, data: bytes) -> bytes:
        """Return the message with a block or its hash, signed if its kind requires it."""
        field, block = self.setting.field_bytes(kind), self.block
        digest = block.digest if block and block.data is data else header_of(data).hash()
        body = data if kind in BLOCK_KINDS else digest
        message = Message(kind, self.rank, self.height, self.view, body)
        if field:
            signature = self.setting.keys.sign(self.rank, message.statement(digest))
            message = replace(message, signature=signature)
        return messages.encode(message, field_bytes=field)

    def _send(self, kind: MessageKind, encoded: tuple[bytes, bytes]) -> None:
        """Queue one message for even and one for odd ranks, or a broadcast if they are equal."""
        even, odd = encoded
        by_rank = tuple(encoded[rank % 2] for rank in range(self.setting.count))
        self.out.append(Sending(kind, even if even == odd else by_rank))

    def _accept(self, block: ReceivedBlock, now: int) -> None:
        """Accept the view's block after its verification, and vote for it if allowed."""
        self.block, self.verified_ns = block, now
        lock, equivocates = self.store.record.lock, self.behaviour.equivocates
        # A locked delegate votes for its block only, until the lock is released.
        is_allowed = lock is None or lock.digest == block.digest
        is_willing = block.state is not None and not equivocates and is_allowed
        # Without votes a valid block is final on arrival.
        if self.phases == 0 and not self.setting.all_to_all:
            if is_willing:
                self._finalize(now, {})
            return
        if is_willing or equivocates:
            self._vote(MessageKind.COPY if self.setting.all_to_all else MessageKind.VOTE, block)
        self._check_quorum(now)

    def _record_vote(self, kind: MessageKind, block: ReceivedBlock) -> bool:
        """Store a vote durably before it is sent; return False if it must not be sent."""
        record, view = self.store.record, self.view
        if self.behaviour.equivocates or kind is MessageKind.COPY:
            return True
        if kind is MessageKind.COMMIT:
            if record.committed >= view:
                return False
            self.store.save(replace(record, committed=view))
            return True
        if record.voted >= view:
            return False
        # With one phase the delegate's vote locks; with two a quorum of prepare votes does.
        lock = Lock(view, block.digest, block.data) if self.phases == 1 else record.lock
        self.store.save(replace(record, voted=view, lock=lock))
        return True

    def _add_vote(self, kind: int, view: int, rank: int, digest: bytes, signature: bytes) -> None:
        """Count a vote; only the first vote of a delegate in a view counts."""
        votes = self._votes[view, kind]
        if rank in votes:
            self.rejected["second vote"] += 1
            return
        votes[rank] = (digest, signature)
        self._counts[view, kind, digest] += 1

    def _signatures(self, kind: int, view: int, digest: bytes) -> dict[int, bytes]:
        """Return the signatures of the votes for a block, by rank of the voter."""
        votes = self._votes[view, kind].items()
        return {rank: signature for rank, (voted, signature) in votes if voted == digest}

    def _check_quorum(self, now: int) -> None:
        """Lock or finalize if there is a quorum, which needs the block as well as the votes."""
        block, view = self.block, self.view
        # An invalid block does not become final, whatever the votes.
        if block is None or block.state is None or not (self.phases or self.setting.all_to_all):
            return
        # All-to-all has no quorum: the copy of every live delegate is needed.
        quorum = self._live_count if self.setting.all_to_all else self.setting.quorum
        counts, digest = self._counts, block.digest
        is_prepared = self.phases < 2 or self.prepared_ns < NEVER
        if not is_prepared and counts[view, VOTE, digest] >= quorum:
            self.prepared_ns = now
            self._lock(block, self._signatures(VOTE, view, digest))
            self._vote(MessageKind.COMMIT, block)
        if self.final_ns == NEVER and counts[view, self.final_kind, digest] >= quorum:
            self._finalize(now, self._signatures(self.final_kind, view, digest))

    def _lock(self, block: ReceivedBlock, votes: dict[int, bytes]) -> None:
        """Lock on a block with a prepare quorum."""
        lock = Lock(self.view, block.digest, block.data)
        self.store.save(replace(self.store.record, lock=lock))

    def _finalize(self, now: int, votes: dict[int, bytes]) -> None:
        """Mark the view's block as final."""
        self.final_ns = now
