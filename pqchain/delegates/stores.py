"""Durable state of a delegate: its blocks, its votes and its lock, in memory or in a folder.

    ledger.sqlite   the blocks (`chain.ledger`)
    quorums         per block: length (4), view (2), votes, checksum; a torn end is cut off
    bound           votes and lock of the current height, checksum; replaced atomically

A checksum is the SHA3-256 of the bytes since the previous one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha3_256
from pathlib import Path
from struct import Struct
from typing import Literal

from pqchain.chain.ledger import Ledger
from pqchain.chain.state import State
from pqchain.chain.verification import Verifier
from pqchain.errors import DataError
from pqchain.installation import read_bytes

_CHECK_BYTES = 32

_MAX_FILE_BYTES = 1 << 30
"""Maximum size of a file, because a file is read into memory at once."""

_BOUND = Struct(">QqqqI32sI")
"""Height, last views voted and committed in, view of the lock (-1: none), length of its block,
hash, length of its proof; block and proof follow.
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """Lock on a block for which a quorum voted or, with one phase of votes, the delegate itself."""

    view: int
    digest: bytes
    data: bytes
    """The encoded block."""
    proof: bytes = b""
    """The quorum as encoded by `messages.encode_votes`; empty where it is not needed."""


@dataclass(frozen=True, slots=True)
class SafetyRecord:
    """Votes and lock of a delegate at one height, which must survive crashes."""

    height: int = 0
    voted: int = -1
    """Last view that it voted in; -1: none."""
    committed: int = -1
    """Last view that it committed in; -1: none."""
    lock: Lock | None = None


class MemoryStore:
    """Storage of a delegate in memory; a subclass returns once its data survives a crash."""

    def __init__(self, genesis: State) -> None:
        self.state = genesis
        """State after the last final block."""
        self.record = SafetyRecord()
        self.blocks: list[tuple[bytes, bytes]] = []
        """Final blocks and their quorums of votes."""

    def add_final(self, data: bytes, state: State, proof: bytes) -> None:
        """Store a final block, the state after it, and its quorum of votes."""
        self.blocks.append((data, proof))
        self.state = state

    def save(self, record: SafetyRecord) -> None:
        """Store the votes and the lock of a height."""
        self.record = record

    def final(self, height: int) -> tuple[bytes, bytes] | None:
        """Return the final block at a height and its quorum, or None if there is none."""
        return self.blocks[height] if 0 <= height < len(self.blocks) else None


class FileStore(MemoryStore):
    """Storage that survives crashes of the machine."""

    def __init__(self, folder: Path, genesis: State, *, verifier: Verifier | None = None) -> None:
        """Open the storage in a folder, or create it there.

        Raises DataError if the files are damaged or belong to another chain.
        """
        super().__init__(genesis)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "ledger.sqlite"
        if path.exists():
            # A restart takes the time of verifying the chain, whatever this user did before.
            self._ledger = Ledger.open(path, verifier=verifier, whole=True)
        else:
            balances = {address: account.balance for address, account in genesis.accounts.items()}
            self._ledger = Ledger.create(path, balances, genesis.rules, verifier=verifier)
        self._quorums_path, self._bound_path = folder / "quorums", folder / "bound"
        try:
            blocks = list(self._ledger.blocks())
            first = blocks[0].header.previous if blocks else self._ledger.state.tip
            if first != genesis.tip:  # the hash of balances and rules
                raise DataError(f"{path} belongs to another chain; give an empty folder")
            proofs = self._read_quorums(len(blocks))
            self.blocks = [
                (block.encode(), proof) for block, proof in zip(blocks, proofs, strict=True)
            ]
            self.record = self._read_bound()
        except BaseException:
            self._ledger.close()
            raise
        self.state = self._ledger.state

    def add_final(self, data: bytes, state: State, proof: bytes) -> None:
        """Store a final block: its votes first, so that no block is stored without them."""
        _write(self._quorums_path, "ab", len(proof).to_bytes(4, "big") + proof)
        self._ledger.append(data, after=state)
        super().add_final(data, self._ledger.state, proof)

    def save(self, record: SafetyRecord) -> None:
        """Store the votes and the lock of a height."""
        lock = record.lock or Lock(-1, bytes(32), b"")
        fixed = _BOUND.pack(
            record.height, record.voted, record.committed, lock.view, len(lock.data), lock.digest,
            len(lock.proof),
        )  # fmt: skip
        temporary = self._bound_path.with_suffix(".new")
        _write(temporary, "wb", fixed + lock.data + lock.proof)
        # The rename is atomic: a crash leaves the old record or the new one. The folder is synced
        # so that the rename itself is durable before the vote leaves.
        temporary.replace(self._bound_path)
        handle = os.open(self._bound_path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        super().save(record)

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def _read_quorums(self, count: int) -> list[bytes]:
        """Return the encoded quorums of the blocks; truncate data after that of the last block."""
        path = self._quorums_path
        data = read_bytes(path, _MAX_FILE_BYTES) if path.exists() else b""
        proofs: list[bytes] = []
        at = 0
        # Votes are written before their block, so a crash can leave a quorum without a block.
        while at + 4 <= len(data) and len(proofs) < count:
            end = at + 4 + int.from_bytes(data[at : at + 4], "big") + _CHECK_BYTES
            if end > len(data):
                break
            proofs.append(_without_checksum(path, data[at:end])[4:])
            at = end
        if len(proofs) < count:
            raise DataError(f"{path} lacks the votes of block {len(proofs)}; give an empty folder")
        if at < len(data):
            os.truncate(path, at)
        return proofs

    def _read_bound(self) -> SafetyRecord:
        path = self._bound_path
        if not path.exists():
            return SafetyRecord()
        data = _without_checksum(path, read_bytes(path, _MAX_FILE_BYTES))
        height, voted, committed, view, size, digest, _ = _BOUND.unpack_from(data)
        variable = data[_BOUND.size :]
        lock = Lock(view, digest, variable[:size], variable[size:]) if view >= 0 else None
        return SafetyRecord(height, voted, committed, lock)


def _write(path: Path, mode: Literal["ab", "wb"], data: bytes) -> None:
    """Write data and its checksum to the disk."""
    with path.open(mode) as file:
        file.write(data + sha3_256(data).digest())
        file.flush()
        os.fsync(file.fileno())


def _without_checksum(path: Path, data: bytes) -> bytes:
    """Return the data without its checksum. Raises DataError if the checksum is wrong."""
    content, checksum = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if sha3_256(content).digest() != checksum:
        raise DataError(f"{path} is damaged: its checksum is wrong; give an empty folder")
    return content
