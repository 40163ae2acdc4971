"""Units in which chains price verifications, and what drafts and chains state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pqchain import installation

OWN = "pqchain"
"""Name of pqchain's own implementation in `anchor_verifiers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceUnit:
    """A chain's unit, with the verification that the chain prices already: the anchor."""

    name: str
    title: str
    symbol: str
    scale: float = 1.0
    """Divisor of the numbers in a column with this title."""
    anchor: str
    """Algorithm of the anchor."""
    anchor_price: float
    anchor_per_byte: float = 0.0
    """Added to the anchor's price for each byte of the message."""
    anchor_verifiers: tuple[str, ...] = field(default=(OWN,))
    """Verifiers that time the anchor; the first that is available counts."""
    benchmark: float | None = None
    """A second price of the anchor; None if there is none."""
    benchmark_title: str = ""
    rule: str
    source: str
    date: str


def _read(name: str) -> dict[str, Any]:
    return installation.read_toml(installation.data("gas") / f"{name}.toml")


@cache
def units() -> dict[str, PriceUnit]:
    """Return the units by name, in the order of data/gas/units.toml."""
    tables = _read("units")
    for name, table in tables.items():
        verifiers = tuple(table.pop("anchor_verifiers"))
        tables[name] = PriceUnit(name=name, anchor_verifiers=verifiers, **table)
    return tables


@cache
def statements() -> list[dict[str, Any]]:
    """Return prices stated by drafts and chains.

    Keys: algorithm, unit, gas, what, source and date.
    """
    rows: list[dict[str, Any]] = _read("statements")["statement"]
    return rows


@cache
def clients() -> dict[str, dict[str, str]]:
    """Return the verifiers to time by default.

    Keys: chain, source and date where a chain runs them.
    """
    return _read("clients")
