"""What is wrong with a plan: each problem with the input that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pqchain.errors import UsageError


class Problem(NamedTuple):
    """What is wrong with an input."""

    input: str
    message: str


class ImpossiblePlan(UsageError):
    """A plan has problems; the message lists all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(problem.message for problem in self.problems)
