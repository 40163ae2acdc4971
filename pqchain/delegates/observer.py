"""Base class of nodes, and the node that does not vote: it verifies and stores final blocks.

An observer trusts the quorum that comes with a block and not its sender; where the protocol has no
quorums of signed votes it can only verify the block itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from pqchain.chain.state import BlockRejected, State
from pqchain.consensus.network import nanoseconds
from pqchain.delegates import messages
from pqchain.delegates.messages import MessageKind
from pqchain.delegates.peers import Peers
from pqchain.delegates.setting import Setting, transactions_of
from pqchain.delegates.stores import MemoryStore
from pqchain.delegates.timed_delegate import recovers
from pqchain.errors import Malformed, PqchainError
from pqchain.wire.node import Task
from pqchain.wire.session import Event, Transport
from pqchain.wire.transports.limits import MAX_QUEUED_BYTES


def serving_delegate(setting: Setting, index: int) -> int:
    """Return the rank of the delegate that serves an observer; honest delegates take turns."""
    honest = np.flatnonzero(setting.builder.honest)
    return int(honest[index % len(honest)]) if len(honest) else 0


class ChainNode:
    """Node with peers and a store, which reports its final blocks."""

    def __init__(
        self,
        index: int,
        transport: Transport,
        setting: Setting,
        store: MemoryStore,
        *,
        dials: Collection[int],
        count: int,
        rejected: Counter[str],
    ) -> None:
        """Dial the nodes in `dials`, of `count` peers in all."""
        self.index, self.setting, self.store, self.rejected = index, setting, store, rejected
        self.error: PqchainError | None = None
        self.begun = False
        self._peers = Peers(
            index,
            transport,
            dials=frozenset(dials),
            count=count,
            longest_bytes=setting.longest_bytes,
            rejected=rejected,
        )
        self._is_working = False
        self.finals: list[int] = []

    @property
    def connected(self) -> bool:
        """Whether there is a channel to every peer."""
        return self._peers.connected

    @property
    def done(self) -> bool:
        """Whether the node has failed or, once begun, is complete."""
        return self.error is not None or (self.begun and self._is_complete())

    def _is_complete(self) -> bool:
        raise NotImplementedError

    @property
    def progress(self) -> int:
        """Number of final blocks."""
        return self.store.state.height

    def timer(self) -> float | None:
        """Return the time in seconds at which the node's next timer expires, or None."""
        return self._peers.redial

    def report(self) -> Mapping[str, Any]:
        """Return the node's results, such as when it had each final block, in ns."""
        return {
            "height": self.progress,
            "tip": self.store.state.tip.hex(),
            "final_ns": self.finals,
            "rejected": dict(self.rejected),
        }

    def start(self, now: float) -> None:
        """Dial the peers that this node has to dial."""
        self._peers.dial(now)

    def begin(self, now: float) -> None:
        """Begin to work."""
        self.begun = True

    def handle_timer(self, now: float) -> None:
        """Dial again, if due."""
        if self._peers.redial is not None and now >= self._peers.redial:
            self._peers.dial(now)

    def finished(self, outcome: Any, now: float) -> None:
        """Apply the result of a task, or record its error."""
        self._is_working = False
        try:
            if isinstance(outcome, PqchainError):
                raise outcome
            self._finish(outcome, now)
        except PqchainError as error:
            self.error = error

    def _finish(self, outcome: Any, now: float) -> None:
        raise NotImplementedError


class ObserverNode(ChainNode):
    """Node that verifies and stores final blocks of one delegate, and reports its results."""

    def __init__(
        self, index: int, transport: Transport, setting: Setting, store: MemoryStore
    ) -> None:
        # The delegate that serves it dials.
        super().__init__(index, transport, setting, store, dials=(), count=1, rejected=Counter())
        self._server = serving_delegate(setting, index)
        self._waiting: deque[bytes] = deque()
        self.waiting_bytes = 0

    def _is_complete(self) -> bool:
        # Without an honest delegate there are no blocks to wait for.
        has_honest = bool(self.setting.builder.honest.any())
        return not has_honest or self.progress >= self.setting.scenario.blocks

    def handle(self, event: Event, now: float) -> None:
        """Handle a transport event; buffer final blocks from the delegate that serves it."""
        for peer, data in self._peers.handle(event, now):
            if peer != self._server or messages.kind_of(data) is not MessageKind.DECIDED:
                self.rejected["unsolicited"] += 1
            # Its delegate may send faster than blocks are verified.
            elif self.waiting_bytes > MAX_QUEUED_BYTES:
                self.rejected["buffer full"] += 1
            else:
                self._waiting.append(data)
                self.waiting_bytes += len(data)

    def poll(self, now: float) -> Task | None:
        """Return the task to verify the next block, or None."""
        if self._is_working or not self._waiting or not self.begun:
            return None
        self._is_working = True
        data = self._waiting.popleft()
        self.waiting_bytes -= len(data)

        def run() -> tuple[bytes, State, bytes] | str:
            try:
                return self._validate(data)
            except (Malformed, BlockRejected) as error:
                return f"{type(error).__name__}: {error}"

        # Read without decoding, because drivers time the task by it before they run it.
        body = data[messages.HEADER_BYTES :]
        block = body[4 + int.from_bytes(body[:4], "big") :]
        return Task("final block", transactions_of(block), run)

    def _finish(self, outcome: Any, now: float) -> None:
        """Store a verified block, or record why it was rejected."""
        if isinstance(outcome, str):
            self.rejected[outcome.partition(":")[0]] += 1
        else:
            self.store.add_final(*outcome)
            self.finals.append(nanoseconds(now))

    def _validate(self, data: bytes) -> tuple[bytes, State, bytes] | str:
        """Return the block, the state after it and its proof; or the reason for its rejection."""
        message = messages.decode(data)
        if message.kind is not MessageKind.DECIDED or message.height != self.progress:
            return "unsolicited"
        encoded, votes, block = messages.decode_decided(message.body)
        state = self.setting.after(self.store.state, block)
        if recovers(self.setting.scenario) and not self.setting.is_quorum(
            votes, self.setting.final_vote, message.height, message.view, state.tip
        ):
            return "no quorum"
        return block, state, message.view.to_bytes(2, "big") + encoded
