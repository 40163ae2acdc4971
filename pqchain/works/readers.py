"""Numbers that statements are checked on: as printed, of the registry, measured here.

A number is asked for by name, quantity and implementation. The name is the registry's or the
printed one; a trailing "/<implementation>" picks an implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add, mul
from typing import Any

import pandas as pd

from pqchain import algorithms, figures, results
from pqchain.costs import MEASUREMENT, choose
from pqchain.figures import Unit
from pqchain.works import papers
from pqchain.works.paper import Paper
from pqchain.works.verdicts import CODE, ITS_OWN, MACHINE, Standing

MADS = 3.0
"""Medians closer than this many median absolute deviations have no rank."""

MEDIAN_ERROR = 1.4826 * math.sqrt(math.pi / 2)
"""Standard error of a median, in median absolute deviations over the root of the sample count.

1.4826 makes the deviation a standard deviation, sqrt(pi / 2) that of a mean into that of a median;
both for normal samples.
"""

SIZES = tuple(name for name in algorithms.Algorithm.__slots__ if name.endswith("_bytes"))
"""Sizes that the registry knows."""

FACTS = (*SIZES, "nist_level")
"""All that it knows of an algorithm as a number."""


class Undecided(Exception):
    """A number that a check needs is not there; the message says why."""


_HERE = Standing(elsewhere=(MACHINE,))
"""Of every time that we measure."""


@dataclass(frozen=True, slots=True)
class Number:
    """A value with what is uncertain about it, and what it is worth as evidence."""

    value: float
    noise: float = 0.0
    """How far single samples commonly lie from the value, or the rounding of the print."""
    error: float = 0.0
    """How far the value may lie from the true one: three standard errors, or the rounding."""
    unit: str = ""
    standing: Standing = ITS_OWN

    @classmethod
    def median(cls, value: float, deviation: float, samples: int, *, over: float = 1) -> Number:
        """Return a measured median in seconds, with its median absolute deviation."""
        noise = MADS * deviation / over
        error = noise * MEDIAN_ERROR / math.sqrt(max(1, samples))
        return cls(value / over, noise, error, "s", _HERE)

    def __add__(self, other: Number) -> Number:
        noise, error = self.noise + other.noise, self.error + other.error
        standing = self.standing & other.standing
        return Number(self.value + other.value, noise, error, self.unit, standing)

    def __mul__(self, other: Number) -> Number:
        noise = self.noise * other.value + other.noise * self.value
        error = self.error * other.value + other.error * self.value
        standing = self.standing & other.standing
        return Number(self.value * other.value, noise, error, standing=standing)

    def __truediv__(self, other: Number) -> Number:
        value = self.value / other.value
        noise = value * (self.noise / self.value + other.noise / other.value)
        error = value * (self.error / self.value + other.error / other.value)
        return Number(value, noise, error, standing=self.standing & other.standing)

    def __str__(self) -> str:
        if self.unit in ("s", "B"):
            return Unit(self.unit).text(self.value, exact=self.unit == "B")
        return f"{self.value:.4g}" + {"%": " %", "1/s": " per second"}.get(self.unit, "")


@dataclass(frozen=True, slots=True)
class Reader:
    """One source of numbers."""

    source: str
    """A kind of number, of `pqchain.figures.Kind`."""
    read: Callable[[str, str, str], Number]
    """Name, quantity and implementation to a number. Raises Undecided."""
    quantities: Collection[str] | None = None
    """What it can read at all; None: anything that no other reader has."""
    decides: bool = True
    """Whether statements are checked on it; if not, it only fills in the coverage."""
    steps: Collection[int] | None = None
    """The n that it has, of tables that go across n; None: whatever is asked."""
    fitted: Collection[str] = ()
    """Quantities to whose printed values its parameters were fitted: it confirms none of them."""

    def number(self, name: str, quantity: str, implementation: str) -> Number:
        """Return a number with its standing. Raises Undecided."""
        if not self.reads(quantity):
            raise Undecided(f"no {spoken(quantity)} is {self.source} here")
        found = self.read(name, quantity, implementation)
        if quantity not in self.fitted:
            return found
        return replace(found, standing=replace(found.standing, fitted=True))

    def reads(self, quantity: str) -> bool:
        """Whether it may know such a quantity."""
        return self.quantities is None or quantity in self.quantities


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a reader, for one implementation and one step of a table across n."""

    reader: Reader
    implementation: str = ""
    step: str = ""

    def __call__(self, text: str) -> Number:
        """Return one number; in a quantity of several, sums bind weaker than products.

        Raises Undecided.
        """
        name, _, quantity = text.rpartition(": ")
        name += self.step
        terms = [
            reduce(mul, [self.reader.number(name, part, self.implementation) for part in term])
            for term in (term.split("*") for term in quantity.split("+"))
        ]
        return reduce(add, terms)

    def label(self, text: str) -> str:
        """Turn "<name>: <quantity>" into words."""
        name, _, quantity = text.rpartition(": ")
        return f"{name}{self.step} {spoken(quantity)}"


def step(n: int) -> str:
    """Return the end of a printed name in a table that goes across n."""
    return f", n = {n}"


def spoken(quantity: str) -> str:
    """Turn a quantity into words; its number carries the unit."""
    for ending in ("_seconds", "_bytes", "_percent", "_per_second", "_megabytes", "_microseconds"):
        quantity = quantity.replace(ending, "")
    return figures.humanize(quantity.replace("+", " + ").replace("*", " x "))


def _split(name: str, implementation: str) -> tuple[str, str]:
    """Take a trailing "/<implementation>" off a name."""
    base, slash, own = name.rpartition("/")
    return (base, own) if slash else (name, implementation)


def published(paper: Paper) -> Reader:
    """Read the paper's own numbers; their noise is the rounding of the print."""
    known: dict[tuple[str, str, str], Number] = {}
    for cell in papers.cells(paper):
        value, noise = float(cell.value), float(cell.rounding)
        number = Number(value, noise, noise, cell.unit)
        for name in (cell.printed_name, cell.algorithm):
            known.setdefault((name, cell.quantity, cell.implementation), number)
            known.setdefault((name, cell.quantity, ""), number)

    def read(name: str, quantity: str, implementation: str) -> Number:
        for base, variant in ((name, implementation), _split(name, implementation)):
            for each in (variant, "") if quantity in SIZES else (variant,):
                if (base, quantity, each) in known:
                    return known[base, quantity, each]
        raise Undecided(f"the paper prints no figure for {name} {spoken(quantity)}")

    return Reader("published", read)


def registry() -> Reader:
    """Read sizes and levels from the registry."""

    def read(name: str, quantity: str, implementation: str) -> Number:
        base, implementation = _split(name, implementation)
        value = getattr(algorithms.get(base), quantity, None)
        if value is None:
            raise Undecided(f"the registry has no {spoken(quantity)} of {base}")
        return Number(value, unit="B" if quantity in SIZES else "")

    return Reader("registry", read, FACTS)


def measured(measurements: pd.DataFrame | None, paper: Paper) -> Reader:
    """Read our medians, of times and of cycles.

    The noise of a time is MADS median absolute deviations of the samples. They come from another
    machine than the work's, and some from other code, as it declares.
    """
    find = _finder(measurements)

    def read(name: str, quantity: str, implementation: str) -> Number:
        base, variant = _split(name, implementation)
        operation, row = find(base, quantity, variant)
        if quantity.endswith("_cycles"):
            number = Number(row["median_cycles"], unit="cycles", standing=_HERE)
        else:
            number = Number.median(row["median_seconds"], row["mad_seconds"], row["samples"])
        reason = paper.other_code(algorithms.get(base).name, row["implementation"], operation)
        if not reason:
            return number
        return replace(number, standing=number.standing & Standing(f"{base}: {reason}", (CODE,)))

    return Reader("measured", read)


def counted(measurements: pd.DataFrame | None) -> Reader:
    """Read how many samples of ours there are, as "<operation>_samples"."""
    find = _finder(measurements)

    def read(name: str, quantity: str, implementation: str) -> Number:
        return Number(int(find(name, quantity, implementation)[1]["samples"]))

    return Reader("run", read, [f"{operation}_samples" for operation in algorithms.OPERATIONS])


def _finder(
    measurements: pd.DataFrame | None,
) -> Callable[[str, str, str], tuple[str, dict[str, Any]]]:
    """Return what finds the operation of a quantity, and its row of a measurement frame."""
    frame = None if measurements is None else results.check(measurements, MEASUREMENT)

    @cache
    def rows(name: str, variant: str) -> dict[str, dict[str, Any]]:
        return {} if frame is None else choose(frame, algorithms.get(name).name, variant=variant)

    def find(name: str, quantity: str, variant: str) -> tuple[str, dict[str, Any]]:
        operation = quantity.rpartition("_")[0]
        if operation not in algorithms.OPERATIONS:
            raise Undecided(f"no measurement of {spoken(quantity)} is given")
        row = rows(name, variant).get(operation)
        if row is None:
            raise Undecided(f"no measurement of {spoken(operation)} of {name} is given")
        if row["status"] != "ok":
            raise Undecided(f"{name} is {row['status']}: {row['reason']}")
        if variant and not row["implementation"].endswith("/" + variant):
            raise Undecided(
                f"no measurement of {spoken(operation)} of {name} with {variant} is given"
            )
        return operation, row

    return find
