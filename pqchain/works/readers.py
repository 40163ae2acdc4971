"""Sources of numbers that decide statements: the paper, the registry, our measurements.

A number is looked up by name, quantity and implementation. The name is the registry's or the
printed one; a trailing "/<implementation>" selects an implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add, mul
from typing import Any

import pandas as pd

from pqchain import algorithms, figures, results
from pqchain.bench import variation
from pqchain.figures import Kind, Unit
from pqchain.results.measurements import MEASUREMENT, choose
from pqchain.works import papers
from pqchain.works.paper import Paper
from pqchain.works.verdicts import CODE, MACHINE, SAME_SETTING, Standing

MADS = 3.0
"""Medians closer than this many median absolute deviations are not ranked."""

MEDIAN_ERROR = 1.4826 * math.sqrt(math.pi / 2)
"""Standard error of a median, in median absolute deviations over the root of the sample count.

1.4826 makes the deviation a standard deviation, sqrt(pi / 2) that of a mean into that of a median;
both for normal samples.
"""

SIZES = tuple(name for name in algorithms.Algorithm.__slots__ if name.endswith("_bytes"))

FACTS = (*SIZES, "nist_level")


class Undecided(Exception):
    """A number that a check needs is missing; the message gives the reason."""


# The standing of every measured time: the machine is not the paper's.
_HERE = Standing(elsewhere=(MACHINE,))


def rounded(value: float) -> float:
    """Round one of our numbers for output: to four significant digits unless it is whole."""
    return value if float(value).is_integer() else float(f"{value:.4g}")


@dataclass(frozen=True, slots=True)
class Number:
    """A value with its uncertainty and its worth as evidence."""

    value: float
    noise: float = 0.0
    """Scatter of single samples around the value, or the rounding of the print."""
    error: float = 0.0
    """Uncertainty of the value: three standard errors, or the rounding of the print."""
    unit: str = ""
    standing: Standing = SAME_SETTING
    spread: float = 1.0
    """The greatest over the least of several values that are equally possible, of which `value` is
    the geometric mean."""

    @classmethod
    def median(cls, value: float, deviation: float, samples: int, *, over: float = 1) -> Number:
        """Return the number of a median in seconds, given the MAD and the count of the samples."""
        noise = MADS * deviation / over
        error = noise * MEDIAN_ERROR / math.sqrt(max(1, samples))
        return cls(value / over, noise, error, "s", _HERE)

    @classmethod
    def one_of(cls, least: float, most: float, unit: str, standing: Standing) -> Number:
        """Return the number of several values that are equally possible."""
        middle = math.sqrt(least * most)
        return cls(middle, most - middle, most - middle, unit, standing, most / least)

    @property
    def ends(self) -> tuple[float, ...]:
        """The least and the greatest of several possible values, or the only one."""
        half = math.sqrt(self.spread)
        return (self.value / half, self.value * half) if half > 1 else (self.value,)

    def __add__(self, other: Number) -> Number:
        noise, error = self.noise + other.noise, self.error + other.error
        standing, spread = self.standing & other.standing, max(self.spread, other.spread)
        return Number(self.value + other.value, noise, error, self.unit, standing, spread)

    def __mul__(self, other: Number) -> Number:
        noise = self.noise * other.value + other.noise * self.value
        error = self.error * other.value + other.error * self.value
        standing, spread = self.standing & other.standing, self.spread * other.spread
        return Number(self.value * other.value, noise, error, "", standing, spread)

    def __truediv__(self, other: Number) -> Number:
        value = self.value / other.value
        noise = value * (self.noise / self.value + other.noise / other.value)
        error = value * (self.error / self.value + other.error / other.value)
        standing, spread = self.standing & other.standing, self.spread * other.spread
        return Number(value, noise, error, "", standing, spread)

    def __str__(self) -> str:
        return " to ".join(Unit(self.unit).text(rounded(end), exact=True) for end in self.ends)


@dataclass(frozen=True, slots=True)
class NumberReader:
    """A source of numbers, such as the registry, a model or measurements."""

    source: str
    """The kind of its numbers, a `Kind`."""
    read: Callable[[str, str, str], Number]
    """Maps name, quantity and implementation to a number. Raises Undecided."""
    quantities: Collection[str] | None = None
    """The quantities that the reader may have; None: all."""
    decides: bool = True
    """Whether it decides statements; if not, it only fills in printed numbers."""
    steps: Collection[int] | None = None
    """The values of n that it has, for tables with a column per n; None: all."""
    noise: str = ""
    """Why its numbers are not compared with each other, if they are of a noisy run."""
    implementation: str = ""
    """The implementation whose numbers are read: "ref", "avx2", or "" for any."""

    def __call__(self, text: str) -> Number:
        """Evaluate "<name>: <quantity>", a sum of products of quantities. Raises Undecided."""
        name, _, quantity = text.rpartition(": ")
        return reduce(add, [self._product(name, term) for term in quantity.split("+")])

    def _product(self, name: str, term: str) -> Number:
        # A reader may have a product itself, such as a count: the errors of dependent factors must
        # not be added.
        is_known = self.quantities is not None and term in self.quantities
        parts = [term] if is_known else term.split("*")
        return reduce(mul, [self.number(name, part) for part in parts])

    def number(self, name: str, quantity: str) -> Number:
        """Return the number of a name and quantity, with its standing. Raises Undecided."""
        if not self.reads(quantity):
            raise Undecided(f"no {described(quantity)} is available here ({self.source})")
        return self.read(name, quantity, self.implementation)

    def reads(self, quantity: str) -> bool:
        """Return whether the reader may have numbers of a quantity."""
        return self.quantities is None or quantity in self.quantities


def step(n: int) -> str:
    """Return the suffix of a printed name in a table with a column per n."""
    return f", n = {n}"


def described(text: str) -> str:
    """Return "<name>: <quantity>" or a quantity as words without its unit, which numbers show."""
    name, _, quantity = text.rpartition(": ")
    for ending in ("_seconds", "_bytes", "_percent", "_per_second", "_megabytes", "_microseconds"):
        quantity = quantity.replace(ending, "")
    words = figures.humanize(quantity.replace("+", " + ").replace("*", " x "))
    return f"{name} {words}" if name else words


def _split(name: str, implementation: str) -> tuple[str, str]:
    base, slash, suffix = name.rpartition("/")
    return (base, suffix) if slash else (name, implementation)


def published(paper: Paper) -> NumberReader:
    """Return a reader of a paper's printed numbers; their noise is half of the last digit."""
    known: dict[tuple[str, str, str], Number] = {}
    for cell in papers.cells(paper):
        value, noise = float(cell.value), float(cell.rounding)
        number = Number(value, noise, noise, Unit.of(cell.quantity, cell.unit))
        # The first print of a number counts: later tables and the text quote it, often rounded. A
        # statement may name no implementation; the first printed one counts then.
        for name in (cell.printed_name, cell.algorithm):
            for implementation in (cell.implementation, ""):
                known.setdefault((name, cell.quantity, implementation), number)

    def read(name: str, quantity: str, implementation: str) -> Number:
        for base, variant in ((name, implementation), _split(name, implementation)):
            # Papers print a size once for all implementations.
            for key in (variant, "") if quantity in SIZES else (variant,):
                if (base, quantity, key) in known:
                    return known[base, quantity, key]
        raise Undecided(f"the paper prints no figure for {name} {described(quantity)}")

    return NumberReader(Kind.PUBLISHED, read)


def registry() -> NumberReader:
    """Return a reader of the sizes and security levels in the registry."""

    def read(name: str, quantity: str, implementation: str) -> Number:
        base, implementation = _split(name, implementation)
        value = getattr(algorithms.get(base), quantity, None)
        if value is None:
            raise Undecided(f"the registry has no {described(quantity)} of {base}")
        return Number(value, unit="B" if quantity in SIZES else "")

    return NumberReader(Kind.REGISTRY, read, FACTS)


def from_values(
    kind: Kind,
    values: Mapping[tuple[str, str], float | Number | Undecided],
    missing: str = "this run has no {quantity} of {name}",
    **fields: Any,
) -> NumberReader:
    """Return a reader of values by name and quantity; by default it decides no statement.

    A name may be "<name>/<implementation>". `missing` is the reason for a name without a value, or
    with NaN. `fields` are those of NumberReader.
    """

    def read(name: str, quantity: str, implementation: str) -> Number:
        value = values.get((f"{name}/{implementation}", quantity))
        value = values.get((name, quantity), math.nan) if value is None else value
        if isinstance(value, Undecided):
            raise value
        number = value if isinstance(value, Number) else Number(value)
        if not math.isfinite(number.value):
            raise Undecided(missing.format(quantity=described(quantity), name=name))
        return number

    return NumberReader(kind, read, **{"decides": False} | fields)


Chosen = Callable[[str, str], dict[str, dict[str, Any]]]
"""Maps an algorithm and a variant to the measured rows by operation."""


def chosen(measurements: pd.DataFrame | None) -> Chosen:
    """Return a cached `measurements.choose`, by algorithm and variant. Raises DataError."""
    frame = None if measurements is None else results.check(measurements, MEASUREMENT)

    @cache
    def rows(name: str, variant: str) -> dict[str, dict[str, Any]]:
        return {} if frame is None else choose(frame, algorithms.get(name).name, variant=variant)

    return rows


def measured(measurements: pd.DataFrame | None, paper: Paper) -> NumberReader:
    """Return a reader of the median times, cycles and numbers of samples measured by pqchain.

    The noise of a time is MADS median absolute deviations of the samples. The machine is not the
    work's, and some code is not either, as `[[other_code]]` of the work declares.
    """
    rows = chosen(measurements)

    def read(name: str, quantity: str, implementation: str) -> Number:
        base, variant = _split(name, implementation)
        row = _measured_row(rows, base, variant, quantity)
        if quantity.endswith("_samples"):
            return Number(int(row["samples"]))
        if quantity.endswith("_cycles"):
            number = Number(row["median_cycles"], unit="cycles", standing=_HERE)
        else:
            number = Number.median(row["median_seconds"], row["mad_seconds"], row["samples"])
        name = algorithms.get(base).name
        reason = paper.code_origin(name, row["implementation"], row["operation"])
        if not reason:
            return number
        return replace(number, standing=number.standing & Standing(f"{base}: {reason}", (CODE,)))

    noise = ""
    if measurements is not None and variation.is_noisy(measurements):
        ratio = variation.median_over_min(measurements)
        noise = f"times of a busy machine, median/min of verifications {ratio:.2f}"
    return NumberReader(Kind.MEASURED, read, noise=noise)


def counted(measured: NumberReader) -> NumberReader:
    """Return a reader of the numbers of measured samples, named "<operation>_samples"."""
    names = [f"{operation}_samples" for operation in algorithms.OPERATIONS]
    return replace(measured, source=Kind.RUN, quantities=names)


def _measured_row(rows: Chosen, name: str, variant: str, quantity: str) -> dict[str, Any]:
    """Return the row of an operation that was measured. Raises Undecided."""
    operation = quantity.rpartition("_")[0]
    if operation not in algorithms.OPERATIONS:
        raise Undecided(f"no measurement of {described(quantity)} is given")
    row = rows(name, variant).get(operation)
    missing = f"no measurement of {described(operation)} of {name}"
    if row is None:
        raise Undecided(f"{missing} is given")
    # An operation that failed or cannot run decides nothing, and the evidence tells why.
    if row["status"] != "ok":
        raise Undecided(f"{name} is {row['status']}: {row['reason']}")
    # A statement about AVX2 must not be decided by the reference.
    if variant and not row["implementation"].endswith("/" + variant):
        raise Undecided(f"{missing} with {variant} is given")
    return row
