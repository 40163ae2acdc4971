"""Sans-I/O delegate state machine.

Inputs are messages and the time in whole nanoseconds, outputs are messages and work. Each view
follows the protocol of `view` and `model`: accept the proposer's block, verify it, vote for it
unless locked on another one, count votes, lock, commit. A driver starts views, does the work and
reports its completion. Peers are not trusted: `refused` counts invalid messages by reason.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pqchain.chain.block import Block, header_of
from pqchain.chain.state import BlockRejected, State
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE
from pqchain.delegates import messages
from pqchain.delegates.book import Book, Lock, Record
from pqchain.delegates.conduct import HONEST, Conduct, twin
from pqchain.delegates.messages import Kind, Message
from pqchain.delegates.setting import Setting, transactions_of
from pqchain.errors import Malformed

CLASSES = {Kind.PROPOSAL: BLOCK, Kind.COPY: VOTE, Kind.VOTE: VOTE, Kind.COMMIT: COMMIT}
"""Model message class of each wire message kind; the other kinds are not modelled."""

# Kinds that the model does not know are handled after its own if they arrive together.
_OTHER = 3

_WAITING_MESSAGES, _LEAST_WAITING_BYTES, _MESSAGE_BYTES = 8, 1 << 20, 256
"""Buffer limit per sender: the larger of eight longest messages and 1 MiB; each costs 256 more."""


@dataclass(slots=True, eq=False)
class Work:
    """A task of a delegate that takes time."""

    kind: str
    """"block", "copy", "vote": verify one. "sign block", "sign vote": sign one."""
    run: Callable[[], Any]
    done: Callable[[Any, int], None]
    """Called with the result of `run` and the completion time in nanoseconds."""
    transactions: int = 0
    """Number of transactions in the block to verify."""
    order: int = BLOCK
    """Model message class of the message to sign."""

    @property
    def beside(self) -> bool:
        """Whether it may run in parallel to verification, which is serial."""
        return self.kind.startswith("sign")


@dataclass(frozen=True, slots=True)
class Sending:
    """A message to one other delegate or to all, identical or different for each."""

    kind: Kind
    data: bytes | tuple[bytes, ...]
    """One encoding for all receivers, or one per rank."""
    to: int | None = None
    """Rank of the receiver; None for all others."""

    def for_(self, rank: int) -> bytes:
        """Return the bytes to send to a rank."""
        return self.data if isinstance(self.data, bytes) else self.data[rank]


@dataclass(slots=True, eq=False)
class Held:
    """A received block and the state that it leads to."""

    data: bytes
    digest: bytes
    state: State | None
    """State after the block; None if the block is invalid."""


class Delegate:
    """Delegate state machine: queued messages are in `out`, `poll` returns work."""

    def __init__(
        self,
        setting: Setting,
        rank: int,
        book: Book,
        *,
        conduct: Conduct = HONEST,
        live: int | None = None,
    ) -> None:
        """Create a delegate; `live` is the number of connected ones with itself (default: all)."""
        self.setting, self.rank, self.book, self.conduct = setting, rank, book, conduct
        self.live = setting.count if live is None else live
        self.echoed = False
        """Whether its broadcasts come back to it, as from the server of paper-serial."""
        self.phases = setting.scenario.phases
        self.height, self.view, self.proposer = 0, 0, 0
        self.out: list[Sending] = []
        self.refused: Counter[str] = Counter()
        """Number of rejected messages and blocks by reason."""
        self._came = 0
        self._most_waiting = max(_WAITING_MESSAGES * setting.longest_bytes, _LEAST_WAITING_BYTES)
        self.forget()

    def forget(self) -> None:
        """Reset all volatile state: queues, running work and vote counts. The book is kept."""
        self.out = []
        self._inbox: list[tuple[int, int, int, int, bytes]] = []
        self.waiting: Counter[int] = Counter()
        self._busy = False
        self._signing: list[Work] = []
        self._votes: dict[tuple[int, int], dict[int, tuple[bytes, bytes]]] = defaultdict(dict)
        self._counts: Counter[tuple[int, int, bytes]] = Counter()
        self._rest()

    def _rest(self) -> None:
        """Reset per-view state."""
        self.held: Held | None = None
        self.verified_ns = self.prepared_ns = self.final_ns = NEVER
        self.releases_ns = NEVER
        """Time at which its own block may be sent."""

    def enter(self, height: int, view: int, now: int) -> None:
        """Enter a view at time `now` in nanoseconds."""
        # Votes and locks bind at one height only.
        if self.book.record.height != height:
            self.book.keep(Record(height=height))
        self.height, self.view = height, view
        self.proposer = self.setting.proposer(height, view)
        self._rest()
        if self.proposer == self.rank:
            self.releases_ns = now + self.setting.wait_ns(height, self.rank)

    @property
    def at(self) -> tuple[int, int]:
        """Its height and view."""
        return self.height, self.view

    def wake(self, now: int) -> None:
        """Propose the block if its release time has come."""
        if now >= self.releases_ns:
            self.releases_ns = NEVER
            self._propose()

    def receive(self, link: int, data: bytes, now: int) -> None:
        """Buffer a message from a sender of proven rank; `link` is -1 if it was relayed."""
        kind = messages.kind_of(data)
        if kind is None:
            self.refused["malformed"] += 1
            return
        cost = len(data) + _MESSAGE_BYTES
        # A relayed message proves no sender: counted against the rank that it names, it would let
        # others use up that rank's quota.
        if link >= 0 and self.waiting[link] + cost > self._most_waiting:
            self.refused["too many"] += 1
            return
        self.waiting[link] += cost
        self._came += 1
        order = CLASSES.get(kind, _OTHER)
        heapq.heappush(self._inbox, (now, order, link, self._came, data))

    @property
    def has_to_sign(self) -> bool:
        """Whether the next work is to sign; signing does not wait for verification."""
        return bool(self._signing)

    def poll(self) -> Work | None:
        """Return work that can start now: a signature first, else the next message, or None."""
        if self._signing:
            return self._signing.pop(0)
        if self._busy or not self._inbox:
            return None
        _, _, link, _, data = heapq.heappop(self._inbox)
        self.waiting[link] -= len(data) + _MESSAGE_BYTES
        self._busy = True
        return self._check(link, data)

    def _check(self, link: int, data: bytes) -> Work:
        kind = messages.kind_of(data)
        is_block = kind in (Kind.PROPOSAL, Kind.COPY)

        def run() -> tuple[Message, Held | None] | str:
            try:
                return self._examined(link, data)
            except Malformed as error:
                return f"malformed: {error}"

        def done(outcome: tuple[Message, Held | None] | str, now: int) -> None:
            self._busy = False
            if isinstance(outcome, str):
                self.refused[outcome.partition(":")[0]] += 1
            else:
                self._take(*outcome, now)

        # Read without decoding, because drivers time the work by it before it is done.
        count = transactions_of(data[messages.HEADER_BYTES :]) if is_block else 0
        what = "copy" if kind is Kind.COPY else "block" if is_block else "vote"
        return Work(what, run, done, count)

    def _examined(self, link: int, data: bytes) -> tuple[Message, Held | None] | str:
        """Validate a message; return it with its block, or the reason for its rejection."""
        kind = messages.kind_of(data)
        assert kind is not None
        message = messages.decode(data, field_bytes=self.setting.field_bytes(kind))
        # A direct message must name the peer it came from; a relayed one (-1) may name another.
        if message.sender >= self.setting.count or link not in (message.sender, -1):
            return "stranger"
        if kind in (Kind.VOTE, Kind.COMMIT):
            digest, held = message.body, None
        elif kind in (Kind.PROPOSAL, Kind.COPY):
            held = self._held(message.body)
            digest = held.digest
        else:
            return "not asked for"
        if self.setting.field_bytes(kind) and not self.setting.directory.verify(
            message.sender, message.statement(digest), message.signature
        ):
            return "bad signature"
        return message, held

    def _held(self, data: bytes) -> Held:
        """Return a block and the state after it; raise Malformed if it cannot be decoded."""
        try:
            state: State | None = self.setting.after(self.book.state, data)
        except BlockRejected as error:
            self.refused[error.reason.value] += 1
            state = None
        return Held(data, state.tip if state else Block.decode(data).hash(), state)

    def _take(self, message: Message, held: Held | None, now: int) -> None:
        if (message.height, message.view) != self.at:
            self.refused["late"] += 1
        elif message.kind is Kind.PROPOSAL:
            assert held is not None
            if message.sender != self.proposer:
                self.refused["not the proposer"] += 1
            elif self.held is None:
                self._hold(held, now)
        elif message.kind is Kind.COPY:
            assert held is not None
            self._count(VOTE, message.sender, held.digest, b"", now)
        else:
            kind = CLASSES[message.kind]
            self._count(kind, message.sender, message.body, message.signature, now)

    def _propose(self) -> None:
        setting, lock = self.setting, self.book.record.lock
        splits = self.conduct.splits(self.rank) and not self.conduct.invalid
        # A locked delegate proposes its locked block again: others may have finalized it.
        if lock is not None and not splits and not self.conduct.invalid:
            data = lock.data
        else:
            state, twin_ = self.book.state, splits and self.rank % 2 == 1
            data = setting.propose(
                state, self.height, self.view, self.rank, twin=twin_, bad=self.conduct.invalid
            ).encode()
        other = twin(data) if splits else data
        # Even ranks get the block with the even time offset, odd ranks its twin.
        mine = (data, other) if self.rank % 2 == 0 else (other, data)

        at = self.at

        def run() -> tuple[bytes, bytes]:
            return self._messages(Kind.PROPOSAL, mine)

        def done(both: tuple[bytes, bytes], now: int) -> None:
            if self.at == at:
                self._say(Kind.PROPOSAL, both)
                self._hold(self._held(data), now)

        self._signing.append(Work("sign block", run, done))

    def _messages(self, kind: Kind, both: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """Return our messages for even and for odd ranks, about their blocks."""
        one = self._message(kind, both[0])
        return one, one if both[0] == both[1] else self._message(kind, both[1])

    def _message(self, kind: Kind, data: bytes) -> bytes:
        """Return our message with a block or its hash, signed if its kind requires it."""
        field, held = self.setting.field_bytes(kind), self.held
        digest = held.digest if held and held.data is data else header_of(data).hash()
        body = data if kind in (Kind.PROPOSAL, Kind.COPY) else digest
        message = Message(kind, self.rank, self.height, self.view, body)
        if field:
            signature = self.setting.directory.sign(self.rank, message.statement(digest))
            message = replace(message, signature=signature)
        return messages.encode(message, field_bytes=field)

    def _say(self, kind: Kind, both: tuple[bytes, bytes]) -> None:
        """Queue one message for even and one for odd ranks, or a broadcast if they are equal."""
        even, odd = both
        each = tuple(both[rank % 2] for rank in range(self.setting.count))
        self.out.append(Sending(kind, even if even == odd else each))

    def _hold(self, held: Held, now: int) -> None:
        """Accept the view's block after its verification, and vote for it if allowed."""
        self.held, self.verified_ns = held, now
        lock = self.book.record.lock
        willing = held.state is not None and not self.conduct.double
        # A locked delegate votes for its block only, until the lock is released.
        willing = willing and (lock is None or lock.digest == held.digest)
        # Without votes a valid block is final on arrival.
        if self.phases == 0 and not self.setting.all_to_all:
            if willing:
                self._finish(now, {})
            return
        if willing or self.conduct.double:
            self._vote(Kind.COPY if self.setting.all_to_all else Kind.VOTE, held)
        self._decide(now)

    def _vote(self, kind: Kind, held: Held) -> None:
        other = held.data
        if self.conduct.splits(self.proposer) and held.state is not None:
            other = twin(held.data)
        mine = (held.data, other) if self._parity(held) == 0 else (other, held.data)

        at = self.at

        def run() -> tuple[bytes, bytes]:
            return self._messages(kind, mine)

        def done(both: tuple[bytes, bytes], now: int) -> None:
            # The view may have ended while the vote was signed.
            if self.at == at and self._bind(kind, held):
                own = messages.decode(both[0], field_bytes=self.setting.field_bytes(kind))
                # An echoed vote is counted when it comes back.
                if not self.echoed and (kind is Kind.COMMIT or not self.conduct.double):
                    self._count(CLASSES[kind], self.rank, held.digest, own.signature, now)
                self._say(kind, both)

        what = "sign block" if kind is Kind.COPY else "sign vote"
        self._signing.append(Work(what, run, done, order=CLASSES[kind]))

    def _parity(self, held: Held) -> int:
        """Return the parity of the ranks that an equivocating proposer sent this block."""
        return (header_of(held.data).timestamp - self.book.state.timestamp) % 2

    def _bind(self, kind: Kind, held: Held) -> bool:
        """Store a vote durably before it is sent; return False if it must not be sent."""
        record, view = self.book.record, self.view
        if self.conduct.double or kind is Kind.COPY:
            return True
        if kind is Kind.COMMIT:
            if record.committed >= view:
                return False
            self.book.keep(replace(record, committed=view))
            return True
        if record.voted >= view:
            return False
        # With one phase the own vote locks; with two a quorum of prepare votes does.
        lock = Lock(view, held.digest, held.data) if self.phases == 1 else record.lock
        self.book.keep(replace(record, voted=view, lock=lock))
        return True

    def _count(self, kind: int, rank: int, digest: bytes, signature: bytes, now: int) -> None:
        self._note(kind, self.view, rank, digest, signature)
        self._decide(now)

    def _note(self, kind: int, view: int, rank: int, digest: bytes, signature: bytes) -> None:
        """Store a vote; only the first of each delegate in a view counts."""
        votes = self._votes[view, kind]
        if rank in votes:
            self.refused["twice"] += 1
            return
        votes[rank] = (digest, signature)
        self._counts[view, kind, digest] += 1

    def _support(self, kind: int, view: int, digest: bytes) -> dict[int, bytes]:
        votes = self._votes[view, kind].items()
        return {rank: signature for rank, (named, signature) in votes if named == digest}

    def _decide(self, now: int) -> None:
        """Check for a quorum, which needs the block as well as the votes."""
        held, view = self.held, self.view
        # An invalid block does not become final, whoever votes for it.
        if held is None or held.state is None or not (self.phases or self.setting.all_to_all):
            return
        # All-to-all has no quorum: every connected delegate's copy is needed.
        quorum = self.live if self.setting.all_to_all else self.setting.quorum
        counts, digest = self._counts, held.digest
        prepares = self.phases == 2 and self.prepared_ns == NEVER
        if prepares and counts[view, VOTE, digest] >= quorum:
            self.prepared_ns = now
            self._lock(held, self._support(VOTE, view, digest))
            self._vote(Kind.COMMIT, held)
        kind = COMMIT if self.phases == 2 else VOTE
        if self.final_ns == NEVER and counts[view, kind, digest] >= quorum:
            self._finish(now, self._support(kind, view, digest))

    def _lock(self, held: Held, votes: dict[int, bytes]) -> None:
        """Lock on a block with a prepare quorum."""
        lock = Lock(self.view, held.digest, held.data)
        self.book.keep(replace(self.book.record, lock=lock))

    def _finish(self, now: int, votes: dict[int, bytes]) -> None:
        """Mark the view's block as finalized."""
        self.final_ns = now
