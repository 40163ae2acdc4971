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
from functools import reduce
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


def decide(checks: Iterable[Check], reader: Reader, implementation: str = "") -> Finding:
    """Check a statement on the numbers of one reader; a single failure decides it."""
    results = [each for check in checks for each in _findings(check, reader, implementation)]
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


def _findings(check: Check, reader: Reader, implementation: str) -> Iterator[Finding]:
    """Compare the parts of a check, over its steps; a number that is not there leaves one open.

    Raises DataError for an unknown kind.
    """
    kind = check.get("kind")
    if kind not in KINDS:
        raise DataError(f"unknown kind of check {kind!r}; expected one of {sorted(KINDS)}")
    steps = map(step, check["n"]) if "n" in check and kind != "falling" else [""]
    for at in steps:
        for part in _parts(check):
            try:
                yield KINDS[kind](part, _Numbers(reader, implementation, at))
            except Undecided as reason:
                yield Finding(OPEN, str(reason))


def _parts(check: Check) -> Iterator[Check]:
    """Take a check apart into those of single numbers."""
    if check["kind"] == "less":
        for quantity in _listed(check["quantity"]):
            other = check.get("larger_quantity", quantity)
            for small, large in product(check["smaller"], check["larger"]):
                yield {"smaller": f"{small}: {quantity}", "larger": f"{large}: {other}"}
    elif check["kind"] == "falling":
        for name in check["names"]:
            cells = [f"{name}{step(n)}: {check['quantity']}" for n in check["n"]]
            for before, after in pairwise(cells):
                yield {"smaller": after, "larger": before}
    elif check["kind"] == "at_most":
        yield from ({"of": cell, "limit": check["limit"]} for cell in check["cells"])
    else:
        yield check


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

    def __call__(self, text: str) -> Number:
        """Return one number; in a quantity of several, sums bind weaker than products."""
        name, _, quantity = text.rpartition(": ")
        name += self.step
        terms = [
            reduce(mul, [self.reader.read(name, part, self.implementation) for part in term])
            for term in (term.split("*") for term in quantity.split("+"))
        ]
        return reduce(add, terms)

    def label(self, text: str) -> str:
        """Turn "<name>: <quantity>" into words."""
        name, _, quantity = text.rpartition(": ")
        return f"{name}{self.step} {spoken(quantity)}"


def _less(check: Check, of: _Numbers) -> Finding:
    """Rank two numbers, or leave it open.

    They have a rank if they differ by more than their noise, or by FACTOR and more than their
    error: a scheme that rejects and repeats scatters widely around a well-known median, while
    a small difference of medians may be the load of a shared machine.
    """
    small, large = check["smaller"], check["larger"]
    a, b = of(small), of(large)
    first, second, quantity = of.label(small), of.label(large), small.rpartition(": ")[2]
    if large.endswith(f": {quantity}"):
        second = second.removesuffix(f" {spoken(quantity)}")
    low, high = sorted((a.value, b.value))
    far = high >= FACTOR * low and high - low > a.error + b.error
    if not (far or high - low > a.noise + b.noise):
        return Finding(OPEN, f"{first} {a} and {second} {b} are too close to rank")
    if a.value < b.value:
        return Finding(HOLDS, f"{first} {a} < {second} {b}", high / low if low else math.inf)
    return Finding(FAILS, f"{first} {a} is not below {second} {b}")


def _ratio(check: Check, of: _Numbers) -> Finding:
    about = check.get("about")
    stated = f"about {about}" if about is not None else f"at least {check['at_least']}"
    bounds = (check["at_least"], math.inf) if about is None else (about / FACTOR, about * FACTOR)
    upper, lower = of(check["of"]), of(check["to"])
    ratio = upper / lower
    text = (
        f"{of.label(check['of'])} {upper} over {of.label(check['to'])} {lower} "
        f"is {ratio.value:.4g}, stated {stated}"
    )
    if any(abs(ratio.value - bound) < ratio.error for bound in bounds):
        return Finding(OPEN, f"{text}: too close to the bound")
    return Finding(HOLDS if bounds[0] <= ratio.value <= bounds[1] else FAILS, text)


def _value(check: Check, of: _Numbers) -> Finding:
    number, stated = of(check["of"]), check["is"]
    verdict = HOLDS if number.value == stated else FAILS
    return Finding(verdict, f"{of.label(check['of'])} {number}, stated {stated}")


def _at_most(check: Check, of: _Numbers) -> Finding:
    number, limit = of(check["of"]), check["limit"]
    evidence = f"{of.label(check['of'])} {number}, limit {Number(limit, unit=number.unit)}"
    if number.value <= limit:
        return Finding(HOLDS, evidence, limit / number.value)
    return Finding(FAILS, evidence)


def _recomputed(value: float, slack: float, printed: Number, text: str) -> Finding:
    """Judge a recomputed number; `slack` is what the rounding of its parts allows."""
    allowed = (slack + printed.noise) * (1 + 1e-9)
    return Finding(HOLDS if abs(value - printed.value) <= allowed else FAILS, text)


def _quotient(check: Check, of: _Numbers) -> Finding:
    quotient, printed = of(check["of"]) / of(check["to"]), of(check["printed"])
    times = check.get("times", 1)
    value = quotient.value * times
    text = f"{of.label(check['of'])} over {of.label(check['to'])} gives {value:.6g}"
    text += f", printed {printed.value:g}"
    return _recomputed(value, quotient.noise * times, printed, text)


def _sum(check: Check, of: _Numbers) -> Finding:
    parts, total = reduce(add, map(of, check["cells"])), of(check["total"])
    text = f"{of.label(check['total'])} {total.value:g}, the parts give {parts.value:.6g}"
    return _recomputed(parts.value, parts.noise, total, text)


def _open(check: Check, of: _Numbers) -> Finding:
    return Finding(OPEN, str(check["reason"]))


KINDS: dict[str, Callable[[Check, _Numbers], Finding]] = {
    "less": _less,
    "falling": _less,
    "ratio": _ratio,
    "value": _value,
    "at_most": _at_most,
    "quotient": _quotient,
    "sum": _sum,
    "open": _open,
}
