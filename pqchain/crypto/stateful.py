"""XMSS and LMS (RFC 8391, RFC 8554, SP 800-208), whose keys must not use a leaf twice.

A signature with a leaf that signed another message before reveals enough to forge. The key of a
`StatefulSigner` therefore never leaves the memory of its process: no copy of it can be restored.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

from pqchain import algorithms, installation
from pqchain.crypto import native
from pqchain.crypto.abi import OK, failure
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.errors import CryptoFailure, NativeLibraryMissing, UsageError

LIBRARY = "liboqs-0.13-stateful"


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
    """A new key of XMSS or LMS in this process's memory; of height h it signs 2^h - 1 times."""

    def __init__(self, algorithm: str) -> None:
        """Generate the key, whose whole tree is computed: seconds to minutes.

        Raises the errors of `verifier`.
        """
        self._scheme = verifier(algorithm)
        self.algorithm = self._scheme.algorithm.name
        """Canonical name."""
        self.public_key, key = self._scheme.generate_keypair()
        self._key, self._process, self._guard = bytearray(key), os.getpid(), threading.RLock()

    def __getstate__(self) -> None:
        raise TypeError(f"a key of {self.algorithm} must not be copied; make another")

    @property
    def next_leaf(self) -> int:
        """Index of the leaf of the next signature."""
        return self._scheme.call("index", self._key)

    @property
    def remaining(self) -> int:
        """Number of signatures that this key can still make."""
        return self._scheme.leaves - self.next_leaf

    def sign(self, message: BytesLike) -> bytes:
        """Return a signature with the next leaf.

        Raises BadType, and UsageError if no leaf remains or in another process than that which made
        the key: a child made by fork has a copy, with the same next leaf.
        """
        message = as_bytes("message", message)
        signature = bytearray(self._scheme.algorithm.signature_max_bytes)
        if os.getpid() != self._process:
            raise UsageError("the signer must be used by the process that made it; make another")
        with self._guard:  # a handler of a signal may call this method meanwhile
            if self.remaining == 0:
                raise UsageError(f"this key of {self.algorithm} has no leaves left; make another")
            self._scheme.call("sign", self._key, signature, message, len(message))
        return bytes(signature)
