"""Work and messages that a delegate returns to its driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pqchain.chain.state import State
from pqchain.consensus.view import BLOCK
from pqchain.delegates.messages import Message, MessageKind


@dataclass(slots=True, eq=False)
class SignatureTask:
    """Verification or signing task of a delegate, which takes processor time."""

    kind: str
    """"block", "copy", "vote": verify one. "sign block", "sign vote": sign one."""
    run: Callable[[], Any]
    finish: Callable[[Any, int], None]
    """Called with the result of `run` and the completion time in nanoseconds."""
    transactions: int = 0
    """Number of transactions in the block to verify."""
    message_class: int = BLOCK
    """Model message class of the message to sign."""


@dataclass(frozen=True, slots=True)
class Sending:
    """Outgoing message to one delegate or to all others; its bytes may differ by receiver."""

    kind: MessageKind
    data: bytes | tuple[bytes, ...]
    """One encoding for all receivers, or one per rank."""
    to: int | None = None
    """Rank of the receiver; None for all others."""

    def for_(self, rank: int) -> bytes:
        """Return the encoded message for the delegate of this rank."""
        return self.data if isinstance(self.data, bytes) else self.data[rank]


@dataclass(slots=True, eq=False)
class ReceivedBlock:
    """Received block, and the chain state after it."""

    data: bytes
    digest: bytes
    state: State | None
    """State after the block; None if the block is invalid."""


Validated = tuple[Message, ReceivedBlock | None] | str
"""A valid message with its block, if it has one; or the reason for its rejection."""
