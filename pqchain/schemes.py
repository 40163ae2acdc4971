"""User-defined schemes, accepted wherever a scheme of the registry is.

A scheme is defined by numbers (sizes and times with their source, labelled "given" in all output),
by a shared library that exports pq_native.h, or by a Python class with the methods of
`pqchain.crypto.Signer`. `register` adds it to the registry of this process. Code is measured and
signs real blocks; for numbers, the given times are passed on, and hashes of the right length take
the place of keys and signatures in blocks and messages.

>>> import pqchain as pq
>>> with pq.algorithms.forgetting():
...     names = pq.register("Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms")
...     frame = pq.measure(["Mine", "Falcon-512"], "verify")
...     size = pq.chain.encoding.encoded_size("Mine")
>>> frame.loc[0, ["algorithm", "implementation", "reason"]].tolist()
['Mine', 'given', 'given: the command line']
>>> size
1399
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.algorithms import GIVEN, Algorithm, Implementation
from pqchain.chain.encoding import algorithm_of, identifier_of
from pqchain.costs import Costs
from pqchain.crypto import isolated, isolation, library_check, user_code
from pqchain.errors import CryptoFailure, UnknownAlgorithm, UsageError

TABLE = (
    ("name", "", "of a scheme of your own; the table may be repeated"),
    ("public_key_bytes", "B", "its public key"),
    ("signature_bytes", "B", "its signature"),
    ("sign_seconds", "s", "one signature"),
    ("verify_seconds", "s", "one verification"),
    ("generate_keypair_seconds", "s", "one key pair"),
    ("source", "", "where you have that from, in your words"),
)
"""Fields of a table [[scheme]]: name, unit, meaning."""

_OPTIONAL = "generate_keypair_seconds"

_FIELDS = tuple(name for name, *_ in TABLE)

_SHORT = {
    "public_key": "public_key_bytes", "signature": "signature_bytes", "sign": "sign_seconds",
    "verify": "verify_seconds", "generate_keypair": "generate_keypair_seconds", "source": "source",
}  # fmt: skip
"""Fields by their keys in --scheme."""

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\N{GREEK SMALL LETTER MU}s": 1e-6, "ns": 1e-9}
"""Seconds per unit of time, by case-folded unit (folding turns the micro sign into a mu)."""

EXAMPLE = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
"""Example of a scheme in the syntax of --scheme."""


_LIBRARIES = (".so", ".dylib")

KINDS = {1: "signature", 2: "kem"}
"""Kinds by their numbers in pq_sizes()."""


def register(own_scheme: Costs | str | Path | object) -> list[str]:
    """Add user-defined schemes to the registry of this process; return their names.

    `own_scheme` is one of: `Costs.given(...)` or its text, such as EXAMPLE; the path of a shared
    library that exports pq_native.h, of which all schemes are added; a class or an object with the
    methods of `Signer`, `name`, `public_key_bytes`, `secret_key_bytes` and `signature_bytes`; the
    location of such a class, "file.py:Class" or "module:Class". Code with the name and sizes of a
    known scheme becomes a further implementation of it. An earlier scheme of the same name is
    replaced. Code of a library or a file is loaded and used in a child process only; a class or an
    object is used in this process. Raises UsageError, also for code that cannot be loaded, and
    NativeLibraryMissing for a library without the interface.
    """
    if isinstance(own_scheme, Costs):
        return [_add_given(own_scheme)]
    if isinstance(own_scheme, Path):
        own_scheme = str(own_scheme)
    if not isinstance(own_scheme, str):
        row, by = _class_row(own_scheme)
        _add(row, by)
        return [row.name]
    # A text with "=" has numbers, one with ":" is the location of a class. A text with neither is
    # taken for incomplete numbers, whose error shows what is missing.
    if not own_scheme.endswith(_LIBRARIES) and ("=" in own_scheme or ":" not in own_scheme):
        return [_add_given(read(own_scheme))]
    return _load(own_scheme) if isolation.is_child else _add_place(own_scheme)


def costs_of(name: str) -> Costs | None:
    """Return the costs of a scheme that was registered by numbers; None for other schemes."""
    row = algorithms.get(name)
    if not row.given_seconds:
        return None
    return Costs(
        algorithm=row.name,
        public_key_bytes=row.public_key_bytes,
        signature_bytes=row.signature_bytes,
        source=row.source,
        **{f"{operation}_seconds": seconds for operation, seconds in row.given_seconds},
    )


def _add_given(row: Costs) -> str:
    """Add a scheme that is given by numbers."""
    if not row.is_given:
        raise UsageError(
            f"{row.algorithm} is of the registry already, with costs of {row.source}; give numbers "
            "of your own by Costs.given(...)"
        )
    about = "numbers of the user's own; hashes stand in where bytes are needed"
    _add(row.scheme, Implementation(GIVEN, about, opens=user_code.StandIn))
    return row.algorithm


def _add_place(place: str) -> list[str]:
    """Add the schemes of code in a file or module, whose calls run in a child process."""
    where, colon, name = (
        place.rpartition(":") if not place.endswith(_LIBRARIES) else (place, "", "")
    )
    if where.endswith((".py", *_LIBRARIES)):
        place = f"{os.path.abspath(os.path.expanduser(where))}{colon}{name}"  # noqa: PTH100, PTH111
    isolated.forget(place)  # the file may have changed since an earlier registration
    try:
        rows = isolated.call([place], "pqchain.schemes:code_rows", place=place)
    except CryptoFailure as error:
        raise UsageError(f"{place} cannot be loaded: {error}") from error
    for fields, made_by in rows:
        file = Path(place) if place.endswith(_LIBRARIES) else None
        by = Implementation(**made_by, file=file, place=place)
        # The answer of the child is JSON, which has lists only; rows are hashable.
        fields = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
        }
        _add(Algorithm(**fields), by)
    return [fields["name"] for fields, _ in rows]


def code_rows(place: str) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Return the fields of the loaded schemes and implementations, in the child process."""
    return [
        (asdict(row), {"name": by.name, "description": by.description, "library": by.library})
        for row, by in _code[place]
    ]


_code: dict[str, list[tuple[Algorithm, Implementation]]] = {}
"""Rows of loaded code by its location; in a child process only."""


def _load(place: str) -> list[str]:
    """Load code into this process, the child, and add its schemes."""
    if place.endswith(_LIBRARIES):
        _code[place] = _library_rows(Path(place))
    else:
        _code[place] = [_class_row(user_code.load_class(place))]
    for row, by in _code[place]:
        _add(row, by)
    return [row.name for row, _ in _code[place]]


def _library_rows(path: Path) -> list[tuple[Algorithm, Implementation]]:
    """Return the rows of all schemes of a shared library."""
    if not path.is_file():
        raise UsageError(f"there is no library {path}; build it, see `pqchain native`")
    library = library_check.load(path)
    # The digest is part of the source of every measurement, to tell builds of one library apart.
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while part := file.read(1 << 20):
            digest.update(part)
    stem = path.stem.removeprefix("lib")
    about = f"{library.source}, {path.name} of SHA-256 {digest.hexdigest()[:16]}"
    by = Implementation(f"own/{stem}", about, library=stem, file=path)
    rows = []
    for name in library.names():
        sizes = library.sizes(name)
        kind = KINDS.get(sizes.pop("kind"))
        if kind is None:
            raise UsageError(f"{name} of {path.name} has a kind that is neither signature nor KEM")
        if not user_code.is_name(name):
            raise UsageError(f"{path.name} has a name that is not a text of 1 to 100 characters")
        sizes.pop("context")  # user-defined schemes are used without a context string
        if wrong := [f"{key} {size}" for key, size in sizes.items() if size > 1 << 28]:
            raise UsageError(f"{name} of {path.name} has {', '.join(wrong)}; at most {1 << 28}")
        fields: dict[str, Any] = sizes | {"signature_bytes": sizes["signature_max_bytes"]}
        if name in algorithms.ALGORITHMS:  # the library states only the maximum, not the mean
            fields["signature_bytes"] = algorithms.get(name).signature_bytes
        rows.append((_row(name, by, kind, about, fields), by))
    return rows


def _class_row(made: Any) -> tuple[Algorithm, Implementation]:
    """Return the row of a class or an object with the methods of Signer."""
    fields = user_code.attributes(made)
    name, what = fields.pop("name"), getattr(made, "__name__", type(made).__name__)
    make = made if isinstance(made, type) else lambda: made
    signer = partial(user_code.UserSigner, make=make)
    by = Implementation(f"own/{what}", f"the Python class {what}", opens=signer)
    return _row(name, by, "signature", f"the Python class {what}", fields), by


def _row(
    name: str, by: Implementation, kind: Any, source: str, fields: Mapping[str, Any]
) -> Algorithm:
    sizes: dict[str, Any] = {"nist_level": 0, **fields}
    return Algorithm(
        name=name, kind=kind, family="", implementations=(by.name,), default_build=True,
        source=source, **sizes,
    )  # fmt: skip


def _add(row: Algorithm, by: Implementation) -> None:
    """Add a row. Raises UsageError for an invalid or ambiguous name."""
    if not user_code.is_name(row.name):
        raise UsageError(
            f"the name of a scheme must be a text of 1 to 100 characters; got {row.name!r:.120}"
        )
    # Blocks identify an algorithm by two bytes of a hash of its name, which may collide.
    met = algorithm_of(identifier_of(row.name)) if row.kind == "signature" else None
    if met is not None and met.name.casefold() != row.name.casefold():
        raise UsageError(f"{row.name!r} has the identifier of {met.name} on the wire; rename it")
    # Implementations are named after class or library file, so two files may give one name.
    before = algorithms.IMPLEMENTATIONS.get(by.name)
    if before is not None and before.place != by.place:
        raise UsageError(
            f"{by.name} is the code at {before.place or 'another object'} already; rename the "
            "class or the library"
        )
    algorithms.add(row, by)


def named(name: str, given: Iterable[Costs]) -> Algorithm:
    """Return the scheme of that name, from `given` or the registry. Raises UnknownAlgorithm."""
    mine = {row.algorithm.casefold(): row.scheme for row in given}
    try:
        return mine.get(str(name).casefold()) or algorithms.get(name)
    except UnknownAlgorithm:
        if not mine:
            raise
        known = [*algorithms.ALGORITHMS, *(row.algorithm for row in given)]
        raise UnknownAlgorithm("algorithm", name, known, "`pqchain algorithms`.") from None


def is_post_quantum(scheme: Algorithm) -> bool:
    """Return whether the scheme is post-quantum; user-defined schemes count as post-quantum."""
    return scheme.family_facts.post_quantum


def from_table(row: Mapping[str, Any]) -> Costs:
    """Return the costs of a table [[scheme]]. Raises UsageError, which lists all mistakes."""
    wrong = [f"lacks {name}" for name in _FIELDS if name not in row and name != _OPTIONAL]
    wrong += [f"has {name!r}, which it cannot" for name in row if name not in _FIELDS]
    wrong += [
        f"has {name} = {row[name]!r}; expected a text"
        for name in ("name", "source")
        if name in row and not (isinstance(row[name], str) and row[name].strip())
    ]
    if wrong:
        name = row.get("name", "without a name")
        raise UsageError(f"[[scheme]] {name} {', '.join(wrong)}; expected {', '.join(_FIELDS)}")
    fields = dict(row)
    return Costs.given(fields.pop("name"), **fields)


def read(text: str) -> Costs:
    """Return the costs of a scheme in the syntax of EXAMPLE. Raises UsageError."""
    name, *parts = (part.strip() for part in text.split(","))
    row: dict[str, Any] = {"name": name, "source": "the command line"}
    for part in parts:
        key, sign, value = (each.strip() for each in part.partition("="))
        key = key.casefold()
        if not sign or key not in _SHORT:
            raise UsageError(
                f"--scheme has {part!r}; expected one of {', '.join(_SHORT)}, as in {EXAMPLE}"
            )
        if key != "source" and _SHORT[key] in row:
            raise UsageError(f"--scheme {text} gives {key} twice; give it once")
        row[_SHORT[key]] = value if key == "source" else _number(key, value)
    lacking = [key for key, field in _SHORT.items() if field not in row and field != _OPTIONAL]
    if lacking or not name:
        what = ", ".join(lacking if name else ["a name before the first comma", *lacking])
        raise UsageError(f"--scheme {text} lacks {what}; give all of them, as in {EXAMPLE}")
    return from_table(row)


def _number(key: str, text: str) -> float | int:
    """Parse a number of bytes, or a time with its unit, in seconds. Raises UsageError."""
    is_time = _SHORT[key].endswith("_seconds")
    found = re.fullmatch(r"([0-9.eE+-]+)\s*([^\W\d]*)", text)
    try:
        if found and is_time and found[2].casefold() in _UNITS:
            return float(found[1]) * _UNITS[found[2].casefold()]
        if found and not is_time and found[2] in ("", "B"):
            return int(found[1])
    except ValueError:
        pass  # not a number: the error is raised below
    expected = f"a time in {', '.join(_UNITS)}" if is_time else "a whole number of bytes"
    raise UsageError(f"--scheme has {key}={text}; expected {expected}, as in {EXAMPLE}")
