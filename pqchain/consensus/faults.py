"""Faults of delegates and of the network in a scenario."""

from __future__ import annotations

from dataclasses import dataclass

from pqchain import checks
from pqchain.checks import field
from pqchain.errors import UsageError

_SLOW_FACTOR = 10
"""Default factor on the computing times of slow delegates."""

RANKS = ("crashed", "slow", "invalid", "equivocating")
"""Names of the faults that list ranks of delegates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Faults of delegates and of the network. Delegates are given by rank (0: the most votes)."""

    crashed: tuple[int, ...] = field((), help="delegates that have crashed; 0 has most votes")
    slow: tuple[int, ...] = field((), help="delegates that compute slowly")
    slow_factor: int = field(
        _SLOW_FACTOR, help="how many times longer slow delegates compute", least=1, most=10**6
    )
    loss_probability: float = field(0.0, help="probability that a message is lost", most=1.0)
    """Probability that a message is lost; it is not sent again."""
    delay_probability: float = field(0.0, help="probability that a message is delayed", most=1.0)
    delay_seconds: float = field(0.0, help="delay of a delayed message", most=1e6)
    partition_fraction: float = field(
        0.0, help="share of the nodes in one part of a partition", most=1.0
    )
    """Share of all nodes, the first ones, that is partitioned from the rest."""
    heal_seconds: float = field(0.0, help="when the partition ends", most=1e6)
    """When the partition ends; messages across it arrive no earlier."""
    invalid: tuple[int, ...] = field((), help="delegates that propose invalid blocks")
    equivocating: tuple[int, ...] = field((), help="delegates that propose two blocks")
    """Delegates that propose two blocks and vote for whichever block the receiver has."""

    def __post_init__(self) -> None:
        checks.check_declared(self, prefix="faults.")
        for name in RANKS:
            ranks = getattr(self, name)
            if len(set(ranks)) != len(ranks):
                raise UsageError(f"faults.{name} must contain a rank only once; got {ranks!r}.")
        # One of such a pair without the other would have no effect.
        for first, second in (
            ("delay_probability", "delay_seconds"),
            ("partition_fraction", "heal_seconds"),
        ):
            one, other = getattr(self, first), getattr(self, second)
            if bool(one) != bool(other):
                raise UsageError(
                    f"faults.{first} and faults.{second} must be both 0 or both above 0; got "
                    f"{one:g} and {other:g}."
                )
        if self.slow and self.slow_factor == 1:
            raise UsageError("faults.slow_factor must be above 1 with slow delegates; got 1.")
        if not self.slow and self.slow_factor != _SLOW_FACTOR:
            raise UsageError(
                f"faults.slow must not be empty with faults.slow_factor={self.slow_factor}; "
                "got (). Give ranks, such as (0,)."
            )

    @property
    def any(self) -> bool:
        """Whether there are faults other than slow delegates."""
        # Slow delegates alone cannot prevent finality, so they need no timeout.
        return self != Faults(slow=self.slow, slow_factor=self.slow_factor)


NO_FAULTS = Faults()
"""The default of a scenario."""
