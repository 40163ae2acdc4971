"""Checks of arguments, and dataclass fields whose bounds also define a command's options.

blocks: int = checks.field(1, help="how many blocks", least=1, most=10_000)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from pqchain.errors import UnknownName, UsageError, short_repr

_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "tuple[int, ...]": tuple}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Help text and allowed values of a dataclass field."""

    help: str
    least: float = 0
    most: float | None = None
    choices: tuple[str, ...] = ()
    by_default: str = ""
    """Explanation of the default; if the default is None, all that the help says about it."""

    @property
    def bounds(self) -> str:
        """Return a number's bounds as text; "" if the only bound is a lower bound of 0."""
        if self.most is not None:
            return f"{_bound_text(self.least)} to {_bound_text(self.most)}"
        return f"at least {_bound_text(self.least)}" if self.least else ""


def field(default: Any = dataclasses.MISSING, **meaning: Any) -> Any:
    """Declare a dataclass field with bounds for `check_declared` and help for an option."""
    return dataclasses.field(default=default, metadata={"meaning": Meaning(**meaning)})


def meanings(cls: Any) -> dict[str, tuple[dataclasses.Field[Any], Meaning]]:
    """Return {name: (field, meaning)} of the fields of a dataclass that `field` declared."""
    return {
        row.name: (row, row.metadata["meaning"])
        for row in dataclasses.fields(cls)
        if "meaning" in row.metadata
    }


def value_type(row: dataclasses.Field[Any]) -> type:
    """Return the type of a field's values: bool, int, float, tuple (of int) or else str."""
    # Annotations are strings here; an optional field ends in " | None".
    return _KINDS.get(str(row.type).partition(" | ")[0], str)


def check_declared(instance: Any, *, prefix: str = "") -> None:
    """Check all fields of a dataclass instance that were declared by `field`.

    None is allowed where it is the default. Raises UsageError with field, value and bounds, and
    UnknownName for a value that is not one of the choices. `prefix` precedes names in messages.
    """
    for name, (row, meaning) in meanings(instance).items():
        value = getattr(instance, name)
        if value is None and row.default is None:
            continue
        if meaning.choices and value not in meaning.choices:
            raise UnknownName(prefix + name, value, meaning.choices)
        most: dict[str, Any] = {} if meaning.most is None else {"most": meaning.most}
        if check := _CHECKS.get(value_type(row)):
            check(prefix + name, value, least=meaning.least, **most)


def _bound_text(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def number(field: str, value: object, *, least: float = 0.0, most: float = 1e18) -> None:
    """Raise UsageError unless the value is a finite number from `least` to `most`."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Comparisons with NaN are false. math.isfinite would fail for an int that exceeds a float.
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        condition = f"a number from {least:g} to {most:g}"
        raise UsageError(f"{field} must be {condition}; got {short_repr(value)}")


def integer(field: str, value: object, *, least: int, most: int = 2**62) -> None:
    """Raise UsageError unless the value is an int from `least` to `most`; a bool is rejected."""
    # bool is a subclass of int.
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or not least <= value <= most:  # type: ignore[operator]
        condition = f"a whole number from {least} to {most}"
        raise UsageError(f"{field} must be {condition}; got {short_repr(value)}")


def boolean(field: str, value: object, **_: float) -> None:
    """Raise UsageError unless the value is True or False; other truthy values are rejected."""
    if not isinstance(value, bool):
        raise UsageError(f"{field} must be True or False; got {short_repr(value)}")


def int_tuple(field: str, value: object, **bounds: Any) -> None:
    """Raise UsageError unless the value is a tuple of ints within the bounds."""
    if not isinstance(value, tuple):
        raise UsageError(f"{field} must be a tuple of whole numbers; got {short_repr(value)}")
    for entry in value:
        integer(f"every number of {field}", entry, **bounds)


def file_path(field: str, value: object) -> Path:
    """Return the path. Raises UsageError for another type, and for a path with a NUL."""
    # C ends a path at a NUL: SQLite would use another file than the one that is checked.
    if not isinstance(value, (str, PathLike)) or "\0" in str(path := Path(value)):
        raise UsageError(f"{field} must be a path without NUL; got {short_repr(value)}")
    return path


_CHECKS: dict[type, Callable[..., None]] = {
    bool: boolean,
    int: integer,
    float: number,
    tuple: int_tuple,
}


def one_of(field: str, value: object, expected: Sequence[str]) -> None:
    """Raise UsageError unless the value is one of the expected names."""
    if value not in expected:
        *first, last = map(repr, expected)
        choices = f"{', '.join(first)} or {last}"
        raise UsageError(f"{field} must be {choices}; got {short_repr(value)}")


def both_or_neither(field: str, value: float, partner: str, partner_value: float) -> None:
    """Raise UsageError if exactly one of two numbers is 0."""
    if bool(value) != bool(partner_value):
        raise UsageError(
            f"{field} and {partner} must be both 0 or both above 0; got {value:g} and "
            f"{partner_value:g}"
        )
