"""Schemes of the user's own, wherever a scheme of the registry is taken.

Three things make one: numbers (bytes and seconds with their source, which every output labels
"given"), a shared library that exports pq_native.h, or a Python class with the methods of
`pqchain.crypto.Signer`. `register` adds it to the registry of this process. Code can be measured
and makes real blocks; of numbers the times are passed on, and hashes of the right length fill
blocks and messages.

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
import importlib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pqchain import algorithms
from pqchain.algorithms import GIVEN, Algorithm, Implementation
from pqchain.chain.encoding import algorithm_of, identifier_of
from pqchain.costs import Costs
from pqchain.crypto import native, own
from pqchain.errors import NativeLibraryMissing, UnknownAlgorithm, UsageError

TABLE = (
    ("name", "", "of a scheme of your own; the table may be repeated"),
    ("public_key_bytes", "B", "its public key"),
    ("signature_bytes", "B", "its signature"),
    ("sign_seconds", "s", "one signature"),
    ("verify_seconds", "s", "one verification"),
    ("generate_keypair_seconds", "s", "one key pair"),
    ("source", "", "where you have that from, in your words"),
)
"""What a table [[scheme]] holds: name, unit, meaning."""

_OPTIONAL = "generate_keypair_seconds"

_FIELDS = tuple(name for name, *_ in TABLE)

_SHORT = {
    "public_key": "public_key_bytes", "signature": "signature_bytes", "sign": "sign_seconds",
    "verify": "verify_seconds", "generate_keypair": "generate_keypair_seconds", "source": "source",
}  # fmt: skip
"""What stands for a field in --scheme."""

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\N{GREEK SMALL LETTER MU}s": 1e-6, "ns": 1e-9}
"""Seconds of a unit, which is folded: the micro sign becomes a mu."""

EXAMPLE = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
"""A scheme as --scheme takes it."""


_LIBRARIES = (".so", ".dylib")

KINDS = {1: "signature", 2: "kem"}
"""What pq_sizes() says of a scheme's kind."""


def register(own_scheme: Costs | str | Path | object) -> list[str]:
    """Add schemes of the user's own to the registry of this process; return their names.

    Takes `Costs.given(...)` or its text, such as EXAMPLE; the path of a shared library that exports
    pq_native.h, of which all schemes are added; a class or an object with the methods of `Signer`,
    `name`, `public_key_bytes`, `secret_key_bytes` and `signature_bytes`; or where such a class is:
    "file.py:Class" or "module:Class". What implements a scheme of the registry, with its sizes,
    becomes one more implementation of that. What was added before under the same name is replaced.
    Raises UsageError, and NativeLibraryMissing for a library that does not speak the interface.
    """
    if isinstance(own_scheme, Costs):
        return [_add_given(own_scheme)]
    if isinstance(own_scheme, Path) or (
        isinstance(own_scheme, str) and own_scheme.endswith(_LIBRARIES)
    ):
        return _add_library(Path(own_scheme))
    if not isinstance(own_scheme, str):
        return [_add_class(own_scheme)]
    if "=" in own_scheme or ":" not in own_scheme:
        return [_add_given(read(own_scheme))]
    return [_add_class(_loaded(own_scheme))]


def costs_of(name: str) -> Costs | None:
    """Return the costs of a scheme that was registered by numbers; None of any other."""
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
    """Add a scheme that is known by numbers; hashes stand in for its signatures."""
    if not row.is_given:
        raise UsageError(
            f"{row.algorithm} is of the registry already, with costs of {row.source}; give numbers "
            "of your own by Costs.given(...)"
        )
    about = "numbers of the user's own; hashes stand in where bytes are needed"
    _add(row.scheme, Implementation(GIVEN, about, opens=own.StandIn))
    return row.algorithm


def _add_library(path: Path) -> list[str]:
    """Add every scheme of a shared library."""
    path = path.expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"there is no library {path}; build it, see `pqchain native`")
    try:
        library = native.load(path)
    except OSError as error:
        raise NativeLibraryMissing(
            f"{path.name} cannot be loaded: {error}; link all that it needs, see `pqchain native`"
        ) from error
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    stem = path.stem.removeprefix("lib")
    about = f"{library.source}, {path.name} of SHA-256 {digest}"
    by = Implementation(f"own/{stem}", about, library=stem, file=path)
    before = algorithms.IMPLEMENTATIONS.get(by.name)
    if before is not None and before.file == path and before.description != about:
        raise UsageError(f"{path.name} was changed after it was loaded; start a new process")
    if not library.names():
        raise UsageError(f"{path.name} holds no scheme: pq_count() is 0, or pq_open() gives NULL")
    for name in library.names():
        sizes = library.sizes(name)
        kind = KINDS.get(sizes.pop("kind"))
        if kind is None:
            raise UsageError(f"{name} of {path.name} has a kind that is neither signature nor KEM")
        sizes.pop("context")
        fields: dict[str, Any] = sizes | {"signature_bytes": sizes["signature_max_bytes"]}
        if name in algorithms.ALGORITHMS:  # the mean length is the registry's
            fields["signature_bytes"] = algorithms.get(name).signature_bytes
        _add(_row(name, by, kind, about, fields), by)
    return library.names()


def _add_class(made: Any) -> str:
    """Add a class or an object with the methods of Signer."""
    fields = own.described(made)
    name, what = fields.pop("name"), getattr(made, "__name__", type(made).__name__)
    make = made if isinstance(made, type) else lambda: made
    signer = partial(own.OwnSigner, make=make)
    by = Implementation(f"own/{what}", f"the Python class {what}", opens=signer)
    _add(_row(name, by, "signature", f"the Python class {what}", fields), by)
    return str(name)


def _row(
    name: str, by: Implementation, kind: Any, source: str, fields: Mapping[str, Any]
) -> Algorithm:
    sizes: dict[str, Any] = {"nist_level": 0, **fields}
    return Algorithm(
        name=name, kind=kind, family="", implementations=(by.name,), default_build=True,
        source=source, **sizes,
    )  # fmt: skip


def _add(row: Algorithm, by: Implementation) -> None:
    """Add a row, unless its name cannot be told from another's on the wire."""
    met = algorithm_of(identifier_of(row.name)) if row.kind == "signature" else None
    if met is not None and met.name.casefold() != row.name.casefold():
        raise UsageError(f"{row.name!r} has the identifier of {met.name} on the wire; rename it")
    algorithms.add(row, by)


def _loaded(place: str) -> Any:
    """Return the class of "file.py:Class" or "module:Class"."""
    where, _, what = place.rpartition(":")
    path = Path(where).expanduser()
    try:
        module = _module(path) if where.endswith(".py") else importlib.import_module(where)
    except (ImportError, OSError) as error:
        raise UsageError(f"{place} cannot be imported: {error}") from error
    try:
        return getattr(module, what)
    except AttributeError:
        raise UsageError(
            f"{where} has no {what!r}; name a class with the methods of Signer"
        ) from None


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"pqchain_own_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise OSError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(name: str, given: Iterable[Costs]) -> Algorithm:
    """Return the scheme of that name, the user's own first. Raises UnknownAlgorithm."""
    mine = {row.algorithm.casefold(): row.scheme for row in given}
    try:
        return mine.get(str(name).casefold()) or algorithms.get(name)
    except UnknownAlgorithm:
        if not mine:
            raise
        known = [*algorithms.ALGORITHMS, *(row.algorithm for row in given)]
        raise UnknownAlgorithm("algorithm", name, known, "`pqchain algorithms`.") from None


def is_post_quantum(scheme: Algorithm) -> bool:
    """Return whether no quantum computer is known to break it; a scheme of one's own counts so."""
    return scheme.family_facts.post_quantum


def from_table(row: Mapping[str, Any]) -> Costs:
    """Return the costs that a table [[scheme]] gives. Raises UsageError with all that is wrong."""
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
    """Return the costs of a scheme written as EXAMPLE is. Raises UsageError."""
    name, *parts = (part.strip() for part in text.split(","))
    row: dict[str, Any] = {"name": name, "source": "the command line"}
    for part in parts:
        key, sign, value = (each.strip() for each in part.partition("="))
        key = key.casefold()
        if not sign or key not in _SHORT:
            raise UsageError(
                f"--scheme has {part!r}; expected one of {', '.join(_SHORT)}, as in {EXAMPLE}"
            )
        row[_SHORT[key]] = value if key == "source" else _number(key, value)
    lacking = [key for key, field in _SHORT.items() if field not in row and field != _OPTIONAL]
    if lacking or not name:
        what = ", ".join(lacking if name else ["a name before the first comma", *lacking])
        raise UsageError(f"--scheme {text} lacks {what}; give all of them, as in {EXAMPLE}")
    return from_table(row)


def _number(key: str, text: str) -> float | int:
    """Return bytes as a whole number, a time with its unit in seconds."""
    is_time = _SHORT[key].endswith("_seconds")
    found = re.fullmatch(r"([0-9.eE+-]+)\s*([^\W\d]*)", text)
    try:
        if found and is_time and found[2].casefold() in _UNITS:
            return float(found[1]) * _UNITS[found[2].casefold()]
        if found and not is_time and found[2] in ("", "B"):
            return int(found[1])
    except ValueError:
        pass  # no number: said below
    expected = f"a time in {', '.join(_UNITS)}" if is_time else "a whole number of bytes"
    raise UsageError(f"--scheme has {key}={text}; expected {expected}, as in {EXAMPLE}")
