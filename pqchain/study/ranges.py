"""Inputs that sliders can change, with their values, for the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pqchain.figures import Unit
from pqchain.study.figures import OUTPUTS, QUANTITIES
from pqchain.study.plan import INPUTS, ImpossiblePlan, Plan

FACTORS = (
    *(1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.7, 0.8, 0.9),
    *(1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0),
)
"""Factors of the values of a slider."""

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
    def labels(self) -> tuple[str, ...]:
        """Texts of the values, with units."""
        unit = INPUTS[self.name].unit
        if self.is_choice:
            return tuple({True: "yes", False: "no"}.get(value, value) for value in self.values)
        exact = unit in ("", "share", "tx/s", "d", "gas", "WU")
        return tuple(Unit(unit).text(float(value), exact=exact) for value in self.values)


def input_ranges(plan: Plan) -> tuple[InputRange, ...]:
    """Return the inputs on which at least one of OUTPUTS depends, in the order of `Plan`.

    Inputs that are 0, and inputs of features that the chain does not have, are left out.
    """
    needed = frozenset[str]().union(*(QUANTITIES[name].needs for name in OUTPUTS))
    ranges = (input_range(plan, name) for name in INPUTS if name in needed)
    return tuple(filter(None, ranges))


def input_range(plan: Plan, name: str) -> InputRange | None:
    """Return the values that an input can have if no other changes; None if it cannot change."""
    # Another law has other inputs.
    if name == "law" or name in plan.unused or not plan.value(_REQUIRES.get(name, "nodes")):
        return None
    start = plan.value(name)
    values = _choices(name, start) if isinstance(start, (str, bool)) else _multiples(name, start)
    # A slider must not lead to an impossible plan, so every value is tried.
    possible = tuple(value for value in values if value == start or _possible(plan, name, value))
    return InputRange(name, possible, possible.index(start)) if len(possible) > 1 else None


def _choices(name: str, start: Any) -> tuple[Any, ...]:
    names = (False, True) if isinstance(start, bool) else INPUTS[name].choices
    return tuple(dict.fromkeys((*names, start)))


def _possible(plan: Plan, name: str, value: Any) -> bool:
    try:
        changed = plan.with_(**{name: value})
    except ImpossiblePlan:
        return False
    # An aggregation takes the signatures of one scheme, which the plan must have.
    return changed.bundled in ("", *plan.names)


def _multiples(name: str, start: Any) -> tuple[Any, ...]:
    if not isinstance(start, (int, float)):
        return (start,)
    field, is_whole = INPUTS[name].field, isinstance(start, int)
    least, most = field.least or 0, field.most or 1e18
    # Multiples of a small count would leave most of its values out.
    if is_whole and most - least < _FEW:
        return tuple(range(int(least), int(most) + 1))
    return tuple(sorted(filter(lambda value: value > 0, {start, *_scaled(start, least, most)})))


def _scaled(start: float, least: float, most: float) -> Iterator[float]:
    for factor in FACTORS:
        # Halves and doubles are exact; other multiples are rounded to three digits.
        value = start * factor
        if factor != 1 and not float(value).is_integer():
            value = float(f"{value:.3g}")
        value = round(value) if isinstance(start, int) else value
        if least <= value <= most:
            yield value
