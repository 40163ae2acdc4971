"""Values that are kept in the user's cache, so that nothing is measured or computed twice.

A command that measures for minutes keeps each value as soon as it has it. After an interruption,
a crash or a kill, the same command with `--resume` computes only the missing values.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.installation import VERSION, cache_folder

KEPT_SECONDS = 30 * 86_400
"""Age at which values are removed."""

_DAMAGED = (sqlite3.Error, zlib.error, ValueError, KeyError, TypeError)
"""What reading a damaged file or value raises."""


def _now() -> float:
    return datetime.now(timezone.utc).timestamp()


class KeptValues:
    """JSON values by key in one file, each stored as soon as it is computed, with its time.

    A key names everything that its value depends on, besides the version of pqchain; `prefix`
    begins all keys. PQCHAIN_KEPT names the file, by default one in the user's cache. Without a
    writable folder nothing is stored; a damaged file is replaced, and a damaged value is missing.
    """

    def __init__(self, prefix: str = "", *, fresh: bool = False) -> None:
        """Open the file; `fresh` hides the values that it has now."""
        self.path = Path(os.environ.get("PQCHAIN_KEPT") or cache_folder() / "kept.sqlite")
        self.oldest_seconds = float("inf")
        """Time of the oldest value that was returned, since 1970."""
        self._first_seconds = _now() - (0 if fresh else KEPT_SECONDS)
        self._prefix = f"{VERSION} {prefix}"
        self._database: sqlite3.Connection | None = None
        with suppress(OSError, sqlite3.Error):
            try:
                self._open()
            except sqlite3.OperationalError:
                raise  # locked, or not writable
            except sqlite3.DatabaseError:
                self.path.unlink()
                self._open()

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Every value is written at once; a value that was half written by a crash is rolled back.
        database = sqlite3.connect(self.path, isolation_level=None)
        # Flushing to the disk would slow down the measurement; a killed process loses nothing.
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE IF NOT EXISTS stored (key TEXT PRIMARY KEY, seconds REAL, value BLOB)"
        )
        database.execute("DELETE FROM stored WHERE seconds < ?", (_now() - KEPT_SECONDS,))
        self._database = database

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Execute a statement; a full disk disables the file and does not end the computation."""
        with suppress(sqlite3.Error):
            return self._database.execute(sql, values).fetchall() if self._database else []
        self._database = None
        return []

    def get(self, key: str) -> Any:
        """Return the stored value, or None."""
        query = "SELECT seconds, value FROM stored WHERE key = ? AND seconds >= ?"
        for seconds, data in self._rows(query, self._prefix + key, self._first_seconds):
            with suppress(*_DAMAGED):
                stored = json.loads(zlib.decompress(data))
                value = stored["value"]
                installation.add_loaded_libraries(stored["libraries"])
                self.oldest_seconds = min(self.oldest_seconds, seconds)
                return value
        return None

    def put(self, key: str, value: Any) -> None:
        """Store a value."""
        stored = {"value": value, "libraries": installation.loaded_libraries()}
        data = zlib.compress(json.dumps(stored).encode(), 1)
        row = self._prefix + key, _now(), data
        self._rows("INSERT OR REPLACE INTO stored VALUES (?, ?, ?)", *row)
