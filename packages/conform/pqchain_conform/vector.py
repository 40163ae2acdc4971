"""Boundary vectors: cases of verification or of a KEM, with the rule and the expected result."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pqchain import installation
from pqchain.errors import UnknownName, UsageError

DATA = Path(__file__).parent / "data"
"""Folder of tables, schemas and digests."""

EXPECTED = ("valid", "invalid", "acceptable")
"""Expected results; "acceptable" means that the specification leaves the choice to the verifier."""

ALGORITHMS = (
    *("ML-DSA-44", "ML-DSA-65", "ML-DSA-87"),
    *("Falcon-512", "Falcon-1024", "Falcon-padded-512", "Falcon-padded-1024"),
    *(
        f"SLH-DSA-{family}-{size}"
        for family in ("SHA2", "SHAKE")
        for size in ("128s", "128f", "192s", "192f", "256s", "256f")
    ),
    *("ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"),
)
"""Algorithms that have vectors, in display order."""

_SCHEMES = {
    "ML-DSA": "ml-dsa",
    "Dilithium": "ml-dsa",
    "Falcon": "falcon",
    "SLH-DSA": "slh-dsa",
    "ML-KEM": "ml-kem",
}


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
    """One case with its expected result; an unknown result raises UsageError."""

    operation: ClassVar[str]
    """The operation that the vector asks for, one of `protocol.OPERATIONS`."""
    byte_fields: ClassVar[tuple[str, ...]]
    """Names of the fields that an adapter gets."""

    algorithm: str
    family: str
    key: str
    """The kind of key, such as "t1 = 0" or "honest"."""
    probe: str
    expected: str
    number: int = 0
    """Number within the algorithm, from 1; 0 before the vectors are numbered."""

    def __post_init__(self) -> None:
        if self.expected not in EXPECTED:
            raise UsageError(f"expected must be one of {EXPECTED}; got {self.expected!r}")

    @property
    def data(self) -> tuple[bytes, ...]:
        """The byte strings that an adapter gets."""
        return tuple(getattr(self, name) for name in self.byte_fields)

    @property
    def case(self) -> tuple[Any, ...]:
        """Arguments of `ReferenceModel.checks`: for a KEM operation and data, and the secret."""
        return self.operation, *self.data

    @property
    def group(self) -> Hashable:
        """What the vectors of one group of a file have in common."""
        return self.operation

    @property
    def ident(self) -> str:
        """Identifier for `pqchain conform explain`, such as ML-DSA-44:17."""
        return f"{self.algorithm}:{self.number}"

    @property
    def rule(self) -> str:
        """Section of the specification of the probed rule; "" for vectors of other sources."""
        return getattr(families(scheme(self.algorithm)).get(self.family), "rule", "")

    @property
    def probes(self) -> str:
        """What the family probes; "" for vectors of other sources."""
        return getattr(families(scheme(self.algorithm)).get(self.family), "probes", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureVector(Vector):
    """A signature to verify."""

    operation = "verify"
    byte_fields = ("public_key", "message", "context", "signature")

    public_key: bytes
    message: bytes
    context: bytes = b""
    signature: bytes

    @property
    def case(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Arguments of a verifier: message, signature, public key and context."""
        return self.message, self.signature, self.public_key, self.context

    @property
    def group(self) -> bytes:
        """Public key, by which Project Wycheproof's files group tests."""
        return self.public_key


@dataclass(frozen=True, slots=True, kw_only=True)
class EncapsulationVector(Vector):
    """An encapsulation key that a KEM has to accept or to refuse."""

    operation = "encapsulate"
    byte_fields = ("encapsulation_key",)

    encapsulation_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DecapsulationVector(Vector):
    """A ciphertext to decapsulate; a KEM has to return the shared secret or to refuse."""

    operation = "decapsulate"
    byte_fields = ("decapsulation_key", "ciphertext")

    decapsulation_key: bytes
    ciphertext: bytes
    shared_secret: bytes = b""
    """Expected secret, if one may be returned; empty in vectors of others that do not name it."""

    @property
    def case(self) -> tuple[Any, ...]:
        """Operation, key, ciphertext, and the expected secret."""
        return self.operation, *self.data, self.shared_secret


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
    ) -> SignatureVector:
        """Add a signature; `expected` is one of EXPECTED, or whether the signature is valid."""
        if isinstance(expected, bool):
            expected = "valid" if expected else "invalid"
        vector = SignatureVector(
            algorithm=self.algorithm, family=family, key=key, probe=probe, expected=expected,
            public_key=public_key, message=message, signature=signature, context=context,
        )  # fmt: skip
        self.collected.append(vector)
        return vector

    def vectors(self) -> tuple[Vector, ...]:
        """Return the distinct vectors, by group and numbered in that order."""
        # Different probes may produce the same bytes; only the first is kept.
        groups: dict[Hashable, dict[tuple[Any, ...], Vector]] = {}
        for vector in self.collected:
            groups.setdefault(vector.group, {}).setdefault(vector.case, vector)
        ordered = [vector for group in groups.values() for vector in group.values()]
        return tuple(replace(vector, number=i) for i, vector in enumerate(ordered, 1))


def flip(data: bytes, index: int, bit: int = 0) -> bytes:
    """Return the bytes with one bit changed."""
    return data[:index] + bytes([data[index] ^ (1 << bit)]) + data[index + 1 :]


def scheme(algorithm: str) -> str:
    """Return the scheme of an algorithm, "ml-dsa" also for Dilithium. Raises UnknownName."""
    for prefix, scheme in _SCHEMES.items():
        if algorithm.startswith(prefix):
            return scheme
    raise UnknownName("algorithm with boundary vectors", algorithm, ALGORITHMS)


@cache
def families(scheme: str) -> Mapping[str, Family]:
    """Return the families of a scheme by name, in the order of families.toml."""
    tables = installation.read_toml(DATA / "families.toml")
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
