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
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import algorithms, installation
from pqchain.crypto import native
from pqchain.crypto.abi import OK, failure
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.crypto.key_files import REMEDY, KeyFile
from pqchain.errors import CryptoFailure, DataError, NativeLibraryMissing, UsageError
from pqchain.results import checksum

LIBRARY = "liboqs-0.13-stateful"

_FORMAT = ("stateful_key", 2)


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
    A copy of both files is refused by the inode of NAME.state. What no file can detect is an
    earlier content of both that was written into the existing files, such as an earlier image of
    the whole disk: its next signatures use leaves again, which lets others forge.

    Keys of height h sign 2^h - 1 times: LMS of height 5 31 times, XMSS and LMS of height 10 1,023
    times, XMSS of height 16 65,535 and of height 20 1,048,575 times.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the key in a file that `create` made.

        Raises OSError, UsageError if another process has it open, and DataError if one of the files
        is missing, was changed or copied, or if the key is older than its state.
        """
        self._guard, self._is_used = threading.RLock(), False
        self._file = KeyFile(path)
        self.path = self._file.path
        try:
            self._read()
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
        KeyFile.create(path, *_content(scheme, public_key, bytearray(key)))
        return cls(path)

    def _read(self) -> None:
        text, state = self._file.read()
        content = checksum.loads(text, str(self.path), REMEDY, version=_FORMAT)
        try:
            self._scheme = verifier(content["algorithm"])
            self.public_key = bytes.fromhex(content["public_key"])
            self._key = bytearray.fromhex(content["secret_key"])
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise DataError(f"{self.path} is not a stateful key: {error!r}; {REMEDY}") from error
        self.algorithm = self._scheme.algorithm.name
        """Canonical name."""
        if len(self._key) != self._scheme.algorithm.secret_key_bytes:
            raise DataError(f"{self.path} has a secret key of another scheme; {REMEDY}")
        if state["key"] != _content(self._scheme, self.public_key, self._key)[1]:
            raise DataError(f"the state file of {self.path} belongs to another key; {REMEDY}")
        if self.next_leaf < state["used"]:
            raise DataError(
                f"{self.path} must not be older than its last signature: its next leaf is "
                f"{self.next_leaf}, but {state['used']} were used; {REMEDY}"
            )

    def __repr__(self) -> str:
        leaves = self._scheme.leaves
        return f"<StatefulSigner {self.algorithm} {self.path} leaf {self.next_leaf} of {leaves}>"

    @property
    def next_leaf(self) -> int:
        """Index of the leaf of the next signature."""
        return self._scheme.call("index", self._key)

    @property
    def remaining(self) -> int:
        """Number of signatures that this key can still make."""
        return self._scheme.leaves - self.next_leaf

    def sign(self, message: BytesLike) -> bytes:
        """Return a signature with the next leaf, after the following state is on the disk.

        Raises BadType, UsageError if no leaf remains, if the signer is closed or belongs to another
        process, and OSError if the state cannot be written; the signer is closed then.
        """
        message = as_bytes("message", message)
        signature = bytearray(self._scheme.algorithm.signature_max_bytes)
        with self._guard:
            # A handler of a signal may call this method meanwhile; a child made by fork has a copy
            # of the key, with the same next leaf.
            if self._is_used or self._file.state < 0 or os.getpid() != self._file.process:
                raise UsageError("the signer must be open, and used by the process that opened it")
            if self.remaining == 0:
                raise UsageError(f"{self.path} has no leaves left; create another key")
            self._is_used = True
            try:
                self._scheme.call("sign", self._key, signature, message, len(message))
                self._file.replace(*_content(self._scheme, self.public_key, self._key))
            except BaseException:
                self.close()
                raise
            finally:
                self._is_used = False
        return bytes(signature)

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


def _content(scheme: StatefulVerifier, public_key: bytes, key: bytearray) -> tuple[bytes, str, int]:
    """Return the text of a key file, its fingerprint and its next leaf."""
    content = {
        _FORMAT[0]: _FORMAT[1],
        "algorithm": scheme.algorithm.name,
        "public_key": public_key.hex(),
        "secret_key": key.hex(),
    }
    fingerprint = hashlib.sha256(public_key).hexdigest()
    return checksum.dumps(content, indent=1).encode(), fingerprint, scheme.call("index", key)
