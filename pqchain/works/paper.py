"""A published work: citation, machine, tables and errata, read from `paper.toml` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pqchain import algorithms, checks
from pqchain.errors import UnknownPaper
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
