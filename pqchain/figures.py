"""Numbers with unit, interval, kind of evidence and source, and their formatting.

The suffix of a name states its unit (`latency_seconds`, `signature_bytes`), and a unit formats its
values, so that every table, page and plot formats them alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Annotated

from pqchain.checks import FromText

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
"""Separator of a number and its unit, at which no line breaks."""

MISSING = "\N{EN DASH}"

TIMES = "\N{MULTIPLICATION SIGN}"

_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_LONG = ((365.25 * 86_400, "years"), (86_400, "d"), (3600, "h"), (60, "min"))

# Units by the suffix of a name, longer suffixes before those that they end in.
_SUFFIXES = {
    "_bits_per_second": "bit/s",
    "_bytes_per_second": "B/s",
    "_bytes_per_year": "B",
    "_bytes_per_day": "B",
    "_bytes_per_block": "B",
    "_per_second": "tx/s",
    "_seconds": "s",
    "_bytes": "B",
    "_days": "d",
    "_percent": "%",
    "_share": "share",
    "_ratio": TIMES,
    "_gas": "gas",
    "_weight": "WU",
}

# Suffixes that a title leaves out, because the cells below it carry the unit.
_TITLED = (
    "_seconds", "_bytes", "_percent", "_share", "_bits_per_second", "_bytes_per_second",
    "_per_second",
)  # fmt: skip

_ABBREVIATIONS = {"mad": "± MAD", "p95": "95th percentile"}

# Sizes of keys and signatures are compared exactly; larger sizes get a prefix and are rounded.
_EXACT_BYTES_BELOW = 1e5


class Kind(str, Enum):
    """Kind of evidence of a number; the value is its label in tables."""

    meaning: str
    """Explanation of the label in a few words."""

    def __new__(cls, label: str, meaning: str = "") -> Kind:
        """Make a kind, which is its label."""
        kind = str.__new__(cls, label)
        kind._value_, kind.meaning = label, meaning
        return kind

    PUBLISHED = "published", "as printed in the source"
    MEASURED = "measured", "timed on the machine that is named"
    RUN = "run", "counted or observed in a run on that machine"
    REPLAYED = "replayed", "the real protocol, run on a modelled clock"
    REGISTRY = "registry", "facts of the implementations, checked against the built libraries"
    MODELLED = "modelled", "computed from a model, not timed"
    SYNTHESISED = (
        "synthesised",
        "RTL of this project: cells after synthesis, cycles of its simulation; on no board",
    )
    ROUTED = (
        "routed",
        "clock of this project's RTL after place and route for the named device; on no board",
    )
    FITTED = "fitted", "from a model whose parameters were fitted to the printed table itself"
    ESTIMATED = "estimated", "counted work times an assumed rate"
    CITED = "cited", "published elsewhere, with its source"
    TAKEN = "taken from the paper", "a setting copied from the work; no result of pqchain"
    GIVEN = "given", "given by the user, with the user's source"

    # enum.StrEnum is new in Python 3.11, and 3.10 is supported.
    __str__ = str.__str__


# A str and not an Enum: works print units that no list foresees ("cycles", "mJ"), frames and CSV
# files hold units as text, and comparing with a symbol needs no conversion.
class Unit(str):
    """A unit, represented by its symbol: "s", "B", "tx/s", "" for a count.

    Any text is a unit; the symbols that `of` returns have specific prefixes and formats.
    """

    __slots__ = ()

    @classmethod
    def of(cls, name: str, unit: str = "") -> Unit:
        """Return `unit`, or if it is empty or "1/s" the unit that the suffix of `name` states.

        >>> Unit.of("latency_seconds"), Unit.of("latency_seconds_half_width"), Unit.of("nodes")
        ('s', 's', '')
        """
        # "1/s" is less specific than the suffix of a name: throughput is in transactions.
        if unit not in ("", "1/s"):
            return cls(unit)
        name = f"_{name.removesuffix('_half_width')}"
        return cls(next((symbol for end, symbol in _SUFFIXES.items() if name.endswith(end)), unit))

    # The one formatter of the package: tables, pages, plots and sentences call it, so that a number
    # looks the same wherever it appears.
    def text(self, value: float, digits: int = 3, *, exact: bool = False) -> str:
        """Format a value with a number of significant digits and a fitting SI prefix.

        With `exact` the digits are those of the value, as for published numbers.

        >>> Unit("s").text(0.0000462).replace(NARROW_SPACE, " ")
        '46.2 µs'
        >>> Unit("B").text(1.63e12).replace(NARROW_SPACE, " ")
        '1.63 TB'
        """
        if not math.isfinite(value):
            return MISSING
        if self == "s":
            return _seconds(value, digits, exact)
        if self == TIMES:
            return f"{TIMES}{_all_digits(value) if exact else significant(value, digits)}"
        if exact:
            return _with(_all_digits(value), self)
        if self == "%":
            return percent(value)
        if self == "share":
            return _with(f"{100 * value:.1f}", "%")
        return _with(*_prefixed(value, self, digits))


SECONDS, BYTES, COUNT, RATIO = Unit("s"), Unit("B"), Unit(""), Unit(TIMES)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its interval, unit, kind of evidence and source.

    Unit, kind and source are set where the number is computed; nothing derives them later.
    """

    # Plain floats stay inside engines and loops; a Figure is made once, where a result leaves them.
    value: float
    """The value; NaN if there is none, with the reason in `source`."""
    low: float
    high: float
    """Ends of the interval; both equal `value` if there is none."""
    unit: Annotated[Unit, FromText(Unit)]
    kind: Kind
    source: str
    """Origin of the value, or the basis of the model."""

    @classmethod
    def point(cls, value: float, unit: str, kind: Kind, source: str) -> Figure:
        """Return a figure without an interval."""
        return cls(value, value, value, Unit(unit), kind, source)

    def within(self, value: float, low: float, high: float) -> Figure:
        """Return a copy of the figure with another value and interval."""
        return replace(self, value=value, low=low, high=high)

    def text(self, digits: int = 3) -> str:
        """Format the value, with its interval unless both ends round to the same text.

        >>> figure = Figure(73.1, 71.0, 75.2, Unit("tx/s"), Kind.MODELLED, "")
        >>> figure.text().replace(NARROW_SPACE, " ")
        '73.1 tx/s (71.0 to 75.2 tx/s)'
        """
        alone = self.unit.text(self.value, digits)
        low, high = self.unit.text(self.low, digits), self.unit.text(self.high, digits)
        if not self.low < self.high or low == high:
            return alone
        number, _, unit = low.rpartition(NARROW_SPACE)
        if number and high.endswith(f"{NARROW_SPACE}{unit}"):
            low = number
        return f"{alone} ({low} to {high})"


def humanize(name: str) -> str:
    """Return an identifier as words separated by spaces."""
    return name.replace("_", " ").replace("keypair", "key pair")


def title(name: str) -> str:
    """Return a column's heading: its name without the unit, because the cells show the unit.

    >>> title("mean_latency_seconds"), title("growth_bytes_per_year"), title("seconds")
    ('mean latency', 'growth per year', 'time')
    """
    if name == "seconds":
        return "time"
    for suffix in _TITLED:
        name = name.removesuffix(suffix)
    words = humanize(name.replace("_seconds_", "_").replace("_bytes_per_", "_per_"))
    return _ABBREVIATIONS.get(words, words)


def significant(value: float, digits: int = 3) -> str:
    """Format a number with significant digits and without an exponent: 46.2, 1030, 0.0041."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # 9.996 rounds up to 10.0 and then needs one decimal less.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return integer(rounded) if abs(rounded) >= 10_000 else f"{rounded:.{max(decimals, 0)}f}"


def integer(value: float) -> str:
    """Format a whole number in groups of three digits: 261 120; four digits stay together (SI)."""
    if not math.isfinite(value):
        return MISSING
    text = f"{round(value):,}".replace(",", NARROW_SPACE)
    return text if abs(value) >= 10_000 else text.replace(NARROW_SPACE, "")


def percent(value: float, decimals: int = 1, *, sign: bool = True) -> str:
    """Format a percentage with a plus or minus sign, or without one if it rounds to zero.

    >>> percent(-0.01).replace(NARROW_SPACE, " ")
    '0.0 %'
    """
    if not math.isfinite(value):
        return MISSING
    rounded = round(value, decimals) or 0.0
    return _with(f"{rounded:{'+' if sign and rounded else ''}.{decimals}f}", "%")


def factor(value: float) -> str:
    """Format a multiplication factor; the inverse of a whole number is a fraction such as 1/16."""
    is_inverse = 0 < value < 1 and (1 / value).is_integer()
    return f"{TIMES}1/{round(1 / value)}" if is_inverse else f"{TIMES}{value:g}"


def _with(number: str, unit: str) -> str:
    return f"{number}{NARROW_SPACE}{unit}" if unit and unit != "share" else number


def _all_digits(value: float) -> str:
    if float(value).is_integer():
        return integer(value)
    return format(Decimal(repr(float(value))).normalize(), "f")


def _seconds(value: float, digits: int, exact: bool) -> str:
    if value == 0:
        return f"0{NARROW_SPACE}s"
    for scale, unit in () if exact else _LONG:
        if value >= 2 * scale:
            return _with(significant(value / scale, digits), unit)
    # The prefix follows from the rounded value: 999.6 µs is 1.00 ms.
    shown = float(value if exact else f"{value:.{digits - 1}e}")
    scale, prefix = next((pair for pair in _SMALL if abs(shown) >= pair[0]), _SMALL[-1])
    # Decimal: 0.097644 over 0.001 is 97.644 and not 97.64399999999999.
    scaled = (Decimal(repr(shown)) / Decimal(repr(scale))).normalize()
    return _with(format(scaled, "f") if exact else significant(shown / scale, digits), f"{prefix}s")


def _prefixed(value: float, unit: str, digits: int) -> tuple[str, str]:
    is_whole = float(value).is_integer()
    if unit == "gas" and value >= 1e8:
        return significant(value / 1e9, digits), "Ggas"
    if unit in ("B", "bit/s", "B/s"):
        for scale, prefix in _LARGE:
            if value >= scale and (unit == "bit/s" or value >= _EXACT_BYTES_BELOW):
                return significant(value / scale, digits), f"{prefix}{unit}"
        return integer(value) if is_whole else significant(value, 5), unit
    return integer(value) if is_whole and unit in ("", "d") else significant(value, digits), unit
