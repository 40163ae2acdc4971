"""Durable storage of a delegate in a folder: ledger, quorums, votes and lock.

    ledger.sqlite   the blocks (`chain.ledger`)
    quorums         per block: length (4), view (2), votes, checksum; a torn end is cut off
    bound           votes and lock of the current height, checksum; replaced atomically

A checksum is the SHA3-256 of the bytes since the previous one. Every call returns once its data is
on disk.
"""

from __future__ import annotations

import os
from hashlib import sha3_256
from pathlib import Path
from struct import Struct

from pqchain.chain.ledger import Ledger
from pqchain.chain.state import State
from pqchain.chain.verification import Verifier
from pqchain.delegates.safety_store import Lock, SafetyRecord
from pqchain.errors import DataError
from pqchain.installation import read_bytes

_CHECK_BYTES = 32

_MAX_FILE_BYTES = 1 << 30
"""Maximum size of a file, because a file is read into memory at once."""

_BOUND = Struct(">QqqqI32sI")
"""Height, last views voted and committed in, view of the lock (-1: none), length of its block,
hash, length of its proof; block and proof follow.
"""


class FileStore:
    """Storage that survives crashes of the machine."""

    def __init__(self, folder: Path, genesis: State, *, verifier: Verifier | None = None) -> None:
        """Open the storage in a folder, or create it there.

        Raises DataError if the files are damaged or belong to another chain.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "ledger.sqlite"
        if path.exists():
            self._ledger = Ledger.open(path, verifier=verifier)
        else:
            balances = {address: account.balance for address, account in genesis.accounts.items()}
            self._ledger = Ledger.create(path, balances, genesis.rules, verifier=verifier)
        self._quorums_path, self._bound_path = folder / "quorums", folder / "bound"
        try:
            blocks = list(self._ledger.blocks())
            first = blocks[0].header.previous if blocks else self._ledger.state.tip
            if first != genesis.tip:  # the hash of balances and rules
                raise DataError(f"{path} belongs to another chain; give an empty folder")
            self._blocks = [block.encode() for block in blocks]
            self._proofs = self._read_quorums()
            self.record = self._read_bound()
        except BaseException:
            self._ledger.close()
            raise

    @property
    def state(self) -> State:
        """State after the last final block."""
        return self._ledger.state

    def append(self, data: bytes, state: State, proof: bytes) -> None:
        """Store a final block: its votes first, so that no block is stored without them."""
        with self._quorums_path.open("ab") as file:
            file.write(_with_checksum(len(proof).to_bytes(4, "big") + proof))
            file.flush()
            os.fsync(file.fileno())
        self._ledger.append(data, after=state)
        self._proofs.append(proof)
        self._blocks.append(data)

    def save(self, record: SafetyRecord) -> None:
        """Store the votes and the lock of a height."""
        lock = record.lock or Lock(-1, bytes(32), b"")
        fixed = _BOUND.pack(
            record.height, record.voted, record.committed, lock.view, len(lock.data), lock.digest,
            len(lock.proof),
        )  # fmt: skip
        temporary = self._bound_path.with_suffix(".new")
        with temporary.open("wb") as file:
            file.write(_with_checksum(fixed + lock.data + lock.proof))
            file.flush()
            os.fsync(file.fileno())
        # The rename is atomic: a crash leaves the old record or the new one. The folder is synced
        # so that the rename itself is durable before the vote leaves.
        temporary.replace(self._bound_path)
        handle = os.open(self._bound_path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        self.record = record

    def final(self, height: int) -> tuple[bytes, bytes] | None:
        """Return the final block at a height and its quorum, or None if there is none."""
        if not 0 <= height < min(len(self._blocks), len(self._proofs)):
            return None
        return self._blocks[height], self._proofs[height]

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def _read_quorums(self) -> list[bytes]:
        """Return the encoded quorum of each block; truncate data after that of the last block."""
        path = self._quorums_path
        data = read_bytes(path, _MAX_FILE_BYTES) if path.exists() else b""
        proofs: list[bytes] = []
        at = 0
        # Votes are written before their block, so a crash can leave a quorum without a block.
        while at + 4 <= len(data) and len(proofs) < len(self._blocks):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big") + _CHECK_BYTES
            if end > len(data):
                break
            proofs.append(_without_checksum(path, data[at:end])[4:])
            at = end
        if len(proofs) < len(self._blocks):
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


def _with_checksum(data: bytes) -> bytes:
    return data + sha3_256(data).digest()


def _without_checksum(path: Path, data: bytes) -> bytes:
    """Return the data without its checksum. Raises DataError if the checksum is wrong."""
    content, checksum = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
    if sha3_256(content).digest() != checksum:
        raise DataError(f"{path} is damaged: its checksum is wrong; give an empty folder")
    return content
