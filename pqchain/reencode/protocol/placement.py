"""Placement of the new code's chunks on nodes, and confirmations that they are stored.

This module only compares placements and confirmations; the node decides when to announce a
placement, and what follows from complete confirmations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pqchain.errors import DataError


@dataclass(frozen=True, slots=True)
class Placement:
    """Assignment of the new code's chunks to nodes; all nodes follow the same placement."""

    epoch: int
    leader: int
    members: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key of placements: the later epoch wins, then the lower index of the leader."""
        return self.epoch, -self.leader

    def agrees(self, other: Placement) -> bool:
        """Return whether both placements have the same epoch and members."""
        return (self.epoch, self.members) == (other.epoch, other.members)

    def plain(self) -> dict[str, Any]:
        """Return the placement as plain JSON."""
        return {"epoch": self.epoch, "leader": self.leader, "members": list(self.members)}

    @classmethod
    def from_plain(cls, plain: Any) -> Placement:
        """Create a placement from plain JSON. Raises DataError for malformed input."""
        try:
            return cls(int(plain["epoch"]), int(plain["leader"]), tuple(map(int, plain["members"])))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{plain!r:.100} is not a placement: {error}") from error


class Confirmations:
    """Digests of the manifests that each node has confirmed for each block."""

    def __init__(self) -> None:
        self._digests: dict[int, dict[str, str]] = {}
        self._blocks: dict[int, list[str]] = {}
        """Blocks of each node in the order of their confirmation."""

    def add(self, node: int, block: str, digest: str) -> None:
        """Record that a node has stored its chunk of a block under that manifest digest."""
        digests = self._digests.setdefault(node, {})
        if block not in digests:
            self._blocks.setdefault(node, []).append(block)
        digests[block] = digest

    def of(self, node: int, *, start: int = 0) -> dict[str, str]:
        """Return the digests that a node has confirmed, by block hash, without the first ones."""
        blocks = self._blocks.get(node, [])[start:]
        return {block: self._digests[node][block] for block in blocks}

    def agree(self, node: int, others: Iterable[int], blocks: Iterable[str]) -> bool:
        """Return whether the node and all others have confirmed equal digests for all blocks."""
        confirmed = [self._digests.get(member, {}) for member in (node, *others)]
        for block in blocks:
            digests = {by_block.get(block) for by_block in confirmed}
            if len(digests) > 1 or None in digests:
                return False
        return True
