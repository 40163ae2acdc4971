"""Where each printed number stands against ours: its kind, the number, or why there is none.

`coverage.toml` in a work's folder has rules, of which the first that fits a number decides. A
number that no rule fits is an error, so nothing printed is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pqchain.errors import DataError, UnknownAlgorithm, UnknownName
from pqchain.installation import read_toml
from pqchain.results import Contract
from pqchain.works import papers, readers
from pqchain.works.papers import Cell
from pqchain.works.readers import Number, Numbers, Reader, Undecided
from pqchain.works.work import Frames, Work

COVERAGE = Contract.of(
    "coverage",
    ("str", "paper table printed_name implementation quantity"),
    ("float64", "printed"),
    ("str", "unit kind"),
    ("float64", "ours"),
    ("str", "reason"),
)

KINDS = (
    "registry", "measured", "run", "synthesised", "replayed", "modelled", "fitted", "cited", "none",
)  # fmt: skip
"""What ours is. What is cited was published elsewhere, or has no number of ours either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which printed numbers it is about, what ours is, and where it comes from."""

    kind: str
    tables: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    """Printed names."""
    implementations: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()
    """Of these four an empty one fits everything."""
    of: str = ""
    to: str = ""
    """Ours is this number, or this quotient of two; {name}, {algorithm}, {implementation} and
    {quantity} stand for those of the printed number. Without it ours has its name and quantity."""
    times: float = 1.0
    value: float | None = None
    """Ours by definition."""
    none: str = ""
    """Why there is none."""
    note: str = ""
    """What makes both differ."""

    def fits(self, cell: Cell) -> bool:
        """Whether it is about that number."""
        name = cell.printed_name.partition(", n = ")[0]
        pairs = (
            (self.tables, cell.table),
            (self.rows, name),
            (self.implementations, cell.implementation),
            (self.quantities, cell.quantity),
        )
        return all(not allowed or own in allowed for allowed, own in pairs)

    def ours(self, cell: Cell, sources: Iterable[Reader]) -> Number:
        """Return our number. Raises Undecided."""
        if self.value is not None:
            return Number(self.value)
        about = {
            "name": cell.printed_name,
            "algorithm": cell.algorithm,
            "implementation": cell.implementation,
            "quantity": cell.quantity,
        }
        kinds = ("modelled", "replayed") if self.kind == "fitted" else (self.kind,)
        names = [name for name in (cell.algorithm, cell.printed_name) if name]
        own = [f"{name}: {cell.quantity}" for name in names]
        asked = [self.of.format(**about)] if self.of else own
        reason = Undecided(f"this run gave nothing that is {self.kind}")
        for reader in sources:
            if reader.source not in kinds:
                continue
            of = Numbers(reader, cell.implementation)
            for text in asked:
                try:
                    number = of(text) / of(self.to.format(**about)) if self.to else of(text)
                    return Number(number.value * self.times, unit=cell.unit)
                except (Undecided, UnknownAlgorithm) as error:
                    reason = Undecided(str(error))
        raise reason


def rules(work: Work) -> list[Rule]:
    """Return the rules of a work. Raises DataError."""
    file = work.paper.folder / "coverage.toml"
    found = []
    listed = read_toml(file).get("rules") if file.is_file() else []
    if not isinstance(listed, list) or not all(isinstance(fields, dict) for fields in listed):
        raise DataError(f"{file} has no list of [[rules]]; compare it with another work's")
    for fields in listed:
        lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        try:
            rule = Rule(**fields | lists)
        except TypeError as error:
            raise DataError(f"{file}: a rule has an unknown field or no kind: {error}") from error
        if rule.kind not in KINDS:
            raise UnknownName("kind of number", rule.kind, KINDS, "pqchain/works/coverage.py.")
        if bool(rule.none) != (rule.kind == "none") and rule.kind != "cited":
            raise DataError(
                f"{file}: a rule of the kind {rule.kind!r} has none = {rule.none!r}; a reason is "
                "wanted where ours is none, may be given where it is cited, and nowhere else"
            )
        found.append(rule)
    return found


def coverage(
    work: Work, measurements: pd.DataFrame | None = None, frames: Frames | None = None
) -> pd.DataFrame:
    """Set every printed number beside ours, tables and prose; none is left out.

    Columns: paper, table, printed_name, implementation, quantity, printed (in `unit`), unit, kind
    (of KINDS), ours (in the same unit; NaN if there is none, or none in this run) and reason (why
    there is none, or what makes both differ). Raises DataError for a number that no rule fits.
    """
    known, computed = rules(work), frames or {}
    sources = [
        readers.registry(),
        *work.readers(computed),
        readers.counted(measurements),
        readers.measured(measurements, work.paper),
    ]
    rows = [_row(cell, known, sources) for cell in papers.cells(work.paper)]
    return COVERAGE.frame(rows)


def _row(cell: Cell, known: list[Rule], sources: list[Reader]) -> list[Any]:
    rule = next((rule for rule in known if rule.fits(cell)), None)
    if rule is None:
        raise DataError(
            f"{cell.paper}, {cell.table}: nothing says what ours is of {cell.printed_name}, "
            f"{cell.quantity}; add a rule to data/papers/{cell.paper}/coverage.toml"
        )
    ours, reasons = float("nan"), [rule.none, rule.note, cell.other_code]
    if not rule.none:
        try:
            ours = rule.ours(cell, sources).value
        except Undecided as undecided:
            reasons.insert(0, str(undecided))
    reason = "; ".join(part for part in reasons if part)
    about = [cell.paper, cell.table, cell.printed_name, cell.implementation, cell.quantity]
    return [*about, float(cell.value), cell.unit, rule.kind, ours, reason]


def counts(frame: pd.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield how many printed numbers there are of each kind, kinds without any left out."""
    for kind in KINDS:
        number = int((frame["kind"] == kind).sum())
        if number:
            yield kind, number
