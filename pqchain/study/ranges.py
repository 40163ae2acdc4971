"""Values that sliders of the explorer can give to the inputs of a plan."""

from __future__ import annotations

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


def input_values(plan: Plan) -> dict[str, list[tuple[str, Any]]]:
    """Return the labels and values of each input on which at least one of OUTPUTS depends.

    Numbers are ascending. Inputs that are 0, and inputs of features that the chain does not have,
    are left out.
    """
    needed = frozenset[str]().union(*(QUANTITIES[name].needs for name in OUTPUTS))
    # Another law has other inputs.
    left_out = {"law", *plan.unused}
    names = [name for name in INPUTS if name in needed and name not in left_out]
    by_name = {name: _values(plan, name) for name in names}
    return {
        name: [(_label(name, value), value) for value in values]
        for name, values in by_name.items()
        if len(values) > 1
    }


def _values(plan: Plan, name: str) -> list[Any]:
    """Return the values that an input can have if no other changes."""
    start = plan.value(name)
    if not plan.value(_REQUIRES.get(name, "nodes")):
        return []
    if isinstance(start, bool):
        values: list[Any] = [False, True]
    elif isinstance(start, str):
        values = list(INPUTS[name].choices)
    elif isinstance(start, (int, float)) and start:
        values = sorted({start, *_multiples(name, start)})
    else:
        return []
    # A slider must not lead to an impossible plan, so every value is tried.
    return [value for value in values if value == start or _is_possible(plan, name, value)]


def _is_possible(plan: Plan, name: str, value: Any) -> bool:
    try:
        changed = plan.with_(**{name: value})
    except ImpossiblePlan:
        return False
    # An aggregation takes the signatures of one scheme, which the plan must have.
    return changed.bundled in ("", *plan.names)


def _multiples(name: str, start: float) -> list[float]:
    least, most = INPUTS[name].field.least or 0, INPUTS[name].field.most or 1e18
    is_whole = isinstance(start, int)
    # Multiples of a small count would leave most of its values out.
    if is_whole and most - least < _FEW:
        return list(range(int(least), int(most) + 1))
    # Halves and doubles are exact; other multiples are rounded to three digits.
    exact = [start * factor for factor in FACTORS]
    rounded = [
        value if value.is_integer() else float(f"{value:.3g}") for value in map(float, exact)
    ]
    values = [round(value) if is_whole else value for value in rounded]
    return [value for value in values if least <= value <= most and value > 0]


def _label(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    unit = INPUTS[name].unit
    return Unit(unit).text(float(value), exact=unit in ("", "share", "tx/s", "d", "gas", "WU"))
