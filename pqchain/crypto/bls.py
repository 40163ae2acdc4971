"""BLS signatures with blst (draft-irtf-cfrg-bls-signature-05, minimal-pubkey-size variant).

The suite is Ethereum's, with proofs of possession: BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_.
`native/blst/bls.h` declares the functions for aggregates, in addition to `pq_native.h`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from pqchain.crypto.abi import failure
from pqchain.crypto.interface import BytesLike, Signer, as_bytes
from pqchain.crypto.native import NativeSigner
from pqchain.errors import CryptoFailure, UsageError

_IMPLEMENTATION = "blst/assembly"

_CHECKED_KEY_BYTES = 96
"""Length of an uncompressed point of a public key."""


class CheckedKeys:
    """Validated and decompressed public keys for aggregates, for use in this process only."""

    __slots__ = ("count", "points")

    def __init__(self, points: bytes, count: int) -> None:
        self.points = points
        self.count = count

    def __len__(self) -> int:
        return self.count


class BlsSigner(NativeSigner):
    """BLS12-381 in pqchain's build of blst, with aggregates as short as a single signature.

    Method names are those of draft-irtf-cfrg-bls-signature. Check `verify_possession` before a key
    is used in aggregates: without it an attacker can derive a key from those of others (rogue-key
    attack).
    """

    def aggregate(self, signatures: Sequence[BytesLike]) -> bytes:
        """Return the sum of the signatures. Raises CryptoFailure for one outside G2."""
        length = self.algorithm.signature_max_bytes
        joined = self._joined("signature", length, signatures)
        aggregate = bytearray(length)
        if not self._succeeds("bls_aggregate", aggregate, joined, len(signatures)):
            raise CryptoFailure("a signature must be in the group G2; remove invalid ones")
        return bytes(aggregate)

    def checked_keys(self, public_keys: Sequence[BytesLike]) -> CheckedKeys:
        """Decompress and validate keys (KeyValidate). Raises CryptoFailure for an invalid key."""
        joined = self._joined("public key", self.algorithm.public_key_bytes, public_keys)
        points = bytearray(_CHECKED_KEY_BYTES * len(public_keys))
        if not self._succeeds("bls_check_keys", points, joined, len(public_keys)):
            raise CryptoFailure("a public key must be in G1 and not infinity; remove invalid ones")
        return CheckedKeys(bytes(points), len(public_keys))

    def fast_aggregate_verify(
        self, message: BytesLike, signature: BytesLike, keys: CheckedKeys
    ) -> bool:
        """Verify an aggregate of one message; takes two pairings for any number of keys."""
        message, signature = as_bytes("message", message), self._signature(signature)
        inputs = (message, len(message), signature, self._points(keys), len(keys))
        return self._succeeds("bls_verify_one_message", *inputs)

    def aggregate_verify(
        self, messages: Sequence[BytesLike], signature: BytesLike, keys: CheckedKeys
    ) -> bool:
        """Verify an aggregate of distinct messages; takes one pairing per message and one more."""
        if len(messages) != len(keys):
            raise UsageError(
                f"messages must have one item per key; got {len(messages)} for {len(keys)} keys"
            )
        parts = [as_bytes("message", message) for message in messages]
        offsets = array("Q", accumulate(map(len, parts), initial=0)).tobytes()
        inputs = (b"".join(parts), offsets, self._signature(signature), self._points(keys))
        return self._succeeds("bls_verify_messages", *inputs, len(keys))

    def prove_possession(self, secret_key: BytesLike) -> bytes:
        """Return a proof of possession (PopProve): the public key signed in a separate suite."""
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        proof = bytearray(self.algorithm.signature_max_bytes)
        self._succeeds("bls_prove_possession", proof, secret_key)
        return bytes(proof)

    def verify_possession(self, public_key: BytesLike, proof: BytesLike) -> bool:
        """Return whether a proof of possession is valid (PopVerify)."""
        public_key = self._exactly(self._public_key_bytes, "public key", public_key)
        return self._succeeds("bls_verify_possession", public_key, self._signature(proof))

    def _succeeds(self, function: str, *arguments: int | BytesLike) -> bool:
        # Negative codes are failures of the library; a positive code is an invalid input.
        code = self.library.call(function, *arguments)
        if code < 0:
            raise CryptoFailure(f"{self.algorithm.name}, {function}: {failure(code)}")
        return code == 0

    def _points(self, keys: CheckedKeys) -> bytes:
        # Checked at every use: `CheckedKeys` is mutable, and C takes no length of the points.
        points = as_bytes("points of the keys", keys.points)
        if not points or len(points) != _CHECKED_KEY_BYTES * len(keys):
            raise UsageError(
                f"keys must be at least one checked key of {_CHECKED_KEY_BYTES} bytes; got "
                f"{len(points)} bytes for {len(keys)} keys. Use the result of checked_keys"
            )
        return points

    def _signature(self, value: BytesLike) -> bytes:
        return self._exactly(self.algorithm.signature_max_bytes, "signature", value)

    def _joined(self, name: str, length: int, values: Sequence[BytesLike]) -> bytes:
        if not values:
            raise UsageError(f"an aggregate must have at least one {name}; got none")
        return b"".join(self._exactly(length, name, value) for value in values)


SIGNERS: dict[tuple[str, str], type[Signer]] = {("BLS12-381", _IMPLEMENTATION): BlsSigner}
"""Class of each pair of algorithm and implementation; the registry lists the same pairs."""
