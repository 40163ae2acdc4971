"""The comparisons that decide a statement, as `claims.toml` names them.

A number is written "<name>: <quantity>", and a quantity may be a sum or product of quantities.
Kinds of check:

less       every name in `smaller` is below every name in `larger`, per quantity; with `by`, at
           least so many times ("by far"); with `one_level`, all are of one NIST level
falling    each of `names` falls as n grows
ratio      `of` over `to` is `about` a number or `at_least` a number
similar    `of` and `to` are within the factor SIMILAR of each other
value      `of` is exactly `is`
at_most    no cell exceeds `limit`, an absolute bound that only the paper's machine can be held to;
           `ours` if no source gives the bound
quotient   `of` over `to`, times `times`, gives the `printed` number within the print's rounding
sum        `cells` add up to `total` within the print's rounding
open       nothing here can decide it, for the `reason`
computed   what the work computes decides it: `Work.judge`

Bounds that no source gives are ours, and the evidence says so. Milliseconds are never compared
across machines: on our numbers only ranks and ratios are checked.
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
from pqchain.works.readers import FACTS, Number, Numbers, Reader, Undecided, spoken, step
from pqchain.works.statements import Check
from pqchain.works.verdicts import FAILS, HOLDS, ITS_OWN, OPEN, Standing, Verdict, decisive

APART = 1.5
"""Medians that scatter have a rank if they differ by this factor, and by more than their error."""

SIMILAR = 1.5
"""What "similar" allows."""

ABOUT = 1.25
"""What "about N" allows to a ratio of times on another machine. Of the print and of sizes it allows
one unit of N's last digit: the texts round freely and cut."""

_SHOWN = 3
_OF_THE_PRINT = {"at_most", "quotient", "sum", "value", "open"}
"""Kinds of check that are about the print alone."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one comparison."""

    outcome: str
    evidence: str
    margin: float = math.inf
    """Of one that holds: how far it is from not holding, as a factor."""
    standing: Standing = ITS_OWN

    @property
    def word(self) -> str:
        """The verdict that it comes to."""
        return self.standing.word(self.outcome)


def decide(checks: Iterable[Check], reader: Reader, implementation: str = "") -> Verdict:
    """Check a statement on the numbers of one reader; a single part that fails decides it."""
    found = [each for check in checks for each in _findings(check, reader, implementation)]
    first = min((finding.word for finding in found), key=decisive)
    deciding = [finding for finding in found if finding.word == first]
    deciding.sort(key=lambda finding: (finding.outcome != FAILS, finding.margin))
    texts = list(dict.fromkeys(finding.evidence for finding in deciding))
    more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    standing = reduce(and_, (finding.standing for finding in deciding))
    evidence = "; ".join(texts[:_SHOWN]) + more
    return Verdict(deciding[0].outcome, evidence, reader.source, standing)


def deciding(checks: list[Check], readers: Iterable[Reader]) -> list[Reader]:
    """Return the readers, beside the print, that a statement can be checked on.

    A reader of a model goes before the stopwatch, and each decides alone; what is measured may
    come from several readers.
    """
    readers = [reader for reader in readers if reader.decides]
    kinds = {check["kind"] for check in checks}
    used = {quantity for check in checks for quantity in _quantities(check)}
    if kinds == {"value"} or (kinds and not kinds & _OF_THE_PRINT and used <= set(FACTS)):
        return [
            reader
            for reader in readers
            if reader.source == "registry" and all(map(reader.reads, used))
        ]
    if not kinds or kinds & _OF_THE_PRINT:
        return []
    clocked = [reader for reader in readers if reader.source == "measured"]
    models = [
        reader
        for reader in readers
        if reader.source not in ("measured", "registry") and all(map(reader.reads, used))
    ]
    return models or [_first_of(clocked)]


def _first_of(readers: list[Reader]) -> Reader:
    def read(name: str, quantity: str, implementation: str) -> Number:
        chosen = next(reader for reader in readers if reader.reads(quantity))
        return chosen.number(name, quantity, implementation)

    return Reader(readers[0].source, read)


def _findings(check: Check, reader: Reader, implementation: str) -> Iterator[Finding]:
    """Compare the parts of a check, over its steps; a number that is not there leaves one open.

    Raises DataError for an unknown kind.
    """
    kind = check.get("kind")
    if kind not in KINDS:
        raise DataError(f"unknown kind of check {kind!r}; expected one of {sorted(KINDS)}")
    check = _within(check, reader)
    if check.get("n") == [] or (kind == "falling" and len(check["n"]) < 2):
        yield Finding(OPEN, "too few sizes were run")
        return
    steps = map(step, check["n"]) if "n" in check and kind != "falling" else [""]
    for at in steps:
        for part in _parts(check):
            try:
                yield KINDS[kind](part, Numbers(reader, implementation, at))
            except Undecided as reason:
                yield Finding(OPEN, str(reason))


def _within(check: Check, reader: Reader) -> Check:
    """Return a check of those n alone that a reader has."""
    if "n" not in check or reader.steps is None:
        return check
    return check | {"n": [n for n in check["n"] if n in reader.steps]}


def _parts(check: Check) -> Iterator[Check]:
    """Take a check apart into those of single numbers."""
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
        raise DataError(f"a check says that its schemes are of one NIST level; they are: {listed}")


def _quantities(check: Check) -> Iterator[str]:
    """Yield the quantities of a check, sums and products taken apart."""
    named = [check[side].rpartition(": ")[2] for side in ("of", "to") if side in check]
    for expression in [*named, *_listed(check.get("quantity", []))]:
        yield from expression.replace("*", "+").split("+")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _less(check: Check, of: Numbers) -> Finding:
    """Rank two numbers, or leave it open.

    They have a rank if they differ by more than their noise, or by APART and more than their
    error: a scheme that rejects and repeats scatters widely around a well-known median, while
    a small difference of medians may be the load of a shared machine.
    """
    small, large = check["smaller"], check["larger"]
    a, b = of(small), of(large)
    standing = a.standing & b.standing
    first, second, quantity = of.label(small), of.label(large), small.rpartition(": ")[2]
    if large.endswith(f": {quantity}"):
        second = second.removesuffix(f" {spoken(quantity)}")
    low, high = sorted((a.value, b.value))
    far = high >= APART * low and high - low > a.error + b.error
    if not (far or high - low > a.noise + b.noise):
        text = f"{first} {a} and {second} {b} are too close to rank"
        return Finding(OPEN, text, standing=standing)
    if a.value > b.value:
        return Finding(FAILS, f"{first} {a} is not below {second} {b}", standing=standing)
    by = check.get("by", 1)
    margin = high / low / by if low else math.inf
    text = f"{first} {a} < {second} {b}"
    if by > 1:
        text += f", {margin * by:.3g} times; 'by far' is read as {by} times or more, our choice"
    return Finding(HOLDS if margin >= 1 else FAILS, text, margin, standing)


def _ratio(check: Check, of: Numbers) -> Finding:
    ratio, text = _divided(check, of)
    text += ", stated "
    if "about" not in check:
        bound = check["at_least"]
        return _bounded(ratio, bound, math.inf, f"{text}at least {bound}")
    about, text = check["about"], f"{text}about {check['about']}"
    if of.reader.source in ("published", "registry"):
        unit = float(Decimal(1).scaleb(int(Decimal(str(about)).as_tuple().exponent)))
        agrees = abs(ratio.value - about) <= unit + ratio.error
        return Finding(HOLDS if agrees else FAILS, text, standing=ratio.standing)
    text += f", read as within a factor of {ABOUT:g}, our choice"
    return _bounded(ratio, about / ABOUT, about * ABOUT, text)


def _similar(check: Check, of: Numbers) -> Finding:
    ratio, text = _divided(check, of)
    text += f"; 'similar' is read as within a factor of {SIMILAR:g}, our choice"
    return _bounded(ratio, 1 / SIMILAR, SIMILAR, text)


def _divided(check: Check, of: Numbers) -> tuple[Number, str]:
    """Return `of` over `to`, and the quotient in words."""
    upper, lower = of(check["of"]), of(check["to"])
    ratio = upper / lower
    names = f"{of.label(check['of'])} {upper} over {of.label(check['to'])} {lower}"
    return ratio, f"{names} is {ratio.value:.4g}"


def _bounded(ratio: Number, low: float, high: float, text: str) -> Finding:
    if any(abs(ratio.value - bound) < ratio.error for bound in (low, high)):
        return Finding(OPEN, f"{text}: too close to the bound", standing=ratio.standing)
    outcome = HOLDS if low <= ratio.value <= high else FAILS
    return Finding(outcome, text, standing=ratio.standing)


def _value(check: Check, of: Numbers) -> Finding:
    number, stated = of(check["of"]), check["is"]
    outcome = HOLDS if number.value == stated else FAILS
    text = f"{of.label(check['of'])} {number}, stated {stated}"
    return Finding(outcome, text, standing=number.standing)


def _at_most(check: Check, of: Numbers) -> Finding:
    number, limit = of(check["of"]), check["limit"]
    text = f"{of.label(check['of'])} {number}, limit {Number(limit, unit=number.unit)}"
    text += ", a limit of our choice" * bool(check.get("ours"))
    if number.value <= limit:
        return Finding(HOLDS, text, limit / number.value, number.standing)
    return Finding(FAILS, text, standing=number.standing)


def _recomputed(value: float, slack: float, printed: Number, text: str) -> Finding:
    """Judge a recomputed number; `slack` is what the rounding of its parts allows."""
    allowed = (slack + printed.noise) * (1 + 1e-9)
    outcome = HOLDS if abs(value - printed.value) <= allowed else FAILS
    return Finding(outcome, text, standing=printed.standing)


def _quotient(check: Check, of: Numbers) -> Finding:
    quotient, printed = of(check["of"]) / of(check["to"]), of(check["printed"])
    times = check.get("times", 1)
    value = quotient.value * times
    text = f"{of.label(check['of'])} over {of.label(check['to'])} gives {value:.6g}"
    text += f", printed {printed.value:g}"
    return _recomputed(value, quotient.noise * times, printed, text)


def _sum(check: Check, of: Numbers) -> Finding:
    parts, total = reduce(add, map(of, check["cells"])), of(check["total"])
    text = f"{of.label(check['total'])} {total.value:g}, the parts give {parts.value:.6g}"
    return _recomputed(parts.value, parts.noise, total, text)


def _open(check: Check, of: Numbers) -> Finding:
    return Finding(OPEN, str(check["reason"]))


KINDS: dict[str, Callable[[Check, Numbers], Finding]] = {
    "less": _less,
    "falling": _less,
    "ratio": _ratio,
    "similar": _similar,
    "value": _value,
    "at_most": _at_most,
    "quotient": _quotient,
    "sum": _sum,
    "open": _open,
}
