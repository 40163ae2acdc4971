"""Non-voting node: receives final blocks, verifies them as a delegate would, and stores them.

An observer trusts the quorum that comes with a block and not its sender; where the protocol has no
quorums of signed votes it can only verify the block itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from pqchain.chain.encoding import Reader
from pqchain.chain.state import BlockRejected, State
from pqchain.consensus.network import SECOND
from pqchain.delegates import certificates, messages
from pqchain.delegates.messages import Message, MessageKind
from pqchain.delegates.peers import Peers
from pqchain.delegates.safety_store import SafetyStore
from pqchain.delegates.setting import Setting, transactions_of
from pqchain.delegates.timed_delegate import recovers
from pqchain.errors import Malformed, PqchainError
from pqchain.wire.node import Task
from pqchain.wire.session import Event, Transport
from pqchain.wire.transports.limits import MAX_QUEUED_BYTES


def serving_delegate(setting: Setting, index: int) -> int:
    """Return the rank of the delegate that serves an observer; honest delegates take turns."""
    honest = np.flatnonzero(setting.builder.honest)
    return int(honest[index % len(honest)]) if len(honest) else 0


class ObserverNode:
    """Node that verifies and stores final blocks of one delegate, and reports its results."""

    def __init__(
        self, index: int, transport: Transport, setting: Setting, store: SafetyStore
    ) -> None:
        self.index, self.setting, self.store = index, setting, store
        self.error: PqchainError | None = None
        self.begun = False
        self.rejected: Counter[str] = Counter()
        self._peers = Peers(
            index,
            transport,
            dials=(),
            count=1,
            longest_bytes=setting.longest_bytes,
            rejected=self.rejected,
        )
        self._server = serving_delegate(setting, index)
        self._waiting: deque[bytes] = deque()
        self.waiting_bytes = 0
        self._is_working = False
        self._recovers = recovers(setting.scenario)
        self.finals: list[int] = []

    # State for the driver.

    @property
    def connected(self) -> bool:
        """Whether there is a channel to the delegate that serves it."""
        return self._peers.connected

    @property
    def done(self) -> bool:
        """Whether the observer has verified all blocks, or has failed."""
        return self.error is not None or (self.begun and self.progress >= self._target)

    @property
    def _target(self) -> int:
        # Without an honest delegate there are no blocks to wait for.
        return self.setting.scenario.blocks if self.setting.builder.honest.any() else 0

    @property
    def progress(self) -> int:
        """Number of verified blocks."""
        return self.store.state.height

    def timer(self) -> float | None:
        """Return None: an observer has no timer."""
        return None

    def report(self) -> Mapping[str, Any]:
        """Return the observer's results, such as when it verified each block, in ns."""
        return {
            "height": self.progress,
            "tip": self.store.state.tip.hex(),
            "final_ns": self.finals,
            "rejected": dict(self.rejected),
        }

    # Events from the driver.

    def start(self, now: float) -> None:
        """Do nothing: the delegate that serves it dials."""

    def begin(self, now: float) -> None:
        """Begin to verify blocks."""
        self.begun = True

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

    def handle_timer(self, now: float) -> None:
        """Do nothing: an observer has no timer."""

    def poll(self) -> Task | None:
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

        return Task("final block", transactions_of(_block(data)), run)

    def started(self, now: float) -> None:
        """Do nothing: the start of work needs no action."""

    def finished(self, outcome: Any, now: float) -> None:
        """Store a verified block, or record why it was rejected."""
        self._is_working = False
        if isinstance(outcome, PqchainError):
            self.error = outcome
        elif isinstance(outcome, str):
            self.rejected[outcome.partition(":")[0]] += 1
        else:
            self.store.append(*outcome)
            self.finals.append(round(now * SECOND))

    def _validate(self, data: bytes) -> tuple[bytes, State, bytes] | str:
        """Return the block, the state after it and its proof; or the reason for its rejection."""
        message = messages.decode(data)
        if message.kind is not MessageKind.DECIDED or message.height != self.progress:
            return "unsolicited"
        reader = Reader(message.body)
        votes = reader.length_prefixed("a quorum")
        block = reader.take(reader.remaining, "a block")
        state = self.setting.after(self.store.state, block)
        if self._recovers and not self._is_quorum(message, votes, state):
            return "no quorum"
        return block, state, message.view.to_bytes(2, "big") + votes

    def _is_quorum(self, message: Message, proof: bytes, state: State) -> bool:
        reader = Reader(proof)
        votes = certificates.decode(reader)
        reader.end("quorum")
        return certificates.is_quorum(
            votes, self.setting.final_vote, message.height, message.view, state.tip,
            keys=self.setting.keys, quorum=self.setting.quorum,
        )  # fmt: skip


def _block(data: bytes) -> bytes:
    """Return the block in a DECIDED message; arbitrary bytes if the message is malformed."""
    body = data[messages.HEADER_BYTES :]
    return body[4 + int.from_bytes(body[:4], "big") :]
