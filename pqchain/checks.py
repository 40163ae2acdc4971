"""Refusals of numbers outside their bounds, with field, value and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pqchain.errors import UsageError


def number(field: str, value: object, *, least: float = 0.0, most: float = 1e18) -> None:
    """Refuse anything but a finite number between the bounds, naming field, value and bounds."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value <= most:  # type: ignore[arg-type, operator]
        raise UsageError(f"{field} is {value!r}; expected a number from {least:g} to {most:g}")


def whole(field: str, value: object, *, least: int, most: int = 2**62) -> None:
    """Refuse anything but an int between the bounds, naming field, value and bounds."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:  # type: ignore[operator]
        raise UsageError(f"{field} is {value!r}; expected a whole number from {least} to {most}")


def one_of(field: str, value: object, expected: Sequence[str]) -> None:
    """Refuse anything but one of the names, naming field, value and names."""
    if value not in expected:
        *others, last = map(repr, expected)
        raise UsageError(f"{field} is {value!r}; expected {', '.join(others)} or {last}")


def together(field: str, value: float, partner: str, other: float) -> None:
    """Refuse one of two numbers above 0 where only both of them do something."""
    if value and not other:
        raise UsageError(f"{field}={value:g} needs {partner} above 0")
    if other and not value:
        raise UsageError(f"{partner}={other:g} needs {field} above 0")
