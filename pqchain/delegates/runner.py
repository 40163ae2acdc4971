"""Delegate with timers that tolerates lost messages and crashes, and catches up.

In addition to the votes of a view it sends STATUS (its height and view) when a view has timed out,
LOCK (the block that it is locked on, with the votes that it received), and DECIDED (final blocks
with their quorums) to delegates that are behind. View changes:

- a delegate whose view has timed out wishes for the next view and repeats that; it enters the view
  when a quorum wishes for it, so that a fast clock does not run ahead of the others;
- a delegate joins the wish for a later view once more than f others have it, where f is the maximum
  number of faulty delegates;
- a lock is released when a quorum for another block in a later view is shown: had the first block
  become final, there could be no such quorum.

Votes survive crashes: they are in the book before they are sent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pqchain.chain.block import header_of
from pqchain.chain.encoding import Reader
from pqchain.chain.state import BlockRejected
from pqchain.consensus.network import nanoseconds
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import COMMIT, NEVER, VOTE
from pqchain.delegates import certificates, messages
from pqchain.delegates.book import Book, Lock
from pqchain.delegates.conduct import HONEST, Conduct
from pqchain.delegates.core import CLASSES, Delegate, Held, Sending
from pqchain.delegates.messages import Kind, Message
from pqchain.delegates.setting import Setting
from pqchain.errors import UsageError

_AHEAD = 64
"""Maximum distance to a later view whose messages are kept."""

_EARLY_EACH = 64
"""Maximum number of buffered messages for the next height per sender."""

_ANSWERS_EACH = 8
"""Maximum number of final blocks sent to a peer at once; an honest one asks again later."""

_BLOCKS_EACH = 2
"""Maximum number of blocks kept per proposer and view; an honest one proposes one."""

_GROWTH = 4
"""Number of views after which the timeout of a view has doubled."""


def recovers(scenario: Scenario) -> bool:
    """Return whether quorums consist of signed votes, which convince third parties."""
    return scenario.phases > 0 and scenario.signed_votes


def refuse(scenario: Scenario) -> None:
    """Raise UsageError for arrivals, and for faults without a way to recover."""
    if scenario.arrivals_per_second:
        raise UsageError(
            f"arrivals_per_second is {scenario.arrivals_per_second:g}; delegates that run by "
            "themselves always have enough transactions: leave it out, or use mode='model'"
        )
    if scenario.faults.any and not recovers(scenario):
        raise UsageError(
            f"faults are {scenario.faults!r}; with {scenario.phases} phases of votes and "
            f"signed_votes={scenario.signed_votes} nobody who missed something can be helped: "
            "give vote_phases=1 or 2 (--vote-phases 2) and sign votes"
        )


class Runner(Delegate):
    """Delegate with timers that survives network and machine failures."""

    def __init__(
        self,
        setting: Setting,
        rank: int,
        book: Book,
        *,
        conduct: Conduct = HONEST,
        target: int | None = None,
    ) -> None:
        """Stop after `target` final blocks, or never. Raises UsageError as `refuse` does."""
        scenario = setting.scenario
        refuse(scenario)
        self.recovers = recovers(scenario)
        """Whether a delegate that missed something can catch up."""
        self.target = target
        self.final_kind = COMMIT if scenario.phases == 2 else VOTE
        timeout = scenario.view_timeout_seconds
        self._timeout_ns = None if timeout is None else nanoseconds(timeout)
        self.liars = (setting.count - 1) // 3
        """Maximum number of faulty delegates (f)."""
        self.views: Counter[int] = Counter()
        """Number of views entered, by height."""
        live = int(setting.builder.alive.sum())
        super().__init__(setting, rank, book, conduct=conduct, live=live)

    def forget(self) -> None:
        """Reset all volatile state; the book is kept."""
        super().forget()
        self.ends_ns = NEVER
        self._blocks: dict[bytes, Held] = {}
        self._proposals: dict[int, tuple[Message, Held]] = {}
        self._views: dict[int, int] = {}
        """Latest view that each delegate has wished for or entered."""
        self._wish = 0
        self._early: dict[int, list[tuple[int, bytes]]] = {}
        self._ahead: dict[int, int] = {}
        self._offered: dict[int, set[bytes]] = {}

    @property
    def done(self) -> bool:
        """Whether all requested blocks are final."""
        return self.target is not None and self.blocks >= self.target

    @property
    def blocks(self) -> int:
        """Number of final blocks."""
        return self.book.state.height

    def start(self, now: int) -> None:
        """Start, or resume from the book in a view in which it has not voted yet."""
        record = self.book.record
        # A vote in the last recorded view may have left before the crash.
        view = max(record.voted, record.committed) + 1 if record.height == self.blocks else 0
        self.enter(self.blocks, view, now)
        if self.recovers:
            self._say_where()

    def timer(self) -> int:
        """Return when `wake` is due in nanoseconds; NEVER if it is not."""
        return min(self.releases_ns, self.ends_ns)

    def wake(self, now: int) -> None:
        """Propose if due; after a timeout, wish for the next view."""
        super().wake(now)
        if now >= self.ends_ns:
            self.ends_ns = now + self._allowed_ns()
            self._wish = max(self._wish, self.view + 1)
            self._say_where()
            self._follow(self.rank, self._wish, now)

    def enter(self, height: int, view: int, now: int) -> None:
        """Enter a view, and process messages that arrived early."""
        is_new = height != self.height
        if is_new:
            self._votes.clear()
            self._counts.clear()
            self._blocks.clear()
            self._proposals.clear()
            self._views.clear()
            self._wish = 0
            self._offered.clear()
        super().enter(height, view, now)
        if self.done:
            self.releases_ns = self.ends_ns = NEVER
            return
        self.views[height] += 1
        self._wish = self._views[self.rank] = max(self._wish, view)
        # The timeout counts from when the proposer may send: under Proof of Luck it waits first.
        if self._timeout_ns is not None and self.recovers:
            self.ends_ns = now + self.setting.wait_ns(height, self.proposer) + self._allowed_ns()
        if is_new:
            # Their handling may buffer messages again.
            early, self._early = self._early, {}
            for link, data in (each for kept in early.values() for each in kept):
                self.receive(link, data, now)
        if (proposal := self._proposals.pop(view, None)) is not None:
            self._take(*proposal, now)

    def _allowed_ns(self) -> int:
        """Return the timeout of the current view in nanoseconds."""
        assert self._timeout_ns is not None
        return self._timeout_ns * (_GROWTH + self.view) // _GROWTH

    # Received messages.

    def receive(self, link: int, data: bytes, now: int) -> None:
        """Receive a message; those for the next height are buffered."""
        if len(data) < messages.HEADER_BYTES or messages.kind_of(data) is None:
            self.refused["malformed"] += 1
            return
        kind, height = messages.kind_of(data), int.from_bytes(data[8:12], "big")
        if kind is Kind.DECIDED:
            if height == self.height and not self.done:
                super().receive(link, data, now)
        elif height < self.height:
            if kind is Kind.STATUS:
                self._help(link, height)
        elif height > self.height:
            self._ask(link, height)
            kept = self._early.setdefault(link, [])
            held = len(data) + sum(len(each) for _, each in kept)
            if height == self.height + 1 and len(kept) < _EARLY_EACH and held <= self._most_waiting:
                kept.append((link, data))
        else:
            super().receive(link, data, now)

    def _help(self, link: int, height: int) -> None:
        """Send a peer that is behind the block that it lacks."""
        if link < 0 or height >= self.blocks:
            return
        answers = [each for each in self.out if each.kind is Kind.DECIDED and each.to == link]
        if len(answers) < _ANSWERS_EACH:
            self.out.append(Sending(Kind.DECIDED, self.decided(height), link))

    def decided(self, height: int) -> bytes:
        """Return the message with a final block and its quorum."""
        final = self.book.final(height)
        assert final is not None
        data, proof = final
        view, votes = int.from_bytes(proof[:2], "big"), proof[2:]
        body = len(votes).to_bytes(4, "big") + votes + data
        return messages.encode(Message(Kind.DECIDED, self.rank, height, view, body))

    def _ask(self, link: int, height: int) -> None:
        """Ask a peer that is ahead for missing blocks, if more than f delegates are ahead.

        A lag of one height is usual for a moment, so that case waits for the timeout of the view.
        """
        if link < 0 or self._ahead.get(link, 0) >= height or self.done:
            return
        self._ahead[link] = height
        # More than f delegates include an honest one, so faulty ones alone cannot cause requests.
        further = [rank for rank, seen in self._ahead.items() if seen > self.height + 1]
        if len(further) > self.liars and link in further:
            self.out.append(Sending(Kind.STATUS, self._status(), link))

    def _status(self) -> bytes:
        return messages.encode(Message(Kind.STATUS, self.rank, self.height, self._wish, b""))

    def _say_where(self) -> None:
        """Send our height, view and lock to all."""
        # Answers may have been lost, so peers that are ahead may be asked again.
        self._ahead.clear()
        self.out.append(Sending(Kind.STATUS, self._status()))
        lock = self.book.record.lock
        if lock is not None and lock.proof:
            body = lock.digest + lock.proof
            message = Message(Kind.LOCK, self.rank, self.height, lock.view, body)
            self.out.append(Sending(Kind.LOCK, messages.encode(message)))

    def _examined(self, link: int, data: bytes) -> tuple[Message, Held | None] | str:
        """Validate a message; return it with its block, or the reason for its rejection."""
        kind = messages.kind_of(data)
        if kind in CLASSES or not self.recovers:
            return super()._examined(link, data)
        message = messages.decode(data)
        if message.sender >= self.setting.count or link != message.sender:
            return "stranger"
        if kind is Kind.STATUS:
            return message, None
        if message.height != self.height:
            return "late"
        reader = Reader(message.body)
        if kind is Kind.LOCK:
            digest = reader.take(messages.HASH_BYTES, "a hash")
            held, voted = None, Kind.VOTE
            votes = certificates.read(reader)
            reader.end("quorum")
        elif kind is Kind.DECIDED:
            inner = Reader(reader.counted("a quorum"))
            votes = certificates.read(inner)
            inner.end("quorum")
            held = self._held(reader.take(reader.left, "a block"))
            if held.state is None:
                return "invalid block"
            digest, voted = held.digest, Kind.COMMIT if self.phases == 2 else Kind.VOTE
        else:
            return "not asked for"
        convinces = certificates.convinces(
            votes, voted, message.height, message.view, digest,
            directory=self.setting.directory, quorum=self.setting.quorum,
        )  # fmt: skip
        return (message, held) if convinces else "no quorum"

    def _take(self, message: Message, held: Held | None, now: int) -> None:
        """Apply a valid message."""
        if message.height != self.height or self.done:
            self.refused["late"] += 1
            return
        kind, view = message.kind, message.view
        if kind is Kind.DECIDED:
            assert held is not None
            inner = Reader(message.body).counted("a quorum")
            self._append(held, view, inner, now)
            return
        if kind is Kind.LOCK:
            self._unlock(view, message.body[: messages.HASH_BYTES], message.body)
            return
        if view > self.view + _AHEAD and kind is not Kind.STATUS:
            self.refused["far ahead"] += 1
            return
        if kind is Kind.PROPOSAL:
            assert held is not None
            if message.sender != self.setting.proposer(self.height, view):
                self.refused["not the proposer"] += 1
                return
            known = self._offered.setdefault(view, set())
            if held.digest not in known and len(known) >= _BLOCKS_EACH:
                self.refused["too many blocks"] += 1
                return
            known.add(held.digest)
            self._blocks.setdefault(held.digest, held)
            if view > self.view:
                self._proposals.setdefault(view, (message, held))
            elif view == self.view:
                super()._take(message, held, now)
            self._see_final(now)
        elif kind in CLASSES:
            digest = held.digest if held else message.body
            self._note(CLASSES[kind], view, message.sender, digest, message.signature)
            if view == self.view:
                self._decide(now)
            self._see_final(now)
        if self.height == message.height:
            self._follow(message.sender, view, now)

    def _follow(self, sender: int, view: int, now: int) -> None:
        """Record a delegate's view; join a wish of more than f, enter a view with a quorum."""
        if view <= self._views.get(sender, -1):
            return
        self._views[sender] = view
        wishes = sorted(self._views.values(), reverse=True)
        # More than f delegates include an honest one, so faulty ones alone cannot force a wish.
        if len(wishes) > self.liars and wishes[self.liars] > self._wish:
            self._wish = self._views[self.rank] = wishes[self.liars]
            self._say_where()
            wishes = sorted(self._views.values(), reverse=True)
        quorum = self.setting.quorum
        if len(wishes) >= quorum and wishes[quorum - 1] > self.view:
            self.enter(self.height, wishes[quorum - 1], now)

    # Deciding.

    def _see_final(self, now: int) -> None:
        """Check whether a block of any view of this height has become final."""
        if not self.phases:
            return
        # The missing votes of an earlier view may arrive after a delegate has left it.
        for (view, kind, digest), count in self._counts.items():
            held = self._blocks.get(digest)
            if kind == self.final_kind and count >= self.setting.quorum and held and held.state:
                support = self._support(kind, view, digest)
                self._append(held, view, certificates.write(support), now)
                return

    def _finish(self, now: int, votes: dict[int, bytes]) -> None:
        """Store the view's block as final."""
        assert self.held is not None
        self._append(self.held, self.view, certificates.write(votes), now)

    def _hold(self, held: Held, now: int) -> None:
        """Accept the view's block after its verification."""
        self._blocks.setdefault(held.digest, held)
        super()._hold(held, now)

    def _append(self, held: Held, view: int, votes: bytes, now: int) -> None:
        """Store a final block, and enter the next height."""
        before, state = self.book.state, held.state
        # A block that was verified as successor of the last block is not verified again.
        if state is None or header_of(held.data).previous != before.tip:
            try:
                state = self.setting.after(before, held.data)
            except BlockRejected as error:
                self.refused[error.reason.value] += 1
                return
        self.book.append(held.data, state, view.to_bytes(2, "big") + votes)
        self.enter(self.blocks, 0, now)

    def _lock(self, held: Held, votes: dict[int, bytes]) -> None:
        """Lock on a block with a prepare quorum, and store the votes as its proof."""
        lock = Lock(self.view, held.digest, held.data, certificates.write(votes))
        self.book.keep(replace(self.book.record, lock=lock))

    def _unlock(self, view: int, digest: bytes, body: bytes) -> None:
        """Release a lock for a block with a quorum in a later view."""
        record = self.book.record
        if record.lock is None or record.lock.view >= view or record.lock.digest == digest:
            return
        held = self._blocks.get(digest)
        # Without the newer block the delegate cannot lock on it; it only releases the old lock.
        lock = Lock(view, digest, held.data, body[messages.HASH_BYTES :]) if held else None
        self.book.keep(replace(record, lock=lock))
