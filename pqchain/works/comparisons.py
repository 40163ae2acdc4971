"""Comparisons of numbers, listed in `claims.toml`, that decide whether a statement holds.

A number is written "<name>: <quantity>", and a quantity may be a sum or product of quantities.
Kinds of check:

less       every name in `smaller` is below every name in `larger`, per quantity; with `by`, at
           least so many times ("by far"); with `one_level`, all are of one NIST level
falling    each of `names` falls as n grows
ratio      `of` over `to` is `about` a number or `at_least` a number
similar    `of` and `to` are within the factor SIMILAR of each other
value      `of` is exactly `is`
at_most    no cell exceeds `limit`, an absolute bound that applies to the paper's machine only;
           `ours` if no source gives the bound
quotient   `of` over `to`, times `times`, gives the `printed` number within the print's rounding
sum        `cells` add up to `total` within the print's rounding
open       nothing here can decide it; `reason` says why
computed   `Work.judge` decides it

Bounds that no source gives are ours, and the evidence says so. Milliseconds are never compared
across machines: with our numbers only ranks and ratios are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import pairwise, product
from operator import add, and_

from pqchain import algorithms
from pqchain.errors import DataError
from pqchain.figures import Kind
from pqchain.works.readers import FACTS, Number, NumberReader, Numbers, Undecided, described, step
from pqchain.works.statements import Check
from pqchain.works.verdicts import (
    FAILS,
    HOLDING,
    HOLDS,
    OPEN,
    SAME_SETTING,
    Standing,
    Verdict,
    decisive,
)

APART = 1.5
"""Medians that scatter are ranked if they differ by this factor and by more than their error."""

SIMILAR = 1.5

ABOUT = 1.25
"""The factor that "about N" allows for a ratio of times on another machine. For printed numbers
and sizes it is one unit of N's last digit, because the texts round or truncate."""

# Figures in the evidence of a verdict.
_FIGURES = 3

# Kinds of check that apply to the print alone.
_OF_THE_PRINT = {"at_most", "quotient", "sum", "value", "open"}


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The result of a comparison."""

    outcome: str
    evidence: str
    margin: float = math.inf
    """The factor by which a comparison that holds is away from failing."""
    standing: Standing = SAME_SETTING

    @property
    def word(self) -> str:
        """The verdict on this comparison alone."""
        return self.standing.word(self.outcome)


def decide(checks: Iterable[Check], reader: NumberReader, implementation: str = "") -> Verdict:
    """Judge a statement's checks with the numbers of one reader; one failed part decides."""
    results = [result for check in checks for result in _results(check, reader, implementation)]
    first = min((result.word for result in results), key=decisive)
    # Every part confirms a statement; otherwise only the parts with the deciding verdict matter.
    holds = first in HOLDING
    deciding = [result for result in results if holds or result.word == first]
    # The closest comparison first: it is the one that a reader will doubt.
    deciding.sort(key=lambda result: (result.outcome != FAILS, result.margin))
    texts = list(dict.fromkeys(result.evidence for result in deciding))
    more = f"; and {len(texts) - _FIGURES} more" if len(texts) > _FIGURES else ""
    standing = reduce(and_, (result.standing for result in deciding))
    evidence = "; ".join(texts[:_FIGURES]) + more
    return Verdict(deciding[0].outcome, evidence, reader.source, standing)


def deciding(checks: list[Check], readers: Iterable[NumberReader]) -> list[NumberReader]:
    """Return the readers, except that of the printed numbers, that can decide a statement.

    A model has precedence over measurements, and each model decides alone; measured numbers may
    come from several readers.
    """
    readers = [reader for reader in readers if reader.decides]
    kinds = {check["kind"] for check in checks}
    used = {quantity for check in checks for quantity in _quantities(check)}
    # Sizes and levels are facts of the implementations, which no measurement can improve.
    if kinds == {"value"} or (kinds and not kinds & _OF_THE_PRINT and used <= set(FACTS)):
        return [
            reader
            for reader in readers
            if reader.source == Kind.REGISTRY and all(map(reader.reads, used))
        ]
    # Absolute bounds and recomputed columns are about the print itself.
    if not kinds or kinds & _OF_THE_PRINT:
        return []
    measured = [reader for reader in readers if reader.source == Kind.MEASURED]
    models = [
        reader
        for reader in readers
        if reader.source not in (Kind.MEASURED, Kind.REGISTRY) and all(map(reader.reads, used))
    ]
    return models or [_first_of(measured)]


def _first_of(readers: list[NumberReader]) -> NumberReader:
    def read(name: str, quantity: str, implementation: str) -> Number:
        # A check may combine quantities of several readers; the first that has one supplies it.
        chosen = next(reader for reader in readers if reader.reads(quantity))
        return chosen.number(name, quantity, implementation)

    noise = next((reader.noise for reader in readers if reader.noise), "")
    return NumberReader(readers[0].source, read, noise=noise)


def _results(check: Check, reader: NumberReader, implementation: str) -> Iterator[ComparisonResult]:
    """Yield the result of each part of a check per step n; it is OPEN if a number is missing."""
    kind = check.get("kind")
    if kind not in KINDS:
        raise DataError(f"kind of a check must be one of {sorted(KINDS)}; got {kind!r}")
    compare, fields = KINDS[kind]
    # Optional fields have defaults, so a misspelt one would silently weaken the check.
    if unknown := sorted(set(check) - {"kind", *fields.split()}):
        raise DataError(f"fields of a check {kind!r} must be {fields}; got {unknown}")
    # A reader may have fewer values of n than the print, and a fall needs two.
    if "n" in check and reader.steps is not None:
        check = check | {"n": [n for n in check["n"] if n in reader.steps]}
    if check.get("n") == [] or (kind == "falling" and len(check["n"]) < 2):
        yield ComparisonResult(OPEN, "too few sizes were run")
        return
    steps = map(step, check["n"]) if "n" in check and kind != "falling" else [""]
    for suffix in steps:
        for part in _parts(check):
            try:
                yield compare(part, Numbers(reader, implementation, suffix))
            except Undecided as reason:
                yield ComparisonResult(OPEN, str(reason))


def _parts(check: Check) -> Iterator[Check]:
    if check["kind"] == "less":
        if check.get("one_level"):
            _require_one_level([*check["smaller"], *check["larger"]])
        for quantity in _listed(check["quantity"]):
            other = check.get("larger_quantity", quantity)
            for small, large in product(check["smaller"], check["larger"]):
                sides = {"smaller": f"{small}: {quantity}", "larger": f"{large}: {other}"}
                yield check | sides
    elif check["kind"] == "falling":
        for name in check["names"]:
            cells = [f"{name}{step(n)}: {check['quantity']}" for n in check["n"]]
            for before, after in pairwise(cells):
                yield {"smaller": after, "larger": before}
    elif check["kind"] == "at_most":
        yield from (check | {"of": cell} for cell in check["cells"])
    else:
        yield check


def _require_one_level(names: list[str]) -> None:
    levels = {name: algorithms.get(name.partition("/")[0]).nist_level for name in names}
    if len(set(levels.values())) > 1:
        listed = ", ".join(f"{name} {level}" for name, level in levels.items())
        raise DataError(f"schemes of a check with one_level must have one NIST level; got {listed}")


def _quantities(check: Check) -> Iterator[str]:
    expressions = [check[side].rpartition(": ")[2] for side in ("of", "to") if side in check]
    for expression in [*expressions, *_listed(check.get("quantity", []))]:
        yield from expression.replace("*", "+").split("+")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _less(check: Check, of: Numbers) -> ComparisonResult:
    """Check that one number is below another; the result is OPEN if they are too close.

    They are ranked if they differ by more than their noise, or by APART and more than their error:
    a scheme with rejection sampling scatters widely around a well-known median, while a small
    difference of medians may be the load of a shared machine.
    """
    small, large = check["smaller"], check["larger"]
    a, b = of(small), of(large)
    standing = a.standing & b.standing
    first, second, quantity = of.label(small), of.label(large), small.rpartition(": ")[2]
    if large.endswith(f": {quantity}"):
        second = second.removesuffix(f" {described(quantity)}")
    if of.reader.noise:
        raise Undecided(f"{first} {a} and {second} {b} are not ranked: {of.reader.noise}")
    # Noise alone is too strict for rejection sampling, whose samples scatter by a factor although
    # the median is known well; error alone would rank the noise of a busy machine.
    low, high = sorted((a.value, b.value))
    is_apart = high >= APART * low and high - low > a.error + b.error
    if not (is_apart or high - low > a.noise + b.noise):
        text = f"{first} {a} and {second} {b} are too close to rank"
        return ComparisonResult(OPEN, text, standing=standing)
    if a.value > b.value:
        return ComparisonResult(FAILS, f"{first} {a} is not below {second} {b}", standing=standing)
    by = check.get("by", 1)
    margin = high / low / by if low else math.inf
    text = f"{first} {a} < {second} {b}"
    if by > 1:
        text += f", {margin * by:.3g} times; 'by far' is read as {by} times or more, our choice"
    return ComparisonResult(HOLDS if margin >= 1 else FAILS, text, margin, standing)


def _ratio(check: Check, of: Numbers) -> ComparisonResult:
    ratio, text = _divided(check, of)
    text += ", stated "
    if "about" not in check:
        bound = check["at_least"]
        return _bounded(ratio, bound, math.inf, f"{text}at least {bound}")
    # The digits of "about 373" are the precision that the text claims.
    about, text = check["about"], f"{text}about {check['about']}"
    if of.reader.source in (Kind.PUBLISHED, Kind.REGISTRY):
        unit = float(Decimal(1).scaleb(int(Decimal(str(about)).as_tuple().exponent)))
        agrees = abs(ratio.value - about) <= unit + ratio.error
        return ComparisonResult(HOLDS if agrees else FAILS, text, standing=ratio.standing)
    text += f", read as within a factor of {ABOUT:g}, our choice"
    return _bounded(ratio, about / ABOUT, about * ABOUT, text)


def _similar(check: Check, of: Numbers) -> ComparisonResult:
    ratio, text = _divided(check, of)
    text += f"; 'similar' is read as within a factor of {SIMILAR:g}, our choice"
    return _bounded(ratio, 1 / SIMILAR, SIMILAR, text)


def _divided(check: Check, of: Numbers) -> tuple[Number, str]:
    upper, lower = of(check["of"]), of(check["to"])
    if of.reader.noise:
        raise Undecided(f"no ratio: {of.reader.noise}")
    ratio = upper / lower
    names = f"{of.label(check['of'])} {upper} over {of.label(check['to'])} {lower}"
    return ratio, f"{names} is {ratio.value:.4g}"


def _bounded(ratio: Number, low: float, high: float, text: str) -> ComparisonResult:
    # A ratio within its error of a bound could fall on either side in the next run.
    if any(abs(ratio.value - bound) < ratio.error for bound in (low, high)):
        return ComparisonResult(OPEN, f"{text}: too close to the bound", standing=ratio.standing)
    outcome = HOLDS if low <= ratio.value <= high else FAILS
    return ComparisonResult(outcome, text, standing=ratio.standing)


def _value(check: Check, of: Numbers) -> ComparisonResult:
    number, stated = of(check["of"]), check["is"]
    outcome = HOLDS if number.value == stated else FAILS
    text = f"{of.label(check['of'])} {number}, stated {stated}"
    return ComparisonResult(outcome, text, standing=number.standing)


def _at_most(check: Check, of: Numbers) -> ComparisonResult:
    number, limit = of(check["of"]), check["limit"]
    text = f"{of.label(check['of'])} {number}, limit {Number(limit, unit=number.unit)}"
    text += ", a limit of our choice" * bool(check.get("ours"))
    if number.value <= limit:
        return ComparisonResult(HOLDS, text, limit / number.value, number.standing)
    return ComparisonResult(FAILS, text, standing=number.standing)


def _recomputed(value: float, slack: float, printed: Number, text: str) -> ComparisonResult:
    """Compare a recomputed number with the printed one; `slack` is its parts' rounding error."""
    # 1e-9: decimal roundings are not exact in binary.
    allowed = (slack + printed.noise) * (1 + 1e-9)
    outcome = HOLDS if abs(value - printed.value) <= allowed else FAILS
    return ComparisonResult(outcome, text, standing=printed.standing)


def _quotient(check: Check, of: Numbers) -> ComparisonResult:
    quotient, printed = of(check["of"]) / of(check["to"]), of(check["printed"])
    times = check.get("times", 1)
    value = quotient.value * times
    text = f"{of.label(check['of'])} over {of.label(check['to'])} gives {value:.6g}"
    text += f", printed {printed.value:g}"
    return _recomputed(value, quotient.noise * times, printed, text)


def _sum(check: Check, of: Numbers) -> ComparisonResult:
    parts, total = reduce(add, map(of, check["cells"])), of(check["total"])
    text = f"{of.label(check['total'])} {total.value:g}, the parts give {parts.value:.6g}"
    return _recomputed(parts.value, parts.noise, total, text)


def _open(check: Check, of: Numbers) -> ComparisonResult:
    return ComparisonResult(OPEN, str(check["reason"]))


# The function and the fields of each kind of check.
KINDS: dict[str, tuple[Callable[[Check, Numbers], ComparisonResult], str]] = {
    "less": (_less, "smaller larger quantity larger_quantity by one_level n"),
    "falling": (_less, "names quantity n"),
    "ratio": (_ratio, "of to about at_least n"),
    "similar": (_similar, "of to n"),
    "value": (_value, "of is"),
    "at_most": (_at_most, "cells limit ours"),
    "quotient": (_quotient, "of to times printed"),
    "sum": (_sum, "cells total"),
    "open": (_open, "reason"),
}
