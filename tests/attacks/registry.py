"""List of all attacks."""

from __future__ import annotations

from tests.attacks import (
    command_lines,
    commands,
    damaged,
    delegates,
    files,
    ledgers,
    native,
    streams,
)
from tests.attacks.harness import Attack, Tally, run

ATTACKS: tuple[Attack, ...] = (
    *ledgers.ATTACKS,
    *files.ATTACKS,
    *streams.ATTACKS,
    *delegates.ATTACKS,
    *native.ATTACKS,
    *command_lines.ATTACKS,
    *commands.ATTACKS,
    *damaged.ATTACKS,
)


def run_listed(index: int, inputs: int, seed: int) -> Tally:
    """Run the attack with that index."""
    return run(ATTACKS[index], inputs, seed=seed)
