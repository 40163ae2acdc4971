"""Checks of arguments, and dataclass fields whose bounds also define a command's options.

blocks: int = checks.field(1, help="how many blocks", least=1, most=10_000)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
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
    """Meaning of the default; for None the whole description of it."""

    @property
    def bounds(self) -> str:
        """Text of a number's bounds; "" if the only bound is 0 from below."""
        if self.most is not None:
            return f"{_shown(self.least)} to {_shown(self.most)}"
        return f"at least {_shown(self.least)}" if self.least else ""


def field(default: Any = dataclasses.MISSING, **meaning: Any) -> Any:
    """Declare a field of a dataclass with its `Meaning`.

    `check_declared` checks its values; `pqchain.commands.console` derives an option from it.
    """
    return dataclasses.field(default=default, metadata={"meaning": Meaning(**meaning)})


def meanings(cls: Any) -> dict[str, tuple[dataclasses.Field[Any], Meaning]]:
    """Return (field, meaning) by name for the fields of a dataclass declared by `field`."""
    return {
        each.name: (each, each.metadata["meaning"])
        for each in dataclasses.fields(cls)
        if "meaning" in each.metadata
    }


def value_type(each: dataclasses.Field[Any]) -> type:
    """Return the type of a field's values: bool, int, float, tuple (of int) or else str."""
    # Annotations are strings here; an optional field ends in " | None".
    return _KINDS.get(str(each.type).partition(" | ")[0], str)


def check_declared(instance: Any, *, prefix: str = "") -> None:
    """Check all fields of a dataclass instance that were declared by `field`.

    None is allowed where it is the default. Raises UsageError with field, value and bounds, and
    UnknownName for a value that is not one of the choices. `prefix` precedes names in messages.
    """
    for name, (each, meaning) in meanings(instance).items():
        value = getattr(instance, name)
        if value is None and each.default is None:
            continue
        if meaning.choices and value not in meaning.choices:
            raise UnknownName(prefix + name, value, meaning.choices)
        most: dict[str, Any] = {} if meaning.most is None else {"most": meaning.most}
        if check := _CHECKS.get(value_type(each)):
            check(prefix + name, value, least=meaning.least, **most)


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def number(field: str, value: object, *, least: float = 0.0, most: float = 1e18) -> None:
    """Raise UsageError unless the value is a finite number from `least` to `most`."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Comparisons with NaN are false. math.isfinite would fail for an int that exceeds a float.
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        message = f"{field} is {short_repr(value)}; expected a number from {least:g} to {most:g}"
        raise UsageError(message)


def integer(field: str, value: object, *, least: int, most: int = 2**62) -> None:
    """Raise UsageError unless the value is an int from `least` to `most`; a bool is not."""
    # bool is a subclass of int.
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:  # type: ignore[operator]
        message = f"{field} is {short_repr(value)}; expected a whole number from {least} to {most}"
        raise UsageError(message)


def boolean(field: str, value: object, **_: float) -> None:
    """Raise UsageError unless the value is True or False; the text "no" would count as true."""
    if not isinstance(value, bool):
        raise UsageError(f"{field} is {short_repr(value)}; expected True or False")


def int_tuple(field: str, value: object, **bounds: Any) -> None:
    """Raise UsageError unless the value is a tuple of ints within the bounds."""
    if not isinstance(value, tuple):
        raise UsageError(f"{field} is {short_repr(value)}; expected a tuple of whole numbers")
    for each in value:
        integer(f"one of {field}", each, **bounds)


_CHECKS: dict[type, Callable[..., None]] = {
    bool: boolean,
    int: integer,
    float: number,
    tuple: int_tuple,
}


def one_of(field: str, value: object, expected: Sequence[str]) -> None:
    """Raise UsageError unless the value is one of the expected names."""
    if value not in expected:
        *others, last = map(repr, expected)
        raise UsageError(f"{field} is {short_repr(value)}; expected {', '.join(others)} or {last}")


def both_or_neither(field: str, value: float, partner: str, other: float) -> None:
    """Raise UsageError if one of two numbers is 0 and the other is not."""
    if value and not other:
        raise UsageError(f"{field}={value:g} needs {partner} above 0")
    if other and not value:
        raise UsageError(f"{partner}={other:g} needs {field} above 0")
