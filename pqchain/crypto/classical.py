"""Classical signatures of today's chains: ECDSA and Schnorr on secp256k1, ECDSA P-256, Ed25519.

Formats are those of the registry: a public key is a compressed point (33 bytes; 32 for Ed25519),
a secret key the scalar or seed (32), a signature r || s, big-endian (R || s for Ed25519, as RFC
8032 has it; 64). All signing is deterministic (RFC 6979, BIP 340 without auxiliary randomness,
RFC 8032): equal input gives equal bytes in every implementation of one scheme. ECDSA signs the
SHA-256 of the message; Schnorr and Ed25519 sign the message itself.

Malleability is that of the libraries: libsecp256k1 produces and accepts only the lower of the two
values of s; ECDSA on P-256 accepts both, of which a block has the lower (`chain.transaction`).
"""

from __future__ import annotations

import os
from abc import abstractmethod
from functools import lru_cache
from hashlib import sha256
from typing import Any

from pqchain.algorithms import Algorithm
from pqchain.crypto.interface import BytesLike, RecoverableSigner, Signer, as_bytes
from pqchain.errors import CryptoFailure, Unsupported

_HALF = 32
"""Length of a coordinate, a scalar, and each half of a signature."""


def _invalid_secret_key(algorithm: Algorithm) -> CryptoFailure:
    return CryptoFailure(
        f"the secret key of {algorithm.name} must be a scalar from 1 to the group's order - 1; use "
        "one that generate_keypair() returned."
    )


class _Secp256k1(Signer):
    """Base of the signers by libsecp256k1, through coincurve's C bindings."""

    # coincurve's PrivateKey computes two public keys before each signature, which takes longer
    # than signing. Chains do not have that cost, so the C functions are called directly.
    def _prepare(self) -> None:
        from coincurve._libsecp256k1 import ffi, lib
        from coincurve.context import GLOBAL_CONTEXT

        self._ffi, self._lib, self._context = ffi, lib, GLOBAL_CONTEXT.ctx

    def _new(self, kind: str) -> Any:
        return self._ffi.new(f"secp256k1_{kind} *")

    def _call(self, function: str, *arguments: Any) -> int:
        """Call a function of the library; it returns 1 for success."""
        code: int = getattr(self._lib, f"secp256k1_{function}")(self._context, *arguments)
        return code

    def _sign_with(self, function: str, signature: Any, message: bytes, secret_key: bytes) -> None:
        digest, null = sha256(message).digest(), self._ffi.NULL
        if not self._call(function, signature, digest, secret_key, null, null):
            raise _invalid_secret_key(self.algorithm)

    def generate_keypair(self) -> tuple[bytes, bytes]:
        # Repeated for the rare random value that is not a scalar below the group's order.
        while True:
            secret_key, point = os.urandom(_HALF), self._new("pubkey")
            if self._call("ec_pubkey_create", point, secret_key):
                return self._serialized(point), secret_key

    def _serialized(self, point: Any) -> bytes:
        length, public_key = self._ffi.new("size_t *", 33), self._ffi.new("unsigned char[33]")
        compressed = self._lib.SECP256K1_EC_COMPRESSED
        self._call("ec_pubkey_serialize", public_key, length, point, compressed)
        return bytes(self._ffi.buffer(public_key))


_RECOVERABLE = 2 * _HALF + 1
"""Length of r || s || recovery id, in Ethereum's order."""


class _Secp256k1Ecdsa(_Secp256k1, RecoverableSigner):
    """ECDSA on secp256k1 as in Bitcoin and Ethereum, which accept only low s."""

    def sign_recoverable(self, message: BytesLike, secret_key: BytesLike) -> bytes:
        """Return 65 bytes: the signature of `sign` and the recovery id (0 to 3)."""
        message = as_bytes("message", message)
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        signature = self._new("ecdsa_recoverable_signature")
        self._sign_with("ecdsa_sign_recoverable", signature, message, secret_key)
        compact, point = self._ffi.new("unsigned char[64]"), self._ffi.new("int *")
        self._call("ecdsa_recoverable_signature_serialize_compact", compact, point, signature)
        return bytes(self._ffi.buffer(compact)) + bytes([point[0]])

    def recover(self, message: BytesLike, signature: BytesLike) -> bytes | None:
        """Return the compressed public key, or None; a high s is rejected, as in `verify`."""
        message, signature = as_bytes("message", message), as_bytes("signature", signature)
        if len(signature) != _RECOVERABLE or signature[-1] > 3:
            return None
        parsed, plain = self._new("ecdsa_recoverable_signature"), self._new("ecdsa_signature")
        compact, point = signature[:-1], self._new("pubkey")
        parse = "ecdsa_recoverable_signature_parse_compact"
        if not self._call(parse, parsed, compact, signature[-1]):
            return None
        self._call("ecdsa_recoverable_signature_convert", plain, parsed)
        # The function returns 1 if s is high.
        if self._call("ecdsa_signature_normalize", self._ffi.NULL, plain):
            return None
        recovered = self._call("ecdsa_recover", point, parsed, sha256(message).digest())
        return self._serialized(point) if recovered else None

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        signature, compact = self._new("ecdsa_signature"), self._ffi.new("unsigned char[64]")
        self._sign_with("ecdsa_sign", signature, message, secret_key)
        self._call("ecdsa_signature_serialize_compact", compact, signature)
        return bytes(self._ffi.buffer(compact))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        point, parsed = self._new("pubkey"), self._new("ecdsa_signature")
        return bool(
            self._call("ec_pubkey_parse", point, public_key, len(public_key))
            and self._call("ecdsa_signature_parse_compact", parsed, signature)
            and self._call("ecdsa_verify", parsed, sha256(message).digest(), point)
        )


class _Secp256k1Schnorr(_Secp256k1):
    """BIP 340 Schnorr signatures of messages of any length; the parity of y is ignored."""

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        keypair, signature = self._new("keypair"), self._ffi.new("unsigned char[64]")
        if not self._call("keypair_create", keypair, secret_key):
            raise _invalid_secret_key(self.algorithm)
        length, null = len(message), self._ffi.NULL
        if not self._call("schnorrsig_sign_custom", signature, message, length, keypair, null):
            raise CryptoFailure(f"{self.algorithm.name}: libsecp256k1 could not sign.")
        return bytes(self._ffi.buffer(signature))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        point = self._new("xonly_pubkey")
        return bool(
            public_key[0] in (2, 3)  # a compressed point, of which BIP 340 uses x only
            and self._call("xonly_pubkey_parse", point, public_key[1:])
            and self._call("schnorrsig_verify", signature, message, len(message), point)
        )


class _Openssl(Signer):
    """Base of the signers by OpenSSL, through the package cryptography."""

    # OpenSSL computes the public key when it loads a secret key, which takes as long as signing:
    # the last loaded key is cached for further signatures.
    def _prepare(self) -> None:
        from cryptography.exceptions import InvalidSignature

        self._invalid = (ValueError, InvalidSignature)
        self._loaded = lru_cache(maxsize=1)(self._load)

    @abstractmethod
    def _load(self, secret_key: bytes) -> Any:
        """Return the loaded secret key of OpenSSL. Raises CryptoFailure for an invalid one."""


class _OpensslP256(_Openssl):
    def _prepare(self) -> None:
        super()._prepare()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        self._ec, self._utils, self._curve = ec, utils, ec.SECP256R1()
        self._verify_with = ec.ECDSA(hashes.SHA256())
        try:
            self._sign_with = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        except (TypeError, UnsupportedAlgorithm) as error:  # TypeError: cryptography before 43
            raise Unsupported(
                f"{self.algorithm.name} needs deterministic signing, which OpenSSL supports only "
                "from version 3.2 on: pip install --upgrade cryptography"
            ) from error

    def generate_keypair(self) -> tuple[bytes, bytes]:
        numbers = self._ec.generate_private_key(self._curve).private_numbers()
        public = numbers.public_numbers
        # Compressed point of SEC 1: the first byte is the parity of y.
        public_key = bytes([2 + public.y % 2]) + public.x.to_bytes(_HALF, "big")
        return public_key, numbers.private_value.to_bytes(_HALF, "big")

    def _load(self, secret_key: bytes) -> Any:
        try:
            return self._ec.derive_private_key(int.from_bytes(secret_key, "big"), self._curve)
        except ValueError as error:
            raise _invalid_secret_key(self.algorithm) from error

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        encoded = self._loaded(secret_key).sign(message, self._sign_with)
        r, s = self._utils.decode_dss_signature(encoded)
        return r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        r, s = (int.from_bytes(half, "big") for half in (signature[:_HALF], signature[_HALF:]))
        try:
            key = self._ec.EllipticCurvePublicKey.from_encoded_point(self._curve, public_key)
            key.verify(self._utils.encode_dss_signature(r, s), message, self._verify_with)
        except self._invalid:
            return False
        return True


class _OpensslEd25519(_Openssl):
    def _prepare(self) -> None:
        super()._prepare()
        from cryptography.hazmat.primitives.asymmetric import ed25519

        self._private, self._public = ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey

    def generate_keypair(self) -> tuple[bytes, bytes]:
        return ed25519_bytes(self._private.generate())

    def _load(self, secret_key: bytes) -> Any:
        return self._private.from_private_bytes(secret_key)

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        return bytes(self._loaded(secret_key).sign(message))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        try:
            self._public.from_public_bytes(public_key).verify(signature, message)
        except self._invalid:
            return False
        return True


def ed25519_bytes(key: Any) -> tuple[bytes, bytes]:
    """Return the public and the secret key of an Ed25519 key of cryptography."""
    from cryptography.hazmat.primitives import serialization

    # Not public_bytes_raw() and private_bytes_raw(), which Ubuntu 22.04's cryptography lacks.
    raw, no_password = serialization.Encoding.Raw, serialization.NoEncryption()
    public_key = key.public_key().public_bytes(raw, serialization.PublicFormat.Raw)
    return public_key, key.private_bytes(raw, serialization.PrivateFormat.Raw, no_password)


class _PycryptodomeP256(Signer):
    """ECDSA on P-256 by pycryptodome, a slow baseline."""

    def _prepare(self) -> None:
        from Crypto.Hash import SHA256
        from Crypto.PublicKey import ECC
        from Crypto.Signature import DSS

        self._ecc, self._dss, self._hash = ECC, DSS, SHA256

    def generate_keypair(self) -> tuple[bytes, bytes]:
        key = self._ecc.generate(curve="P-256")
        public_key = key.public_key().export_key(format="SEC1", compress=True)
        return public_key, int(key.d).to_bytes(_HALF, "big")

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        try:
            key = self._ecc.construct(curve="P-256", d=int.from_bytes(secret_key, "big"))
        except ValueError as error:
            raise _invalid_secret_key(self.algorithm) from error
        return self._dss.new(key, "deterministic-rfc6979").sign(self._hash.new(message))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        if public_key[0] not in (2, 3):  # not a compressed point; import_key tries other formats
            return False
        try:
            key = self._ecc.import_key(public_key, curve_name="P-256")
            self._dss.new(key, "fips-186-3").verify(self._hash.new(message), signature)
        except ValueError:
            return False
        return True


class _PycryptodomeEd25519(Signer):
    """Ed25519 by pycryptodome, a slow baseline."""

    def _prepare(self) -> None:
        from Crypto.PublicKey import ECC
        from Crypto.Signature import eddsa

        self._ecc, self._eddsa = ECC, eddsa

    def generate_keypair(self) -> tuple[bytes, bytes]:
        key = self._ecc.generate(curve="Ed25519")
        return key.public_key().export_key(format="raw"), key.seed

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        key = self._eddsa.import_private_key(secret_key)
        return self._eddsa.new(key, "rfc8032").sign(message)

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        try:
            key = self._eddsa.import_public_key(public_key)
            self._eddsa.new(key, "rfc8032").verify(message, signature)
        except ValueError:
            return False
        return True


SIGNERS: dict[tuple[str, str], type[Signer]] = {
    ("ECDSA-secp256k1", "coincurve/libsecp256k1"): _Secp256k1Ecdsa,
    ("Schnorr-secp256k1", "coincurve/libsecp256k1"): _Secp256k1Schnorr,
    ("ECDSA-P256", "cryptography/openssl"): _OpensslP256,
    ("ECDSA-P256", "pycryptodome/python"): _PycryptodomeP256,
    ("Ed25519", "cryptography/openssl"): _OpensslEd25519,
    ("Ed25519", "pycryptodome/python"): _PycryptodomeEd25519,
}
"""Class of each pair of algorithm and implementation; the registry lists the same pairs."""
