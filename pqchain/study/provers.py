"""Published rates, proof sizes and verification times of provers.

Nothing here was measured by pqchain, as the source of every figure that depends on it states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pqchain import installation
from pqchain.errors import DataError, UsageError

CITED = "cited, not measured here"
"""Remark of every figure that depends on a published prover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prover:
    """One prover on one machine, as published."""

    name: str
    title: str
    algorithm: str
    """The scheme that it aggregates, by its name in the registry if one has the same sizes."""
    rates: tuple[tuple[float, float], ...]
    """(cores, signatures per second) by cores, 0 for an unknown number; empty without a published
    rate."""
    proofs: tuple[tuple[float, float], ...]
    """(signatures, bytes of the proof) by signatures."""
    merge_seconds: float | None
    """Time to merge two proofs; None if not published."""
    verify_seconds: float | None
    memory_bytes: float | None
    machine: str
    commit: str
    date: str
    source: str
    note: str

    def rate_per_second(self, cores: float) -> float:
        """Return the signatures aggregated per second, interpolated between published cores.

        Beyond the published range it is the nearest value. Raises UsageError without a rate.
        """
        if not self.rates:
            raise UsageError(
                f"prover must have a published rate; got {self.name} ({self.source}). Use another, "
                "such as leanmultisig."
            )
        known, rates = zip(*self.rates, strict=True)
        return float(np.interp(cores, known, rates))

    def proof_bytes(self, signatures: float) -> float:
        """Return the bytes of a proof of this many signatures, interpolated in the same way."""
        known, sizes = zip(*self.proofs, strict=True)
        return float(np.interp(signatures, known, sizes))


def read(path: Path) -> Prover:
    """Return the prover of a file. Raises DataError."""
    # Measurements that the source does not publish are None.
    facts: dict[str, Any] = dict.fromkeys(_MEASURED)
    facts |= {"name": path.stem, **installation.read_toml(path)}
    if set(facts) != _FIELDS:
        wrong = ", ".join(sorted(set(facts) ^ _FIELDS))
        raise DataError(f"{path} must have the fields of data/provers; wrong: {wrong}")
    try:
        for key in ("rates", "proofs"):
            facts[key] = tuple(sorted(_pair(*pair) for pair in facts[key]))
        for key in _MEASURED:
            facts[key] = facts[key] if facts[key] is None else _pair(facts[key], 0)[0]
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{path}: {key} must be as in data/provers; got {facts[key]!r} ({error})"
        raise DataError(message) from error
    for key in _FIELDS - {"rates", "proofs", *_MEASURED}:
        if not isinstance(facts[key], str):
            raise DataError(f"{path}: {key} must be a text; got {facts[key]!r}")
    if not facts["proofs"]:
        raise DataError(f"{path}: proofs must have at least one pair; got none")
    return Prover(**facts)


_FIELDS = {declared.name for declared in fields(Prover)}
_MEASURED = ("merge_seconds", "verify_seconds", "memory_bytes")


def _pair(first: float, second: float) -> tuple[float, float]:
    pair = float(first), float(second)
    if not all(math.isfinite(value) and value >= 0 for value in pair):
        raise ValueError("expected finite numbers of at least 0")
    return pair


PROVERS: Mapping[str, Prover] = {
    path.stem: read(path) for path in sorted(installation.data("provers").glob("*.toml"))
}
