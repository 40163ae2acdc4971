"""How a delegate behaves where the scenario lets it misbehave; the rest of it is everybody's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pqchain.chain.block import Block


@dataclass(frozen=True, slots=True)
class Conduct:
    """What a delegate does otherwise than the protocol says; by default nothing."""

    invalid: bool = False
    """Proposes what does not verify."""
    double: bool = False
    """Proposes two blocks and votes for whatever the receiver holds."""
    plotters: frozenset[int] = frozenset()
    """Ranks of those who propose two blocks: whoever votes double knows the others."""

    def splits(self, proposer: int) -> bool:
        """Return whether that proposer gives one block to even ranks and another to odd ones."""
        return self.double and proposer in self.plotters


HONEST = Conduct()


def twin(data: bytes) -> bytes:
    """Return the other block of a proposer of two: the same but for the last bit of its time."""
    block = Block.decode(data)
    header = replace(block.header, timestamp=block.header.timestamp ^ 1)
    return replace(block, header=header).encode()
