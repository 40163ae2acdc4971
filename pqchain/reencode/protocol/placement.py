"""Who holds which chunk of the new code, and who has said that it is stored.

Pure bookkeeping: which of two placements counts is decided here; when to make one, and what to do
when all have confirmed, is the node's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pqchain.errors import DataError


@dataclass(frozen=True, slots=True)
class Placement:
    """Who holds which chunk of the new code; every node follows the same one."""

    epoch: int
    leader: int
    members: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """Of two placements the later epoch counts, then the lower leader."""
        return self.epoch, -self.leader

    def agrees(self, other: Placement) -> bool:
        """Return whether both want the same, whoever has announced it."""
        return (self.epoch, self.members) == (other.epoch, other.members)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"epoch": self.epoch, "leader": self.leader, "members": list(self.members)}

    @classmethod
    def from_plain(cls, plain: Any) -> Placement:
        """Return the placement of such JSON. Raises DataError if it is none."""
        try:
            return cls(int(plain["epoch"]), int(plain["leader"]), tuple(map(int, plain["members"])))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{plain!r:.100} is no placement: {error}") from error


class Confirmations:
    """For every block, which node has confirmed which manifest."""

    def __init__(self) -> None:
        self._digests: dict[str, dict[int, str]] = {}

    def add(self, node: int, block: str, digest: str) -> None:
        """Note that a node has stored its chunk of a block under that manifest."""
        self._digests.setdefault(block, {})[node] = digest

    def clear(self) -> None:
        """Forget all: they were for another placement."""
        self._digests.clear()

    def of(self, node: int) -> dict[str, str]:
        """Return what a node has confirmed."""
        return {block: by[node] for block, by in self._digests.items() if node in by}

    def agree(self, node: int, others: Iterable[int], blocks: Iterable[str]) -> bool:
        """Return whether the node and all others have confirmed the same for all blocks."""
        everyone = (node, *others)
        for block in blocks:
            said = {self._digests.get(block, {}).get(each) for each in everyone}
            if len(said) > 1 or None in said:
                return False
        return True
