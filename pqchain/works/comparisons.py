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

Bounds that no source gives are ours: they refute nothing, and the evidence gives the value from
which the statement holds. Milliseconds are never compared across machines: with our numbers only
ranks and ratios are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import reduce
from itertools import pairwise, product
from operator import add, and_

from pqchain import algorithms
from pqchain.errors import DataError
from pqchain.figures import Kind
from pqchain.works.paper import Check
from pqchain.works.readers import FACTS, Number, NumberReader, Undecided, described, step
from pqchain.works.verdicts import (
    DECISIVE,
    FAILS,
    HOLDING,
    OPEN,
    SAME_SETTING,
    Standing,
    Verdict,
    outcome,
)

APART = 1.5
"""Medians that scatter are ranked if they differ by this factor and by more than their error."""

SIMILAR = 1.5

ABOUT = 1.25
"""The factor that "about N" allows for a ratio of times on another machine. Printed numbers and
sizes must give N if they are rounded to its last digit, or cut off there, as texts also do."""

# Figures in the evidence of a verdict.
_FIGURES = 3

# Kinds of check that apply to the print alone.
_OF_THE_PRINT = {"at_most", "quotient", "sum", "value", "open"}


def _verdict(
    of: NumberReader,
    holds: bool | None,
    evidence: str,
    standing: Standing = SAME_SETTING,
    margin: float = math.inf,
    *,
    ours: bool = False,
) -> Verdict:
    """Return a verdict by numbers of a reader; a bound that is `ours` cannot refute a statement."""
    return Verdict(outcome(holds, ours=ours), evidence, of.source, standing, margin)


def bound_text(
    bound: float, value: float, *, holds: bool, unit: str = "", least: bool = False
) -> str:
    """Return our bound and the value up to which (`least`) or from which the statement holds."""
    context = Context(prec=3, rounding=ROUND_FLOOR if least else ROUND_CEILING)
    turns = Number(float(context.create_decimal(repr(float(value)))), unit=unit)
    fails = "" if holds else f"does not hold at {Number(bound, unit=unit)}, "
    return f"our choice: {fails}holds {'up to' if least else 'from'} {turns}"


def decide(checks: Iterable[Check], reader: NumberReader, implementation: str = "") -> Verdict:
    """Judge a statement's checks with the numbers of one reader; one failed part decides."""
    of = replace(reader, implementation=implementation)
    results = [result for check in checks for result in _verdicts(check, of)]
    first = min((result.word for result in results), key=DECISIVE.index)
    # Every part confirms a statement; otherwise only the parts with the deciding verdict matter.
    deciding = [result for result in results if first in HOLDING or result.word == first]
    # The closest comparison first: it is the one that a reader will doubt.
    deciding.sort(key=lambda result: (result.outcome != FAILS, result.margin))
    texts = list(dict.fromkeys(result.evidence for result in deciding))
    more = f"; and {len(texts) - _FIGURES} more" if len(texts) > _FIGURES else ""
    standing = reduce(and_, (result.standing for result in deciding))
    return replace(deciding[0], evidence="; ".join(texts[:_FIGURES]) + more, standing=standing)


def deciding(checks: list[Check], readers: Iterable[NumberReader]) -> list[NumberReader]:
    """Return the readers, except that of the printed numbers, that can decide a statement.

    A model has precedence over measurements, and each model decides alone; measured numbers may
    come from several readers.
    """
    kinds = {check["kind"] for check in checks}
    used = {quantity for check in checks for quantity in _quantities(check)}
    readers = [reader for reader in readers if reader.decides]
    measured = [reader for reader in readers if reader.source == Kind.MEASURED]
    others = [
        reader
        for reader in readers
        if reader.source != Kind.MEASURED and all(map(reader.reads, used))
    ]
    # Sizes and levels are facts of the implementations, which no measurement can improve.
    if kinds == {"value"} or (kinds and not kinds & _OF_THE_PRINT and used <= set(FACTS)):
        return [reader for reader in others if reader.source == Kind.REGISTRY]
    # Absolute bounds and recomputed columns are about the print itself.
    if not kinds or kinds & _OF_THE_PRINT:
        return []
    models = [reader for reader in others if reader.source != Kind.REGISTRY]
    return models or [_first_of(measured)]


def _first_of(readers: list[NumberReader]) -> NumberReader:
    def read(name: str, quantity: str, implementation: str) -> Number:
        # A check may combine quantities of several readers; the first that has one supplies it.
        chosen = next(reader for reader in readers if reader.reads(quantity))
        return replace(chosen, implementation=implementation).number(name, quantity)

    noise = next((reader.noise for reader in readers if reader.noise), "")
    return NumberReader(readers[0].source, read, noise=noise)


def _verdicts(check: Check, of: NumberReader) -> Iterator[Verdict]:
    """Yield the verdict on each part of a check; it is OPEN if a number is missing."""
    kind = check.get("kind")
    if kind not in KINDS:
        raise DataError(f"kind of a check must be one of {sorted(KINDS)}; got {kind!r}")
    compare, fields = KINDS[kind]
    # Optional fields have defaults, so a misspelt one would silently weaken the check.
    if unknown := sorted(set(check) - {"kind", *fields.split()}):
        raise DataError(f"fields of a check {kind!r} must be {fields}; got {unknown}")
    # A reader may have fewer values of n than the print, and a fall needs two.
    if "n" in check and of.steps is not None:
        check = check | {"n": [n for n in check["n"] if n in of.steps]}
    if check.get("n") == [] or (kind == "falling" and len(check["n"]) < 2):
        yield Verdict(OPEN, "too few sizes were run", of.source)
        return
    for part in _parts(check):
        try:
            yield compare(part, of)
        except Undecided as reason:
            yield Verdict(OPEN, str(reason), of.source)


def _parts(check: Check) -> Iterator[Check]:
    """Yield the comparisons of which a check consists, each with full names of its numbers."""
    if check["kind"] == "falling":
        for name in check["names"]:
            cells = [f"{name}{step(n)}: {check['quantity']}" for n in check["n"]]
            for before, after in pairwise(cells):
                yield {"smaller": after, "larger": before}
    elif check["kind"] == "less":
        if check.get("one_level"):
            _require_one_level([*check["smaller"], *check["larger"]])
        for suffix, quantity in product(_suffixes(check), _listed(check["quantity"])):
            other = check.get("larger_quantity", quantity)
            for small, large in product(check["smaller"], check["larger"]):
                sides = {"smaller": f"{small}{suffix}: {quantity}"}
                yield check | sides | {"larger": f"{large}{suffix}: {other}"}
    elif check["kind"] in ("ratio", "similar"):
        for suffix in _suffixes(check):
            sides = {side: check[side].replace(": ", f"{suffix}: ") for side in ("of", "to")}
            yield check | sides
    elif check["kind"] == "at_most":
        yield from (check | {"of": cell} for cell in check["cells"])
    else:
        yield check


def _suffixes(check: Check) -> Iterable[str]:
    return map(step, check["n"]) if "n" in check else [""]


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


def _less(check: Check, of: NumberReader) -> Verdict:
    """Check that one number is below another; nothing is decided if they are too close.

    They are ranked if they differ by more than their noise, or by APART and more than their error:
    a scheme with rejection sampling scatters widely around a well-known median, while a small
    difference of medians may be the load of a shared machine.
    """
    small, large = check["smaller"], check["larger"]
    a, b = of(small), of(large)
    standing = a.standing & b.standing
    first, second, quantity = described(small), described(large), small.rpartition(": ")[2]
    if large.endswith(f": {quantity}"):
        second = second.removesuffix(f" {described(quantity)}")
    if of.noise:
        raise Undecided(f"{first} {a} and {second} {b} are not ranked: {of.noise}")
    # Noise alone is too strict for rejection sampling, whose samples scatter by a factor although
    # the median is known well; error alone would rank the noise of a busy machine.
    low, high = sorted((a.value, b.value))
    is_apart = high >= APART * low and high - low > a.error + b.error
    if not (is_apart or high - low > a.noise + b.noise):
        return _verdict(of, None, f"{first} {a} and {second} {b} are too close to rank", standing)
    if a.value > b.value:
        return _verdict(of, False, f"{first} {a} is not below {second} {b}", standing)
    by = check.get("by", 1)
    times = high / low if low else math.inf
    text = f"{first} {a} < {second} {b}"
    if by > 1:
        text += f"; 'by far' is read as {by} times or more, "
        text += bound_text(by, times, holds=times >= by, least=True)
    return _verdict(of, times >= by, text, standing, times / by, ours=True)


def _ratio(check: Check, of: NumberReader) -> Verdict:
    upper, lower = of(check["of"]), of(check["to"])
    if of.noise:
        raise Undecided(f"no ratio: {of.noise}")
    ratio = upper / lower
    text = f"{described(check['of'])} {upper} over {described(check['to'])} {lower}"
    text += " is " + " to ".join(f"{end:.4g}" for end in ratio.ends)
    if "at_least" in check:
        stated, text = check["at_least"], f"{text}, stated at least {check['at_least']}"
        # A ratio within its error of a bound could fall on either side in the next run.
        is_close = abs(ratio.value - stated) < ratio.error
        holds = None if is_close else ratio.value >= stated
        return _verdict(of, holds, text + ": too close to the bound" * is_close, ratio.standing)
    about, most = check.get("about", 1), ABOUT if "about" in check else SIMILAR
    if "about" not in check:
        text += f"; 'similar' is read as within a factor of {most:g}, "
    elif of.source in (Kind.PUBLISHED, Kind.REGISTRY):
        # The digits of "about 373" are the precision that the text claims: half a unit of the last
        # one, or the rest of the unit if the text cuts off.
        unit = float(Decimal(1).scaleb(int(Decimal(str(about)).as_tuple().exponent)))
        excess = ratio.value - about
        is_cut = unit / 2 < excess - ratio.error < unit
        text += f", stated about {about}" + ", cut off and not rounded" * is_cut
        # 1e-9: decimal roundings are not exact in binary.
        agrees = is_cut or abs(excess) <= (unit / 2 + ratio.error) * (1 + 1e-9)
        return _verdict(of, agrees, text, ratio.standing)
    else:
        text += f", stated about {about}, read as within a factor of {most:g}, "
    factor = max(ratio.value / about, about / ratio.value)
    text += bound_text(most, factor, holds=factor <= most)
    # Also if the error is unknown (NaN).
    ends = (about / most, about * most)
    is_close = not all(abs(ratio.value - end) >= ratio.error for end in ends)
    holds = None if is_close else factor <= most
    text += "; too close to the bound" * is_close
    return _verdict(of, holds, text, ratio.standing, most / factor, ours=True)


def _stated(check: Check, of: NumberReader) -> Verdict:
    """Compare a number with the one that a statement names: `is`, or `limit`."""
    number = of(check["of"])
    text = f"{described(check['of'])} {number}, "
    if "is" in check:
        text += f"stated {check['is']}"
        return _verdict(of, number.value == check["is"], text, number.standing)
    limit, ours = check["limit"], bool(check.get("ours"))
    holds = number.value <= limit
    text += f"limit {Number(limit, unit=number.unit)}"
    text += f", {bound_text(limit, number.value, holds=holds, unit=number.unit)}" if ours else ""
    margin = limit / number.value if number.value else math.inf
    return _verdict(of, holds, text, number.standing, margin, ours=ours)


def _recomputed(check: Check, of: NumberReader) -> Verdict:
    """Compare a printed number with a quotient or a sum, within the rounding of all parts."""
    if "cells" in check:
        number, printed = reduce(add, map(of, check["cells"])), of(check["total"])
        text = f"{described(check['total'])} {printed.value:g}, the parts give {number.value:.6g}"
    else:
        number, printed = of(check["of"]) / of(check["to"]), of(check["printed"])
        times = check.get("times", 1)
        number = Number(number.value * times, number.noise * times)
        text = f"{described(check['of'])} over {described(check['to'])} gives {number.value:.6g}"
        text += f", printed {printed.value:g}"
    # 1e-9: decimal roundings are not exact in binary.
    allowed = (number.noise + printed.noise) * (1 + 1e-9)
    return _verdict(of, abs(number.value - printed.value) <= allowed, text, printed.standing)


def _open(check: Check, of: NumberReader) -> Verdict:
    return _verdict(of, None, str(check["reason"]))


# The function and the fields of each kind of check.
KINDS: dict[str, tuple[Callable[[Check, NumberReader], Verdict], str]] = {
    "less": (_less, "smaller larger quantity larger_quantity by one_level n"),
    "falling": (_less, "names quantity n"),
    "ratio": (_ratio, "of to about at_least n"),
    "similar": (_ratio, "of to n"),
    "value": (_stated, "of is"),
    "at_most": (_stated, "cells limit ours"),
    "quotient": (_recomputed, "of to times printed"),
    "sum": (_recomputed, "cells total"),
    "open": (_open, "reason"),
}
