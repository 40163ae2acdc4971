"""Costs of algorithms in bytes and seconds, the input of the blockchain models.

A CostTable names the source of its numbers: "paper:pqdpol" or "measured:<machine>"; a user-defined
row has the source "given: <text>". Models take a CostTable only, so that published, measured and
given numbers are interchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.checks import NAME, integer, is_name, number
from pqchain.errors import DataError, UnknownAlgorithm, UsageError
from pqchain.results.measurements import algorithms_of, choose, chosen_names, require_columns

if TYPE_CHECKING:
    import pandas as pd

GIVEN = "given: "
"""Prefix of the source of a user-defined scheme; the user's text follows."""


_SIZES = ("public_key_bytes", "signature_bytes")
_TIMES = ("generate_keypair_seconds", "sign_seconds", "verify_seconds")


class MissingCosts(DataError, KeyError):
    """A cost table lacks an algorithm or one of its times; the message gives the reason."""

    __str__ = Exception.__str__  # KeyError would show the message in quotation marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Sizes and times of one signature scheme. A time that was not measured is NaN."""

    algorithm: str
    """Canonical name in the registry, or the name of a user-defined scheme."""
    public_key_bytes: int
    signature_bytes: int
    """The fixed length; if it varies, the mean or published length."""
    generate_keypair_seconds: float
    sign_seconds: float
    verify_seconds: float
    source: str
    """Source of the numbers, down to the table or the implementation."""
    decode_key_seconds: float = 0.0
    """Part of `verify_seconds` that decodes the public key, and that a verifier saves by keeping
    the key decoded; 0 if it is not known."""
    anchor_seconds: float = 0.0
    """Time of ecrecover (libsecp256k1) on the machine of given times, by which `measure_gas` prices
    them; 0 if it is not known."""

    def __post_init__(self) -> None:
        if self.is_given:
            _check_user_name(self.algorithm)
        elif (name := algorithms.get(self.algorithm).name) != self.algorithm:
            raise UsageError(f"{self.algorithm!r} is an alias; use the canonical name {name!r}")
        for name in _SIZES:
            integer(f"{name} of {self.algorithm}", getattr(self, name), least=1)
        for name in (*_TIMES, "decode_key_seconds", "anchor_seconds"):
            seconds = getattr(self, name)
            if name not in _TIMES or seconds == seconds:  # NaN is not equal to itself
                number(f"{name} of {self.algorithm}", seconds)
        if self.decode_key_seconds > self.verify_seconds:
            raise UsageError(
                f"decode_key_seconds of {self.algorithm} must be at most verify_seconds, of which "
                f"it is a part; got {self.decode_key_seconds} and {self.verify_seconds}."
            )

    @property
    def known_key_verify_seconds(self) -> float:
        """Seconds to verify with a public key that is already decoded, such as a validator's."""
        return self.verify_seconds - self.decode_key_seconds

    @classmethod
    def given(
        cls, name: str, *, source: str, generate_keypair_seconds: float = math.nan, **numbers: Any
    ) -> Costs:
        """Return the costs of a scheme that the user defines by numbers.

        `numbers` are the other fields of Costs: public_key_bytes, signature_bytes, sign_seconds,
        verify_seconds, and if known decode_key_seconds and anchor_seconds. `source` is a text with
        the provenance of the numbers. Raises UsageError for a name of the registry, for sizes below
        1 byte and for negative times, and TypeError for a missing or unknown field.

        >>> Costs.given("Mine", public_key_bytes=1000, signature_bytes=300, sign_seconds=1e-3,
        ...             verify_seconds=1e-4, source="my thesis, table 2").source
        'given: my thesis, table 2'
        """
        times: Any = {"generate_keypair_seconds": generate_keypair_seconds}
        return cls(algorithm=name, source=GIVEN + source, **times, **numbers)

    @property
    def is_given(self) -> bool:
        """Whether the scheme is user-defined."""
        return self.source.startswith(GIVEN)

    @property
    def scheme(self) -> Algorithm:
        """The registry's `Algorithm`, or an equivalent one for a user-defined scheme."""
        if not self.is_given:
            return algorithms.get(self.algorithm)
        timed = (*algorithms.SIGNATURE_OPERATIONS, algorithms.DECODE_KEY, "anchor")
        return Algorithm(
            name=self.algorithm,
            public_key_bytes=self.public_key_bytes,
            secret_key_bytes=32,  # that of the placeholder, user_code.PLACEHOLDER_SECRET_BYTES
            signature_bytes=self.signature_bytes,
            signature_max_bytes=self.signature_bytes,
            implementations=(algorithms.GIVEN,),
            source=self.source,
            given_seconds=tuple((name, getattr(self, f"{name}_seconds")) for name in timed),
        )

    @property
    def verifier(self) -> str:
        """The implementation that verifies; "" if the times are not measured on a machine."""
        named, measured, _ = self.source.partition(" on ")
        known = measured and not self.is_given
        return named.rpartition("verify ")[2].partition(",")[0] if known else ""

    def require(self, *operations: str) -> Costs:
        """Return self if the times of these operations are known. Raises MissingCosts otherwise."""
        lacking = [name for name in operations if math.isnan(getattr(self, f"{name}_seconds"))]
        if lacking:
            raise MissingCosts(
                f"{self.algorithm} has no time of {' and '.join(lacking)} in {self.source!r}, and "
                f"this model needs it; measure it: `pqchain bench --algorithm {self.algorithm} "
                f"--operation {','.join(lacking)}`"
            )
        return self


def _check_user_name(name: str) -> None:
    if not is_name(name):
        raise UsageError(f"the name of a scheme must be {NAME}; got {name!r:.120}. Rename it.")
    try:
        known = algorithms.get(name)
    except UnknownAlgorithm:
        return
    if not known.source:
        raise UsageError(f"{name!r} is {known.name} in the registry; give your scheme another name")


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCosts:
    """Times of aggregate signatures of one scheme; checking public keys is not included."""

    algorithm: str
    verify_seconds: float
    """Time to verify an aggregate, without the cost per signer."""
    signer_seconds: float
    """Additional time per signer if all signed one message."""
    source: str


@dataclass(frozen=True, slots=True)
class CostTable(Mapping[str, Costs]):
    """Mapping from algorithm names to costs, in registry order, with user-defined schemes last.

    Equal and hashable by content, so that a scenario can be identified by the costs it used.
    """

    rows: tuple[Costs, ...]
    source: str
    """Label of the table, such as "paper:pqdpol" or "measured:<machine>"."""
    gaps: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """(algorithm, reason) of algorithms with missing costs."""
    aggregates: AggregateCosts | None = None

    def __post_init__(self) -> None:
        named = {row.algorithm: row for row in self.rows}
        if len(named) != len(self.rows):
            raise UsageError(
                f"the costs of {self.source!r} must have one row per algorithm; got "
                f"{sorted(row.algorithm for row in self.rows)}"
            )
        user_rows = tuple(row for row in self.rows if row.is_given)
        known = (named[name] for name in algorithms.ALGORITHMS if name in named)
        ordered = (*(row for row in known if not row.is_given), *user_rows)
        object.__setattr__(self, "rows", ordered)

    def __getitem__(self, name: str) -> Costs:
        """Return an algorithm's costs by name or alias. Raises UnknownAlgorithm, MissingCosts."""
        # User-defined rows first: `algorithms.get` may not know their names.
        for row in self.rows:
            if row.is_given and isinstance(name, str) and row.algorithm.lower() == name.lower():
                return row
        canonical = algorithms.get(name).name
        if found := next((row for row in self.rows if row.algorithm == canonical), None):
            return found
        reason = dict(self.gaps).get(canonical, "it is not in the table")
        raise MissingCosts(
            f"no costs of {canonical!r} in {self.source!r}: {reason}; "
            f"the table has {', '.join(row.algorithm for row in self.rows) or 'no scheme'}"
        )

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self[name] is not None
        except (UnknownAlgorithm, MissingCosts):
            return False

    def plus(self, *user_costs: Costs) -> CostTable:
        """Return the table with user-defined schemes added.

        >>> mine = Costs.given("Mine", public_key_bytes=1000, signature_bytes=300,
        ...                    sign_seconds=1e-3, verify_seconds=1e-4, source="my thesis")
        >>> CostTable((), "paper:none").plus(mine)["mine"].source
        'given: my thesis'
        """
        return replace(self, rows=(*self.rows, *user_costs))

    def origin(self, name: str) -> str:
        """Return the source of a scheme's costs: its own if user-defined, else that of the table.

        Raises UnknownAlgorithm and MissingCosts.
        """
        row = self[name]
        return row.source if row.is_given else self.source

    def __iter__(self) -> Iterator[str]:
        return (row.algorithm for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def from_frame(
    measurements: pd.DataFrame,
    implementation: str | Mapping[str, str] | None = None,
    *,
    variant: str | None = None,
) -> CostTable:
    """Return the costs of every signature scheme with measured signing or verification.

    Times are medians in seconds, NaN where an operation was not measured: `Costs.require` raises
    for those that a model needs. The time to decode a key is 0 where it was not measured. Sizes are
    those of the registry, the mean where the length varies. `implementation` is that of all, or by
    algorithm where it was measured; otherwise each operation has its fastest, or with `variant`
    the code that `choose` finds for works. A scheme that is not in the registry, or was given by
    numbers, counts as user-defined. Raises DataError if the frame lacks columns or has no scheme.
    """
    needed = ("algorithm", "implementation", "operation", "median_seconds", "status", "reason")
    require_columns(measurements, needed, "a measurement frame")
    machine = measurements.attrs.get("provenance", {}).get("machine_id", "unknown machine")
    rows, gaps = [], []
    for algorithm in algorithms_of(measurements):
        if algorithm.kind != "signature":
            continue
        wanted, name = implementation, algorithm.name
        if isinstance(wanted, Mapping):
            offered = set(measurements.loc[measurements["algorithm"] == name, "implementation"])
            wanted = wanted[name] if wanted.get(name) in offered else None
        chosen = choose(measurements, name, implementation=wanted, variant=variant)
        measured = {name: row for name, row in chosen.items() if row["status"] == "ok"}
        if lacking := [name for name in algorithm.operations if name not in measured]:
            gaps.append((algorithm.name, _why(chosen, lacking, wanted)))
        if not {"sign", "verify"} & set(measured):
            continue
        first = next(iter(measured.values()))
        timed = {name: row for name, row in measured.items() if name in algorithm.operations}
        source = f"{chosen_names(timed)} on {machine}"
        if first["implementation"] == algorithms.GIVEN:
            source = algorithm.source
        elif algorithm.name not in algorithms.ALGORITHMS:
            source = GIVEN + source
        fields: dict[str, Any] = {name: getattr(algorithm, name) for name in _SIZES}
        fields |= dict.fromkeys(_TIMES, math.nan) | {"decode_key_seconds": 0.0}
        times = {f"{name}_seconds": row["median_seconds"] for name, row in measured.items()}
        fields |= {name: float(value) for name, value in times.items() if name in fields}
        # A part of the verification, although other load may slow one of two measurements more.
        if fields["decode_key_seconds"] > fields["verify_seconds"]:
            fields["decode_key_seconds"] = fields["verify_seconds"]
        rows.append(Costs(algorithm=algorithm.name, **fields, source=source))
    if not rows:
        raise DataError(
            "the measurements have no signature scheme with a time of sign or verify"
            + "".join(f"; {name}: {reason}" for name, reason in gaps)
        )
    return CostTable(rows=tuple(rows), source=f"measured:{machine}", gaps=tuple(gaps))


def _why(chosen: dict[str, dict[str, Any]], lacking: list[str], implementation: str | None) -> str:
    if not chosen:
        return f"nothing was measured with {implementation!r}"
    reasons: dict[str, list[str]] = {}
    for operation in lacking:
        row = chosen.get(operation, {"status": "not measured", "reason": ""})
        reason = f"{row['status']}: {row['reason']}" if row["reason"] else row["status"]
        reasons.setdefault(reason, []).append(operation)
    return "; ".join(f"{', '.join(group)} {reason}" for reason, group in reasons.items())
