"""User-defined schemes, which are accepted wherever schemes of the registry are.

A scheme is defined by numbers (sizes and times with their source, labelled "given" in all output),
by a shared library that exports pq_native.h, or by a Python class with the methods of
`pqchain.crypto.Signer`. `register` adds it to the registry of this process. Code is measured and
signs real blocks; for numbers, the given times are passed on, and hashes of the right length take
the place of keys and signatures in blocks and messages.

>>> import pqchain as pq
>>> with pq.algorithms.temporary_registrations():
...     names = pq.register("Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms")
...     frame = pq.measure(["Mine", "Falcon-512"], "verify")
...     size = pq.chain.encoding.encoded_size("Mine")
>>> frame.loc[0, ["algorithm", "implementation", "reason"]].tolist()
['Mine', 'given', 'given: the command line']
>>> size
1399
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from pqchain import algorithms, installation
from pqchain.algorithms import GIVEN, Algorithm, Implementation
from pqchain.chain.encoding import algorithm_of, identifier_of
from pqchain.checks import NAME, is_name
from pqchain.costs import Costs
from pqchain.crypto import isolation, library_check, user_code
from pqchain.errors import CryptoFailure, UnknownAlgorithm, UsageError

TABLE = (
    ("name", "", "name of your scheme; the table may be repeated"),
    ("public_key_bytes", "B", "length of its public key"),
    ("signature_bytes", "B", "length of its signature"),
    ("sign_seconds", "s", "time of one signature"),
    ("verify_seconds", "s", "time of one verification"),
    ("generate_keypair_seconds", "s", "time of one key pair"),
    ("anchor_seconds", "s", "time of ecrecover on the same machine, to price them in gas"),
    ("source", "", "source of the numbers, as free text"),
)
"""Fields of a table [[scheme]]: name, unit, meaning."""

_OPTIONAL = ("generate_keypair_seconds", "anchor_seconds")

_FIELDS = tuple(name for name, *_ in TABLE)

_SHORT = {name.removesuffix("_bytes").removesuffix("_seconds"): name for name in _FIELDS[1:]}
"""Fields by their keys in --scheme."""

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\N{GREEK SMALL LETTER MU}s": 1e-6, "ns": 1e-9}
"""Seconds per unit of time, by case-folded unit (folding turns the micro sign into a mu)."""

EXAMPLE = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"

_LIBRARIES = (".so", ".dylib")


def register(user_scheme: Costs | str | Path | object) -> list[str]:
    """Add user-defined schemes to the registry of this process; return their names.

    `user_scheme` is one of: `Costs.given(...)` or its text, such as EXAMPLE; the path of a shared
    library that exports pq_native.h, of which all schemes are added; a class or an object with the
    methods of `Signer`, `name`, `public_key_bytes`, `secret_key_bytes` and `signature_bytes`; the
    location of such a class, "file.py:Class" or "module:Class". Code with the name and sizes of a
    known scheme becomes a further implementation of it. An earlier scheme of the same name is
    replaced. Code of a library or a file is loaded and used in a child process only; a class or an
    object is used in this process. Raises UsageError, also for code that cannot be loaded, and
    NativeLibraryBroken for a library without the interface.
    """
    if isinstance(user_scheme, Costs):
        return [_add_given(user_scheme)]
    if not isinstance(user_scheme, str | Path):
        return [_add_code(*_class_row(user_scheme))]
    user_scheme = str(user_scheme)
    # A text with "=" has numbers, one with ":" is the location of a class. A text with neither is
    # taken for incomplete numbers, whose error shows what is missing.
    if not user_scheme.endswith(_LIBRARIES) and ("=" in user_scheme or ":" not in user_scheme):
        return [_add_given(parse(user_scheme))]
    if isolation.is_child:
        return [_add_code(*row) for row in _loaded(user_scheme)]
    return _add_location(user_scheme)


def costs_of(name: str) -> Costs | None:
    """Return the costs of a scheme that was registered as numbers; None for other schemes."""
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
    if not row.is_given:
        raise UsageError(
            f"the costs of {row.algorithm} must be made by Costs.given(...); their source is "
            f"{row.source}"
        )
    description = "user-defined numbers; keys and signatures are placeholders"
    _add(row.scheme, Implementation(GIVEN, description, factory=user_code.Placeholder))
    return row.algorithm


def _add_location(location: str) -> list[str]:
    """Register the schemes of a file or module, whose code runs in a child process."""
    is_library = location.endswith(_LIBRARIES)
    file, colon, name = (location, "", "") if is_library else location.rpartition(":")
    if is_library or file.endswith(".py"):
        file = os.path.abspath(os.path.expanduser(file))  # noqa: PTH100, PTH111
    location = f"{file}{colon}{name}"
    isolation.forget(location)  # the file may have changed since an earlier registration
    function = "pqchain.schemes:code_rows"
    try:
        rows = isolation.call(function, locations=[location], keep=True, location=location)
    except CryptoFailure as error:
        raise UsageError(f"{location} cannot be loaded: {error}") from error
    library = Path(file) if is_library else None
    return [
        _add_code(fields, Implementation(**by, file=library, location=location))
        for fields, by in rows
    ]


def code_rows(location: str) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Return the fields of the schemes and implementations that this child process loaded."""
    return [
        (fields, {"name": by.name, "description": by.description, "library": by.library})
        for fields, by in _loaded(location)
    ]


@cache
def _loaded(location: str) -> list[tuple[dict[str, Any], Implementation]]:
    """Load code into this child process; return names and sizes of its schemes."""
    if location.endswith(_LIBRARIES):
        return _library_rows(Path(location))
    return [_class_row(user_code.load_class(location))]


def _library_rows(path: Path) -> list[tuple[dict[str, Any], Implementation]]:
    if not path.is_file():
        raise UsageError(f"the library {path} does not exist; see `pqchain doctor --example`")
    library = library_check.load(path)
    # The digest is part of the source of every measurement, to tell builds of one library apart.
    digest = installation.sha256(path)
    stem = path.stem.removeprefix("lib")
    description = f"{library.source}, {path.name} of SHA-256 {digest[:16]}"
    by = Implementation(f"user/{stem}", description, library=stem, file=path)
    rows = []
    for name in library.names():
        fields = library_check.checked_sizes(library, name)
        fields["signature_bytes"] = fields["signature_max_bytes"]
        if name in algorithms.ALGORITHMS:  # the library states only the maximum, not the mean
            fields["signature_bytes"] = algorithms.get(name).signature_bytes
        rows.append(({"name": name, **fields}, by))
    return rows


def _class_row(signer: Any) -> tuple[dict[str, Any], Implementation]:
    class_name = getattr(signer, "__name__", type(signer).__name__)
    make = signer if isinstance(signer, type) else lambda: signer
    factory = partial(user_code.UserSigner, make=make)
    by = Implementation(f"user/{class_name}", f"the Python class {class_name}", factory=factory)
    return user_code.attributes(signer), by


def _add_code(fields: Mapping[str, Any], by: Implementation) -> str:
    row = Algorithm(implementations=(by.name,), source=by.description, **fields)
    _add(row, by)
    return row.name


def _add(row: Algorithm, by: Implementation) -> None:
    for what, name in (("a scheme", row.name), ("code, as its implementation,", by.name)):
        if not is_name(name):
            raise UsageError(f"the name of {what} must be {NAME}; got {name!r:.120}. Rename it.")
    # Blocks identify an algorithm by two bytes of a hash of its name, which may collide.
    other = algorithm_of(identifier_of(row.name))
    if other is not None and other.name.casefold() != row.name.casefold():
        raise UsageError(f"{row.name!r} has the two-byte identifier of {other.name}; rename it")
    # Implementations are named after class or library file, so two files may give one name. Case
    # does not distinguish them when they are looked up.
    known = {name.casefold(): row for name, row in algorithms.IMPLEMENTATIONS.items()}
    before = known.get(by.name.casefold())
    if before is not None and (before.name, before.location) != (by.name, by.location):
        raise UsageError(
            f"{before.name} already names the code at {before.location or 'another object'}; "
            "rename the class or the library"
        )
    algorithms.add(row, by)


def get(name: str, user_costs: Iterable[Costs]) -> Algorithm:
    """Return the scheme of that name in `user_costs` or the registry. Raises UnknownAlgorithm."""
    user_schemes = {row.algorithm.casefold(): row.scheme for row in user_costs}
    try:
        return user_schemes.get(str(name).casefold()) or algorithms.get(name)
    except UnknownAlgorithm:
        if not user_schemes:
            raise
        known = [*algorithms.ALGORITHMS, *(row.algorithm for row in user_costs)]
        raise UnknownAlgorithm("algorithm", name, known, "`pqchain algorithms`.") from None


def from_table(row: Mapping[str, Any]) -> Costs:
    """Return the costs in a TOML table [[scheme]]. Raises UsageError, which lists all mistakes."""
    wrong = [f"lacks {name}" for name in _FIELDS if name not in row and name not in _OPTIONAL]
    wrong += [f"has the unknown field {name!r}" for name in row if name not in _FIELDS]
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


def parse(text: str) -> Costs:
    """Parse a scheme's costs from a text in the syntax of EXAMPLE. Raises UsageError."""
    name, *parts = (part.strip() for part in text.split(","))
    values: dict[str, Any] = {}
    for part in parts:
        key, equals, value = map(str.strip, part.partition("="))
        key = key.casefold()
        if not equals or key not in _SHORT:
            raise UsageError(
                f"--scheme has {part!r}; expected one of {', '.join(_SHORT)}, as in {EXAMPLE}"
            )
        if key in values:
            raise UsageError(f"--scheme {text} has {key} twice; give it once")
        values[key] = value if key == "source" else _number(key, value)
    values.setdefault("source", "the command line")
    lacking = [] if name else ["a name before the first comma"]
    lacking += [
        key for key, field in _SHORT.items() if key not in values and field not in _OPTIONAL
    ]
    if lacking:
        raise UsageError(
            f"--scheme {text} lacks {', '.join(lacking)}; give all of them, as in {EXAMPLE}"
        )
    return from_table({"name": name, **{_SHORT[key]: value for key, value in values.items()}})


def _number(key: str, text: str) -> float | int:
    """Parse a number of bytes, or a time with a unit into seconds. Raises UsageError."""
    is_time = _SHORT[key].endswith("_seconds")
    match = re.fullmatch(r"([0-9.eE+-]+)\s*([^\W\d]*)", text)
    with suppress(ValueError):  # not a number
        if match and is_time and match[2].casefold() in _UNITS:
            return float(match[1]) * _UNITS[match[2].casefold()]
        if match and not is_time and match[2] in ("", "B"):
            return int(match[1])
    expected = f"a time in {', '.join(_UNITS)}" if is_time else "a whole number of bytes"
    raise UsageError(f"--scheme has {key}={text}; expected {expected}, as in {EXAMPLE}")
