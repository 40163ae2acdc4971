"""The inputs of a study that are parameters of its network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pqchain.consensus import Network, named
from pqchain.errors import PqchainError
from pqchain.study.problems import Problem

NETWORK_INPUTS = (
    ("law", "", "law of the network"),
    ("rate_bits_per_second", "bit/s", "rate of a link; regions have their own"),
    ("latency_seconds", "s", "time of a message on a link; regions have their own"),
    ("peers", "", "gossip: to how many a node passes a block on"),
    ("world", "", "gossip: whether nodes live in the regions of the world"),
)
"""Parameters of a network that a study file may set: name, unit, meaning."""

WIRES = tuple(name for name, _, _ in NETWORK_INPUTS)


def without_effect(network: Network) -> frozenset[str]:
    """Return the inputs that a network does not have."""
    modelled = {"vote_phases", "verification_threads"} if network.law == "paper-serial" else set()
    return frozenset(modelled | (set(WIRES) - {"law"} - network.parameters))


def wrong_network(network: Network | None, settings: Mapping[str, Any]) -> Iterable[Problem]:
    """Yield what cannot be set on a network, or on a new one."""
    try:
        plain = rewired(network, {"law": settings["law"]}) if "law" in settings else network
    except PqchainError as error:
        yield Problem("law", str(error))
        return
    assert plain is not None
    possible = {}
    for name, value in settings.items():
        if name == "law":
            continue
        if name == "world" and not isinstance(value, bool):
            yield Problem(name, f"world is {value!r}; expected true or false")
            continue
        try:
            replace(plain, **{name: value})
        except PqchainError as error:
            yield Problem(name, str(error))
        else:
            possible[name] = value
    idle = without_effect(replace(plain, **possible))
    kind = f"{plain.law} with world" if plain.law == "gossip" else plain.law
    for name in filter(idle.__contains__, possible):
        yield Problem(name, f"{name} is set, but {kind} has no such input; leave it out")


def rewired(network: Network | None, settings: Mapping[str, Any]) -> Network:
    """Return a network with other parameters; another law comes with its own defaults."""
    law = settings.get("law", "" if network is None else network.law)
    rest = {name: value for name, value in settings.items() if name != "law"}
    if network is None or law != network.law:
        return named(law, **rest)
    return replace(network, **rest)
