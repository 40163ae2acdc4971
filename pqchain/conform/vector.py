"""What a boundary vector is: one case of verification, what it probes, and what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from pqchain import installation
from pqchain.errors import UnknownName, UsageError

EXPECTED = ("valid", "invalid", "acceptable")
"""What can be expected; "acceptable" is what the specification leaves to the verifier."""

ALGORITHMS = (
    "ML-DSA-44",
    "ML-DSA-65",
    "ML-DSA-87",
    "Falcon-512",
    "Falcon-1024",
    "Falcon-padded-512",
    "Falcon-padded-1024",
)
"""Those for which there are vectors, in the order in which they are shown."""


Case = tuple[bytes, bytes, bytes, bytes]
"""Message, signature, public key and context, as a verifier takes them."""


@dataclass(frozen=True, slots=True)
class Family:
    """Vectors that probe one rule."""

    scheme: str
    name: str
    flag: str
    bug: str
    """The kind of bug in the words of Project Wycheproof."""
    rule: str
    """Where the specification has the rule."""
    probes: str
    checks: tuple[str, ...]
    """Rules of the model that may fail in its vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """One case of verification."""

    algorithm: str
    family: str
    key: str
    """The kind of key, such as "t1 = 0" or "honest"."""
    probe: str
    """What it probes, in words."""
    expected: str
    public_key: bytes
    message: bytes
    context: bytes = b""
    signature: bytes
    number: int = 0
    """From 1 on within its algorithm."""

    def __post_init__(self) -> None:
        if self.expected not in EXPECTED:
            raise UsageError(f"expected={self.expected!r}; expected one of {EXPECTED}")

    @property
    def case(self) -> Case:
        """What a verifier is given."""
        return self.message, self.signature, self.public_key, self.context

    @property
    def ident(self) -> str:
        """What `pqchain conform explain` takes."""
        return f"{self.algorithm}:{self.number}"

    @property
    def rule(self) -> str:
        """Where the specification has the rule that it probes; "" if the vector is not of ours."""
        family = families(scheme(self.algorithm)).get(self.family)
        return family.rule if family else ""


@dataclass(slots=True)
class Collector:
    """Gathers the vectors of one algorithm."""

    algorithm: str
    made: list[Vector] = field(default_factory=list)

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
        """Add a vector; True stands for valid, False for invalid."""
        if isinstance(expected, bool):
            expected = "valid" if expected else "invalid"
        self.made.append(
            Vector(
                algorithm=self.algorithm, family=family, key=key, probe=probe, expected=expected,
                public_key=public_key, message=message, signature=signature, context=context,
            )
        )  # fmt: skip

    def vectors(self) -> tuple[Vector, ...]:
        """Return all, those of one key together, numbered in that order, none twice."""
        groups: dict[bytes, dict[tuple[bytes, ...], Vector]] = {}
        for each in self.made:
            case = (each.message, each.context, each.signature)
            groups.setdefault(each.public_key, {}).setdefault(case, each)
        ordered = [each for group in groups.values() for each in group.values()]
        return tuple(replace(each, number=i) for i, each in enumerate(ordered, 1))


def scheme(algorithm: str) -> str:
    """Return "ml-dsa" or "falcon"; Dilithium has the rules of ML-DSA.

    Raises UnknownName for what has no vectors.
    """
    if algorithm.startswith(("ML-DSA", "Dilithium")):
        return "ml-dsa"
    if algorithm.startswith("Falcon"):
        return "falcon"
    raise UnknownName("algorithm with boundary vectors", algorithm, ALGORITHMS)


@cache
def families(scheme: str) -> Mapping[str, Family]:
    """Return the families of a scheme by name, in order."""
    tables = installation.read_toml(installation.data("conform") / "families.toml")
    return {
        name: Family(scheme, name, **{**row, "checks": tuple(row["checks"])})
        for name, row in tables[scheme].items()
    }


def by_ident(vectors: Iterable[Vector], ident: str) -> Vector:
    """Return the vector of that name. Raises UnknownName."""
    known = {each.ident: each for each in vectors}
    if ident not in known:
        raise UnknownName("vector", ident, known, see="`pqchain conform vectors`")
    return known[ident]
