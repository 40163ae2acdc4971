"""Provers of others: what they published of rate, proof bytes and verification.

Nothing here was measured by us. Every figure made of them says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pqchain import installation
from pqchain.errors import DataError, UsageError

CITED = "cited, not measured here"
"""What stands at every figure that rests on a prover of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prover:
    """One prover on one machine, as published."""

    name: str
    title: str
    scheme: str
    """What it aggregates."""
    algorithm: str
    """The scheme of the registry with the same bytes; "" if there is none."""
    rates: tuple[tuple[float, float], ...]
    """(cores, signatures a second), by cores, 0 where the source does not say how many; nothing
    where no rate was published."""
    proofs: tuple[tuple[float, float], ...]
    """(signatures, bytes of the proof), by signatures."""
    merge_seconds: float | None
    """Of two proofs into one; None where the source does not say."""
    verify_seconds: float | None
    memory_bytes: float | None
    machine: str
    commit: str
    date: str
    source: str
    note: str

    def rate_per_second(self, cores: float) -> float:
        """Return the signatures aggregated per second, between published cores by interpolation.

        Beyond the published ones the nearest stands: nobody measured more. Raises UsageError where
        no rate was published.
        """
        if not self.rates:
            raise UsageError(
                f"{self.name} has no published rate ({self.source}); use another prover, such as "
                "leanmultisig"
            )
        known, rates = zip(*self.rates, strict=True)
        return float(np.interp(cores, known, rates))

    def proof_bytes(self, signatures: float) -> float:
        """Return the bytes of a proof of so many signatures, as `rate_per_second` does."""
        known, sizes = zip(*self.proofs, strict=True)
        return float(np.interp(signatures, known, sizes))


def _read(name: str, row: Mapping[str, Any]) -> Prover:
    facts: dict[str, Any] = dict.fromkeys(("merge_seconds", "verify_seconds", "memory_bytes"))
    facts |= {"name": name, "algorithm": "", **row}
    for key in ("rates", "proofs"):
        facts[key] = tuple(sorted((float(one), float(other)) for one, other in facts[key]))
    if not facts["proofs"]:
        raise DataError(f"data/provers/{name}.toml: proofs is empty; give at least one pair")
    return Prover(**facts)


PROVERS: Mapping[str, Prover] = {
    path.stem: _read(path.stem, installation.read_toml(path))
    for path in sorted(installation.data("provers").glob("*.toml"))
}
"""Provers by the name of their file."""
