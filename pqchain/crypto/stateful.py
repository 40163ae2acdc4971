"""XMSS and LMS (RFC 8391, RFC 8554, SP 800-208), whose keys must not use a leaf twice.

A signature with a leaf that signed another message before reveals enough to forge. `StatefulSigner`
therefore keeps a key in a file and follows EIP-8310 (draft of 2026-06-19), section 4: the next
state is on the disk before a signature is returned, so that a crash at any moment loses at most one
leaf. A second file, with the suffix .lock, excludes other processes and has the number of leaves
that were used; a key file that was copied or restored from a backup is refused.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from pqchain import algorithms
from pqchain.checks import integer
from pqchain.crypto import native
from pqchain.crypto.abi import OK, failure
from pqchain.crypto.builds import INSTALL_HINT, library_path
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.errors import CryptoFailure, DataError, NativeLibraryMissing, UsageError
from pqchain.installation import MAX_TEXT_BYTES, read_bytes
from pqchain.results import checksum

LIBRARY = "liboqs-0.13-stateful"

_FORMAT = ("stateful_key", 1)
_MARK_BYTES = 8
_REMEDY = "restore the key file and its lock file of the last signature, or create another key"


class StatefulVerifier(native.NativeSigner):
    """Key generation and verification of a stateful scheme; `sign` raises CryptoFailure."""

    def _prepare(self) -> None:
        path = library_path(LIBRARY)
        if path is None:
            raise NativeLibraryMissing(f"the library of XMSS and LMS is missing: {INSTALL_HINT}")
        self.library = native.load(path)
        self._scheme = self.library.scheme(self.algorithm.name)

    @property
    def leaves(self) -> int:
        """Number of signatures of a key."""
        return self.library.call("pq_stateful_leaves", self._scheme)

    def call(self, function: str, key: bytearray, *arguments: Any) -> int:
        """Call a function of the library on a key. Raises CryptoFailure for a negative result."""
        code = self.library.call(f"pq_stateful_{function}", self._scheme, key, *arguments)
        if code < OK:
            raise CryptoFailure(f"{self.algorithm.name}, operation {function}: {failure(code)}")
        return code


@cache
def verifier(name: str) -> StatefulVerifier:
    """Return the verifier of a stateful scheme, such as `verifier("XMSS-SHA2_10_256")`.

    Raises UnknownAlgorithm, UsageError for a scheme without state, and NativeLibraryMissing.
    """
    row = algorithms.get(name)
    if not row.family_facts.stateful:
        raise UsageError(f"{row.name} is not stateful; use pqchain.open_signer")
    return StatefulVerifier(row, LIBRARY)


class StatefulSigner:
    """The key in one file, open in this process only. Use as a context manager, or `close` it."""

    def __init__(self, path: str | Path) -> None:
        """Open the key in a file that `create` or `reserve` made.

        Raises OSError, UsageError if another process has it open, and DataError if the file was
        changed, is older than its lock file, or has no lock file.
        """
        self.path = Path(path)
        self._guard = threading.Lock()
        self._process = os.getpid()
        try:
            self._lock = os.open(_lock_path(self.path), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise DataError(
                f"{self.path} must have a file {_lock_path(self.path).name} next to it: the number "
                f"of leaves used is not known without it; {_REMEDY}"
            ) from error
        try:
            _acquire(self._lock, self.path)
            self._read()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, algorithm: str, path: str | Path) -> StatefulSigner:
        """Generate a key of XMSS or LMS, store it in a new file (mode 0600) and open it.

        Raises UsageError if the file exists, and the errors of `verifier`. Key generation computes
        the whole tree: seconds to minutes.
        """
        scheme, path = verifier(algorithm), Path(path)
        public_key, key = scheme.generate_keypair()
        _store_new(scheme, path, public_key, bytearray(key), scheme.leaves)
        return cls(path)

    def _read(self) -> None:
        text = read_bytes(self.path, MAX_TEXT_BYTES)
        state = checksum.loads(text, str(self.path), _REMEDY, version=_FORMAT)
        try:
            self._scheme = verifier(state["algorithm"])
            self.public_key = bytes.fromhex(state["public_key"])
            self._key = bytearray.fromhex(state["secret_key"])
            self.end = int(state["end"])
            """First leaf that this file may not use."""
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise DataError(f"{self.path} is not a stateful key: {error!r}; {_REMEDY}") from error
        self.algorithm = self._scheme.algorithm.name
        """Canonical name."""
        if len(self._key) != self._scheme.algorithm.secret_key_bytes:
            raise DataError(f"{self.path} has a secret key of another length; {_REMEDY}")
        used = int.from_bytes(os.pread(self._lock, _MARK_BYTES, 0), "big")
        if self.next_leaf < used:
            raise DataError(
                f"{self.path} must not be older than its last signature: its next leaf is "
                f"{self.next_leaf}, but {used} were used; {_REMEDY}"
            )

    def __repr__(self) -> str:
        return f"<StatefulSigner {self.algorithm} {self.path} leaf {self.next_leaf} of {self.end}>"

    @property
    def next_leaf(self) -> int:
        """Index of the leaf of the next signature."""
        return self._scheme.call("index", self._key)

    @property
    def remaining(self) -> int:
        """Number of signatures that this file can still make."""
        return self.end - self.next_leaf

    def sign(self, message: BytesLike) -> bytes:
        """Return a signature with the next leaf, after the following state is on the disk.

        Raises BadType, UsageError if no leaf remains, if the signer is closed or belongs to another
        process, and OSError if the state cannot be written; the signer is closed then.
        """
        message = as_bytes("message", message)
        signature = bytearray(self._scheme.algorithm.signature_max_bytes)
        with self._guard:
            self._require(1)
            self._scheme.call("sign", self._key, signature, message, len(message))
            self._commit()
        return bytes(signature)

    def reserve(self, count: int, path: str | Path) -> None:
        """Move the next `count` leaves to a new key file for a second signer (EIP-8310, section 5).

        This file skips them before the new one exists, so that a crash loses the leaves and never
        gives them to both. Raises UsageError as `sign` does, and if the new file exists.
        """
        integer("count", count, least=1)
        path = Path(path)
        _require_new(path)
        with self._guard:
            self._require(count)
            key, end = bytearray(self._key), self.next_leaf + count
            self._scheme.call("skip", self._key, count)
            self._commit()
        _store_new(self._scheme, path, self.public_key, key, end)

    def _require(self, count: int) -> None:
        if self._lock < 0 or os.getpid() != self._process:
            # A child made by fork has a copy of the key, with the same next leaf.
            raise UsageError("the signer must be open, and used by the process that opened it")
        if count > self.remaining:
            raise UsageError(f"{self.path} has {self.remaining} leaves left; got {count} to use")

    def _commit(self) -> None:
        try:
            _write(self.path, _encode(self._scheme, self.public_key, self._key, self.end))
            # After the state: if only the mark were written, the file would look restored.
            os.pwrite(self._lock, self.next_leaf.to_bytes(_MARK_BYTES, "big"), 0)
            os.fsync(self._lock)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the file for other processes."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def __enter__(self) -> StatefulSigner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _acquire(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(f"{path} is open in another signer; close that first") from error


def _require_new(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} must not exist; name another file")


def _encode(scheme: StatefulVerifier, public_key: bytes, key: bytearray, end: int) -> bytes:
    content = {
        _FORMAT[0]: _FORMAT[1],
        "algorithm": scheme.algorithm.name,
        "public_key": public_key.hex(),
        "secret_key": key.hex(),
        "end": end,
    }
    return checksum.dumps(content, indent=1).encode()


def _store_new(
    scheme: StatefulVerifier, path: Path, public_key: bytes, key: bytearray, end: int
) -> None:
    """Store a key in a new file, after its lock file."""
    _require_new(path)
    lock = os.open(_lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # A lock file without a key file is left by a crash at this place, and can be used.
        _acquire(lock, path)
        _require_new(path)
        os.pwrite(lock, scheme.call("index", key).to_bytes(_MARK_BYTES, "big"), 0)
        os.fsync(lock)
        _write(path, _encode(scheme, public_key, key, end))
    finally:
        os.close(lock)


def _write(path: Path, data: bytes) -> None:
    """Replace a file atomically and durably."""
    temporary = path.with_name(f"{path.name}.new")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    # The rename itself is durable only after the folder is.
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
