"""What was seen on a chain of today: the tables [[observed]] of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pqchain import algorithms
from pqchain.errors import UnknownName, UsageError
from pqchain.study.quantities import QUANTITIES


class Observation(NamedTuple):
    """What was seen on a chain of today, to be set against the model of it."""

    quantity: str
    """A figure of the study."""
    scheme: str
    """Whose figure; "" for the baseline's."""
    value: float
    source: str
    date: str
    settings: Mapping[str, Any]
    """Inputs as they were when it was seen."""


def observation(row: Mapping[str, Any]) -> Observation:
    """Return what a table [[observed]] says. Raises UsageError."""
    values = {"set": {}, "scheme": "", **row}
    expected: dict[str, Any] = dict.fromkeys(("quantity", "scheme", "source", "date"), str)
    expected |= {"value": (int, float), "set": Mapping}
    if wrong := sorted(set(values) ^ set(expected)):
        raise UsageError(
            f"an observation has {sorted(row)}; expected {', '.join(expected)} (wrong: {wrong})"
        )
    for name, kind in expected.items():
        if not isinstance(values[name], kind):
            raise UsageError(f"{name} of an observation is {values[name]!r}; see data/chains")
    if values["quantity"] not in QUANTITIES:
        raise UnknownName("figure", values["quantity"], QUANTITIES, "`pqchain study` lists them.")
    if values["value"] <= 0:
        raise UsageError(f"an observed {values['quantity']} is {values['value']}; give more than 0")
    scheme = values["scheme"] and algorithms.get(values["scheme"]).name
    told = (values["source"], values["date"], values["set"])
    return Observation(values["quantity"], scheme, float(values["value"]), *told)
