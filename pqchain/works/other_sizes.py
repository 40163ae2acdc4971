"""Published sizes that are correct for another version or definition of an algorithm."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from pqchain import installation


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSize:
    """A published size that is correct for another version or definition of the algorithm."""

    name: str
    quantity: str
    bytes: int
    kind: Literal["version", "definition"]
    description: str
    source: str


@cache
def other_sizes() -> Mapping[tuple[str, str, int], OtherSize]:
    """Return the sizes of data/algorithms/versions.csv by (algorithm, quantity, bytes)."""
    path = installation.data("algorithms") / "versions.csv"
    with path.open(encoding="utf-8", newline="") as table:
        fields: list[dict[str, Any]] = [
            {**row, "bytes": int(row["bytes"])} for row in csv.DictReader(table)
        ]
    rows = [OtherSize(**row) for row in fields]
    return MappingProxyType({(row.name, row.quantity, row.bytes): row for row in rows})
