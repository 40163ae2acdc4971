"""Parsers of option values: names in any case, lists of integers, FIELD=VALUE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pqchain import checks
from pqchain.errors import UsageError

MOST_VALUES = 100_000
"""Maximum number of values of a list option."""


def folded(name: str, known: Iterable[str]) -> str:
    """Return the known spelling of a name, ignoring case; an unknown name as it is."""
    return {each.casefold(): each for each in known}.get(name.casefold(), name)


def whole_numbers(text: str, option: str, *, least: int = 0, most: int = 2**63) -> list[int]:
    """Parse integers such as "1..5,8", without duplicates. Raises UsageError."""
    # A dict keeps the order and drops duplicates.
    values: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        low, dots, high = part.partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            raise UsageError(
                f"{option} {text}: {part!r} is neither a whole number nor a range; "
                "expected such as 1..5 or 1,2,8"
            ) from None
        if last < first:
            raise UsageError(f"{option} {text}: {part} runs backwards; give {last}..{first}")
        for value in (first, last):
            if not least <= value <= most:
                raise UsageError(f"{option} has {value}; expected {least} to {most}")
        # Checked before the range is expanded, which would take memory in proportion.
        if last - first >= MOST_VALUES:
            raise UsageError(f"{option} {text}: more than {MOST_VALUES} values; give fewer")
        values |= dict.fromkeys(range(first, last + 1))
    return list(values)


def assigned(cls: type, entries: Iterable[str], option: str) -> dict[str, Any]:
    """Parse FIELD=VALUE entries for the fields of a dataclass. Raises UsageError."""
    declared = checks.meanings(cls)
    values: dict[str, Any] = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        name = folded(name, declared)
        if not equals or name not in declared:
            raise UsageError(f"{option} {entry}: expected FIELD=VALUE with one of {list(declared)}")
        if name in values:
            raise UsageError(f"{option} {name} was given twice; give all its ranks with commas")
        kind = checks.value_type(declared[name][0])
        if kind is tuple:
            values[name] = tuple(whole_numbers(text, f"{option} {name}"))
            continue
        try:
            values[name] = kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise UsageError(f"{option} {entry}: expected {expected} after =") from None
    return values
