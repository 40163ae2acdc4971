"""A delegate that runs by itself: own timers, lost messages, crashes, catching up.

Beside the votes of a view it says where it is (STATUS) when a view has not ended in time, shows
which block it is locked on with the votes that it saw (LOCK), and gives whoever is behind the final
blocks that lack with their quorums (DECIDED). Of views:

- whose time is over wishes for the next view, and says so again and again; it goes there when a
  quorum wishes for it, so that a fast clock does not run away from the others;
- whoever sees more others wish for a later view than there may be liars wishes for it too;
- a lock is left when a quorum for another block in a later view is shown: had the first block
  become final, no such quorum could be.

Its word holds over crashes: what it votes for stands in its book before the vote leaves.
"""

from __future__ import annotations

from dataclasses import replace

from pqchain.chain.block import header_of
from pqchain.chain.encoding import Reader
from pqchain.chain.state import BlockRejected
from pqchain.consensus.delegate import certificates, messages
from pqchain.consensus.delegate.book import Book, Lock
from pqchain.consensus.delegate.conduct import HONEST, Conduct
from pqchain.consensus.delegate.core import CLASSES, Delegate, Held, Sending
from pqchain.consensus.delegate.messages import Kind, Message
from pqchain.consensus.delegate.setting import Setting
from pqchain.consensus.network import nanoseconds
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import COMMIT, NEVER, VOTE
from pqchain.errors import UsageError

_AHEAD = 64
"""Views ahead of its own of which a delegate keeps what it hears."""

_EARLY_EACH = 64
"""Messages for the next height that are kept of each sender."""

_ANSWERS_EACH = 8
"""Final blocks that one sender is given at once; an honest one asks for the same again later."""

_BLOCKS_EACH = 2
"""Blocks that are kept of a proposer of one view; an honest one proposes one."""

_GROWTH = 4
"""After so many views a view's time has doubled."""


def recovers(scenario: Scenario) -> bool:
    """Return whether there are quorums of signed votes, which convince whoever was not there."""
    return scenario.phases > 0 and scenario.signed_votes


def refuse(scenario: Scenario) -> None:
    """Raise UsageError for arrivals, and for faults that nobody could recover from."""
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
    """A delegate with timers of its own, which survives what networks and machines do."""

    def __init__(
        self,
        setting: Setting,
        rank: int,
        book: Book,
        *,
        conduct: Conduct = HONEST,
        target: int | None = None,
    ) -> None:
        """Stop when so many blocks are final, or never. Raises UsageError as `refuse` does."""
        scenario = setting.scenario
        refuse(scenario)
        self.recovers = recovers(scenario)
        """Whether a delegate that missed something can be helped."""
        self.target = target
        self.final_kind = COMMIT if scenario.phases == 2 else VOTE
        timeout = scenario.view_timeout_seconds
        self._timeout_ns = None if timeout is None else nanoseconds(timeout)
        self.liars = (setting.count - 1) // 3
        """How many delegates may lie."""
        self.views = 0
        """How many views it has entered, of all heights."""
        live = int(setting.builder.alive.sum())
        super().__init__(setting, rank, book, conduct=conduct, live=live)

    def forget(self) -> None:
        """Lose everything but the book."""
        super().forget()
        self.ends_ns = NEVER
        self._blocks: dict[bytes, Held] = {}
        self._proposals: dict[int, tuple[Message, Held]] = {}
        self._views: dict[int, int] = {}
        """The last view that each has wished for or been in."""
        self._wish = 0
        self._early: dict[int, list[tuple[int, bytes]]] = {}
        self._ahead: dict[int, int] = {}
        self._offered: dict[int, set[bytes]] = {}

    @property
    def done(self) -> bool:
        """Whether it has all the blocks that were asked for."""
        return self.target is not None and self.blocks >= self.target

    @property
    def blocks(self) -> int:
        """How many blocks are final."""
        return self.book.state.height

    def start(self, now: int) -> None:
        """Begin, or go on where the book ends: in a view in which it has not voted yet."""
        record = self.book.record
        view = max(record.voted, record.committed) + 1 if record.height == self.blocks else 0
        self.enter(self.blocks, view, now)
        if self.recovers:
            self._say_where()

    def timer(self) -> int:
        """Return when `wake` wants to be called; NEVER if not."""
        return min(self.releases_ns, self.ends_ns)

    def wake(self, now: int) -> None:
        """Propose if that is due, and give a view up whose time is over."""
        super().wake(now)
        if now >= self.ends_ns:
            self.ends_ns = now + self._allowed_ns()
            self._wish = max(self._wish, self.view + 1)
            self._say_where()
            self._follow(self.rank, self._wish, now)

    def enter(self, height: int, view: int, now: int) -> None:
        """Begin a view, and take in what came early."""
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
        self.views += 1
        self._wish = self._views[self.rank] = max(self._wish, view)
        if self._timeout_ns is not None and self.recovers:
            self.ends_ns = now + self.setting.wait_ns(height, self.proposer) + self._allowed_ns()
        if is_new:
            early, self._early = self._early, {}
            for link, data in (each for kept in early.values() for each in kept):
                self.receive(link, data, now)
        if (proposal := self._proposals.pop(view, None)) is not None:
            self._take(*proposal, now)

    def _allowed_ns(self) -> int:
        """Return how long the view may take."""
        assert self._timeout_ns is not None
        return self._timeout_ns * (_GROWTH + self.view) // _GROWTH

    # Taking in.

    def receive(self, link: int, data: bytes, now: int) -> None:
        """Take a message in; what is of the next height waits for that."""
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
        """Give somebody who is behind the block that it lacks."""
        if link < 0 or height >= self.blocks:
            return
        answers = [each for each in self.out if each.kind is Kind.DECIDED and each.to == link]
        if len(answers) < _ANSWERS_EACH:
            self.out.append(Sending(Kind.DECIDED, self.decided(height), link))

    def decided(self, height: int) -> bytes:
        """Return the message that tells of a final block and the quorum that made it so."""
        final = self.book.final(height)
        assert final is not None
        data, proof = final
        view, votes = int.from_bytes(proof[:2], "big"), proof[2:]
        body = len(votes).to_bytes(4, "big") + votes + data
        return messages.encode(Message(Kind.DECIDED, self.rank, height, view, body))

    def _ask(self, link: int, height: int) -> None:
        """Ask somebody who is ahead for what we lack, if more are ahead than may lie.

        Being one height behind for a moment is usual, so that waits until a view is over.
        """
        if link < 0 or self._ahead.get(link, 0) >= height or self.done:
            return
        self._ahead[link] = height
        further = [rank for rank, seen in self._ahead.items() if seen > self.height + 1]
        if len(further) > self.liars and link in further:
            self.out.append(Sending(Kind.STATUS, self._status(), link))

    def _status(self) -> bytes:
        return messages.encode(Message(Kind.STATUS, self.rank, self.height, self._wish, b""))

    def _say_where(self) -> None:
        """Tell all where we are, and on what we are locked."""
        self._ahead.clear()
        self.out.append(Sending(Kind.STATUS, self._status()))
        lock = self.book.record.lock
        if lock is not None and lock.proof:
            body = lock.digest + lock.proof
            message = Message(Kind.LOCK, self.rank, self.height, lock.view, body)
            self.out.append(Sending(Kind.LOCK, messages.encode(message)))

    def _examined(self, link: int, data: bytes) -> tuple[Message, Held | None] | str:
        """Return a message that is what it says; or why it is not."""
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
        """Take a message in that was found to be right."""
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
        """Note that somebody wishes for a view, or is there; join, and go there with a quorum."""
        if view <= self._views.get(sender, -1):
            return
        self._views[sender] = view
        wishes = sorted(self._views.values(), reverse=True)
        if len(wishes) > self.liars and wishes[self.liars] > self._wish:
            self._wish = self._views[self.rank] = wishes[self.liars]
            self._say_where()
            wishes = sorted(self._views.values(), reverse=True)
        quorum = self.setting.quorum
        if len(wishes) >= quorum and wishes[quorum - 1] > self.view:
            self.enter(self.height, wishes[quorum - 1], now)

    # Deciding.

    def _see_final(self, now: int) -> None:
        """See whether a block of any view of this height has become final."""
        if not self.phases:
            return
        for (view, kind, digest), count in self._counts.items():
            held = self._blocks.get(digest)
            if kind == self.final_kind and count >= self.setting.quorum and held and held.state:
                support = self._support(kind, view, digest)
                self._append(held, view, certificates.write(support), now)
                return

    def _finish(self, now: int, votes: dict[int, bytes]) -> None:
        """Have the view's block as final."""
        assert self.held is not None
        self._append(self.held, self.view, certificates.write(votes), now)

    def _hold(self, held: Held, now: int) -> None:
        """Have the view's block, verified."""
        self._blocks.setdefault(held.digest, held)
        super()._hold(held, now)

    def _append(self, held: Held, view: int, votes: bytes, now: int) -> None:
        """Keep a final block, and go on to the next height."""
        before, state = self.book.state, held.state
        # Whoever names the last block and was verified once follows it; all else is verified anew.
        if state is None or header_of(held.data).previous != before.tip:
            try:
                state = self.setting.after(before, held.data)
            except BlockRejected as error:
                self.refused[error.reason.value] += 1
                return
        self.book.append(held.data, state, view.to_bytes(2, "big") + votes)
        self.enter(self.blocks, 0, now)

    def _lock(self, held: Held, votes: dict[int, bytes]) -> None:
        """Be bound to a block that a quorum voted for, and keep the votes to show them."""
        lock = Lock(self.view, held.digest, held.data, certificates.write(votes))
        self.book.keep(replace(self.book.record, lock=lock))

    def _unlock(self, view: int, digest: bytes, body: bytes) -> None:
        """Leave a lock for a block that a quorum voted for in a later view."""
        record = self.book.record
        if record.lock is None or record.lock.view >= view or record.lock.digest == digest:
            return
        held = self._blocks.get(digest)
        lock = Lock(view, digest, held.data, body[messages.HASH_BYTES :]) if held else None
        self.book.keep(replace(record, lock=lock))
