"""BLS signatures on BLS12-381 by blst (draft-irtf-cfrg-bls-signature-05, minimal public keys).

The suite is Ethereum's, with proofs of possession: BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_.
`native/blst/bls.h` says what of it is beside `pq_native.h`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from pqchain.crypto.abi import failure
from pqchain.crypto.interface import AggregateSigner, BytesLike, CheckedKeys, Signer, as_bytes
from pqchain.crypto.native import NativeSigner
from pqchain.errors import CryptoFailure, UsageError

_IMPLEMENTATION = "blst/assembly"

_CHECKED_KEY_BYTES = 96


class BlsSigner(NativeSigner, AggregateSigner):
    """BLS12-381 in our library of blst."""

    def aggregate(self, signatures: Sequence[BytesLike]) -> bytes:
        """Return the sum of the signatures; raises CryptoFailure for one outside G2."""
        length = self.algorithm.signature_max_bytes
        joined = self._joined("signature", length, signatures)
        made = bytearray(length)
        if not self._done("bls_aggregate", made, joined, len(signatures)):
            raise CryptoFailure("a signature of the aggregate is no point of its group: drop it")
        return bytes(made)

    def checked_keys(self, public_keys: Sequence[BytesLike]) -> CheckedKeys:
        """Decompress keys (KeyValidate); raises CryptoFailure for infinity and outside G1."""
        joined = self._joined("public key", self.algorithm.public_key_bytes, public_keys)
        points = bytearray(_CHECKED_KEY_BYTES * len(public_keys))
        if not self._done("bls_check_keys", points, joined, len(public_keys)):
            raise CryptoFailure("a public key is no point of its group, or infinity: drop it")
        return CheckedKeys(bytes(points), len(public_keys))

    def fast_aggregate_verify(
        self, message: BytesLike, signature: BytesLike, keys: CheckedKeys
    ) -> bool:
        """Verify with two pairings, however many keys there are."""
        message, signature = as_bytes("message", message), self._signature(signature)
        given = (message, len(message), signature, self._points(keys), len(keys))
        return self._done("bls_verify_one_message", *given)

    def aggregate_verify(
        self, messages: Sequence[BytesLike], signature: BytesLike, keys: CheckedKeys
    ) -> bool:
        """Verify with a pairing for each message and one more."""
        if len(messages) != len(keys):
            raise UsageError(
                f"{len(messages)} messages and {len(keys)} keys were given; each key signs one"
            )
        parts = [as_bytes("message", message) for message in messages]
        offsets = array("Q", accumulate(map(len, parts), initial=0)).tobytes()
        given = (
            b"".join(parts),
            offsets,
            self._signature(signature),
            self._points(keys),
            len(keys),
        )
        return self._done("bls_verify_messages", *given)

    def prove_possession(self, secret_key: BytesLike) -> bytes:
        """Sign the public key under a suite of its own (PopProve)."""
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        proof = bytearray(self.algorithm.signature_max_bytes)
        self._done("bls_prove_possession", proof, secret_key)
        return bytes(proof)

    def verify_possession(self, public_key: BytesLike, proof: BytesLike) -> bool:
        """Verify such a signature (PopVerify)."""
        public_key = self._exactly(self._public_key_bytes, "public key", public_key)
        return self._done("bls_verify_possession", public_key, self._signature(proof))

    def _done(self, function: str, *arguments: int | BytesLike) -> bool:
        """Return whether a function of bls.h found everything right. Raises CryptoFailure."""
        code = self.library.call(function, *arguments)
        if code < 0:
            raise CryptoFailure(f"{self.algorithm.name}, {function}: {failure(code)}")
        return code == 0

    def _points(self, keys: CheckedKeys) -> bytes:
        """Return the points of keys. Raises UsageError unless there are as many as stated."""
        points = as_bytes("points of the keys", keys.points)
        if not points or len(points) != _CHECKED_KEY_BYTES * len(keys):
            raise UsageError(
                f"checked keys must have {_CHECKED_KEY_BYTES} bytes each, at least one key; got "
                f"{len(points)} bytes for {len(keys)} keys. Use what checked_keys returned"
            )
        return points

    def _signature(self, value: BytesLike) -> bytes:
        return self._exactly(self.algorithm.signature_max_bytes, "signature", value)

    def _joined(self, what: str, length: int, values: Sequence[BytesLike]) -> bytes:
        """Return values of one length side by side. Raises UsageError if there is none."""
        if not values:
            raise UsageError(f"no {what} was given; an aggregate has one at least")
        return b"".join(self._exactly(length, what, value) for value in values)


SIGNERS: dict[tuple[str, str], type[Signer]] = {("BLS12-381", _IMPLEMENTATION): BlsSigner}
"""Who computes what; the registry lists the same pairs."""
