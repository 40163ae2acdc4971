"""A file of SQLite that may be damaged or hostile: whatever goes wrong with it is a DataError."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pqchain.errors import DataError

_SETTINGS = (
    "trusted_schema = OFF",  # a hostile file may bring triggers and views: none of them shall run
    "synchronous = EXTRA",  # what was acknowledged survives a crash of the machine too
    "cell_size_check = ON",
    "cache_size = -2048",  # KiB; else the file says how much memory is used
)

_REMEDIES = {
    "locked": "another process holds it; try again when that is done",
    "full": "make room on the disk; what is stored is as it was",
    "readonly": "allow to write the file and its folder, or copy it",
    "unable to open": "allow to read and write the file and its folder, or copy it",
    "closed": "open it again",
    "thread": "open it in each thread that uses it",
}
"""What to do, by a word of SQLite's message; where there is none, the file itself is wrong."""

_FAILURES = (sqlite3.Error, sqlite3.Warning, UnicodeError, TypeError, OverflowError, MemoryError)
"""What Python's sqlite3 raises. Messages that quote a damaged file may be no UTF-8."""


class Database:
    """An open file. Text comes back as bytes, because it need not be text."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        with self._naming_errors():
            uri = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        self._connection.text_factory = bytes
        with self.closing_on_error():
            for setting in _SETTINGS:
                self.rows(f"PRAGMA {setting}")

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Carry out one statement and return its rows."""
        with self._naming_errors():
            return self._connection.execute(sql, values).fetchall()

    def check(self) -> None:
        """Raise DataError if pages, cells or free space are not as SQLite would leave them."""
        [(found,)] = self.rows("PRAGMA quick_check(1)")
        if found != b"ok":
            raise self.error(found.decode(errors="replace"))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Do all that is done within in one step, or nothing of it."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.rows("ROLLBACK")
            raise

    @contextmanager
    def closing_on_error(self) -> Iterator[None]:
        """Close the file if what is done within fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def error(self, message: str) -> DataError:
        """Return an error of this file, with what to do."""
        fitting = (remedy for word, remedy in _REMEDIES.items() if word in message)
        return DataError(f"{self.path}: {message}; {next(fitting, 'restore it from a copy')}")

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self.error(str(error)) from error
