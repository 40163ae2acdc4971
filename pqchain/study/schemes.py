"""Schemes of a study: those of the registry, and the user's own, from [[scheme]] or --scheme."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.costs import Costs
from pqchain.errors import UnknownAlgorithm, UsageError

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

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

EXAMPLE = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
"""A scheme as --scheme takes it."""


def named(name: str, own: Iterable[Costs]) -> Algorithm:
    """Return the scheme of that name, the user's own first. Raises UnknownAlgorithm."""
    mine = {row.algorithm.casefold(): row.scheme for row in own}
    try:
        return mine.get(str(name).casefold()) or algorithms.get(name)
    except UnknownAlgorithm:
        if not mine:
            raise
        known = [*algorithms.ALGORITHMS, *(row.algorithm for row in own)]
        raise UnknownAlgorithm("algorithm", name, known, "`pqchain algorithms`.") from None


def is_post_quantum(scheme: Algorithm) -> bool:
    """Return whether no quantum computer is known to break it; a scheme of one's own counts so."""
    return scheme.family not in algorithms.FAMILIES or scheme.family_facts.post_quantum


def own(row: Mapping[str, Any]) -> Costs:
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
        if not sign or key not in _SHORT:
            raise UsageError(
                f"--scheme has {part!r}; expected one of {', '.join(_SHORT)}, as in {EXAMPLE}"
            )
        row[_SHORT[key]] = value if key == "source" else _number(key, value)
    return own(row)


def _number(key: str, text: str) -> float | int:
    """Return bytes as a whole number, a time with its unit in seconds."""
    is_time = _SHORT[key].endswith("_seconds")
    found = re.fullmatch(r"([0-9.eE+-]+)\s*([a-zA-Zµ]*)", text)
    try:
        if found and is_time and found[2] in _UNITS:
            return float(found[1]) * _UNITS[found[2]]
        if found and not is_time and found[2] in ("", "B"):
            return int(found[1])
    except ValueError:
        pass  # no number: said below
    expected = f"a time in {', '.join(_UNITS)}" if is_time else "a whole number of bytes"
    raise UsageError(f"--scheme has {key}={text}; expected {expected}, as in {EXAMPLE}")
