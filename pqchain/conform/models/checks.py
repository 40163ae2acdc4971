"""What a model says of one rule: whether it holds, where it stands, and the numbers that decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of verification, applied to one case."""

    name: str
    """A short name of the rule, such as "bound on z"."""
    rule: str
    """Where it stands, such as "FIPS 204, algorithm 8, line 13"."""
    holds: bool
    said: str
    """The numbers that decide."""
    open: bool = False
    """Whether the specification leaves it to the verifier."""


class Model(ABC):
    """A specification's verification with one parameter set."""

    @abstractmethod
    def __init__(self, name: str) -> None: ...

    @abstractmethod
    def checks(
        self, message: bytes, signature: bytes, public_key: bytes, context: bytes = b""
    ) -> Iterator[Check]:
        """Yield the rules applied to this case, as far as there is something to apply them to."""

    def verify(
        self, message: bytes, signature: bytes, public_key: bytes, context: bytes = b""
    ) -> bool:
        """Return whether every rule holds, those that are left open too."""
        return all(each.holds for each in self.checks(message, signature, public_key, context))


def expected(checks: Iterable[Check]) -> str:
    """Return "valid", "invalid", or "acceptable" if only rules that are left open fail."""
    failed = [check for check in checks if not check.holds]
    if not failed:
        return "valid"
    return "acceptable" if all(check.open for check in failed) else "invalid"
