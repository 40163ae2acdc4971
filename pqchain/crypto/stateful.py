"""XMSS and LMS (RFC 8391, RFC 8554, SP 800-208), whose keys must not use a leaf twice.

A signature with a leaf that signed another message before reveals enough to forge. `StatefulSigner`
therefore keeps a key in a file and follows EIP-8310 (draft of 2026-06-19), section 4: the next
state is on the disk before a signature is returned, so that a crash at any moment loses at most one
leaf.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import algorithms, installation
from pqchain.checks import integer
from pqchain.crypto import native
from pqchain.crypto.abi import OK, failure
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.crypto.key_files import REMEDY, KeyFile
from pqchain.errors import CryptoFailure, DataError, NativeLibraryMissing, UsageError
from pqchain.results import checksum

LIBRARY = "liboqs-0.13-stateful"

_FORMAT = ("stateful_key", 1)


class StatefulVerifier(native.NativeSigner):
    """Key generation and verification of a stateful scheme; `sign` raises CryptoFailure."""

    def _prepare(self) -> None:
        path = installation.library_path(LIBRARY)
        if path is None:
            raise NativeLibraryMissing(f"XMSS and LMS need their library: {native.INSTALL_HINT}")
        self.library = native.load(path)
        self._scheme = self.library.scheme(self.algorithm.name)

    @property
    def leaves(self) -> int:
        """Number of signatures of a key: 2^height - 1, as liboqs does not use the last leaf."""
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
    """The key in one file, open in this process only. Use as a context manager, or `close` it.

    Next to the key file NAME is NAME.state with the number of leaves used. It excludes other
    processes, and a key file that is older, or that was copied or restored without it, is refused.
    A copy of both files is refused by the inode of NAME.state, except with `skip`. What no file can
    detect is an earlier content of both that was written into the existing files, such as an
    earlier image of the whole disk: its next signatures use leaves again, which lets others forge.

    Keys of height h sign 2^h - 1 times: LMS of height 5 31 times, XMSS and LMS of height 10 1,023
    times, XMSS of height 16 65,535 and of height 20 1,048,575 times.
    """

    def __init__(self, path: str | Path, *, skip: int = 0) -> None:
        """Open the key in a file that `create` or `reserve` made.

        With `skip`, a copied or restored key is opened instead of the original, which must not sign
        any more: at least as many leaves as the original has used since the copy was made, which
        are skipped after those that the state file states as used. Raises OSError, UsageError if
        another process has it open or too few leaves are left, and DataError if one of the files is
        missing, was changed or copied, or if the key is older than its state.
        """
        integer("skip", skip, least=0)
        self._guard, self._is_used = threading.RLock(), False
        self._file = KeyFile(path)
        self.path = self._file.path
        try:
            self._read(skip)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, algorithm: str, path: str | Path) -> StatefulSigner:
        """Generate a key of XMSS or LMS, store it in a new file (mode 0600) and open it.

        Raises UsageError if the file or its state file exists, and the errors of `verifier`. Key
        generation computes the whole tree: seconds to minutes.
        """
        scheme = verifier(algorithm)
        public_key, key = scheme.generate_keypair()
        content = _content(scheme, public_key, bytearray(key), scheme.leaves)
        with KeyFile.created(path, *content):
            pass
        return cls(path)

    def _read(self, skip: int) -> None:
        text, state, is_copy = self._file.read()
        content = checksum.loads(text, str(self.path), REMEDY, version=_FORMAT)
        try:
            self._scheme = verifier(content["algorithm"])
            self.public_key = bytes.fromhex(content["public_key"])
            self._key = bytearray.fromhex(content["secret_key"])
            self.end = int(content["end"])
            """First leaf that this file may not use."""
        except (KeyError, TypeError, ArithmeticError, ValueError, UsageError) as error:
            raise DataError(f"{self.path} is not a stateful key: {error!r}; {REMEDY}") from error
        self.algorithm = self._scheme.algorithm.name
        """Canonical name."""
        is_key = len(self._key) == self._scheme.algorithm.secret_key_bytes
        if not is_key or not 0 <= self.end <= self._scheme.leaves:
            raise DataError(f"{self.path} has a secret key or end of another scheme; {REMEDY}")
        if state["key"] != _content(self._scheme, self.public_key, self._key, self.end)[1]:
            raise DataError(f"the state file of {self.path} belongs to another key; {REMEDY}")
        if state["used"] is None:
            raise DataError(f"{self.path} was not completed; remove it and its state file")
        used = int(state["used"])
        if skip:
            skip += max(0, used - self.next_leaf)
            with self._using(skip):
                self._skip(skip)
        elif is_copy:
            raise DataError(
                f"{self.path} must not be a copy, whose leaves the original may use; without the "
                "original, open it with StatefulSigner(path, skip=leaves)"
            )
        elif self.next_leaf < used:
            raise DataError(
                f"{self.path} must not be older than its last signature: its next leaf is "
                f"{self.next_leaf}, but {used} were used; {REMEDY}"
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
        with self._guard, self._using(1):
            self._scheme.call("sign", self._key, signature, message, len(message))
            self._commit()
        return bytes(signature)

    def reserve(self, count: int, path: str | Path) -> None:
        """Move the next `count` leaves to a new key file for a second signer (EIP-8310, section 5).

        The new file is on the disk before this one skips the leaves, and may sign only afterwards.
        A crash or a failing write between these steps loses the leaves, and never gives them to
        both; any other error loses none. Raises UsageError as `sign` does, and if the file exists.
        """
        integer("count", count, least=1)
        with self._guard, self._using(count):
            end = self.next_leaf + count
            content = _content(self._scheme, self.public_key, self._key, end)
            with KeyFile.created(path, *content):
                self._skip(count)

    @contextmanager
    def _using(self, count: int) -> Iterator[None]:
        """Check that leaves may be used, and let no handler of a signal use any meanwhile."""
        if self._is_used or self._file.state < 0 or os.getpid() != self._file.process:
            # A child made by fork has a copy of the key, with the same next leaf.
            raise UsageError("the signer must be open, and used by the process that opened it")
        if count > self.remaining:
            raise UsageError(f"{self.path} has {self.remaining} leaves left; got {count} to use")
        self._is_used = True
        try:
            yield
        finally:
            self._is_used = False

    def _skip(self, count: int) -> None:
        key = bytearray(self._key)
        self._scheme.call("skip", key, count)
        self._key = key
        self._commit()

    def _commit(self) -> None:
        try:
            self._file.replace(*_content(self._scheme, self.public_key, self._key, self.end))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the files for other processes, after a signature that another thread makes."""
        if os.getpid() != self._file.process:
            self._guard = threading.RLock()  # a thread of the parent may have held the other one
        with self._guard:
            self._file.close()

    def __enter__(self) -> StatefulSigner:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _content(
    scheme: StatefulVerifier, public_key: bytes, key: bytearray, end: int
) -> tuple[bytes, str, int]:
    """Return the text of a key file, its fingerprint and its next leaf."""
    content = {
        _FORMAT[0]: _FORMAT[1],
        "algorithm": scheme.algorithm.name,
        "public_key": public_key.hex(),
        "secret_key": key.hex(),
        "end": end,
    }
    # Reserved ranges have the same public key, and each another end.
    fingerprint = hashlib.sha256(public_key + end.to_bytes(8, "big")).hexdigest()
    return checksum.dumps(content, indent=1).encode(), fingerprint, scheme.call("index", key)
