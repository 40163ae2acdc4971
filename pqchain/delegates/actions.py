"""Work and messages that a delegate returns to its driver, and its faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pqchain.chain.block import Block
from pqchain.chain.state import State
from pqchain.consensus.faults import Faults
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


@dataclass(frozen=True, slots=True)
class FaultBehaviour:
    """Deviations of a delegate from the protocol; none by default."""

    invalid: bool = False
    """Proposes blocks that do not verify."""
    equivocates: bool = False
    """Proposes two blocks, and votes for the one that each receiver has."""
    colluders: frozenset[int] = frozenset()
    """Ranks of the equivocating proposers, known to each of them."""

    @classmethod
    def of(cls, faults: Faults, rank: int) -> FaultBehaviour:
        """Return the behaviour of the delegate of this rank under the faults of a scenario."""
        return cls(
            invalid=rank in faults.invalid,
            equivocates=rank in faults.equivocating,
            colluders=frozenset(faults.equivocating) - frozenset(faults.invalid),
        )

    def splits(self, proposer: int) -> bool:
        """Return whether messages to even and to odd ranks differ in a view of `proposer`."""
        return self.equivocates and proposer in self.colluders


HONEST = FaultBehaviour()


def conflicting_block(data: bytes, *, after: int) -> bytes:
    """Return an equivocating proposer's second block; `after` is the previous block's timestamp.

    The last bit of the time between the blocks differs. So the hash differs, but transactions and
    length do not.
    """
    block = Block.decode(data)
    # The bit of the difference and not of the time itself: the previous time may be odd.
    timestamp = after + ((block.header.timestamp - after) ^ 1)
    return replace(block, header=replace(block.header, timestamp=timestamp)).encode()
