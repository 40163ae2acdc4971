"""Results of rules of a specification, and the base class of its models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """The result of one rule for one case."""

    name: str
    """A short name of the rule, such as "bound on z"."""
    rule: str
    """Source of the rule, such as "FIPS 204, algorithm 8, line 13"."""
    holds: bool
    detail: str
    open: bool = False
    """Whether the specification leaves the rule to the verifier."""


class ReferenceModel(ABC):
    """Model of a verifier, or of the receiver of a KEM, for one parameter set."""

    @abstractmethod
    def __init__(self, name: str) -> None: ...

    @abstractmethod
    def checks(self, *case: Any) -> Iterator[RuleCheck]:
        """Yield the result of each rule; stop at a failure that makes the others inapplicable.

        The arguments are `Vector.case`: of a verifier message, signature, public key and context.
        """

    def verify(self, *case: Any) -> bool:
        """Return whether every rule holds, including those left to the verifier."""
        return all(check.holds for check in self.checks(*case))


def expected(checks: Iterable[RuleCheck]) -> str:
    """Return "valid", "invalid", or "acceptable" if only rules left to the verifier fail."""
    failed = [check for check in checks if not check.holds]
    if not failed:
        return "valid"
    return "acceptable" if all(check.open for check in failed) else "invalid"
