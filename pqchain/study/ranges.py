"""Inputs that sliders can change, with their values, for the explorer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pqchain.consensus import network as networks
from pqchain.figures import Unit
from pqchain.study.checking import AGGREGATIONS, SIGNERS, ImpossiblePlan
from pqchain.study.figures import OUTPUTS, QUANTITIES
from pqchain.study.inputs import INPUTS, Plan

FINE = (
    *(1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.7, 0.8, 0.9),
    *(1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0),
)
"""Factors of a slider of the explorer, which computes figures when it moves."""

# Inputs that have an effect only where another is not 0.
_REQUIRES = {
    "witness_discount": "block_weight", "verification_gas": "block_gas",
    "intrinsic_gas": "block_gas", "execution_gas": "block_gas", "calldata_gas": "block_gas",
    "floor_gas": "block_gas", "signatures": "envelope_bytes", "framing_bytes": "envelope_bytes",
    "vote_aggregates": "votes_per_block", "votes_in_block": "votes_per_block",
    "vote_bytes": "votes_per_block", "vote_signature_bytes": "votes_per_block",
    "voting_gas": "block_gas",
}  # fmt: skip

# A whole number with at most this many possible values has all of them.
_FEW = 8


@dataclass(frozen=True, slots=True)
class InputRange:
    """An input and the values of its slider, which include the plan's current value."""

    name: str
    values: tuple[Any, ...]
    """Ascending numbers, or a choice of names or truth values."""
    start: int
    """The index of the current value."""

    @property
    def is_choice(self) -> bool:
        """Whether the values are names or truth values."""
        return isinstance(self.values[0], (str, bool))

    @property
    def table(self) -> str:
        """The table of a study file that holds the input."""
        return INPUTS[self.name].table

    @property
    def title(self) -> str:
        """Short description of the input."""
        return INPUTS[self.name].about.partition(";")[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts of the values, with units."""
        return tuple(_label(value, INPUTS[self.name].unit) for value in self.values)


def input_ranges(
    plan: Plan, outputs: Iterable[str] = OUTPUTS, factors: Sequence[float] = FINE
) -> tuple[InputRange, ...]:
    """Return the inputs on which at least one of `outputs` depends, in the order of `Plan`.

    Inputs that are 0, and inputs of features that the chain does not have, are left out.
    """
    needed = frozenset[str]().union(*(QUANTITIES[name].needs for name in outputs))
    ranges = (input_range(plan, name, factors) for name in INPUTS if name in needed)
    return tuple(filter(None, ranges))


def input_range(plan: Plan, name: str, factors: Sequence[float] = FINE) -> InputRange | None:
    """Return the values that an input can have if no other changes; None if it cannot change."""
    if name in plan.unused or not getattr(plan, _REQUIRES.get(name, "nodes")):
        return None
    start = getattr(plan, name)
    is_choice = isinstance(start, (str, bool))
    values = _choices(plan, name) if is_choice else _multiples(name, start, factors)
    # A slider must not lead to an impossible plan, so every value is tried.
    values = tuple(value for value in values if value == start or _possible(plan, {name: value}))
    return InputRange(name, values, values.index(start)) if len(values) > 1 else None


def _choices(plan: Plan, name: str) -> tuple[Any, ...]:
    names: Iterable[Any] = ()
    if isinstance(getattr(plan, name), bool):
        names = (False, True)
    elif name == "key_mode":
        names = INPUTS[name].choices
    elif name == "law":
        names = networks.NAMES
    elif name == "signer" and any(plan.algorithm(key).family == "Falcon" for key in plan.names):
        names = SIGNERS
    elif name == "vote_aggregation" and plan.votes_per_block:
        names = AGGREGATIONS
    elif name == "transaction_aggregation":
        # An aggregation takes the signatures of one scheme, which the plan must have.
        bundled = {how: plan.with_(transaction_aggregation=how).bundled for how in AGGREGATIONS}
        names = (how for how in AGGREGATIONS if how == "plain" or bundled[how] in plan.names)
    return tuple(dict.fromkeys((*names, getattr(plan, name))))


def _possible(plan: Plan, changes: Any) -> bool:
    try:
        plan.with_(**changes)
    except ImpossiblePlan:
        return False
    return True


def _multiples(name: str, start: Any, factors: Sequence[float]) -> tuple[Any, ...]:
    if not isinstance(start, (int, float)):
        return (start,)
    row, is_whole = INPUTS[name], isinstance(start, int)
    # Multiples of a small count would leave most of its values out.
    if is_whole and row.most - row.least < _FEW:
        return tuple(range(int(row.least), int(row.most) + 1))
    values = {start}
    for factor in factors:
        value = start * factor
        # Halves and doubles are exact; other multiples are rounded to three digits.
        if factor != 1 and not float(value).is_integer():
            value = float(f"{value:.3g}")
        value = round(value) if is_whole else value
        if row.least <= value <= row.most and value > 0:
            values.add(value)
    return tuple(sorted(values))


def _label(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return Unit(unit).text(float(value), exact=unit in ("", "share", "tx/s", "d", "gas", "WU"))
