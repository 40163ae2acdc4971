"""Which inputs of a plan can be moved, and where to: the sliders of an explorer and of a page.

Knows nothing of widgets and pages, nor what an input changes but for the declarations of figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pqchain import figures
from pqchain.chain import encoding
from pqchain.consensus import network as networks
from pqchain.figures import COUNT
from pqchain.study.answer import shown
from pqchain.study.plan import BLS, SIGNERS, Plan, value_of
from pqchain.study.provers import PROVERS
from pqchain.study.quantities import INPUTS, QUANTITIES
from pqchain.study.sensitivity import OUTPUTS
from pqchain.study.wiring import WIRES, ImpossiblePlan, without_effect

FINE = (
    *(1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.7, 0.8, 0.9),
    *(1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0),
)
"""Factors of a slider that is computed when it moves."""

COARSE = (1 / 4, 1 / 2, 1.0, 2.0, 4.0)
"""Factors of a slider whose figures are all computed ahead."""

_OF = {
    "witness_discount": "block_weight", "verification_gas": "block_gas",
    "intrinsic_gas": "block_gas", "execution_gas": "block_gas", "calldata_gas": "block_gas",
    "floor_gas": "block_gas", "signatures": "envelope_bytes", "framing_bytes": "envelope_bytes",
    "vote_aggregates": "votes_per_block", "votes_in_block": "votes_per_block",
    "vote_bytes": "votes_per_block", "vote_signature_bytes": "votes_per_block",
}  # fmt: skip
"""Inputs that say something only where another is not 0."""

_FEW = 8
"""A whole number with at most so many possible values has them all."""


@dataclass(frozen=True, slots=True)
class Lever:
    """An input and the values that it can be moved to, the plan's own among them."""

    name: str
    values: tuple[Any, ...]
    """Numbers ascend; names and truth values are a choice."""
    place: int
    """Where the plan's own value stands."""

    @property
    def is_choice(self) -> bool:
        """Whether the values are no numbers."""
        return isinstance(self.values[0], (str, bool))

    @property
    def table(self) -> str:
        """The section of a plan in which the input stands."""
        return INPUTS[self.name].table

    @property
    def title(self) -> str:
        """What the input is, in a few words."""
        return INPUTS[self.name].about.partition(";")[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """The values for people, with units."""
        return tuple(_label(value, INPUTS[self.name].unit) for value in self.values)


def levers(
    plan: Plan, outputs: Iterable[str] = OUTPUTS, factors: Sequence[float] = FINE
) -> tuple[Lever, ...]:
    """Return what can be moved on which any of these figures depends, in the order of a plan.

    An input that is 0, which stands for something that the chain has not, is left out.
    """
    needed = frozenset[str]().union(*(QUANTITIES[name].needs for name in outputs))
    if "network" in needed:
        needed |= set(WIRES)
    found = (lever(plan, name, factors) for name in INPUTS if name in needed)
    return tuple(each for each in found if each is not None)


def lever(plan: Plan, name: str, factors: Sequence[float] = FINE) -> Lever | None:
    """Return what an input can be moved to, the others being as they are; None if to nothing."""
    if name in without_effect(plan.network) or not value_of(plan, _OF.get(name, "nodes")):
        return None
    own = value_of(plan, name)
    values = _choices(plan, name) if isinstance(own, (str, bool)) else _steps(name, own, factors)
    values = tuple(value for value in values if value == own or _possible(plan, {name: value}))
    return Lever(name, values, values.index(own)) if len(values) > 1 else None


def _choices(plan: Plan, name: str) -> tuple[Any, ...]:
    """Return the names of an input that make sense for a plan, its own among them."""
    names: Iterable[Any] = ()
    if isinstance(value_of(plan, name), bool):
        names = (False, True)
    elif name == "public_key":
        names = encoding.KEY_MODES
    elif name == "law":
        names = networks.NAMES
    elif name == "signer" and any(plan.scheme(each).family == "Falcon" for each in plan.names):
        names = SIGNERS
    elif name == "vote_aggregation" and plan.votes_per_block:
        names = ("plain", BLS, *PROVERS)
    elif name == "transaction_aggregation":
        taken = (how for how in (BLS, *PROVERS) if _bundles(plan, how))
        names = ("plain", *taken)
    return tuple(dict.fromkeys((*names, value_of(plan, name))))


def _possible(plan: Plan, changes: Any) -> bool:
    """Whether a plan can have these inputs."""
    try:
        plan.with_(**changes)
    except ImpossiblePlan:
        return False
    return True


def _bundles(plan: Plan, how: str) -> bool:
    """Whether a plan has the scheme whose signatures an aggregation takes."""
    return plan.with_(transaction_aggregation=how).bundled in plan.names


def _steps(name: str, own: Any, factors: Sequence[float]) -> tuple[Any, ...]:
    """Return a number and its multiples within the bounds of the input; own if there are none."""
    if isinstance(own, (tuple, type(None))) or not isinstance(own, (int, float)):
        return (own,)
    row, is_whole = INPUTS[name], isinstance(own, int)
    if is_whole and row.most - row.least < _FEW:
        return tuple(range(int(row.least), int(row.most) + 1))
    moved = {own}
    for factor in (each for each in factors if each != 1):
        # Halves and doubles are exact, what lies between is round.
        value = own * factor if float(own * factor).is_integer() else float(f"{own * factor:.3g}")
        value = round(value) if is_whole else value
        if row.least <= value <= row.most and value > 0:
            moved.add(value)
    return tuple(sorted(moved))


def _label(value: Any, unit: str) -> str:
    """Write a value for people: a count in full, a quantity with its unit and prefix."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit in ("", "share", "tx/s", "d"):
        text = (
            figures.integer(value) if float(value).is_integer() else COUNT.text(value, exact=True)
        )
        return f"{text}{figures.NARROW_SPACE}{unit}" if unit and unit != "share" else text
    if unit == "B/s":
        return f"{shown(float(value), 'B')}/s"
    return shown(float(value), unit)
