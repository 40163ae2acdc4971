"""Delegate with timers that tolerates lost messages and crashes, and catches up.

In addition to the votes of a view it sends STATUS (its height and view) when a view has timed out,
LOCK (the block that it is locked on, with the votes that it received), and DECIDED (final blocks
with their quorums) to delegates that are behind. View changes:

- a delegate whose view has timed out requests the next view and repeats the request; it enters the
  view when a quorum requests it, so that a fast clock does not run ahead of the others;
- a delegate joins the request for a later view once more than f others have made it, where f is the
  maximum number of faulty delegates;
- a lock is released for a quorum for another block in a later view: had the first block become
  final, there could be no such quorum.

Votes survive crashes: they are stored before they are sent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pqchain.chain.block import header_of
from pqchain.chain.encoding import Reader
from pqchain.chain.state import BlockRejected
from pqchain.consensus.network import nanoseconds
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER
from pqchain.delegates import messages
from pqchain.delegates.actions import HONEST, FaultBehaviour, ReceivedBlock, Sending, Validated
from pqchain.delegates.core import CLASSES, Delegate
from pqchain.delegates.messages import Message, MessageKind
from pqchain.delegates.setting import Setting
from pqchain.delegates.stores import Lock, MemoryStore
from pqchain.errors import UsageError

_MAX_VIEWS_AHEAD = 64
"""Maximum distance to a later view whose messages are kept."""

_MAX_EARLY_MESSAGES = 64
"""Maximum number of buffered messages for later heights per sender."""

_MAX_ANSWERS = 8
"""Maximum number of final blocks queued for a peer at once; an honest one asks again later."""

_MAX_BLOCKS = 2
"""Maximum number of blocks kept per proposer and view; an honest one proposes one."""

_DOUBLING_VIEWS = 4
"""Number of views after which the timeout of a view has doubled."""


def recovers(scenario: Scenario) -> bool:
    """Return whether quorums consist of signed votes, which other delegates can verify."""
    return scenario.phases > 0 and scenario.signed_votes


def check_recovery(scenario: Scenario) -> None:
    """Raise UsageError for faults that delegates cannot recover from."""
    if scenario.faults.any and not recovers(scenario):
        raise UsageError(
            "votes must be signed and vote_phases at least 1 to recover from faults; got "
            f"vote_phases={scenario.phases} and signed_votes={scenario.signed_votes}. "
            "Give vote_phases=1 or 2 (--vote-phases 2) and sign votes."
        )


class TimedDelegate(Delegate):
    """Delegate with timers that survives network and machine failures."""

    def __init__(
        self,
        setting: Setting,
        rank: int,
        store: MemoryStore,
        *,
        behaviour: FaultBehaviour = HONEST,
        target: int | None = None,
    ) -> None:
        """Stop after `target` final blocks (None: never). Raises like `check_recovery`."""
        scenario = setting.scenario
        check_recovery(scenario)
        self.recovers = recovers(scenario)
        """Whether a delegate that missed messages can catch up."""
        self.target = target
        timeout = scenario.view_timeout_seconds
        self._timeout_ns = None if timeout is None else nanoseconds(timeout)
        self.max_faulty = (setting.count - 1) // 3
        """Maximum number of faulty delegates (f)."""
        self.views: Counter[int] = Counter()
        """Number of views entered, by height."""
        super().__init__(setting, rank, store, behaviour=behaviour)

    def reset(self) -> None:
        """Reset all volatile state; the store is kept."""
        super().reset()
        self.ends_ns = NEVER
        self._early: dict[int, list[bytes]] = {}
        """Buffered messages for later heights by sender."""
        self._ahead: dict[int, int] = {}
        """Greatest height of each peer that is ahead."""
        self._reset_height()

    def _reset_height(self) -> None:
        self._blocks: dict[bytes, ReceivedBlock] = {}
        self._proposals: dict[int, tuple[Message, ReceivedBlock]] = {}
        """Proposals for later views."""
        self._views: dict[int, int] = {}
        """Latest view that each delegate has requested or entered."""
        self._requested_view = 0
        self._proposed: dict[int, set[bytes]] = {}
        """Hashes of the blocks of each view's proposer."""

    @property
    def is_complete(self) -> bool:
        """Whether `target` blocks are final."""
        return self.target is not None and self.blocks >= self.target

    @property
    def blocks(self) -> int:
        """Number of final blocks."""
        return self.store.state.height

    def start(self, now: int) -> None:
        """Start, or resume from the store in a view in which it has not voted yet."""
        record = self.store.record
        # A vote in the last recorded view may have left before the crash.
        view = max(record.voted, record.committed) + 1 if record.height == self.blocks else 0
        self.enter(self.blocks, view, now)
        if self.recovers:
            self._broadcast_status()

    def timer(self) -> int:
        """Return the time in ns at which `wake` must be called; NEVER if no timer is set."""
        return min(self.releases_ns, self.ends_ns)

    def wake(self, now: int) -> None:
        """Propose if due; after a timeout, request the next view."""
        super().wake(now)
        if now >= self.ends_ns:
            self.ends_ns = now + self._view_timeout_ns()
            self._requested_view = max(self._requested_view, self.view + 1)
            self._broadcast_status()
            self._update_view(self.rank, self._requested_view, now)

    def enter(self, height: int, view: int, now: int) -> None:
        """Enter a view, and process messages that arrived early."""
        is_new = height != self.height
        if is_new:
            self._votes.clear()
            self._counts.clear()
            self._reset_height()
        super().enter(height, view, now)
        if self.is_complete:
            self.releases_ns = self.ends_ns = NEVER
            return
        self.views[height] += 1
        self._requested_view = self._views[self.rank] = max(self._requested_view, view)
        # The timeout counts from when the proposer may send: under Proof of Luck it waits first.
        if self._timeout_ns is not None and self.recovers:
            self.ends_ns = (
                now + self.setting.builder.wait_ns(height, self.proposer) + self._view_timeout_ns()
            )
        if is_new:
            # Receiving them may buffer messages again.
            early, self._early = self._early, {}
            for link, buffered in early.items():
                for data in buffered:
                    self.receive(link, data, now)
        if (proposal := self._proposals.pop(view, None)) is not None:
            self._apply(*proposal, now)

    def _view_timeout_ns(self) -> int:
        """Return the timeout of the current view in nanoseconds."""
        assert self._timeout_ns is not None
        return self._timeout_ns * (_DOUBLING_VIEWS + self.view) // _DOUBLING_VIEWS

    # Received messages.

    def receive(self, link: int, data: bytes, now: int) -> None:
        """Receive a message; those for later heights are buffered."""
        kind = messages.kind_of(data)
        if len(data) < messages.HEADER_BYTES or kind is None:
            self.rejected["malformed"] += 1
            return
        height = int.from_bytes(data[8:12], "big")
        if kind is MessageKind.DECIDED:
            if height == self.height and not self.is_complete:
                super().receive(link, data, now)
        elif height < self.height:
            if kind is MessageKind.STATUS:
                self._send_final_block(link, height)
        elif height > self.height:
            self._request_blocks(link, height)
            buffered = self._early.setdefault(link, [])
            fits = len(data) + sum(map(len, buffered)) <= self._max_waiting_bytes
            # Without timeouts nothing is sent twice: if delegates that are two heights behind
            # dropped this height's messages, the others could lack a quorum forever.
            if len(buffered) < _MAX_EARLY_MESSAGES and fits:
                buffered.append(data)
        else:
            super().receive(link, data, now)

    def _send_final_block(self, link: int, height: int) -> None:
        """Send the final block of `height` to a peer that is still at that height."""
        if link < 0 or height >= self.blocks:
            return
        queued = sum(sent.kind is MessageKind.DECIDED and sent.to == link for sent in self.out)
        if queued < _MAX_ANSWERS:
            self.out.append(Sending(MessageKind.DECIDED, self.decided(height), link))

    def decided(self, height: int) -> bytes:
        """Return the encoded message with the final block of a height and its quorum."""
        final = self.store.final(height)
        assert final is not None
        return messages.encode_decided(self.rank, height, *final)

    def _request_blocks(self, link: int, height: int) -> None:
        """Ask a peer that is ahead for missing blocks, if more than f delegates are ahead.

        A lag of one height is usual for a moment, so that case waits for the timeout of the view.
        """
        if link < 0 or self._ahead.get(link, 0) >= height or self.is_complete:
            return
        self._ahead[link] = height
        # More than f delegates include an honest one, so faulty ones alone cannot cause requests.
        ahead = [rank for rank, reached in self._ahead.items() if reached > self.height + 1]
        if len(ahead) > self.max_faulty and link in ahead:
            self.out.append(Sending(MessageKind.STATUS, self._status(), link))

    def _status(self) -> bytes:
        message = Message(MessageKind.STATUS, self.rank, self.height, self._requested_view, b"")
        return messages.encode(message)

    def _broadcast_status(self) -> None:
        """Send height, requested view and lock to all other delegates."""
        # Answers may have been lost, so peers that are ahead may be asked again.
        self._ahead.clear()
        self.out.append(Sending(MessageKind.STATUS, self._status()))
        lock = self.store.record.lock
        if lock is not None and lock.proof:
            body = lock.digest + lock.proof
            message = Message(MessageKind.LOCK, self.rank, self.height, lock.view, body)
            self.out.append(Sending(MessageKind.LOCK, messages.encode(message)))

    def _validate(self, link: int, data: bytes) -> Validated:
        kind = messages.kind_of(data)
        if kind in CLASSES or not self.recovers:
            return super()._validate(link, data)
        message = messages.decode(data)
        if message.sender >= self.setting.count or link != message.sender:
            return "wrong sender"
        if kind is MessageKind.STATUS:
            return message, None
        if message.height != self.height:
            return "wrong height"
        if kind is MessageKind.LOCK:
            reader = Reader(message.body)
            digest = reader.take(messages.HASH_BYTES, "a hash")
            block, voted = None, MessageKind.VOTE
            votes = messages.decode_votes(reader)
            reader.end("quorum")
        elif kind is MessageKind.DECIDED:
            _, votes, encoded = messages.decode_decided(message.body)
            block = self._execute(encoded)
            if block.state is None:
                return "invalid block"
            digest, voted = block.digest, self.setting.final_vote
        else:
            return "unsolicited"
        is_quorum = self.setting.is_quorum(votes, voted, message.height, message.view, digest)
        return (message, block) if is_quorum else "no quorum"

    def _apply(self, message: Message, block: ReceivedBlock | None, now: int) -> None:
        if message.height != self.height or self.is_complete:
            self.rejected["wrong height"] += 1
            return
        kind, view = message.kind, message.view
        if kind is MessageKind.DECIDED:
            assert block is not None
            votes = Reader(message.body).length_prefixed("a quorum")
            self._append(block, view, votes, now)
            return
        if kind is MessageKind.LOCK:
            self._unlock(view, message.body[: messages.HASH_BYTES], message.body)
            return
        if view > self.view + _MAX_VIEWS_AHEAD and kind is not MessageKind.STATUS:
            self.rejected["far ahead"] += 1
            return
        if kind is MessageKind.PROPOSAL:
            assert block is not None
            if message.sender != self.setting.proposer(self.height, view):
                self.rejected["not the proposer"] += 1
                return
            proposed = self._proposed.setdefault(view, set())
            if block.digest not in proposed and len(proposed) >= _MAX_BLOCKS:
                self.rejected["too many blocks"] += 1
                return
            proposed.add(block.digest)
            self._blocks.setdefault(block.digest, block)
            if view > self.view:
                self._proposals.setdefault(view, (message, block))
            elif view == self.view:
                super()._apply(message, block, now)
            self._check_final(now)
        elif kind in CLASSES:
            digest = block.digest if block else message.body
            self._add_vote(CLASSES[kind], view, message.sender, digest, message.signature)
            if view == self.view:
                self._check_quorum(now)
            self._check_final(now)
        if self.height == message.height:
            self._update_view(message.sender, view, now)

    def _update_view(self, sender: int, view: int, now: int) -> None:
        """Record the view of a delegate; follow a view request of f + 1 delegates or a quorum."""
        if view <= self._views.get(sender, -1):
            return
        self._views[sender] = view
        views = sorted(self._views.values(), reverse=True)
        # More than f delegates include an honest one, so faulty ones alone cannot force a request.
        if len(views) > self.max_faulty and views[self.max_faulty] > self._requested_view:
            self._requested_view = self._views[self.rank] = views[self.max_faulty]
            self._broadcast_status()
            views = sorted(self._views.values(), reverse=True)
        quorum = self.setting.quorum
        if len(views) >= quorum and views[quorum - 1] > self.view:
            self.enter(self.height, views[quorum - 1], now)

    # Finality and locks.

    def _check_final(self, now: int) -> None:
        """Append a block of any view of this height for which a quorum has voted."""
        if not self.phases:
            return
        # The missing votes of an earlier view may arrive after a delegate has left it.
        for (view, kind, digest), count in self._counts.items():
            block = self._blocks.get(digest)
            is_final = kind == self.final_kind and count >= self.setting.quorum
            if is_final and block is not None and block.state is not None:
                votes = messages.encode_votes(self._signatures(kind, view, digest))
                self._append(block, view, votes, now)
                return

    def _finalize(self, now: int, votes: dict[int, bytes]) -> None:
        """Store the view's block as final."""
        assert self.block is not None
        self._append(self.block, self.view, messages.encode_votes(votes), now)

    def _accept(self, block: ReceivedBlock, now: int) -> None:
        self._blocks.setdefault(block.digest, block)
        super()._accept(block, now)

    def _append(self, block: ReceivedBlock, view: int, votes: bytes, now: int) -> None:
        """Store a final block, and enter the next height."""
        before, state = self.store.state, block.state
        # A block that was verified as successor of the last block is not verified again.
        if state is None or header_of(block.data).previous != before.tip:
            try:
                state = self.setting.after(before, block.data)
            except BlockRejected as error:
                self.rejected[error.reason.value] += 1
                return
        self.store.add_final(block.data, state, view.to_bytes(2, "big") + votes)
        self.enter(self.blocks, 0, now)

    def _lock(self, block: ReceivedBlock, votes: dict[int, bytes]) -> None:
        """Lock on a block with a prepare quorum, and store the votes as its proof."""
        lock = Lock(self.view, block.digest, block.data, messages.encode_votes(votes))
        self.store.save(replace(self.store.record, lock=lock))

    def _unlock(self, view: int, digest: bytes, body: bytes) -> None:
        """Release the lock if another block has a quorum in a later view."""
        record = self.store.record
        if record.lock is None or record.lock.view >= view or record.lock.digest == digest:
            return
        block = self._blocks.get(digest)
        # Without the newer block the delegate cannot lock on it; it only releases the old lock.
        lock = Lock(view, digest, block.data, body[messages.HASH_BYTES :]) if block else None
        self.store.save(replace(record, lock=lock))
