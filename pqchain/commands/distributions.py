"""Commands and verifiers of distributions beside pqchain, which join by entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pqchain.errors import UsageError

if TYPE_CHECKING:
    from pqchain.bench.verification import Client

COMMANDS = {"conform": "conform", "engine": "engines"}
"""Commands of distributions of this project, with the extra of pqchain that installs each."""


VERIFIERS = "verifiers of other projects"


def commands() -> dict[str, str]:
    """Return the installed commands of the entry-point group "pqchain.commands", by name."""
    return {point.name: point.value for point in entry_points(group="pqchain.commands")}


def not_installed(command: str, purpose: str = "") -> UsageError:
    """Return the error about a command, one of COMMANDS, whose distribution is not installed."""
    extra = COMMANDS[command]
    purpose = purpose or f"`pqchain {command}`"
    return UsageError(
        f"pqchain-{extra} must be installed for {purpose}; it is not. Run "
        f'`pip install "pqchain[{extra}]"`, in a checkout `make`.'
    )


def has_verifiers() -> bool:
    """Return whether a distribution with verifiers of other projects is installed."""
    return bool(entry_points(group="pqchain.verifiers"))


def clients(names: Iterable[str] | None) -> list[Client]:
    """Return the named verifiers of other projects for `bench.gas`, by default those of clients.

    They come from the entry-point group "pqchain.verifiers". Without it there are none, and names
    are a UsageError.
    """
    points = entry_points(group="pqchain.verifiers")
    if not points and names is not None:
        raise not_installed("conform", VERIFIERS)
    loaded: list[Callable[[Any], list[Client]]] = [point.load() for point in points]
    return [client for function in loaded for client in function(names)]
