"""How numbers are shown to people: SI prefixes, three significant digits, hashes cut short."""

from __future__ import annotations

import math
from decimal import Decimal

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
"""Between a number and its unit, so that a line never breaks there."""

MISSING = "\N{EN DASH}"
"""Stands for a value that does not exist."""

TIMES = "\N{MULTIPLICATION SIGN}"
"""Before a factor."""

_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_LONG_UNITS = ((365.25 * 86_400, "years"), (86_400, "d"), (3600, "h"), (60, "min"))


def spoken(name: str) -> str:
    """Write a name of ours as people say it."""
    return name.replace("_", " ").replace("keypair", "key pair")


def significant(value: float, digits: int = 3) -> str:
    """Round to that many significant digits, without an exponent: 46.2, 1030, 0.0041."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # 9.996 rounds up to 10.0 and then needs one decimal less.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def seconds(value: float, digits: int = 3) -> str:
    """Show a duration with the prefix that fits.

    >>> seconds(0.0000462).replace(NARROW_SPACE, " ")
    '46.2 µs'
    """
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return f"0{NARROW_SPACE}s"
    rounded = float(f"{value:.{digits - 1}e}")
    scale, prefix = next((pair for pair in _PREFIXES if abs(rounded) >= pair[0]), _PREFIXES[-1])
    return f"{significant(rounded / scale, digits)}{NARROW_SPACE}{prefix}s"


def duration(value: float, digits: int = 2) -> str:
    """Show how long something takes, in the units that people plan with: 40 s, 3 min, 210 d."""
    for scale, unit in _LONG_UNITS:
        if 2 * scale <= value < math.inf:
            return f"{significant(value / scale, digits)}{NARROW_SPACE}{unit}"
    return seconds(value, digits)


def exact(value: float) -> str:
    """Show a number with the digits that it has, without an exponent: 0.4907, 12289."""
    if not math.isfinite(value):
        return MISSING
    return format(Decimal(repr(float(value))).normalize(), "f")


def exact_seconds(value: float) -> str:
    """Show a published duration with no digit more or less: 0.000045 as 45 µs."""
    if not math.isfinite(value) or value == 0:
        return seconds(value)
    scale, prefix = next((pair for pair in _PREFIXES if abs(value) >= pair[0]), _PREFIXES[-1])
    scaled = Decimal(repr(float(value))) / Decimal(repr(scale))
    return f"{format(scaled.normalize(), 'f')}{NARROW_SPACE}{prefix}s"


def quantity(value: float, name: str, unit: str = "") -> str:
    """Show a published value by the name of what it is, which ends in its unit, or by the unit."""
    if not math.isfinite(value):
        return MISSING
    if name.endswith("_seconds") or unit == "s":
        return exact_seconds(value)
    if (name, unit) == ("throughput_per_second", "1/s"):
        unit = "tx/s"
    unit = "B" if name.endswith("_bytes") else unit
    number = integer(value) if float(value).is_integer() else exact(value)
    return f"{number}{NARROW_SPACE}{unit}" if unit else number


def integer(value: float) -> str:
    """Show a whole number in groups of three: 261 120, and 2420 ungrouped as SI prefers."""
    if not math.isfinite(value):
        return MISSING
    text = f"{round(value):,}".replace(",", NARROW_SPACE)
    return text if abs(value) >= 10_000 else text.replace(NARROW_SPACE, "")


def byte_count(value: float) -> str:
    """Show a size exactly, in bytes: 17 088 B."""
    return MISSING if not math.isfinite(value) else f"{integer(value)}{NARROW_SPACE}B"


def percent(value: float, digits: int = 1, *, sign: bool = True) -> str:
    """Show percent, with its sign but where it rounds to zero.

    >>> percent(-0.01).replace(NARROW_SPACE, " ")
    '0.0 %'
    """
    if not math.isfinite(value):
        return MISSING
    rounded = round(value, digits) or 0.0
    shown = f"{rounded:+.{digits}f}" if sign and rounded else f"{rounded:.{digits}f}"
    return f"{shown}{NARROW_SPACE}%"


def ratio(value: float, digits: int = 3) -> str:
    """Show a factor, as in "times 0.43"."""
    return MISSING if not math.isfinite(value) else f"{TIMES}{significant(value, digits)}"


def factor(value: float) -> str:
    """Show a power of two, or its inverse, as a factor: one sixteenth as 1/16 behind the sign."""
    whole = f"1/{round(1 / value)}" if 0 < value < 1 and (1 / value).is_integer() else f"{value:g}"
    return f"{TIMES}{whole}"


def shortened(text: str) -> str:
    """Cut a hash, which nobody compares by eye."""
    return f"{text[:12]}…" if len(text) == 64 else text
