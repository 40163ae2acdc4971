"""Registry of all algorithms and implementations.

The built-in rows are read from `data/algorithms`: signature schemes, KEMs, families,
implementations, and the implementations of each algorithm. Sizes are those of the implementations;
the tests compare them with the built libraries. User-defined schemes follow the built-in ones for
the life of the process: `pqchain.schemes` adds them, and they are accepted like built-in names.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pqchain import installation
from pqchain.errors import UnknownAlgorithm, UnknownImplementation, UsageError

Kind = Literal["signature", "kem"]

SIGNATURE_OPERATIONS = ("generate_keypair", "sign", "verify")
KEM_OPERATIONS = ("generate_keypair", "encapsulate", "decapsulate")
OPERATIONS = ("generate_keypair", "sign", "verify", "encapsulate", "decapsulate")
"""All operations, in the order of pq_native.h."""

DECODE_KEY = "decode_key"
"""The part of a verification that a verifier saves by keeping the public key decoded."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A published attack on parameter sets of a family."""

    algorithms: tuple[str, ...]
    effect: Literal["broken", "warning"]
    """Broken: cheaper than the claimed category requires. Warning: cheaper than was claimed."""
    note: str
    source: str


@dataclass(frozen=True, slots=True)
class SchemeFamily:
    """Properties that all parameter sets of one scheme share."""

    name: str
    problem: str
    security_status: str
    """One of: standardised, draft, candidate, superseded, not selected, withdrawn, broken."""
    security_note: str
    security_source: str
    checked: str
    """Date on which status and attacks were compared with their sources."""
    version: str = ""
    """Version of the submission that the parameter sets are of, where versions differ."""
    attacks: tuple[Attack, ...] = ()
    post_quantum: bool = True
    context_bytes: int = 0
    """Maximum length of a context string; 0 if the scheme has none."""
    restarts: tuple[str, ...] = ()
    """Operations that restart at random until they succeed, whose median time is below the mean."""
    stateful: bool = False
    """Whether a key changes with every signature; `crypto.stateful` signs with such keys."""
    avx2_corrected: str = ""
    """pqchain's correction of the fetched AVX2 source; "" if there is none."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """An implementation, named `library/variant`, with the CPU features and files it requires."""

    name: str
    description: str
    library: str = ""
    """Stem of pqchain's native library that contains it; "" if there is none."""
    cpu_flags: tuple[str, ...] = ()
    """Required processor flags, as Linux names them."""
    setting: str = ""
    """Build setting that includes it; "" if every install has it."""
    fallback_library: str = ""
    """Stem of the library that is used if `library` was not built."""
    package: str = ""
    """Import name of the Python package that calls it; "" if there is none."""
    file: Path | None = None
    """Path of a user's library."""
    factory: Callable[[Algorithm, str], Any] | None = None
    comparison_only: bool = False
    """Whether it is never chosen by its speed, but kept for published works and comparisons."""
    location: str = ""
    """Location of user code, such as "/home/me/mine.py:Mine"; it runs in a child process."""

    @property
    def is_candidate(self) -> bool:
        """Whether it may be chosen by its speed: not code of users, nor kept for comparisons."""
        return not (self.comparison_only or self.file or self.factory or self.location)

    @property
    def timed_in_c(self) -> bool:
        """Whether the timing loop in C can call the implementation directly."""
        return bool(self.library) and not self.package

    @property
    def check_command(self) -> str:
        """The command that tests a user's library; "" for other code."""
        return f"pqchain doctor --library {self.file.name}" if self.file else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A parameter set of a scheme. Sizes are in bytes."""

    name: str
    kind: Kind = "signature"
    family: str = ""
    """Name of the family; "" for a user-defined scheme."""
    nist_level: int = 0
    """NIST security category 1 to 5; 0 for classical schemes."""
    public_key_bytes: int
    secret_key_bytes: int
    signature_bytes: int = 0
    """Nominal length: the fixed length, or the mean if it varies; 0 for a KEM."""
    signature_max_bytes: int = 0
    ciphertext_bytes: int = 0
    shared_secret_bytes: int = 0
    implementations: tuple[str, ...]
    """Names of the implementations, preferred first; empty if pqchain has none."""
    default_build: bool = True
    """Whether the default build contains it; otherwise PQCHAIN_ALGORITHMS=all builds it."""
    aliases: tuple[str, ...] = ()
    source: str = ""
    """Provenance of a user-defined scheme; "" for built-in ones."""
    given_seconds: tuple[tuple[str, float], ...] = ()
    """(operation, seconds) of a scheme that the user defined by numbers, and ("anchor", seconds) of
    ecrecover on the same machine; empty otherwise."""

    @property
    def signature_varies(self) -> bool:
        """Whether two signatures can differ in length."""
        return self.signature_bytes != self.signature_max_bytes

    @property
    def operations(self) -> tuple[str, ...]:
        """Operations of the algorithm's kind, signature or KEM."""
        return SIGNATURE_OPERATIONS if self.kind == "signature" else KEM_OPERATIONS

    @property
    def family_facts(self) -> SchemeFamily:
        """The algorithm's family; for a user-defined scheme, a family without security claims."""
        return FAMILIES.get(self.family, _USER_FAMILY)

    @property
    def title(self) -> str:
        """The name, with the version of the submission where versions differ."""
        version = self.family_facts.version
        return f"{self.name} ({version})" if version else self.name

    @property
    def attack(self) -> Attack | None:
        """The best published attack that matters for the choice of this set; None without one."""
        return next((row for row in self.family_facts.attacks if self.name in row.algorithms), None)

    def attacked(self, effect: str) -> str:
        """Return the attack with this effect and its source; "" if none is known."""
        row = self.attack
        return f"{row.note} ({row.source})" if row and row.effect == effect else ""

    @property
    def status(self) -> str:
        """The family's status, followed by "broken" or "warning" if it holds for this set."""
        parts = (self.family_facts.security_status, self.attack.effect if self.attack else "")
        return ", ".join(filter(None, dict.fromkeys(parts)))

    def sized_for(self, implementation: str) -> Algorithm:
        """Return the algorithm with the sizes that the named implementation uses."""
        # Versions of a library may differ: McEliece's ciphertexts have other lengths in liboqs 0.7.
        sizes = _OFFERS["sizes"].get(self.name, {}).get(implementation.partition("/")[0])
        return replace(self, **sizes) if sizes else self

    def note(self, implementation: str) -> str:
        """Return a remark on the algorithm's times in an implementation; "" if there is none."""
        return str(_OFFERS["notes"].get(self.name, {}).get(implementation, ""))


_USER_FAMILY = SchemeFamily(
    name="", problem="", security_status="given", security_note="a user-defined scheme",
    security_source="", checked="",
)  # fmt: skip

GIVEN = "given"
"""Name of the implementation of schemes that the user defined by numbers."""

_FOLDER = installation.data("algorithms")
_OFFERS = installation.read_toml(_FOLDER / "offers.toml")


def _frozen(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(it) if isinstance(it, list) else it for name, it in fields.items()}


def _families() -> Iterator[SchemeFamily]:
    for name, fields in installation.read_toml(_FOLDER / "families.toml").items():
        if name != "date":  # when the statuses were last checked for a release
            attacks = tuple(Attack(**_frozen(attack)) for attack in fields.pop("attacks", ()))
            yield SchemeFamily(name=name, attacks=attacks, **_frozen(fields))


FAMILIES = {family.name: family for family in _families()}

IMPLEMENTATIONS = {
    name: Implementation(name=name, **_frozen(fields))
    for name, fields in installation.read_toml(_FOLDER / "implementations.toml").items()
}


def _algorithms(kind: Kind, file: str) -> Iterator[Algorithm]:
    with (_FOLDER / file).open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            # The column "from" names a list of implementations in offers.toml.
            offer, aliases = row.pop("from"), row.pop("aliases")
            texts: dict[str, Any] = {name: row.pop(name) for name in ("name", "family")}
            sizes: dict[str, Any] = {key: int(text) for key, text in row.items()}
            yield Algorithm(
                kind=kind, implementations=tuple(_OFFERS["from"][offer]),
                default_build=offer != "liboqs-all",
                aliases=tuple(aliases.split("; ")) if aliases else (), **texts, **sizes,
            )  # fmt: skip


ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (*_algorithms("signature", "signatures.csv"), *_algorithms("kem", "kems.csv"))
}
"""All algorithms by canonical name, in the order of tables."""

_BY_ANY_NAME = {
    spelling.casefold(): algorithm.name
    for algorithm in ALGORITHMS.values()
    for spelling in (algorithm.name, algorithm.title, *algorithm.aliases)
}


def get(name: str | Algorithm) -> Algorithm:
    """Return the algorithm with the given name or alias; case is ignored.

    An `Algorithm` is returned unchanged. Raises UnknownAlgorithm, which suggests similar names.

    >>> get("falcon-512").public_key_bytes
    897
    """
    if isinstance(name, Algorithm):
        return name
    canonical = _BY_ANY_NAME.get(name.casefold()) if isinstance(name, str) else None
    if canonical is None:
        see, known = "`pqchain algorithms`.", list(ALGORITHMS)
        if isinstance(name, str) and name.casefold().startswith(("fn-dsa", "fndsa")):
            see += " FIPS 206 (FN-DSA) is not published; its submission is Falcon."
            known = [other for other in known if other.startswith("Falcon")]
        parts = str(name).casefold().split("/")
        named = [other for other in IMPLEMENTATIONS if set(parts) <= set(other.split("/"))]
        if named:
            see += f" An implementation, such as {named[0]}, is selected by --implementation."
        raise UnknownAlgorithm("algorithm", name, known, see)
    return ALGORITHMS[canonical]


def split_hybrid(name: str) -> tuple[str, ...]:
    """Split a hybrid's name at "+" into canonical algorithm names. Raises UnknownAlgorithm.

    >>> split_hybrid("ECDSA-secp256k1+SPHINCS+-SHA2-128f-simple")
    ('ECDSA-secp256k1', 'SPHINCS+-SHA2-128f-simple')
    """
    # Names of SPHINCS+ contain a "+" themselves, so splitting at each "+" is not enough.
    try:
        return (get(name).name,)
    except UnknownAlgorithm:
        for index, letter in enumerate(name if isinstance(name, str) else ""):
            if letter == "+":
                with suppress(UnknownAlgorithm):
                    return (get(name[:index]).name, *split_hybrid(name[index + 1 :]))
        raise


def names(
    kind: Kind | None = None, *, family: str | None = None, everything: bool = False
) -> list[str]:
    """Return the names of the algorithms of the default build, or of all if `everything` is set."""
    return [
        algorithm.name
        for algorithm in ALGORITHMS.values()
        if (kind is None or algorithm.kind == kind)
        and (family is None or algorithm.family == family)
        and (everything or algorithm.default_build)
    ]


def cautions(texts: Iterable[object]) -> list[str]:
    """Return a line for each known attack on the named schemes, for wherever they are shown.

    Parts of hybrids count; anything but names is ignored, so that cells of tables can be given.

    >>> cautions(["Falcon-512", "Hawk-512"])[0][:45]
    'Hawk-512: broken. Key recovery takes 2^108 in'
    """
    titles: dict[str, list[str]] = {}
    parts = [part for text in texts if isinstance(text, str) for part in (text, *text.split("+"))]
    for name in dict.fromkeys(_BY_ANY_NAME.get(part.casefold(), "") for part in parts):
        if name and (attack := ALGORITHMS[name].attack):
            dated = f"{attack.source}; checked on {ALGORITHMS[name].family_facts.checked}"
            line = f"{attack.effect}. {attack.note} ({dated})."
            titles.setdefault(line, []).append(ALGORITHMS[name].title)
    return [f"{', '.join(named)}: {line}" for line, named in titles.items()]


def implementation(name: str) -> Implementation:
    """Return the implementation with this name; case is ignored. Raises UnknownImplementation."""
    folded = name.casefold() if isinstance(name, str) else ""
    canonical = next((known for known in IMPLEMENTATIONS if known.casefold() == folded), None)
    if canonical is None:
        raise UnknownImplementation(
            "implementation", name, IMPLEMENTATIONS, "`pqchain algorithms --implementations`."
        )
    return IMPLEMENTATIONS[canonical]


def add(row: Algorithm, by: Implementation) -> None:
    """Register a user-defined scheme, or a new implementation of a known scheme, in this process.

    An earlier addition under the same names is replaced. Raises UsageError if the name is that of
    a known scheme with other sizes.
    """
    # A further implementation of a known scheme extends its row. The sizes must agree, because the
    # arguments of every implementation are checked against one row.
    known = ALGORITHMS.get(_BY_ANY_NAME.get(row.name.casefold(), ""))
    if known is not None and not (known.source and known.implementations == (by.name,)):
        pairs = ((name, getattr(row, name), getattr(known, name)) for name in _SAME_SIZES)
        different = [f"{name} {new} instead of {old}" for name, new, old in pairs if new != old]
        if different:
            raise UsageError(
                f"the scheme {known.name} exists already, and yours has {', '.join(different)}: "
                "give your scheme another name"
            )
        implementations = tuple(dict.fromkeys((*known.implementations, by.name)))
        row = replace(known, implementations=implementations)
    IMPLEMENTATIONS[by.name] = by
    ALGORITHMS[row.name] = row
    _BY_ANY_NAME.setdefault(row.name.casefold(), row.name)


@contextmanager
def temporary_registrations() -> Iterator[None]:
    """Context manager that removes, in the same tables, what was added within it."""
    tables: tuple[dict[str, Any], ...] = (ALGORITHMS, IMPLEMENTATIONS, _BY_ANY_NAME)
    copies = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, copy in zip(tables, copies, strict=True):
            table.clear()
            table.update(copy)


_SAME_SIZES = ("kind", "public_key_bytes", "secret_key_bytes", "signature_max_bytes")
