"""List of all attacks."""

from tests.attacks import command_lines, commands, damaged, files, ledgers, native, streams
from tests.attacks.harness import Attack, Tally, run

_MODULES = (ledgers, files, streams, native, command_lines, commands, damaged)
ATTACKS: tuple[Attack, ...] = tuple(attack for module in _MODULES for attack in module.ATTACKS)


def run_listed(index: int, inputs: int, seed: int) -> Tally:
    """Run the attack with that index."""
    return run(ATTACKS[index], inputs, seed=seed)
