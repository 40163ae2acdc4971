"""What the papers say in words, checked on their own numbers, on the registry and on ours.

`data/papers/<key>/claims.toml` holds each statement with the comparisons that decide it. A number
is named "<name>: <quantity>", where the name is the registry's or the printed one, a trailing
"/<implementation>" picks an implementation, and a quantity may be a sum or product of quantities.
Kinds of check:

less       every name in `smaller` is below every name in `larger`, per quantity
falling    each of `names` falls as n grows
ratio      `of` over `to` is `about` a number, within FACTOR, or `at_least` a number
value      `of` is exactly `is`
at_most    no cell exceeds `limit`, an absolute bound that only the paper's machine can be held to
quotient   `of` over `to`, times `times`, gives the `printed` number within the print's rounding
sum        `cells` add up to `total` within the print's rounding
open       nothing here can decide it, for the `reason`

Milliseconds are never compared across machines: on our numbers only ranks and ratios are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import pairwise, product
from operator import add, mul
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench.blocks import BLOCK
from pqchain.costs import MEASUREMENT, choose
from pqchain.errors import DataError
from pqchain.render import numbers
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.pqdpol.work import CELLS

CLAIMS = Contract.of(
    "claims",
    ("str", "paper claim_id section statement verdict evidence source"),
)


HOLDS = "holds"
FAILS = "does not hold"
OPEN = "cannot be decided here"

FACTOR = 1.5
"""A ratio of "about N" holds from N / 1.5 to 1.5 N: papers round freely, and machines differ."""

MADS = 3.0
"""Medians closer than this many median absolute deviations have no rank, see `_below`."""

MEDIAN_ERROR = 1.4826 * math.sqrt(math.pi / 2)
"""Standard error of a median, in median absolute deviations over the root of the sample count.

1.4826 makes the deviation a standard deviation, sqrt(pi / 2) that of a mean into that of a median;
both for normal samples.
"""

SIZES = tuple(name for name in algorithms.Algorithm.__slots__ if name.endswith("_bytes"))
"""Quantities that the registry knows."""

MODELLED = ("latency_seconds", "throughput_per_second")
"""Quantities that a model of the consensus gives and no stopwatch."""

_OF_THE_PRINT = ("at_most", "quotient", "sum", "value", "open")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Number:
    """A value with what is uncertain about it."""

    value: float
    noise: float = 0.0
    """How far single samples commonly lie from the value, or the rounding of the print."""
    error: float = 0.0
    """How far the value may lie from the true one: three standard errors, or the rounding."""
    unit: str = ""

    def __add__(self, other: _Number) -> _Number:
        noise, error = self.noise + other.noise, self.error + other.error
        return _Number(self.value + other.value, noise, error, self.unit)

    def __mul__(self, other: _Number) -> _Number:
        noise = self.noise * other.value + other.noise * self.value
        error = self.error * other.value + other.error * self.value
        return _Number(self.value * other.value, noise, error)

    def __str__(self) -> str:
        show = {"s": numbers.seconds, "B": numbers.byte_count}
        if self.unit in show:
            return show[self.unit](self.value)
        return f"{self.value:.4g}" + {"%": " %", "1/s": " per second"}.get(self.unit, "")


@dataclass(frozen=True, slots=True)
class _Finding:
    """The outcome of one comparison."""

    verdict: str
    text: str
    margin: float = math.inf
    """Of one that holds: how far it is from not holding, as a factor."""


class _Undecided(Exception):
    """A number that a check needs is not there; the message says why."""


_Read = Callable[[str, str, str], _Number]
"""Name, quantity and implementation to a number. Raises _Undecided."""


def claims(
    key: str,
    measurements: pd.DataFrame | None = None,
    blocks: pd.DataFrame | None = None,
    modelled: Iterable[pd.DataFrame] = (),
) -> pd.DataFrame:
    """Check every statement of a paper; one row per statement and source of numbers.

    Columns: paper, claim_id, section, statement, verdict ("holds", "does not hold", "cannot be
    decided here"), evidence (the figures or the reason), source: "published" for the paper's own
    numbers, "sizes" for the registry, "measured" for `measurements`, a measurement frame, and for
    `blocks`, a block frame, of which one thread counts; "modelled" for each of `modelled`, frames
    of `pqchain.works.pqdpol.work.tables`, which decide what no measurement can. Raises
    UnknownPaper, and DataError for a frame or file that breaks its contract.
    """
    readers = {
        "published": _published(key),
        "sizes": _registry,
        "measured": _measured(measurements, blocks),
    }
    models = [results.check(frame, CELLS) for frame in modelled]
    rows = []
    for claim in papers.document(key, "claims.toml")["claims"]:
        about = (key, claim["id"], claim["section"], claim["statement"])
        for source in _sources(claim["checks"]):
            if source == "measured" and models and _of_the_model(claim["checks"]):
                for frame in models:
                    verdict, evidence = _decide(key, claim, _from_model(key, frame))
                    evidence = f"costs: {frame['costs'].iloc[0]}; {evidence}"
                    rows.append((*about, verdict, evidence, "modelled"))
                continue
            verdict, evidence = _decide(key, claim, readers[source])
            rows.append((*about, verdict, evidence, source))
    return CLAIMS.frame(rows)


def _sources(checks: list[dict[str, Any]]) -> tuple[str, ...]:
    """Say on which numbers a claim can be checked at all."""
    kinds = {check["kind"] for check in checks}
    if kinds == {"value"}:
        return ("published", "sizes")
    if kinds & set(_OF_THE_PRINT):
        return ("published",)
    used = {part for check in checks for part in _quantities(check)}
    return ("published", "sizes" if used <= set(SIZES) else "measured")


def _of_the_model(checks: list[dict[str, Any]]) -> bool:
    """Whether a model of the consensus has every quantity of a claim."""
    return {part for check in checks for part in _quantities(check)} <= set(MODELLED)


def _quantities(check: dict[str, Any]) -> Iterator[str]:
    """Yield the quantities of a check, sums and products taken apart."""
    named = [check[side].rpartition(": ")[2] for side in ("of", "to") if side in check]
    for expression in [*named, *_listed(check.get("quantity", []))]:
        yield from expression.replace("*", "+").split("+")


def _listed(value: str | list[str]) -> list[str]:
    """Return a list of one if it is not a list."""
    return [value] if isinstance(value, str) else value


def _decide(key: str, claim: dict[str, Any], read: _Read) -> tuple[str, str]:
    """Return verdict and evidence of one claim on one source of numbers."""
    findings: list[_Finding] = []
    for check in claim["checks"]:
        kind = check.get("kind")
        if kind not in _KINDS:
            raise DataError(
                f"claim {claim['id']!r} of {key}: unknown kind of check {kind!r}; "
                f"expected one of {sorted(_KINDS)}"
            )
        steps = [""] if kind == "falling" or "n" not in check else [_step(n) for n in check["n"]]
        for step in steps:
            asked = _Asked(check, claim.get("implementation", ""), step, read)
            for compare in _KINDS[kind](asked):
                findings.append(_tried(compare))
    failed = [finding for finding in findings if finding.verdict == FAILS]
    undecided = [finding for finding in findings if finding.verdict == OPEN]
    decisive = failed or undecided or sorted(findings, key=lambda finding: finding.margin)
    texts = list(dict.fromkeys(finding.text for finding in decisive))
    more = len(texts) - _SHOWN
    tail = f"; and {more} more" if more > 0 else ""
    return decisive[0].verdict, "; ".join(texts[:_SHOWN]) + tail


def _tried(compare: Callable[[], _Finding]) -> _Finding:
    """Run a comparison; a number that is not there leaves it open."""
    try:
        return compare()
    except _Undecided as reason:
        return _Finding(OPEN, str(reason))


def _step(n: int) -> str:
    """Return the end of a printed name in a table that goes across n."""
    return f", n = {n}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One check with the numbers it is to be made on."""

    check: dict[str, Any]
    implementation: str
    step: str
    read: _Read

    def number(self, name: str, step: str, quantity: str) -> _Number:
        """Return one number; in a quantity of several, sums bind weaker than products."""
        terms = [
            reduce(mul, [self.read(name + step, part, self.implementation) for part in term])
            for term in (term.split("*") for term in quantity.split("+"))
        ]
        return reduce(add, terms)

    def cell(self, text: str) -> _Number:
        """Return the number of "<name>: <quantity>"."""
        name, _, quantity = text.rpartition(": ")
        return self.number(name, self.step, quantity)

    def below(self, small: tuple[str, str, str], large: tuple[str, str, str]) -> _Finding:
        """Compare two numbers, each given by name, step and quantity."""
        first = f"{small[0]}{small[1]} {_spoken(small[2])}"
        second = f"{large[0]}{large[1]}"
        if large[2] != small[2]:
            second = f"{second} {_spoken(large[2])}"
        return _below(first, self.number(*small), second, self.number(*large))


def _spoken(quantity: str) -> str:
    """Turn a quantity into words; its number carries the unit."""
    for ending in ("_seconds", "_bytes", "_percent", "_per_second", "_megabytes"):
        quantity = quantity.replace(ending, "")
    return quantity.replace("+", " + ").replace("*", " x ").replace("_", " ")


def _label(cell: str, step: str = "") -> str:
    """Turn "<name>: <quantity>" into words."""
    name, _, quantity = cell.rpartition(": ")
    return f"{name}{step} {_spoken(quantity)}"


_Comparisons = Iterator[Callable[[], _Finding]]


def _below(first: str, a: _Number, second: str, b: _Number) -> _Finding:
    """Rank two numbers, or leave it open.

    They have a rank if they differ by more than their noise, or by FACTOR and more than their
    error: a scheme that rejects and repeats scatters widely around a well-known median, while a
    small difference of medians may be the load of a shared machine.
    """
    small, large = sorted((a.value, b.value))
    far = large >= FACTOR * small and large - small > a.error + b.error
    if not (far or large - small > a.noise + b.noise):
        return _Finding(OPEN, f"{first} {a} and {second} {b} are too close to rank")
    if a.value < b.value:
        return _Finding(HOLDS, f"{first} {a} < {second} {b}", large / small if small else math.inf)
    return _Finding(FAILS, f"{first} {a} is not below {second} {b}")


def _less(asked: _Asked) -> _Comparisons:
    check, step = asked.check, asked.step
    for quantity in _listed(check["quantity"]):
        other = check.get("larger_quantity", quantity)
        for small, large in product(check["smaller"], check["larger"]):
            yield partial(asked.below, (small, step, quantity), (large, step, other))


def _falling(asked: _Asked) -> _Comparisons:
    quantity = asked.check["quantity"]
    for name in asked.check["names"]:
        for before, after in pairwise(_step(n) for n in asked.check["n"]):
            yield partial(asked.below, (name, after, quantity), (name, before, quantity))


def _ratio(asked: _Asked) -> _Comparisons:
    check = asked.check
    if "about" in check:
        stated = f"about {check['about']}"
        bounds = check["about"] / FACTOR, check["about"] * FACTOR
    else:
        stated = f"at least {check['at_least']}"
        bounds = check["at_least"], math.inf

    def compare() -> _Finding:
        of, to = asked.cell(check["of"]), asked.cell(check["to"])
        ratio = of.value / to.value
        slack = ratio * (of.error / of.value + to.error / to.value)
        text = (
            f"{_label(check['of'], asked.step)} {of} over {_label(check['to'], asked.step)} {to} "
            f"is {ratio:.4g}, stated {stated}"
        )
        if any(abs(ratio - bound) < slack for bound in bounds):
            return _Finding(OPEN, f"{text}: too close to the bound")
        return _Finding(HOLDS if bounds[0] <= ratio <= bounds[1] else FAILS, text)

    yield compare


def _value(asked: _Asked) -> _Comparisons:
    def compare() -> _Finding:
        number, stated = asked.cell(asked.check["of"]), asked.check["is"]
        verdict = HOLDS if number.value == stated else FAILS
        return _Finding(verdict, f"{_label(asked.check['of'])} {number}, stated {stated}")

    yield compare


def _at_most(asked: _Asked) -> _Comparisons:
    limit = asked.check["limit"]
    for text in asked.check["cells"]:

        def compare(text: str = text) -> _Finding:
            number = asked.cell(text)
            found = f"{_label(text)} {number}, limit {_Number(limit, unit=number.unit)}"
            if number.value <= limit:
                return _Finding(HOLDS, found, limit / number.value)
            return _Finding(FAILS, found)

        yield compare


def _quotient(asked: _Asked) -> _Comparisons:
    check = asked.check

    def compare() -> _Finding:
        of, to, printed = (asked.cell(check[side]) for side in ("of", "to", "printed"))
        times = check.get("times", 1)
        value = of.value / to.value * times
        slack = value * (of.noise / of.value + to.noise / to.value) + printed.noise
        verdict = HOLDS if abs(value - printed.value) <= slack * (1 + 1e-9) else FAILS
        text = f"{_label(check['of'])} over {_label(check['to'])} gives {value:.6g}"
        return _Finding(verdict, f"{text}, printed {printed.value:g}")

    yield compare


def _sum(asked: _Asked) -> _Comparisons:
    def compare() -> _Finding:
        parts = [asked.cell(text) for text in asked.check["cells"]]
        total = asked.cell(asked.check["total"])
        value = sum(number.value for number in parts)
        slack = sum(number.noise for number in parts) + total.noise
        verdict = HOLDS if abs(value - total.value) <= slack * (1 + 1e-9) else FAILS
        text = f"{_label(asked.check['total'])} {total.value:g}, the parts give {value:.6g}"
        return _Finding(verdict, text)

    yield compare


def _open(asked: _Asked) -> _Comparisons:
    yield lambda: _Finding(OPEN, str(asked.check["reason"]))


_KINDS: dict[str, Callable[[_Asked], _Comparisons]] = {
    "less": _less,
    "falling": _falling,
    "ratio": _ratio,
    "value": _value,
    "at_most": _at_most,
    "quotient": _quotient,
    "sum": _sum,
    "open": _open,
}


def _split(name: str, implementation: str) -> tuple[str, str]:
    """Take a trailing "/<implementation>" off a name."""
    base, slash, own = name.rpartition("/")
    return (base, own) if slash else (name, implementation)


def _published(key: str) -> _Read:
    """Read the paper's own numbers; their noise is the rounding of the print."""
    found: dict[tuple[str, str, str], _Number] = {}
    for cell in papers.cells(key):
        value, noise = float(cell.value), float(cell.rounding)
        number = _Number(value, noise, noise, cell.unit)
        for name in (cell.printed_name, cell.algorithm):
            found.setdefault((name, cell.quantity, cell.implementation), number)
            found.setdefault((name, cell.quantity, ""), number)

    def read(name: str, quantity: str, implementation: str) -> _Number:
        for asked, variant in ((name, implementation), _split(name, implementation)):
            for known in (variant, "") if quantity in SIZES else (variant,):
                if (asked, quantity, known) in found:
                    return found[asked, quantity, known]
        raise _Undecided(f"the paper prints no {quantity} of {name}")

    return read


def _registry(name: str, quantity: str, implementation: str) -> _Number:
    """Read a size from the registry."""
    size = getattr(algorithms.get(name), quantity)
    return _Number(size, unit="B")


def _from_model(key: str, frame: pd.DataFrame) -> _Read:
    """Read what a model gives; it computes, so nothing is uncertain but the model."""
    printed = {name: printed for printed, name in papers.paper(key).names.items()}
    units = dict(zip(MODELLED, ("s", "1/s"), strict=True))
    found = {
        (printed[row["algorithm"]] + _step(row["n"]), quantity): row[quantity]
        for row in frame.to_dict("records")
        for quantity in MODELLED
    }

    def read(name: str, quantity: str, implementation: str) -> _Number:
        if (name, quantity) not in found:
            raise _Undecided(f"no model of the {_spoken(quantity)} of {name} is given")
        return _Number(float(found[name, quantity]), unit=units[quantity])

    return read


_IN_A_BLOCK = {
    "wallet_generate_keypair_seconds": ("wallet", "wallets", False),
    "transaction_sign_seconds": ("sign", "transactions", False),
    "block_verify_seconds": ("verify", "rounds", False),
    "transaction_verify_seconds": ("verify", "rounds", True),
}
"""Published quantities: what of a block frame, how many samples, whether per transaction."""


def _in_a_block(blocks: pd.DataFrame | None, name: str, quantity: str) -> _Number:
    """Read a median of a measured block, validated by one thread."""
    what, counted, shared = _IN_A_BLOCK[quantity]
    rows = [] if blocks is None else results.check(blocks, BLOCK).to_dict("records")
    for row in rows:
        if row["algorithm"] != name or row["threads"] != 1:
            continue
        if row["status"] != "ok":
            raise _Undecided(f"{name} is {row['status']}: {row['reason']}")
        over = row["transactions"] if shared else 1
        noise = MADS * row[f"{what}_mad_seconds"] / over
        error = noise * MEDIAN_ERROR / math.sqrt(max(1, row[counted]))
        return _Number(row[f"{what}_median_seconds"] / over, noise, error, "s")
    raise _Undecided(f"no block of {name} was measured")


def _measured(measurements: pd.DataFrame | None, blocks: pd.DataFrame | None) -> _Read:
    """Read our medians; their noise is MADS median absolute deviations of the samples."""
    frame = None if measurements is None else results.check(measurements, MEASUREMENT)

    @cache
    def rows(name: str, variant: str) -> dict[str, dict[str, Any]]:
        """Choose once for each algorithm."""
        return {} if frame is None else choose(frame, algorithms.get(name).name, variant=variant)

    def read(name: str, quantity: str, implementation: str) -> _Number:
        if quantity in _IN_A_BLOCK and blocks is not None:
            return _in_a_block(blocks, algorithms.get(name).name, quantity)
        name, variant = _split(name, implementation)
        operation = quantity.removesuffix("_seconds")
        if operation not in algorithms.OPERATIONS:
            raise _Undecided(f"no measurement of {quantity} is given")
        row = rows(name, variant).get(operation)
        if row is None:
            raise _Undecided(f"no measurement of {operation} of {name} is given")
        if row["status"] != "ok":
            raise _Undecided(f"{name} is {row['status']}: {row['reason']}")
        if variant and not row["implementation"].endswith("/" + variant):
            raise _Undecided(f"no measurement of {operation} of {name} with {variant} is given")
        noise = MADS * row["mad_seconds"]
        error = noise * MEDIAN_ERROR / math.sqrt(max(1, row["samples"]))
        return _Number(row["median_seconds"], noise, error, "s")

    return read
