"""A published work, read from its folder: `paper.toml`, and the statements of `claims.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pqchain import algorithms, checks
from pqchain.errors import DataError, UnknownPaper
from pqchain.installation import read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """A misprint: a printed value that contradicts the rest of the same paper."""

    table: str
    row: str
    """Printed name of the row; empty for the caption."""
    column: str
    printed: str
    expected: str
    reason: str

    @property
    def note(self) -> str:
        """Text of the erratum: the printed value, the expected value and the reason."""
        return f"prints {self.printed}, expected {self.expected}: {self.reason}"

    @property
    def place(self) -> str:
        """Table, row and column of the erratum as text; empty ones are left out."""
        return ", ".join(part for part in (self.table, self.row, self.column) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCode:
    """Operations whose code here differs from the work's, so their times refute no statement."""

    algorithm: str
    """Name of the algorithm as printed in the paper."""
    implementation: str = ""
    """The variant ("ref", "avx2"); empty for any."""
    operations: tuple[str, ...] = ()
    """Operations whose code differs; empty for all."""
    reason: str
    """The origin of the code here and in the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """The file and the layout of a published table."""

    file: str
    section: str
    caption: str
    description: str
    layout: Literal["wide", "across", "long"] = "wide"
    counts: tuple[str, ...] = ()
    """Columns of a wide table whose numbers have no unit."""
    across: str = ""
    quantity: str = ""
    """For layout "across": the parameter in the headings, and the quantity in the cells."""
    algorithm: str = ""
    """Printed name of the algorithm of all rows of a long table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A published paper; fields are empty where its text does not state them."""

    folder: Path = Path()
    title: str
    title_korean: str
    title_note: str
    authors: tuple[str, ...]
    venue: str
    year: str
    pages: str
    url: str
    doi: str
    place: int
    """Its position among the works; those that are reproduced most come first."""
    notebook: str = ""
    """The name of the notebook that shows its results; "" if it has none."""
    scope: str
    """The part that is reproduced, and the part that is only shown."""
    machine: Mapping[str, str]
    notes: tuple[str, ...]
    names: Mapping[str, str]
    """Names in the registry by printed names."""
    tables: Mapping[str, PrintedTable]
    errata: tuple[Erratum, ...] = ()
    other_code: tuple[OtherCode, ...] = ()
    setting: Mapping[str, Any] = field(default_factory=dict)
    """The setting of the paper's numbers: sizes by name, and `text`, a description of them."""

    @property
    def key(self) -> str:
        """The name of the work in commands and files."""
        return self.folder.name

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names, as in the registry, of the paper's algorithms."""
        return tuple(dict.fromkeys(self.names.values()))

    @property
    def citation(self) -> str:
        """Authors, title and year in one line."""
        parts = (", ".join(self.authors), f'"{self.title}"', self.venue, self.year)
        return ", ".join(part for part in parts if part)

    def code_origin(self, algorithm: str, implementation: str, operation: str) -> str:
        """Return the origin of an operation's code here if the work used other code, else ""."""
        reasons = (
            other.reason
            for other in self.other_code
            if self.names[other.algorithm] == algorithm
            and other.implementation in ("", implementation.rpartition("/")[2])
            and operation in (other.operations or algorithms.OPERATIONS)
        )
        return next(reasons, "")

    def layout(self, table: str) -> PrintedTable:
        """Return the file and layout of a published table. Raises UnknownPaper."""
        # Names of tables are accepted in any case of letters.
        known = {name.casefold(): name for name in self.tables}
        name = known.get(table.casefold()) if isinstance(table, str) else None
        if name is None:
            see = f"`pqchain papers {self.key}`."
            raise UnknownPaper(f"table of {self.key}", table, self.tables, see)
        return self.tables[name]


def read(folder: Path) -> Paper:
    """Read a paper from the `paper.toml` in a work's folder. Raises DataError."""
    file = folder / "paper.toml"
    content: Paper = checks.typed(read_toml(file), Paper, str(file))
    return replace(content, folder=folder)


Check = dict[str, Any]
"""A comparison in the form of `claims.toml`; `comparisons` lists the kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An interpretation of a paper's sentence, with the checks that decide whether it holds."""

    id: str
    section: str
    statement: str
    sentence: str = ""
    """The key of the sentence in the source; empty for a statement of pqchain's authors."""
    quote: str = ""
    """That sentence as printed, in its language."""
    ours: bool = False
    """Whether the statement is ours and not the source's."""
    reading: str = ""
    """The interpretation of an ambiguous sentence."""
    implementation: str = ""
    """The implementation that the statement is about: "ref", "avx2", or "" for all."""
    checks: tuple[Check, ...]

    @property
    def comparisons(self) -> list[Check]:
        """The checks that are comparisons of numbers."""
        return [check for check in self.checks if check.get("kind") != "computed"]

    @property
    def is_computed(self) -> bool:
        """Whether `Work.judge` decides the statement."""
        return len(self.comparisons) < len(self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    sentences: dict[str, str] = field(default_factory=dict)
    claims: tuple[Statement, ...]


def read_statements(folder: Path) -> tuple[Statement, ...]:
    """Return the statements in the `claims.toml` of a work's folder.

    Raises DataError for a statement without a sentence that is not marked as ours, or with both;
    for an unknown or unused sentence; and for an unknown field.
    """
    file = folder / "claims.toml"
    content: _Claims = checks.typed(read_toml(file), _Claims, str(file))
    quotes = content.sentences
    for claim in content.claims:
        if bool(claim.sentence) == claim.ours:
            both = "both" if claim.sentence else "none"
            raise DataError(
                f"{file}: claim {claim.id!r} must have either `sentence`, the key of a quote in "
                f"[sentences], or `ours = true` if the source does not state it; got {both}"
            )
        if claim.sentence and claim.sentence not in quotes:
            raise DataError(
                f"{file}: the sentence of claim {claim.id!r} must be a key of [sentences]; got "
                f"{claim.sentence!r}"
            )
    # A sentence without a claim would be quoted but never judged.
    if unused := sorted(set(quotes) - {claim.sentence for claim in content.claims}):
        raise DataError(f"{file}: each key of [sentences] must have a claim; got none for {unused}")
    return tuple(replace(claim, quote=quotes.get(claim.sentence, "")) for claim in content.claims)
