"""Parsers of option values: names in any case, lists of integers, FIELD=VALUE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pqchain import checks
from pqchain.errors import UsageError

MAX_VALUES = 100_000  # maximum number of values of a list option


def canonical_case(name: str, known: Iterable[str]) -> str:
    """Return the known spelling of a name, ignoring case; an unknown name as it is."""
    return {spelling.casefold(): spelling for spelling in known}.get(name.casefold(), name)


def integers(text: str, option: str, *, least: int = 0, most: int = 2**63) -> list[int]:
    """Parse integers such as "1..5,8", without duplicates. Raises UsageError."""
    # A dict keeps the order and drops duplicates.
    values: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        low, dots, high = part.partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            raise UsageError(
                f"{option} must be whole numbers or ranges, such as 1..5 or 1,2,8; got {part!r}"
            ) from None
        if last < first:
            raise UsageError(f"{option} must be an ascending range: {last}..{first}; got {part}")
        for value in (first, last):
            if not least <= value <= most:
                raise UsageError(f"{option} must be from {least} to {most}; got {value}")
        # Checked before the range is expanded, which would take memory in proportion.
        if last - first >= MAX_VALUES:
            raise UsageError(f"{option} must have at most {MAX_VALUES} values; got {part}")
        values |= dict.fromkeys(range(first, last + 1))
    return list(values)


def field_values(cls: type, entries: Iterable[str], option: str) -> dict[str, Any]:
    """Parse FIELD=VALUE entries for the fields of a dataclass. Raises UsageError."""
    declared = checks.meanings(cls)
    values: dict[str, Any] = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        name = canonical_case(name, declared)
        if not equals or name not in declared:
            fields = ", ".join(declared)
            raise UsageError(f"{option} must be FIELD=VALUE with a field of {fields}; got {entry}")
        if name in values:
            raise UsageError(f"{option} {name} must be given once; separate its ranks by commas")
        kind = checks.value_type(declared[name][0])
        if kind is tuple:
            values[name] = tuple(integers(text, f"{option} {name}"))
            continue
        try:
            values[name] = kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise UsageError(f"{option} {name} must be {expected}; got {text!r}") from None
    return values
