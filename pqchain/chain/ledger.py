"""A chain in a file: blocks are appended one by one, survive a crash, and are checked on opening.

The store is SQLite in one file, so that an append is either there with everything or not at all.
Only blocks and the genesis are stored: the state follows from them, and opening computes it anew.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from pqchain.chain.block import Block
from pqchain.chain.state import BlockRejected, Rules, State
from pqchain.chain.verification import Verifier
from pqchain.errors import DataError, PqchainError, UsageError

_APPLICATION = 0x70716331
"""SQLite's application id of our files: "pqc1"."""

_SCHEMA = """
CREATE TABLE genesis (description TEXT NOT NULL);
CREATE TABLE blocks (height INTEGER PRIMARY KEY, hash BLOB NOT NULL, data BLOB NOT NULL);
"""

_NEXT = """
SELECT height, hash, typeof(data), length(data),
    CASE WHEN typeof(data) = 'blob' AND length(data) <= ? THEN data END
FROM blocks WHERE height > ? ORDER BY height LIMIT 1
"""
"""Fetches the next block, without its bytes if they are too many."""

_GENESIS_BYTES = 64_000_000
"""The longest genesis that is read: about 700,000 accounts."""


@dataclass(slots=True, eq=False)
class Ledger:
    """A state, and the file that holds the blocks which led to it."""

    _connection: sqlite3.Connection
    path: Path
    state: State
    verifier: Verifier

    @classmethod
    def create(
        cls,
        path: str | Path,
        balances: Mapping[bytes, int],
        rules: Rules | None = None,
        *,
        verifier: Verifier | None = None,
    ) -> Ledger:
        """Start a chain in a new file.

        Raises UsageError if the file is there already, or its folder is not.
        """
        path = Path(path)
        state = State.genesis(balances, rules)
        if path.exists():
            raise UsageError(f"{path} is there already; open it, or choose another name")
        if not path.parent.is_dir():
            raise UsageError(f"there is no folder {path.parent} for {path.name}; make it first")
        genesis = {**asdict(state.rules), "balances": {a.hex(): b for a, b in balances.items()}}
        description = json.dumps(genesis, default=sorted)
        if len(description) > _GENESIS_BYTES:
            raise UsageError(f"{len(balances)} accounts at the start are too many for a file")
        connection = _connect(path, "rwc")
        with _as_data_error(path), connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute("INSERT INTO genesis VALUES (?)", (description,))
        return cls(connection, path, state, verifier or Verifier())

    @classmethod
    def open(cls, path: str | Path, *, verifier: Verifier | None = None) -> Ledger:
        """Open a file, check every block in it, and return the ledger.

        Raises DataError if the file is not there, not ours, or holds a block that is not valid;
        the message names the block. Nothing is changed.
        """
        path = Path(path)
        verifier = verifier or Verifier()
        if not path.is_file():
            raise DataError(f"{path} is not there; start a chain with Ledger.create")
        connection = _connect(path, "rw")
        try:
            with _as_data_error(path):
                state = _replayed(connection, path, verifier)
        except BaseException:
            connection.close()
            raise
        return cls(connection, path, state, verifier)

    def append(self, block: Block | bytes, *, after: State | None = None) -> State:
        """Check the block, store it, and return the state after it.

        `after` is what `state.apply` gave for this very block, where it was checked already. When
        this returns, the block is on disk. Raises BlockRejected, and DataError if it could not be
        stored; the ledger is then as it was.
        """
        state = after or self.state.apply(block, verifier=self.verifier)
        data = block.encode() if isinstance(block, Block) else bytes(block)
        with _as_data_error(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            (last,) = self._connection.execute("SELECT max(height) FROM blocks").fetchone()
            if (last or 0) != self.state.height:
                raise DataError(
                    f"{self.path} has {last or 0} blocks, this ledger has seen "
                    f"{self.state.height}: somebody else appends to it; open it again"
                )
            self._connection.execute(
                "INSERT INTO blocks VALUES (?, ?, ?)", (state.height, state.tip, data)
            )
        self.state = state
        return state

    def blocks(self) -> Iterator[Block]:
        """Yield the stored blocks from the first."""
        with _as_data_error(self.path):
            for _, _, data in _read_blocks(self._connection, self.path, self.state.rules):
                yield Block.decode(data)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open the file so that what was acknowledged survives a crash of the machine too."""
    with _as_data_error(path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        # A hostile file may bring triggers and views of its own; none of them shall run.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = EXTRA")
    return connection


@contextmanager
def _as_data_error(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        remedy = "restore the file from a copy, or see who else holds it"
        raise DataError(f"{path}: {error}; {remedy}") from error


def _read_genesis(connection: sqlite3.Connection, path: Path) -> State:
    """Return the first state, after looking whether the file is one of ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = dict(connection.execute("SELECT name, type FROM sqlite_schema"))
    if application != _APPLICATION or tables != {"genesis": "table", "blocks": "table"}:
        raise DataError(f"{path} is no ledger of pqchain; expected a file of Ledger.create")
    short = "CASE WHEN length(description) <= ? THEN description END"
    found = connection.execute(f"SELECT {short} FROM genesis LIMIT 2", (_GENESIS_BYTES,)).fetchall()
    if len(found) != 1 or not found[0][0]:
        raise DataError(f"{path} has no usable genesis; restore it")
    try:
        genesis = json.loads(found[0][0])
        balances = {bytes.fromhex(a): balance for a, balance in genesis["balances"].items()}
        return State.genesis(balances, Rules(**{name: genesis[name] for name in Rules.__slots__}))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PqchainError) as error:
        raise DataError(f"{path} has no usable genesis ({error}); restore it") from error


def _replayed(connection: sqlite3.Connection, path: Path, verifier: Verifier) -> State:
    """Return the state after all stored blocks, each of them checked."""
    state = _read_genesis(connection, path)
    for height, digest, data in _read_blocks(connection, path, state.rules):
        try:
            state = state.apply(data, verifier=verifier)
        except BlockRejected as error:
            raise DataError(f"{path}, block {height}: {error}") from error
        if height != state.height or digest != state.tip:
            raise DataError(f"{path}: block {height} is not in its place; restore it")
    return state


def _read_blocks(
    connection: sqlite3.Connection, path: Path, rules: Rules
) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield height, hash and bytes of each block; one that is too long is not read."""
    height = 0
    while row := connection.execute(_NEXT, (rules.limit_bytes, height)).fetchone():
        height, digest, kind, length, data = row
        if data is None:
            raise DataError(
                f"{path}, block {height}: {length} bytes of type {kind}; at most "
                f"{rules.limit_bytes} bytes of type blob are allowed"
            )
        yield height, digest, data
