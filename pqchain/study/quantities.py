"""What a study takes and what it gives: inputs and figures, with units, meanings and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pqchain.installation import HOME, read_toml
from pqchain.results import Contract

STUDY = Contract.of(
    "study",
    ("str", "study scheme quantity"),
    ("float64", "value low high"),
    ("str", "text unit kind source"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What a study may set."""

    about: str
    table: str = ""
    """The table of a file in which it stands."""
    unit: str = ""
    least: float = 0.0
    most: float = 1e18

    @property
    def meaning(self) -> str:
        """What it is, with its unit."""
        return f"{self.about}{', in ' + self.unit if self.unit else ''}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of a study."""

    unit: str
    about: str
    needs: frozenset[str]
    """The inputs of a plan that it depends on; no other changes it."""


def _quantities() -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for name, row in read_toml(HOME / "study" / "quantities.toml").items():
        needs = (found[of].needs if of in found else {of} for of in row["of"].split())
        found[name] = Quantity(row.get("unit", ""), row["about"], frozenset().union(*needs))
    return found


INPUTS: Mapping[str, Input] = {
    name: Input(**{"table": table, **row})
    for table, rows in read_toml(HOME / "study" / "inputs.toml").items()
    for name, row in rows.items()
}
"""What a study file may set, in the order of `pqchain study --inputs`."""

QUANTITIES: Mapping[str, Quantity] = _quantities()
"""Every figure, in the order of the page."""
