"""SLH-DSA with pre-hashed messages (HashSLH-DSA), FIPS 205, section 10.2.2."""

from __future__ import annotations

import hashlib

from pqchain import algorithms
from pqchain.crypto.abi import OK, REJECTED
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.crypto.native import NativeSigner
from pqchain.errors import Unsupported, UsageError

HASHES = {
    "SHA2-256": (1, "sha256", 0),
    "SHA2-384": (2, "sha384", 0),
    "SHA2-512": (3, "sha512", 0),
    "SHA2-224": (4, "sha224", 0),
    "SHA2-512/224": (5, "sha512_224", 0),
    "SHA2-512/256": (6, "sha512_256", 0),
    "SHA3-224": (7, "sha3_224", 0),
    "SHA3-256": (8, "sha3_256", 0),
    "SHA3-384": (9, "sha3_384", 0),
    "SHA3-512": (10, "sha3_512", 0),
    "SHAKE-128": (11, "shake_128", 32),
    "SHAKE-256": (12, "shake_256", 64),
}
"""Last arc of the object identifier, name in hashlib, and output bytes if the function is a XOF."""

_HASH_OID = bytes.fromhex("06096086480165030402")
"""DER of 2.16.840.1.101.3.4.2, NIST's hash functions, without the last arc."""


def prehashed_message(message: bytes, hash_name: str, context: bytes) -> bytes:
    """Return M' of FIPS 205, algorithm 23: what is signed instead of the message.

    Raises UsageError for a name that is not in HASHES, and Unsupported if Python's hashlib lacks
    the function.
    """
    if hash_name not in HASHES:
        raise UsageError(f"hash_name must be one of {', '.join(HASHES)}; got {hash_name!r}.")
    arc, name, bytes_out = HASHES[hash_name]
    try:
        state = hashlib.new(name, message)
    except ValueError as error:
        raise Unsupported(f"{hash_name} is not in this Python's hashlib: {error}") from error
    # Only the XOFs, which hashlib's stub does not name, take a length.
    digest = state.digest(bytes_out) if bytes_out else state.digest()  # type: ignore[call-arg]
    return bytes((1, len(context))) + context + _HASH_OID + bytes((arc,)) + digest


class SlhDsaSigner(NativeSigner):
    """SLH-DSA; `sign` and `verify` are those of pure signing, FIPS 205, section 10.2.1."""

    def _prepare(self) -> None:
        super()._prepare()
        self._set = self.library.names().index(self.algorithm.name)

    def sign_prehash(
        self,
        message: BytesLike,
        secret_key: BytesLike,
        *,
        hash_name: str,
        context: BytesLike = b"",
    ) -> bytes:
        """Return a signature of the message's hash; `hash_name` is one of HASHES.

        It is not a signature of the message: `verify` rejects it. Raises BadType, BadLength,
        UsageError for another hash, and CryptoFailure if the secret key is damaged.
        """
        context = self._checked_context(context)
        formatted = prehashed_message(as_bytes("message", message), hash_name, context)
        key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        return self.sign_internal(formatted, key)

    def verify_prehash(
        self,
        message: BytesLike,
        signature: BytesLike,
        public_key: BytesLike,
        *,
        hash_name: str,
        context: BytesLike = b"",
    ) -> bool:
        """Return whether the signature is one of `sign_prehash` with this hash and context."""
        context = self._checked_context(context)
        formatted = prehashed_message(as_bytes("message", message), hash_name, context)
        signature = as_bytes("signature", signature)
        key = self._exactly(self._public_key_bytes, "public key", public_key)
        return self.verify_internal(formatted, signature, key)

    def sign_internal(self, formatted: bytes, secret_key: bytes) -> bytes:
        """Return the signature of a formatted message M' (FIPS 205, algorithm 19)."""
        signature = bytearray(self.algorithm.signature_max_bytes)
        code = self.library.call(
            "slhdsa_sign_internal", self._set, signature, formatted, len(formatted), secret_key
        )
        if code != OK:
            raise self._failure("sign", code)
        return bytes(signature)

    def verify_internal(self, formatted: bytes, signature: bytes, public_key: bytes) -> bool:
        """Return whether a signature of a formatted message is valid (FIPS 205, algorithm 20)."""
        if len(signature) not in self._possible:
            return False
        code = self.library.call(
            "slhdsa_verify_internal", self._set, formatted, len(formatted), signature, public_key
        )
        if code not in (OK, REJECTED):
            raise self._failure("verify", code)
        return code == OK


SIGNERS = {
    (name, implementation): SlhDsaSigner
    for name in algorithms.names(family="SLH-DSA", everything=True)
    for implementation in algorithms.get(name).implementations
}
"""The class of each algorithm and implementation."""
