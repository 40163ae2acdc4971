"""Fault behaviour of delegates: invalid blocks and equivocation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pqchain.chain.block import Block
from pqchain.consensus.faults import Faults


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
