"""Faults of delegates and of the network in a scenario."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pqchain.checks import Doc, Ge, Le, declared
from pqchain.errors import UsageError

RANKS = ("crashed", "slow", "invalid", "equivocating")
"""Names of the faults that list ranks of delegates."""

Ranks = tuple[Annotated[int, Ge(0), Le(2**22)], ...]
Share = Annotated[float, Ge(0), Le(1)]
Seconds = Annotated[float, Ge(0), Le(1e6)]


@declared
class Faults:
    """Faults of delegates and of the network. Delegates are given by rank (0: the most votes)."""

    crashed: Annotated[Ranks, Doc("delegates that have crashed; 0 has most votes")] = ()
    slow: Annotated[Ranks, Doc("delegates that compute slowly")] = ()
    slow_factor: Annotated[
        int, Ge(2), Le(10**6), Doc("how many times longer slow delegates compute")
    ] = 10
    loss_probability: Annotated[Share, Doc("probability that a message is lost")] = 0.0
    """Probability that a message is lost; it is not sent again."""
    partition_fraction: Annotated[Share, Doc("share of the nodes in one part of a partition")] = 0.0
    """Share of all nodes, the first ones, that is partitioned from the rest."""
    heal_seconds: Annotated[Seconds, Doc("when the partition ends")] = 0.0
    """When the partition ends; messages across it arrive no earlier."""
    invalid: Annotated[Ranks, Doc("delegates that propose invalid blocks")] = ()
    equivocating: Annotated[Ranks, Doc("delegates that propose two blocks")] = ()
    """Delegates that propose two blocks and vote for whichever block the receiver has."""
    _prefix: ClassVar[str] = "faults."

    def __post_init__(self) -> None:
        for name in RANKS:
            ranks = getattr(self, name)
            if len(set(ranks)) != len(ranks):
                raise UsageError(f"faults.{name} must contain a rank only once; got {ranks!r}.")
        # One without the other would have no effect.
        if bool(self.partition_fraction) != bool(self.heal_seconds):
            raise UsageError(
                "faults.partition_fraction and faults.heal_seconds must be both 0 or both above 0; "
                f"got {self.partition_fraction:g} and {self.heal_seconds:g}."
            )

    @property
    def any(self) -> bool:
        """Whether there are faults other than slow delegates."""
        # Slow delegates alone cannot prevent finality, so they need no timeout.
        return self != Faults(slow=self.slow, slow_factor=self.slow_factor)


NO_FAULTS = Faults()
"""The default of a scenario."""
