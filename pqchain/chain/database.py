"""SQLite files that may be damaged or hostile: every failure becomes a DataError."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pqchain.errors import DataError

_SETTINGS = (
    "trusted_schema = OFF",  # triggers and views of a hostile file must not call functions
    "synchronous = EXTRA",  # an acknowledged append survives a crash of the machine
    "cell_size_check = ON",  # find corrupt pages when they are read
    "cache_size = -2048",  # KiB; otherwise the file itself sets the memory limit
)

_REMEDIES = {
    "locked": "another process uses it; try again later",
    "full": "free space on the disk; the stored blocks are unchanged",
    "readonly": "permit writing to the file and its folder, or copy it",
    "unable to open": "permit access to the file and its folder, or copy it",
    "closed": "open it again",
    "thread": "open it in each thread that uses it",
}
"""Remedies by a substring of SQLite's message. Without a match the file itself is damaged."""

_FAILURES = (sqlite3.Error, sqlite3.Warning, UnicodeError, TypeError, OverflowError, MemoryError)
"""Exceptions of Python's sqlite3. UnicodeError: messages may quote a damaged file's bytes."""


class Database:
    """An open SQLite file. Text is returned as bytes, because it may not be valid UTF-8."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        with self._naming_errors():
            # mode=rw: SQLite would otherwise create a missing file. isolation_level=None: the
            # transactions are explicit, see `changing`.
            uri = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        self._connection.text_factory = bytes
        with self.closing_on_error():
            for setting in _SETTINGS:
                self.rows(f"PRAGMA {setting}")

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Execute one statement and return its rows. Raises DataError."""
        with self._naming_errors():
            return self._connection.execute(sql, values).fetchall()

    def check(self) -> None:
        """Raise DataError if SQLite's quick check finds an inconsistent page, cell or free list."""
        # (1): stop at the first error.
        [(verdict,)] = self.rows("PRAGMA quick_check(1)")
        if verdict != b"ok":
            raise self.error(verdict.decode(errors="replace"))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Run the block as one transaction: commit at its end, roll back on an exception."""
        # IMMEDIATE takes the write lock at the start, so that no other process writes between
        # what the block reads and what it writes.
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
        """Close the file if the block raises an exception."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def error(self, message: str) -> DataError:
        """Return a DataError that names the file and a remedy."""
        remedies = (remedy for text, remedy in _REMEDIES.items() if text in message)
        return DataError(f"{self.path}: {message}; {next(remedies, 'restore it from a copy')}")

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self.error(str(error)) from error
