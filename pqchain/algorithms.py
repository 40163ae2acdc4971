"""The registry: every algorithm and implementation that pqchain names.

It is data, in `data/algorithms`: tables of signature schemes and KEMs, families, implementations,
and who offers what. Sizes are those of the implementations, checked against the built libraries by
the tests. A user's own schemes come after them, for as long as the process lives: `pqchain.schemes`
adds them, and everything that takes a name of the registry then takes theirs.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pqchain import installation
from pqchain.errors import UnknownAlgorithm, UnknownImplementation, UsageError

Kind = Literal["signature", "kem"]

SIGNATURE_OPERATIONS = ("generate_keypair", "sign", "verify")
"""What a signature scheme does, in the order tables print it."""

KEM_OPERATIONS = ("generate_keypair", "encapsulate", "decapsulate")
"""What a key-encapsulation mechanism does, in the order tables print it."""

OPERATIONS = ("generate_keypair", "sign", "verify", "encapsulate", "decapsulate")
"""Every operation that a benchmark can time."""


@dataclass(frozen=True, slots=True)
class Family:
    """What is true of all parameter sets of one scheme."""

    name: str
    problem: str
    """What an attacker would have to solve."""
    security_status: str
    """standardised, draft, candidate, superseded, not selected, withdrawn or broken."""
    security_note: str
    security_source: str
    post_quantum: bool = True
    context_bytes: int = 0
    """The longest context string that signing takes; 0 where the scheme has none."""
    restarts: tuple[str, ...] = ()
    """Operations that repeat at random until they succeed: their median lies below their mean."""
    avx2_corrected: str = ""
    """What pqchain corrects in the fetched AVX2 source, if anything."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """Who computes: `library/variant`, and what it needs of the processor."""

    name: str
    description: str
    library: str = ""
    """Stem of the native library of ours that holds it; empty if it is a Python package."""
    cpu_flags: tuple[str, ...] = ()
    setting: str = ""
    """What an install must be given to build it; empty if every install does."""
    fallback_library: str = ""
    """Stem of the library that serves where `library` was not built."""
    package: str = ""
    """The Python package that it is called through, by the name it is imported with."""
    file: Path | None = None
    """The library itself, of a user's own."""
    opens: Callable[[Algorithm, str], Any] | None = None
    """What makes a `Signer`, of a user's own."""
    place: str = ""
    """Where user code is, such as "/home/me/mine.py:Mine"; it runs in a child process."""

    @property
    def timed_in_c(self) -> bool:
        """Whether our timed loop can call it without going through Python."""
        return bool(self.library) and not self.package


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A named parameter set. Sizes in bytes."""

    name: str
    kind: Kind
    family: str
    nist_level: int
    """NIST security category 1 to 5; 0 for classical schemes."""
    public_key_bytes: int
    secret_key_bytes: int
    signature_bytes: int = 0
    """Nominal: the fixed length, or the mean length where it varies; 0 for a KEM."""
    signature_max_bytes: int = 0
    ciphertext_bytes: int = 0
    shared_secret_bytes: int = 0
    implementations: tuple[str, ...]
    """Names of the implementations, preferred first; empty if this version has none."""
    default_build: bool
    """False if it is built only with PQCHAIN_ALGORITHMS=all."""
    aliases: tuple[str, ...] = ()
    source: str = ""
    """Of a scheme of the user's own where they have it from; "" for those of `data`."""
    given_seconds: tuple[tuple[str, float], ...] = ()
    """Of a scheme that is given by numbers the time of each operation."""

    @property
    def signature_varies(self) -> bool:
        """Whether two signatures can differ in length."""
        return self.signature_bytes != self.signature_max_bytes

    @property
    def operations(self) -> tuple[str, ...]:
        """The three operations of its kind."""
        return SIGNATURE_OPERATIONS if self.kind == "signature" else KEM_OPERATIONS

    @property
    def family_facts(self) -> Family:
        """The row of its family; of a user's own scheme one that claims nothing."""
        return FAMILIES.get(self.family, _OWN_FAMILY)

    def sized_for(self, implementation: str) -> Algorithm:
        """Return the same algorithm with the sizes that this implementation gives it."""
        sizes = _OFFERS["sizes"].get(self.name, {}).get(implementation.partition("/")[0])
        return replace(self, **sizes) if sizes else self

    def note(self, implementation: str) -> str:
        """Return what to know before reading times of that implementation; "" for nothing."""
        return str(_OFFERS["notes"].get(self.name, {}).get(implementation, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSize:
    """A size that prints give and that is right, of another version or by another definition."""

    name: str
    """Of the algorithm."""
    quantity: str
    bytes: int
    kind: Literal["version", "definition"]
    what: str
    source: str


_OWN_FAMILY = Family(
    name="",
    problem="",
    security_status="given",
    security_note="a scheme of the user's own",
    security_source="",
)

GIVEN = "given"
"""The implementation of a scheme that is given by numbers alone."""

_FOLDER = installation.data("algorithms")
_OFFERS = installation.read_toml(_FOLDER / "offers.toml")


def _declared(file: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a TOML file as arguments."""
    for name, fields in installation.read_toml(_FOLDER / file).items():
        lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        yield {"name": name, **fields, **lists}


FAMILIES = {row["name"]: Family(**row) for row in _declared("families.toml")}
"""Status and source of every family, by name."""

IMPLEMENTATIONS = {row["name"]: Implementation(**row) for row in _declared("implementations.toml")}
"""Every implementation, by name."""


def _algorithms(kind: Kind, file: str) -> Iterator[Algorithm]:
    """Yield the rows of a CSV file, sizes that are not of its kind 0."""
    with (_FOLDER / file).open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            offer, aliases = row.pop("from"), row.pop("aliases")
            name, family = row.pop("name"), row.pop("family")
            sizes: dict[str, Any] = {key: int(text) for key, text in row.items()}
            yield Algorithm(
                name=name,
                kind=kind,
                family=family,
                **sizes,
                implementations=tuple(_OFFERS["from"][offer]),
                default_build=offer != "liboqs-all",
                aliases=tuple(aliases.split("; ")) if aliases else (),
            )


def _other_sizes() -> Iterator[OtherSize]:
    with (_FOLDER / "versions.csv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            size: dict[str, Any] = {**row, "bytes": int(row["bytes"])}
            yield OtherSize(**size)


OTHER_SIZES = {(row.name, row.quantity, row.bytes): row for row in _other_sizes()}
"""Sizes of other versions or definitions, by algorithm, quantity and bytes."""


ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        *_algorithms("signature", "signatures.csv"),
        *_algorithms("kem", "kems.csv"),
    )
}
"""Every algorithm, by its canonical name, in the order tables print it."""

_BY_ANY_NAME = {
    spelling.casefold(): algorithm.name
    for algorithm in ALGORITHMS.values()
    for spelling in (algorithm.name, *algorithm.aliases)
}


def get(name: str | Algorithm) -> Algorithm:
    """Return the algorithm of that name or alias, in any case of letters; a row is itself.

    Raises UnknownAlgorithm, which suggests the nearest name.

    >>> get("falcon-512").public_key_bytes
    897
    """
    if isinstance(name, Algorithm):
        return name
    canonical = _BY_ANY_NAME.get(name.casefold()) if isinstance(name, str) else None
    if canonical is None:
        raise UnknownAlgorithm("algorithm", name, ALGORITHMS, "`pqchain algorithms`.")
    return ALGORITHMS[canonical]


def several(name: str) -> tuple[str, ...]:
    """Return the names of algorithms joined by "+"; names of SPHINCS+ hold that letter themselves.

    Raises UnknownAlgorithm.

    >>> several("ECDSA-secp256k1+SPHINCS+-SHA2-128f-simple")
    ('ECDSA-secp256k1', 'SPHINCS+-SHA2-128f-simple')
    """
    try:
        return (get(name).name,)
    except UnknownAlgorithm:
        for at, letter in enumerate(name if isinstance(name, str) else ""):
            if letter == "+":
                with suppress(UnknownAlgorithm):
                    return (get(name[:at]).name, *several(name[at + 1 :]))
        raise


def names(
    kind: Kind | None = None, *, family: str | None = None, everything: bool = False
) -> list[str]:
    """Return canonical names: those of the default build, or all of them if `everything`."""
    return [
        algorithm.name
        for algorithm in ALGORITHMS.values()
        if (kind is None or algorithm.kind == kind)
        and (family is None or algorithm.family == family)
        and (everything or algorithm.default_build)
    ]


def implementation(name: str) -> Implementation:
    """Return the implementation of that name, in any case of letters.

    Raises UnknownImplementation, which suggests the nearest name.
    """
    folded = name.casefold() if isinstance(name, str) else ""
    canonical = next((each for each in IMPLEMENTATIONS if each.casefold() == folded), None)
    if canonical is None:
        raise UnknownImplementation(
            "implementation", name, IMPLEMENTATIONS, "`pqchain algorithms --implementations`."
        )
    return IMPLEMENTATIONS[canonical]


def add(row: Algorithm, by: Implementation) -> None:
    """Add a user's own scheme, or their implementation of one that is known, to this process.

    What was added before under the same names is replaced. Raises UsageError for another scheme of
    a known name.
    """
    known = ALGORITHMS.get(_BY_ANY_NAME.get(row.name.casefold(), ""))
    if known is not None and not (known.source and known.implementations == (by.name,)):
        different = [
            f"{name} {getattr(row, name)} instead of {getattr(known, name)}"
            for name in _SAME
            if getattr(row, name) != getattr(known, name)
        ]
        if different:
            raise UsageError(
                f"there is a {known.name} already, and yours has {', '.join(different)}: give your "
                "scheme a name of its own"
            )
        offered = tuple(dict.fromkeys((*known.implementations, by.name)))
        row = replace(known, implementations=offered)
    IMPLEMENTATIONS[by.name] = by
    ALGORITHMS[row.name] = row
    _BY_ANY_NAME.setdefault(row.name.casefold(), row.name)


@contextmanager
def forgetting() -> Iterator[None]:
    """Forget after the block what was added within it."""
    tables: tuple[dict[str, Any], ...] = (ALGORITHMS, IMPLEMENTATIONS, _BY_ANY_NAME)
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, was in zip(tables, before, strict=True):
            table.clear()
            table.update(was)


_SAME = ("kind", "public_key_bytes", "secret_key_bytes", "signature_max_bytes", "ciphertext_bytes")
"""What two implementations of one algorithm agree on."""
