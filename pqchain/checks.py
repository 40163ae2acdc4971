"""What a field may hold: declared once, for the refusal of a value and for the option of a command.

blocks: int = checks.field(1, help="how many blocks", least=1, most=10_000)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from pqchain.errors import UnknownName, UsageError, shown

_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "tuple[int, ...]": tuple}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a field of a dataclass means and may hold."""

    help: str
    least: float = 0
    most: float | None = None
    choices: tuple[str, ...] = ()
    by_default: str = ""
    """What the default means; of None all that there is to say."""

    @property
    def bounds(self) -> str:
        """The bounds of a number in words, "" if it only may not be negative."""
        if self.most is not None:
            return f"{_shown(self.least)} to {_shown(self.most)}"
        return f"at least {_shown(self.least)}" if self.least else ""


def field(default: Any = dataclasses.MISSING, **meaning: Any) -> Any:
    """Declare a field of a dataclass with its `Meaning`.

    `declared` refuses what it may not hold, `pqchain.commands.console` makes an option of it.
    """
    return dataclasses.field(default=default, metadata={"meaning": Meaning(**meaning)})


def meanings(cls: Any) -> dict[str, tuple[dataclasses.Field[Any], Meaning]]:
    """Return by name the fields of a dataclass that were declared with a meaning."""
    return {
        each.name: (each, each.metadata["meaning"])
        for each in dataclasses.fields(cls)
        if "meaning" in each.metadata
    }


def kind(each: dataclasses.Field[Any]) -> type:
    """Return what values of a field are: bool, int, float, tuple (of int) or else str."""
    return _KINDS.get(str(each.type).partition(" | ")[0], str)


def declared(instance: Any, *, prefix: str = "") -> None:
    """Refuse values that their fields may not hold; None is fine where it is the default.

    Raises UsageError with field, value and bounds, UnknownName for none of the choices.
    """
    for name, (each, meaning) in meanings(instance).items():
        value = getattr(instance, name)
        if value is None and each.default is None:
            continue
        if meaning.choices and value not in meaning.choices:
            raise UnknownName(prefix + name, value, meaning.choices)
        most: dict[str, Any] = {} if meaning.most is None else {"most": meaning.most}
        if check := _CHECKS.get(kind(each)):
            check(prefix + name, value, least=meaning.least, **most)


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def number(field: str, value: object, *, least: float = 0.0, most: float = 1e18) -> None:
    """Refuse anything but a finite number between the bounds, naming field, value and bounds."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # No comparison with NaN is true; an int may be too large to become a float.
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        message = f"{field} is {shown(value)}; expected a number from {least:g} to {most:g}"
        raise UsageError(message)


def whole(field: str, value: object, *, least: int, most: int = 2**62) -> None:
    """Refuse anything but an int between the bounds, naming field, value and bounds."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:  # type: ignore[operator]
        message = f"{field} is {shown(value)}; expected a whole number from {least} to {most}"
        raise UsageError(message)


def truth(field: str, value: object, **_: float) -> None:
    """Refuse anything but True and False, naming field and value; "no" would count as True."""
    if not isinstance(value, bool):
        raise UsageError(f"{field} is {shown(value)}; expected True or False")


def several(field: str, value: object, **bounds: Any) -> None:
    """Refuse anything but a tuple of ints between the bounds, naming field, value and bounds."""
    if not isinstance(value, tuple):
        raise UsageError(f"{field} is {shown(value)}; expected a tuple of whole numbers")
    for each in value:
        whole(f"one of {field}", each, **bounds)


_CHECKS: dict[type, Callable[..., None]] = {
    bool: truth,
    int: whole,
    float: number,
    tuple: several,
}


def one_of(field: str, value: object, expected: Sequence[str]) -> None:
    """Refuse anything but one of the names, naming field, value and names."""
    if value not in expected:
        *others, last = map(repr, expected)
        raise UsageError(f"{field} is {shown(value)}; expected {', '.join(others)} or {last}")


def together(field: str, value: float, partner: str, other: float) -> None:
    """Refuse one of two numbers above 0 where only both of them do something."""
    if value and not other:
        raise UsageError(f"{field}={value:g} needs {partner} above 0")
    if other and not value:
        raise UsageError(f"{partner}={other:g} needs {field} above 0")
