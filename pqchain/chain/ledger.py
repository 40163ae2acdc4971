"""Durable ledger: a chain in an SQLite file, appended block by block and verified on opening.

An append is one SQLite transaction, so that it is stored completely or not at all. Only the genesis
and the blocks are stored; opening the file recomputes the state. What this user has verified is not
verified again: the state after the last such block is kept in the user's cache, outside the file,
together with the digest of the chain up to that block.

SQLite does not detect a flipped bit, which can hide or change blocks. Each block is therefore
stored with a digest of its bytes and of everything before it, from the genesis on, and a table of
one row has the number of blocks, and the tip and digest of the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pqchain.chain.block import Block, header_of
from pqchain.chain.database import Database
from pqchain.chain.state import Account, BlockRejected, Rules, State
from pqchain.chain.verification import Verifier
from pqchain.checks import file_path
from pqchain.crypto.interface import as_bytes
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.results.kept import KeptValues

_APPLICATION = 0x70716333
"""SQLite application id of ledger files: "pqc3", whose last character is the format version."""

_SCHEMA = {
    b"genesis": b"CREATE TABLE genesis (description BLOB NOT NULL)",
    b"head": b"CREATE TABLE head (height INTEGER NOT NULL, tip BLOB NOT NULL, digest BLOB NOT "
    b"NULL)",
    b"blocks": b"CREATE TABLE blocks (height INTEGER PRIMARY KEY, digest BLOB NOT NULL, data BLOB "
    b"NOT NULL)",
}

_HEAD = """
SELECT height, tip, digest, (SELECT count(*) FROM blocks), (SELECT max(height) FROM blocks)
FROM head LIMIT 2
"""
"""One statement, because another process may append at any time."""

_NEXT = """
SELECT height, digest, typeof(data), length(data),
    CASE WHEN typeof(data) = 'blob' AND length(data) <= ? THEN data END
FROM blocks WHERE height > ? ORDER BY height LIMIT ?
"""
"""Select the next blocks; `data` is NULL where it is not a blob or exceeds the length limit."""

_FETCHED_BYTES = 1_000_000
"""Maximum size of the blocks fetched by one query, unless a single block may be larger."""

_GENESIS_BYTES = 64_000_000
"""Maximum length of a stored genesis: about 700,000 accounts."""


@dataclass(slots=True, eq=False)
class Ledger:
    """A state and the file with the blocks that led to it."""

    _database: Database
    state: State
    verifier: Verifier
    digest: bytes
    """SHA-256 over the genesis, its rules and every byte of every block. A copy that is kept
    elsewhere detects a rewritten file."""

    @classmethod
    def create(
        cls,
        path: str | Path,
        balances: Mapping[bytes, int],
        rules: Rules | None = None,
        *,
        verifier: Verifier | None = None,
    ) -> Ledger:
        """Create a chain in a new file, or in the empty file of an interrupted creation.

        `balances` has the initial balance of each address. Raises UsageError if the file already
        exists, its folder does not, the path has a NUL, or the balances or their number are out of
        range; DataError if the file cannot be written.
        """
        path = file_path("path", path)
        state = State.genesis(balances, rules)
        # JSON has neither bytes nor sets: addresses become hex, allowed algorithms a sorted list.
        genesis = {**asdict(state.rules), "balances": {a.hex(): b for a, b in balances.items()}}
        description = json.dumps(genesis, default=sorted).encode()
        if len(description) > _GENESIS_BYTES:
            raise UsageError(f"{len(balances)} initial accounts are too many for a ledger file")
        _check_free(path)
        database = Database(path, create=True)
        digest = _digest(b"", description)
        with database.closing_on_error(), database.changing():
            if database.rows("SELECT name FROM sqlite_schema LIMIT 1"):
                raise _exists_already(path)  # another process created it since _check_free
            for statement in _SCHEMA.values():
                database.rows(statement.decode())
            database.rows(f"PRAGMA application_id = {_APPLICATION}")
            database.rows("INSERT INTO genesis VALUES (?)", description)
            database.rows("INSERT INTO head VALUES (0, ?, ?)", state.tip, digest)
        return cls(database, state, verifier or Verifier(), digest)

    @classmethod
    def open(
        cls, path: str | Path, *, verifier: Verifier | None = None, whole: bool = False
    ) -> Ledger:
        """Open a file, verify the blocks in it, and return the ledger. The file is not changed.

        The bytes of every block are compared with the digests. Signatures and payments are verified
        after the last block that this user has verified before, with `whole` those of all blocks.
        Raises DataError if the file is missing, is not a ledger, or has a block that is invalid or
        differs from what was stored; the message names the block. Raises UsageError for a path with
        a NUL.
        """
        path = file_path("path", path)
        verifier = verifier or Verifier()
        if not _is_file(path):
            raise DataError(f"{path} does not exist; create it with Ledger.create")
        database = Database(path)
        with database.closing_on_error():
            state, digest = _verify_blocks(database, verifier, None if whole else KeptValues())
        return cls(database, state, verifier, digest)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._database.path

    def append(self, block: Block | bytes, *, after: State | None = None) -> State:
        """Verify the block, store it, and return the state after it.

        `after` is the result of `state.apply` for this block if it was verified before. The block
        is on disk when this returns. Raises BlockRejected, UsageError if `after` is the state after
        another block, and DataError if it cannot be stored; the ledger is then unchanged.
        """
        state = self.state.apply(block, verifier=self.verifier) if after is None else after
        data = _encoded(block)
        if _encoded(state.block or b"") != data or header_of(data).previous != self.state.tip:
            raise UsageError(
                "after must be the result of state.apply for this block; got that of another block "
                "or state. Leave it out"
            )
        digest = _digest(self.digest, data)
        database, head = self._database, (self.state.height, self.digest)
        with database.changing():
            # Read within the transaction: two processes that append to one file must not both
            # store a block of the same height.
            if database.rows("SELECT height, digest FROM head") != [head]:
                raise DataError(
                    f"{self.path} no longer ends at block {self.state.height}: another process "
                    "appended to it; open it again"
                )
            database.rows("INSERT INTO blocks VALUES (?, ?, ?)", state.height, digest, data)
            database.rows(
                "UPDATE head SET height = ?, tip = ?, digest = ?", state.height, state.tip, digest
            )
        self.state, self.digest = state, digest
        return state

    def blocks(self) -> Iterator[Block]:
        """Yield the stored blocks from the first. Raises DataError at a block that was changed."""
        start = _digest(b"", _genesis(self._database)[0])
        head = _Head(self.state.height, self.state.tip, self.digest)
        for _, data in _stored(self._database, start, head, self.state.rules):
            yield Block.decode(data)

    def close(self) -> None:
        """Close the file; the ledger must not be used afterwards."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Head(NamedTuple):
    height: int
    tip: bytes
    digest: bytes


def _digest(before: bytes, data: bytes) -> bytes:
    """Return the digest after a block; with an empty `before`, the digest of the genesis."""
    # The length of `before` makes the input unambiguous: a genesis cannot pass for a block.
    return sha256(b"pqchain ledger 3\0" + bytes([len(before)]) + before + data).digest()


def _encoded(block: Block | bytes) -> bytes:
    return block.encode() if isinstance(block, Block) else as_bytes("block", block)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; name another file") from error


def _check_free(path: Path) -> None:
    try:
        # A file with a journal may be an interrupted creation, which SQLite rolls back.
        unfinished = path.with_name(f"{path.name}-journal").exists()
        if path.exists() and (not path.is_file() or (path.stat().st_size and not unfinished)):
            raise _exists_already(path)
        if not path.parent.is_dir():
            raise UsageError(f"the folder {path.parent} does not exist; create it first")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {reason}; name another file") from error


def _exists_already(path: Path) -> UsageError:
    return UsageError(f"{path} exists already; open it, or choose another name")


def _verify_blocks(
    database: Database, verifier: Verifier, kept: KeptValues | None
) -> tuple[State, bytes]:
    """Verify the stored blocks; return the state after them and the last digest."""
    _check_format(database)
    database.check()
    description, state = _genesis(database)
    start, head, rules = _digest(b"", description), _read_head(database), state.rules
    verified = _kept_state(kept, start, state) if kept else None
    # All digests are checked before the first signature, so that damage is found cheaply.
    for digest, data in _stored(database, start, head, rules):
        # Another chain from the same genesis has another digest.
        if verified and verified[0] == digest and header_of(data).hash() == verified[1].tip:
            state = replace(verified[1], block=data)
    after = state.height
    blocks = _stored(database, start, head, rules) if after < head.height else iter(())
    for _, data in islice(blocks, after, None):
        try:
            state = state.apply(data, verifier=verifier)
        except BlockRejected as error:
            raise DataError(f"{database.path}, block {state.height + 1}: {error}") from error
    if state.tip != head.tip:
        raise database.error("the last block was changed")
    if kept and state.height > after:
        _keep_state(kept, start, head.digest, state)
    return state, head.digest


def _keep_state(kept: KeptValues, start: bytes, digest: bytes, state: State) -> None:
    """Keep a verified state with the digest of its chain; `start` is that of the genesis."""
    accounts = {
        address.hex(): (row.balance, row.nonce, [(kind, key.hex()) for kind, key in row.keys])
        for address, row in state.accounts.items()
    }
    text = json.dumps([state.height, state.tip.hex(), state.timestamp, accounts])
    kept.put(f"ledger {start.hex()}", [digest.hex(), text, _digest(digest, text.encode()).hex()])


def _kept_state(kept: KeptValues, start: bytes, genesis: State) -> tuple[bytes, State] | None:
    """Return the kept state of a chain and the chain's digest; None without one, or if damaged."""
    try:
        digest, text, check = kept.get(f"ledger {start.hex()}")
        digest = bytes.fromhex(digest)
        height, tip, timestamp, rows = json.loads(text)
        tip = bytes.fromhex(tip)
        accounts = {
            bytes.fromhex(address): Account(
                balance, nonce, tuple((kind, bytes.fromhex(key)) for kind, key in keys)
            )
            for address, (balance, nonce, keys) in rows.items()
        }
    except (ValueError, TypeError, AttributeError):
        return None
    state = State(genesis.rules, height, tip, timestamp, MappingProxyType(accounts))
    is_whole = _digest(digest, text.encode()).hex() == check and state.total == genesis.total
    return (digest, state) if is_whole else None


def _check_format(database: Database) -> None:
    [(application,)] = database.rows("PRAGMA application_id")
    if application != _APPLICATION and application >> 8 == _APPLICATION >> 8:
        # Not converted: seals cover the hash of the genesis, which differs between formats.
        raise DataError(
            f"{database.path} is a ledger of format {chr(application & 255)}; read it with the "
            "version of pqchain that wrote it, and start a new one with Ledger.create"
        )
    tables = database.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT 4")
    if not application and not tables:
        raise DataError(f"{database.path} is empty; create a ledger in it with Ledger.create")
    if application != _APPLICATION or tables != [(b"table", n, n, q) for n, q in _SCHEMA.items()]:
        raise DataError(f"{database.path} is not a ledger; expected a file of Ledger.create")


def _genesis(database: Database) -> tuple[bytes, State]:
    # Blobs only: the length of a text counts the characters before the first NUL.
    short = "typeof(description) = 'blob' AND length(description) <= ?"
    choice = f"CASE WHEN {short} THEN description END"
    rows = database.rows(f"SELECT {choice} FROM genesis LIMIT 2", _GENESIS_BYTES)
    if len(rows) != 1 or rows[0][0] is None:
        raise database.error("the genesis is missing or damaged")
    description: bytes = rows[0][0]
    try:
        genesis = json.loads(description)
        balances = {bytes.fromhex(a): balance for a, balance in genesis["balances"].items()}
        rules = {name: genesis[name] for name in Rules.__slots__}
        if rules["algorithms"] is not None:  # JSON has no sets
            rules["algorithms"] = frozenset(rules["algorithms"])
        return description, State.genesis(balances, Rules(**rules))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PqchainError) as error:
        raise database.error(f"the genesis is damaged ({error})") from error


def _read_head(database: Database) -> _Head:
    rows = database.rows(_HEAD)
    if len(rows) == 1:
        *head, count, highest = rows[0]
        # An SQLite column may have values of any type.
        if list(map(type, head)) == [int, bytes, bytes] and head[0] == count == (highest or 0):
            return _Head(*head)
    raise database.error("blocks are missing or were added")


def _stored(
    database: Database, digest: bytes, head: _Head, rules: Rules
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the digest and the checked bytes of each block; `digest` is that of the genesis."""
    rows = _rows(database, head.height, rules.limit_bytes)
    for height in range(1, head.height + 1):
        stored_height, stored_digest, kind, length, data = next(rows, (None,) * 5)
        if stored_height != height:
            raise database.error(f"block {height} is missing")
        if data is None:
            raise database.error(
                f"block {height} must be a blob of at most {rules.limit_bytes} bytes; it has "
                f"{length} bytes of type {kind.decode()}"
            )
        digest = _digest(digest, data)
        if digest != stored_digest:
            raise database.error(f"block {height} was changed")
        yield digest, data
    if digest != head.digest:
        raise database.error("the last block was changed")


def _rows(database: Database, last: int, limit: int) -> Iterator[tuple[Any, ...]]:
    height, at_once = 0, max(1, _FETCHED_BYTES // limit)
    while rows := database.rows(_NEXT, limit, height, min(at_once, last - height)):
        yield from rows
        height = rows[-1][0]
