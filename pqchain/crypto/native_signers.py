"""Signers of native libraries with operations beyond those of `pq_native.h`.

- BLS with blst (draft-irtf-cfrg-bls-signature-05, minimal-pubkey-size variant). The suite is
  Ethereum's, with proofs of possession: `BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_`.
- Falcon with key recovery (Falcon specification 1.2, section 3.12). A public key is a hash:
  SHAKE256 of the public key of plain Falcon, 32 bytes for degree 512 and 64 for 1024. A signature
  is 0x70 + log2(degree), the nonce (40 bytes), then both short polynomials, s1 and s2, each
  compressed and padded with zeros (625 or 1239 bytes). It is valid if they are short and the hash
  of the key recovered from them and the message is the public key. The specification does not fix
  the hash and this encoding; they are pqchain's choice.
- SHRINCS, a draft (SHRINCS/shrincs-bip at commit 18044f4ea7bf002c6cedcf7650b020feae2f475f,
  impl/shrincs.py): stateful signatures of a tree of one-time keys, and a stateless fallback. It may
  change, and keys and signatures with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from pqchain import algorithms, checks
from pqchain.crypto.abi import OK, failure
from pqchain.crypto.interface import BytesLike, RecoverableSigner, Signer, as_bytes
from pqchain.crypto.native import NativeSigner, library
from pqchain.errors import CryptoFailure, UsageError

_CHECKED_KEY_BYTES = 96
"""Length of an uncompressed point of a public key."""


@dataclass(slots=True)
class CheckedKeys:
    """Validated and decompressed public keys for aggregates, for use in this process only."""

    points: bytes
    count: int


class BlsSigner(NativeSigner):
    """BLS12-381 in pqchain's build of blst, with aggregates as short as a single signature.

    Method names are those of draft-irtf-cfrg-bls-signature; `native/blst/bls.h` declares the
    functions. An aggregate proves nothing for keys whose possession was not proven (rogue-key
    attack); keys here are of one process.
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
        inputs = (message, len(message), signature, self._points(keys), keys.count)
        return self._succeeds("bls_verify_one_message", *inputs)

    def _succeeds(self, function: str, *arguments: int | BytesLike) -> bool:
        # Negative codes are failures of the library; a positive code is an invalid input.
        code = self.library.call(function, *arguments)
        if code < 0:
            raise CryptoFailure(f"{self.algorithm.name}, {function}: {failure(code)}")
        return code == 0

    def _points(self, keys: CheckedKeys) -> bytes:
        # Checked at every use: `CheckedKeys` is mutable, and C takes no length of the points.
        points = as_bytes("points of the keys", keys.points)
        if not points or len(points) != _CHECKED_KEY_BYTES * keys.count:
            raise UsageError(
                f"keys must be at least one checked key of {_CHECKED_KEY_BYTES} bytes; got "
                f"{len(points)} bytes for {keys.count} keys. Use the result of checked_keys"
            )
        return points

    def _signature(self, value: BytesLike) -> bytes:
        return self._exactly(self.algorithm.signature_max_bytes, "signature", value)

    def _joined(self, name: str, length: int, values: Sequence[BytesLike]) -> bytes:
        if not values:
            raise UsageError(f"an aggregate must have at least one {name}; got none")
        return b"".join(self._exactly(length, name, value) for value in values)


class FalconRecoverySigner(NativeSigner, RecoverableSigner):
    """Falcon signer whose signatures all allow recovery of the public key."""

    def sign_recoverable(self, message: BytesLike, secret_key: BytesLike) -> bytes:
        """Return the result of `sign`, as every signature allows key recovery."""
        return self.sign(message, secret_key)

    def recover(self, message: BytesLike, signature: BytesLike) -> bytes | None:
        """Return the hash of the public key, or None if the signature is invalid for every key."""
        message, signature = as_bytes("message", message), as_bytes("signature", signature)
        public_key = bytearray(self.algorithm.public_key_bytes)
        signed = (signature, len(signature), message, len(message))
        # Category 1 is Falcon of degree 512, category 5 of degree 1024.
        log_degree = 9 if self.algorithm.nist_level == 1 else 10
        code = self.library.call("falcon_recover_key", public_key, *signed, log_degree)
        return None if code else bytes(public_key)


class ShrincsSigner(Signer):
    """SHRINCS in a library of SLH-DSA. Keeps no state: the caller counts signatures.

    `verify` accepts signatures of either kind.
    """

    STATELESS_BYTES = 5777

    def __init__(self, implementation: str) -> None:
        super().__init__(algorithms.get("SHRINCS"), implementation)
        self._possible = range(1, self.STATELESS_BYTES + 1)

    def _prepare(self) -> None:
        self._library = library(self.implementation)

    def generate_keypair(
        self, structure: bytes = b"\0\xff", seed: BytesLike | None = None
    ) -> tuple[bytes, bytes]:
        """Return (public key, secret key), by default of a random seed of 48 bytes.

        `structure` is shape and depth of the tree, as in the secret key: (0, depth) is unbalanced
        with depth + 1 leaves, (1, depth) balanced with 2^depth leaves and a depth of at most 20;
        depth 0 has none. Raises BadLength, and CryptoFailure for another structure.
        """
        drawn = secrets.token_bytes(48) if seed is None else self._exactly(48, "seed", seed)
        structure = self._exactly(2, "structure", structure)
        keys = bytearray(self._public_key_bytes), bytearray(self._secret_key_bytes)
        if self._library.call("shrincs_make_keypair", *keys, drawn, structure) != OK:
            raise CryptoFailure(
                f"structure must be (0, 0 to 255) or (1, 0 to 20); got {(*structure,)}."
            )
        return bytes(keys[0]), bytes(keys[1])

    def sign(
        self, message: BytesLike, secret_key: BytesLike, context: BytesLike = b"", *,
        counter: int | None = None, randomness: BytesLike | None = None,
    ) -> bytes:  # fmt: skip
        """Return a signature by leaf number `counter`, or a stateless one if it is None.

        Never sign two messages with one counter: write counter + 1 to stable storage before the
        signature leaves. `randomness` (16 bytes, drawn by default) is for stateless signatures.
        Raises UsageError if the tree has no such leaf, BadType, BadLength, and CryptoFailure if
        the secret key is damaged.
        """
        message, context = as_bytes("message", message), self._checked_context(context)
        key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        length = self.STATELESS_BYTES
        if counter is not None:
            checks.integer("counter", counter, least=0)
            length = self._library.call("shrincs_length", key[64:66], counter)
            if length == 0:
                raise UsageError(
                    f"counter must be below the number of leaves of the key; got {counter}. Sign "
                    "without state (counter=None), or with a new key."
                )
        drawn = secrets.token_bytes(16) if randomness is None else randomness
        drawn, leaf = self._exactly(16, "randomness", drawn), -1 if counter is None else counter
        signature = bytearray(length)
        signed = (message, len(message), context, len(context), key, leaf, drawn)
        if (code := self._library.call("shrincs_sign", signature, *signed)) != OK:
            raise CryptoFailure(f"SHRINCS, operation sign: code {code}; the key may be damaged")
        return bytes(signature)

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        return self.sign(message, secret_key, context)

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        signed = (message, len(message), signature, len(signature), context, len(context))
        return self._library.call("shrincs_check", *signed, public_key) == OK
