"""Falcon with key recovery (Falcon specification 1.2, section 3.12), in pqchain's Falcon library.

A public key is a hash: SHAKE256 of the public key of plain Falcon, 32 bytes for degree 512 and 64
for 1024. A signature is 0x70 + log2(degree), the nonce (40 bytes), then both short polynomials, s1
and s2, each compressed and padded with zeros (625 or 1239 bytes). It is valid if they are short and
the hash of the key recovered from them and the message is the public key. The specification does
not fix the hash and this encoding; they are pqchain's choice.
"""

from __future__ import annotations

from pqchain.crypto.interface import BytesLike, RecoverableSigner, Signer, as_bytes
from pqchain.crypto.native import NativeSigner

_IMPLEMENTATION = "falcon/kernel"


class FalconRecoverySigner(NativeSigner, RecoverableSigner):
    """Signer whose signatures all allow recovery of the public key."""

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


SIGNERS: dict[tuple[str, str], type[Signer]] = {
    ("Falcon-recovery-512", _IMPLEMENTATION): FalconRecoverySigner,
    ("Falcon-recovery-1024", _IMPLEMENTATION): FalconRecoverySigner,
}
"""Class of each pair of algorithm and implementation; the registry lists the same pairs."""
