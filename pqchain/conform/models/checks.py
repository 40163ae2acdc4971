"""What a model says of one rule: whether it holds, where it stands, and the numbers that decide."""

from __future__ import annotations

from collections.abc import Iterable
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


def expected(checks: Iterable[Check]) -> str:
    """Return "valid", "invalid", or "acceptable" if only rules that are left open fail."""
    failed = [check for check in checks if not check.holds]
    if not failed:
        return "valid"
    return "acceptable" if all(check.open for check in failed) else "invalid"
