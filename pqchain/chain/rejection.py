"""Why a block was refused: one reason from a closed list, and where."""

from __future__ import annotations

from enum import Enum

from pqchain.errors import PqchainError


class Reason(Enum):
    """Why a ledger refuses a block, in the order in which it checks."""

    MALFORMED = "malformed"
    OVERSIZE = "oversize"
    DUPLICATE = "duplicate"
    """This very block, a transaction twice in one block, or a key registered twice."""
    WRONG_HEIGHT = "wrong height"
    WRONG_PREVIOUS_HASH = "wrong previous hash"
    BAD_TIMESTAMP = "bad timestamp"
    WRONG_ROOT = "wrong root"
    WRONG_CHAIN = "wrong chain"
    UNKNOWN_ALGORITHM = "unknown algorithm"
    """Not in the registry, or not allowed on this chain."""
    UNKNOWN_KEY = "unknown key"
    """A transaction relies on a registered key, and there is none."""
    BAD_NONCE = "bad nonce"
    OVERSPEND = "overspend"
    BAD_SIGNATURE = "bad signature"
    """Also: the keys are not those of the address that sends or proposes."""


class BlockRejected(PqchainError):
    """A block that the ledger does not take. The state is what it was before."""

    def __init__(self, reason: Reason, detail: str, indices: tuple[int, ...] = ()) -> None:
        super().__init__(reason, detail, indices)
        self.reason = reason
        self.detail = detail
        self.indices = indices
        """Of the transactions concerned, from 0; empty if it is the block as a whole."""

    def __str__(self) -> str:
        return f"block rejected, {self.reason.value}: {self.detail}"
