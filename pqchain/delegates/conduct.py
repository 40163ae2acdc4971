"""Fault behaviour of delegates: invalid blocks and equivocation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pqchain.chain.block import Block


@dataclass(frozen=True, slots=True)
class Conduct:
    """Deviations of a delegate from the protocol; none by default."""

    invalid: bool = False
    """Proposes blocks that do not verify."""
    double: bool = False
    """Equivocates: proposes two blocks, and votes for the one that each receiver has."""
    plotters: frozenset[int] = frozenset()
    """Ranks of the equivocating proposers, known to each of them."""

    def splits(self, proposer: int) -> bool:
        """Return whether a proposer sends one block to even ranks and another to odd ones."""
        return self.double and proposer in self.plotters


HONEST = Conduct()


def twin(data: bytes) -> bytes:
    """Return the second block of an equivocating proposer: the last bit of its time differs."""
    block = Block.decode(data)
    # Another hash, but the same transactions and the same length.
    header = replace(block.header, timestamp=block.header.timestamp ^ 1)
    return replace(block, header=header).encode()
