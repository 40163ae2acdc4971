"""Values of an unfinished computation in the user's cache, so that it can be resumed.

A command that measures for minutes keeps each value as soon as it has it. After an interruption,
a crash or a kill, the same command with `--resume` computes only the missing values.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.errors import UsageError
from pqchain.installation import VERSION, cache_folder

_KEPT_SECONDS = 30 * 86_400
"""Age at which the values of a computation that nobody resumed are removed."""


class Checkpoint:
    """JSON values by key, each stored as soon as it is computed.

    Computations with equal settings share a file, which is named by the digest of the settings.
    Without a writable cache nothing is stored.
    """

    def __init__(self, settings: Mapping[str, Any], *, resume: bool = False) -> None:
        """Open an empty store, or with `resume` that of an earlier computation.

        Raises UsageError if there is nothing to resume.
        """
        text = json.dumps({**settings, "pqchain": VERSION}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = cache_folder() / "unfinished" / f"{digest}.sqlite"
        if resume and not self.path.is_file():
            raise UsageError(
                "no unfinished run of this command with these options, version and commit is "
                "known; leave out --resume"
            )
        self._database: sqlite3.Connection | None = None
        try:
            self._open(resume)
        except (OSError, sqlite3.Error) as error:
            if resume:
                raise UsageError(f"{self.path} cannot be read: {error}; leave out --resume") from (
                    error
                )

    def _open(self, resume: bool) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            self.path.unlink(missing_ok=True)
        # Every value is written at once; a value that was half written by a crash is rolled back.
        database = sqlite3.connect(self.path, isolation_level=None)
        # Flushing to the disk would slow down the measurement; a killed process loses nothing.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE IF NOT EXISTS stored (key TEXT PRIMARY KEY, value BLOB)")
        self._database = database
        newest = self.path.stat().st_mtime
        for path in self.path.parent.glob("*.sqlite"):
            if newest - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink(missing_ok=True)

    def __len__(self) -> int:
        if self._database is None:
            return 0
        count: int = self._database.execute("SELECT count(*) FROM stored").fetchone()[0]
        return count

    def get(self, key: str) -> Any:
        """Return the stored value, or None."""
        if self._database is None:
            return None
        row = self._database.execute("SELECT value FROM stored WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        stored = json.loads(zlib.decompress(row[0]))
        installation.add_loaded_libraries(stored["libraries"])
        return stored["value"]

    def put(self, key: str, value: Any) -> None:
        """Store a value. A full disk disables the store and does not end the computation."""
        if self._database is None:
            return
        stored = {"value": value, "libraries": installation.loaded_libraries()}
        data = zlib.compress(json.dumps(stored).encode(), 1)
        try:
            self._database.execute("INSERT OR REPLACE INTO stored VALUES (?, ?)", (key, data))
        except sqlite3.Error:
            self._database = None

    def finish(self) -> None:
        """Remove the store of a computation that is complete."""
        if self._database is not None:
            self._database.close()
            self._database = None
        with suppress(OSError):
            Path(self.path).unlink(missing_ok=True)
