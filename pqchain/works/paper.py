"""What a published work is: citation, machine, tables, errata; read from its folder.

A folder holds `paper.toml`, `claims.toml` with the work's statements, and one CSV file per table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.errors import DataError, UnknownPaper
from pqchain.installation import read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One print that cannot be right: it contradicts the rest of the same print."""

    table: str
    row: str
    """Printed name of the row; empty for the caption."""
    column: str
    printed: str
    expected: str
    reason: str

    @property
    def note(self) -> str:
        """The erratum in one sentence."""
        return f"prints {self.printed}, expected {self.expected}: {self.reason}"

    @property
    def place(self) -> str:
        """Table, row and column, as far as it has them."""
        return ", ".join(part for part in (self.table, self.row, self.column) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCode:
    """Operations that other code does here than in the work; what they show refutes nothing."""

    algorithm: str
    """As printed."""
    implementation: str = ""
    """The variant ("ref", "avx2"); empty for any."""
    operations: tuple[str, ...] = ()
    """Empty for all."""
    reason: str
    """Whose code it is here, and whose there."""

    def covers(self, implementation: str, operation: str) -> bool:
        """Whether it speaks of that operation of our implementation."""
        variant = self.implementation in ("", implementation.rpartition("/")[2])
        return variant and (not self.operations or operation in self.operations)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """Where a published table is and how it is laid out."""

    file: str
    section: str
    caption: str
    description: str
    layout: str = "wide"
    counts: tuple[str, ...] = ()
    """Columns of a wide table that hold numbers without a unit."""
    across: str = ""
    quantity: str = ""
    """Of a table laid out across: the parameter in the heading, and the quantity in the cells."""
    algorithm: str = ""
    """Printed name that all rows of a long table are about."""

    def __post_init__(self) -> None:
        if not isinstance(self.file, str):
            raise ValueError(f"file is {self.file!r}; expected the name of a table's file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What a source paper is. Empty where its text does not say."""

    folder: Path
    """With its files; named after the key."""
    title: str
    """In English."""
    title_korean: str
    title_note: str
    authors: tuple[str, ...]
    venue: str
    year: str
    pages: str
    url: str
    doi: str
    place: int
    """Of its chapter in the report: what is reproduced most comes first."""
    scope: str
    """What is reproduced of it, and what is only shown."""
    machine: Mapping[str, str]
    """On what its numbers were made."""
    notes: tuple[str, ...]
    names: Mapping[str, str]
    """Printed name of an algorithm: its name in the registry."""
    tables: Mapping[str, PrintedTable]
    errata: tuple[Erratum, ...]
    others: tuple[OtherCode, ...]
    regime: Mapping[str, Any]
    """Under what its own numbers were found: sizes by name, and `words`."""

    @property
    def key(self) -> str:
        """The name of the work in commands, files and the report."""
        return self.folder.name

    @property
    def schemes(self) -> tuple[str, ...]:
        """The algorithms that it names, as the registry calls them."""
        return tuple(dict.fromkeys(self.names.values()))

    @property
    def citation(self) -> str:
        """Authors, title and year in one line."""
        parts = (", ".join(self.authors), f'"{self.title}"', self.venue, self.year)
        return ", ".join(part for part in parts if part)

    def other_code(self, algorithm: str, implementation: str, operation: str) -> str:
        """Say whose code an operation is here, if not the work's; else ""."""
        for each in self.others:
            about = operation in algorithms.OPERATIONS and self.names[each.algorithm] == algorithm
            if about and each.covers(implementation, operation):
                return each.reason
        return ""

    def layout(self, table: str) -> PrintedTable:
        """Return the description of a table. Raises UnknownPaper."""
        known = {name.casefold(): name for name in self.tables}
        name = known.get(table.casefold()) if isinstance(table, str) else None
        if name is None:
            see = f"`pqchain papers {self.key}`."
            raise UnknownPaper(f"table of {self.key}", table, self.tables, see)
        return self.tables[name]


def read(folder: Path) -> Paper:
    """Return the paper of a folder. Raises DataError."""
    fields = read_toml(folder / "paper.toml")
    try:
        return Paper(
            folder=folder,
            authors=tuple(fields.pop("authors")),
            notes=tuple(fields.pop("notes")),
            tables={
                name: PrintedTable(**table | {"counts": tuple(table.get("counts", ()))})
                for name, table in fields.pop("tables").items()
            },
            errata=tuple(Erratum(**erratum) for erratum in fields.pop("errata", ())),
            others=tuple(
                OtherCode(**other | {"operations": tuple(other.get("operations", ()))})
                for other in fields.pop("other_code", ())
            ),
            regime=fields.pop("regime", {}),
            **fields,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{folder / 'paper.toml'} lacks a field or has an unknown one: {error}"
        ) from error
