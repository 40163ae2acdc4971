"""The network of a plan from single inputs, and how problems of a plan are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pqchain.consensus import Network, named
from pqchain.errors import PqchainError, UsageError

WIRES = ("law", "rate_bits_per_second", "latency_seconds", "peers", "world")
"""Inputs that are parameters of the network."""


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


def without_effect(network: Network) -> frozenset[str]:
    """Return the inputs that a network does not have."""
    modelled = {"vote_phases", "verification_threads"} if network.law == "paper-serial" else set()
    return frozenset(modelled | (set(WIRES) - {"law"} - network.parameters))


def rewired(network: Network | None, settings: Mapping[str, Any]) -> Network:
    """Return a network with other parameters; another law comes with its own defaults.

    Raises ImpossiblePlan with everything that cannot be set.
    """
    law = settings.get("law", network and network.law)
    if law is None:
        raise ImpossiblePlan([Problem("law", '[network] lacks law, such as law = "gossip"')])
    try:
        changed = network if network and law == network.law else named(law)
    except PqchainError as error:
        raise ImpossiblePlan([Problem("law", str(error))]) from error
    problems: list[Problem] = []
    for name, value in settings.items():
        try:
            if name == "world" and not isinstance(value, bool):
                raise UsageError(f"world is {value!r}; expected true or false")
            changed = replace(changed, **{name: value})
        except PqchainError as error:
            problems.append(Problem(name, str(error)))
    idle = without_effect(changed) - {problem.input for problem in problems}
    kind = f"{law} with world" if law == "gossip" else law
    for name in filter(idle.__contains__, settings):
        message = f"{name} is set, but {kind} has no such input; leave it out"
        problems.append(Problem(name, message))
    if problems:
        raise ImpossiblePlan(problems)
    return changed
