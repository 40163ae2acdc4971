"""What a part of the node wants to be done next. Parts return steps; the node takes them."""

from __future__ import annotations

from dataclasses import dataclass

from pqchain.errors import PqchainError
from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.storage.store import Manifest


@dataclass(frozen=True, slots=True)
class Advance:
    """More of the block's chunks are here: go on with it."""

    gather: Gather


@dataclass(frozen=True, slots=True)
class Choose(Advance):
    """The block needs other sources."""


@dataclass(frozen=True, slots=True)
class Leave(Advance):
    """The block is done with; `stored` is the manifest of the chunk that was stored, if one was."""

    stored: Manifest | None


@dataclass(frozen=True, slots=True)
class Fail:
    """The node's own work cannot be done."""

    error: PqchainError


Step = Advance | Fail
