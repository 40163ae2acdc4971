"""The comparisons that decide a statement, as `claims.toml` names them.

A number is written "<name>: <quantity>", and a quantity may be a sum or product of quantities.
Kinds of check:

less       every name in `smaller` is below every name in `larger`, per quantity
falling    each of `names` falls as n grows
ratio      `of` over `to` is `about` a number, within FACTOR, or `at_least` a number
value      `of` is exactly `is`
at_most    no cell exceeds `limit`, an absolute bound that only the paper's machine can be held to
quotient   `of` over `to`, times `times`, gives the `printed` number within the print's rounding
sum        `cells` add up to `total` within the print's rounding
open       nothing here can decide it, for the `reason`
computed   what the work computes decides it: `Work.judge`

Milliseconds are never compared across machines: on our numbers only ranks and ratios are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise, product
from operator import add, mul
from typing import Any

from pqchain.errors import DataError
from pqchain.works.readers import SIZES, Number, Reader, Undecided, spoken, step

HOLDS = "holds"
FAILS = "does not hold"
OPEN = "cannot be decided here"

FACTOR = 1.5
"""A ratio of "about N" holds from N / 1.5 to 1.5 N: papers round freely, and machines differ."""

_SHOWN = 3
_OF_THE_PRINT = {"at_most", "quotient", "sum", "value", "open"}
"""Kinds of check that are about the print alone."""

Check = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a comparison, or of all that decide a statement."""

    verdict: str
    evidence: str
    margin: float = math.inf
    """Of one that holds: how far it is from not holding, as a factor."""


Comparison = Callable[[], Finding]
"""May raise Undecided."""


def decide(checks: Iterable[Check], reader: Reader, implementation: str = "") -> Finding:
    """Check a statement on the numbers of one reader; a single failure decides it."""
    results = [
        _tried(comparison)
        for check in checks
        for comparison in _comparisons(check, reader, implementation)
    ]
    failed = [result for result in results if result.verdict == FAILS]
    undecided = [result for result in results if result.verdict == OPEN]
    decisive = failed or undecided or sorted(results, key=lambda result: result.margin)
    texts = list(dict.fromkeys(result.evidence for result in decisive))
    more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return Finding(decisive[0].verdict, "; ".join(texts[:_SHOWN]) + more)


def deciding(checks: list[Check], readers: Iterable[Reader]) -> list[Reader]:
    """Return the readers, beside the print, that a statement can be checked on.

    A reader of a model goes before the stopwatch, and each decides alone; what is measured may
    come from several readers.
    """
    kinds = {check["kind"] for check in checks}
    used = {quantity for check in checks for quantity in _quantities(check)}
    if kinds == {"value"} or (kinds and not kinds & _OF_THE_PRINT and used <= set(SIZES)):
        return [reader for reader in readers if reader.source == "sizes"]
    if not kinds or kinds & _OF_THE_PRINT:
        return []
    clocked = [reader for reader in readers if reader.source == "measured"]
    models = [
        reader
        for reader in readers
        if reader.source not in ("measured", "sizes") and all(map(reader.reads, used))
    ]
    return models or [_first_of(clocked)]


def _first_of(readers: list[Reader]) -> Reader:
    def read(name: str, quantity: str, implementation: str) -> Number:
        chosen = next(reader for reader in readers if reader.reads(quantity))
        return chosen.read(name, quantity, implementation)

    return Reader(readers[0].source, read)


def _tried(comparison: Comparison) -> Finding:
    """Run a comparison; a number that is not there leaves it open."""
    try:
        return comparison()
    except Undecided as reason:
        return Finding(OPEN, str(reason))


def _comparisons(check: Check, reader: Reader, implementation: str) -> Iterator[Comparison]:
    """Yield the comparisons of a check, over its steps. Raises DataError for an unknown kind."""
    kind = check.get("kind")
    if kind not in KINDS:
        raise DataError(f"unknown kind of check {kind!r}; expected one of {sorted(KINDS)}")
    steps = map(step, check["n"]) if "n" in check and kind != "falling" else [""]
    for at in steps:
        yield from KINDS[kind](check, _Numbers(reader, implementation, at))


def _quantities(check: Check) -> Iterator[str]:
    """Yield the quantities of a check, sums and products taken apart."""
    named = [check[side].rpartition(": ")[2] for side in ("of", "to") if side in check]
    for expression in [*named, *_listed(check.get("quantity", []))]:
        yield from expression.replace("*", "+").split("+")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of a reader, for one implementation and one step of a table across n."""

    reader: Reader
    implementation: str
    step: str

    def number(self, name: str, quantity: str) -> Number:
        """Return one number; in a quantity of several, sums bind weaker than products."""
        terms = [
            reduce(mul, [self.reader.read(name, part, self.implementation) for part in term])
            for term in (term.split("*") for term in quantity.split("+"))
        ]
        return reduce(add, terms)

    def cell(self, text: str) -> Number:
        name, _, quantity = text.rpartition(": ")
        return self.number(name + self.step, quantity)

    def label(self, text: str) -> str:
        """Turn "<name>: <quantity>" into words."""
        name, _, quantity = text.rpartition(": ")
        return f"{name}{self.step} {spoken(quantity)}"

    def below(self, small: tuple[str, str], large: tuple[str, str]) -> Finding:
        """Rank two numbers, each given by name and quantity, or leave it open.

        They have a rank if they differ by more than their noise, or by FACTOR and more than their
        error: a scheme that rejects and repeats scatters widely around a well-known median, while
        a small difference of medians may be the load of a shared machine.
        """
        a, b = self.number(*small), self.number(*large)
        first = f"{small[0]} {spoken(small[1])}"
        second = large[0] if large[1] == small[1] else f"{large[0]} {spoken(large[1])}"
        low, high = sorted((a.value, b.value))
        far = high >= FACTOR * low and high - low > a.error + b.error
        if not (far or high - low > a.noise + b.noise):
            return Finding(OPEN, f"{first} {a} and {second} {b} are too close to rank")
        if a.value < b.value:
            return Finding(HOLDS, f"{first} {a} < {second} {b}", high / low if low else math.inf)
        return Finding(FAILS, f"{first} {a} is not below {second} {b}")


def _less(check: Check, of: _Numbers) -> Iterator[Comparison]:
    for quantity in _listed(check["quantity"]):
        other = check.get("larger_quantity", quantity)
        for small, large in product(check["smaller"], check["larger"]):
            yield partial(of.below, (small + of.step, quantity), (large + of.step, other))


def _falling(check: Check, of: _Numbers) -> Iterator[Comparison]:
    quantity = check["quantity"]
    for name in check["names"]:
        for before, after in pairwise(map(step, check["n"])):
            yield partial(of.below, (name + after, quantity), (name + before, quantity))


def _ratio(check: Check, of: _Numbers) -> Iterator[Comparison]:
    about = check.get("about")
    stated = f"about {about}" if about is not None else f"at least {check['at_least']}"
    bounds = (check["at_least"], math.inf) if about is None else (about / FACTOR, about * FACTOR)

    def compare() -> Finding:
        upper, lower = of.cell(check["of"]), of.cell(check["to"])
        ratio = upper.value / lower.value
        slack = ratio * (upper.error / upper.value + lower.error / lower.value)
        text = (
            f"{of.label(check['of'])} {upper} over {of.label(check['to'])} {lower} "
            f"is {ratio:.4g}, stated {stated}"
        )
        if any(abs(ratio - bound) < slack for bound in bounds):
            return Finding(OPEN, f"{text}: too close to the bound")
        return Finding(HOLDS if bounds[0] <= ratio <= bounds[1] else FAILS, text)

    yield compare


def _value(check: Check, of: _Numbers) -> Iterator[Comparison]:
    def compare() -> Finding:
        number, stated = of.cell(check["of"]), check["is"]
        verdict = HOLDS if number.value == stated else FAILS
        return Finding(verdict, f"{of.label(check['of'])} {number}, stated {stated}")

    yield compare


def _at_most(check: Check, of: _Numbers) -> Iterator[Comparison]:
    def compare(text: str) -> Finding:
        number, limit = of.cell(text), check["limit"]
        evidence = f"{of.label(text)} {number}, limit {Number(limit, unit=number.unit)}"
        if number.value <= limit:
            return Finding(HOLDS, evidence, limit / number.value)
        return Finding(FAILS, evidence)

    for text in check["cells"]:
        yield partial(compare, text)


def _agree(value: float, slack: float, printed: Number) -> str:
    """Judge a recomputed number; `slack` is what the rounding of its parts allows."""
    allowed = (slack + printed.noise) * (1 + 1e-9)
    return HOLDS if abs(value - printed.value) <= allowed else FAILS


def _quotient(check: Check, of: _Numbers) -> Iterator[Comparison]:
    def compare() -> Finding:
        upper, lower, printed = (of.cell(check[side]) for side in ("of", "to", "printed"))
        value = upper.value / lower.value * check.get("times", 1)
        slack = value * (upper.noise / upper.value + lower.noise / lower.value)
        text = f"{of.label(check['of'])} over {of.label(check['to'])} gives {value:.6g}"
        return Finding(_agree(value, slack, printed), f"{text}, printed {printed.value:g}")

    yield compare


def _sum(check: Check, of: _Numbers) -> Iterator[Comparison]:
    def compare() -> Finding:
        parts, total = list(map(of.cell, check["cells"])), of.cell(check["total"])
        value = sum(part.value for part in parts)
        text = f"{of.label(check['total'])} {total.value:g}, the parts give {value:.6g}"
        return Finding(_agree(value, sum(part.noise for part in parts), total), text)

    yield compare


def _open(check: Check, of: _Numbers) -> Iterator[Comparison]:
    yield lambda: Finding(OPEN, str(check["reason"]))


KINDS: dict[str, Callable[[Check, _Numbers], Iterator[Comparison]]] = {
    "less": _less,
    "falling": _falling,
    "ratio": _ratio,
    "value": _value,
    "at_most": _at_most,
    "quotient": _quotient,
    "sum": _sum,
    "open": _open,
}
