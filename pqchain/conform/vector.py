"""Boundary vectors: verification cases with the probed rule and the expected result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from pqchain import installation
from pqchain.errors import UnknownName, UsageError

EXPECTED = ("valid", "invalid", "acceptable")
"""Expected results; "acceptable" means that the specification leaves the choice to the verifier."""

ALGORITHMS = (
    "ML-DSA-44",
    "ML-DSA-65",
    "ML-DSA-87",
    "Falcon-512",
    "Falcon-1024",
    "Falcon-padded-512",
    "Falcon-padded-1024",
)
"""Algorithms that have vectors, in display order."""


Case = tuple[bytes, bytes, bytes, bytes]
"""Message, signature, public key and context: the arguments of a verifier."""


@dataclass(frozen=True, slots=True)
class Family:
    """A group of vectors that probe one rule."""

    scheme: str
    name: str
    flag: str
    bug: str
    """Project Wycheproof's `bugType`."""
    rule: str
    """Section or algorithm of the specification that states the rule."""
    probes: str
    checks: tuple[str, ...]
    """Rules of the model that may fail in vectors of this family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """One verification case with its expected result; an unknown result raises UsageError."""

    algorithm: str
    family: str
    key: str
    """The kind of key, such as "t1 = 0" or "honest"."""
    probe: str
    expected: str
    public_key: bytes
    message: bytes
    context: bytes = b""
    signature: bytes
    number: int = 0
    """Number within the algorithm, from 1; 0 before the vectors are numbered."""

    def __post_init__(self) -> None:
        if self.expected not in EXPECTED:
            raise UsageError(f"expected must be one of {EXPECTED}; got {self.expected!r}")

    @property
    def case(self) -> Case:
        """Arguments of a verifier: message, signature, public key and context."""
        return self.message, self.signature, self.public_key, self.context

    @property
    def ident(self) -> str:
        """Identifier for `pqchain conform explain`, such as ML-DSA-44:17."""
        return f"{self.algorithm}:{self.number}"

    @property
    def rule(self) -> str:
        """Section of the specification of the probed rule; "" for vectors of other sources."""
        family = families(scheme(self.algorithm)).get(self.family)
        return family.rule if family else ""


@dataclass(slots=True)
class Collector:
    """List of the vectors of one algorithm while they are generated."""

    algorithm: str
    collected: list[Vector] = field(default_factory=list)

    def add(
        self,
        family: str,
        probe: str,
        expected: str | bool,
        *,
        key: str,
        public_key: bytes,
        message: bytes,
        signature: bytes,
        context: bytes = b"",
    ) -> None:
        """Add a vector; `expected` is one of EXPECTED, or True for valid and False for invalid."""
        if isinstance(expected, bool):
            expected = "valid" if expected else "invalid"
        self.collected.append(
            Vector(
                algorithm=self.algorithm, family=family, key=key, probe=probe, expected=expected,
                public_key=public_key, message=message, signature=signature, context=context,
            )
        )  # fmt: skip

    def vectors(self) -> tuple[Vector, ...]:
        """Return the distinct vectors, grouped by public key and numbered in that order."""
        # Project Wycheproof's files group tests by key. Different probes may produce the same
        # bytes; only the first is kept.
        groups: dict[bytes, dict[tuple[bytes, ...], Vector]] = {}
        for vector in self.collected:
            case = (vector.message, vector.context, vector.signature)
            groups.setdefault(vector.public_key, {}).setdefault(case, vector)
        ordered = [vector for group in groups.values() for vector in group.values()]
        return tuple(replace(vector, number=i) for i, vector in enumerate(ordered, 1))


def scheme(algorithm: str) -> str:
    """Return "ml-dsa", also for Dilithium, or "falcon". Raises UnknownName for others."""
    if algorithm.startswith(("ML-DSA", "Dilithium")):
        return "ml-dsa"
    if algorithm.startswith("Falcon"):
        return "falcon"
    raise UnknownName("algorithm with boundary vectors", algorithm, ALGORITHMS)


@cache
def families(scheme: str) -> Mapping[str, Family]:
    """Return the families of a scheme by name, in the order of families.toml."""
    tables = installation.read_toml(installation.data("conform") / "families.toml")
    return {
        name: Family(scheme, name, **{**row, "checks": tuple(row["checks"])})
        for name, row in tables[scheme].items()
    }


def by_ident(vectors: Iterable[Vector], ident: str) -> Vector:
    """Return the vector with this identifier. Raises UnknownName."""
    known = {vector.ident: vector for vector in vectors}
    if ident not in known:
        raise UnknownName("vector", ident, known, see="`pqchain conform vectors`")
    return known[ident]
