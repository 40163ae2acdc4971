"""Node identity: a pinned self-signed certificate for TLS, and a signature key pair.

There is no certificate authority: a node accepts exactly the certificates of its directory of
public identities. Only this module and `crypto.classical` import cryptography.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache

from pqchain.crypto import Signer, open_signer, unavailable_reason
from pqchain.crypto.classical import ed25519_bytes
from pqchain.crypto.native import seeded_randomness
from pqchain.crypto.random_source import Stream

# Cached, because a mesh of ten nodes verifies ninety identities.
_signer = cache(open_signer)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicIdentity:
    """Public part of a node's identity."""

    index: int
    certificate_pem: bytes
    certificate_der: bytes
    algorithm: str
    public_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Identity:
    """Identity of a node with its secret keys."""

    public: PublicIdentity
    certificate_key_pem: bytes
    secret_key: bytes
    seed: bytes = b""
    """Seed of the signatures on a modelled clock; if empty, the system's randomness is used."""

    @property
    def index(self) -> int:
        """Index of the node in the directory."""
        return self.public.index

    def sign(self, challenge: bytes, server: PublicIdentity) -> bytes:
        """Sign a server's challenge and certificate, so that the signature cannot be relayed."""
        statement = _statement(challenge, self.index, server)
        with seeded_randomness(self.seed, statement) if self.seed else nullcontext():
            return _signer(self.public.algorithm).sign(statement, self.secret_key)


def verify(
    answer: bytes, challenge: bytes, *, client: PublicIdentity, server: PublicIdentity
) -> bool:
    """Return whether `answer` is the client's signature of this server's challenge."""
    statement = _statement(challenge, client.index, server)
    return _signer(client.algorithm).verify(statement, answer, client.public_key)


def _statement(challenge: bytes, client: int, server: PublicIdentity) -> bytes:
    fingerprint = hashlib.sha256(server.certificate_der).digest()
    # The prefix separates these signatures from all other uses of the key. The certificate's hash
    # binds the answer to one server, which therefore cannot relay it to another.
    return b"pqchain node 1\0" + challenge + client.to_bytes(4, "big") + fingerprint


def generate(count: int, *, algorithm: str = "auto", seed: int | None = None) -> list[Identity]:
    """Return `count` identities, numbered from 0; a seed makes them reproducible.

    `auto` signs with ML-DSA-44, or with Ed25519 where native code is not installed. The seed
    determines Ed25519 keys and the keys that liboqs generates; keys of other classical algorithms
    are random even with a seed. Raises UnknownAlgorithm.
    """
    if algorithm == "auto":
        algorithm = "Ed25519" if unavailable_reason("liboqs-0.13/dispatch") else "ML-DSA-44"
    signer = _signer(algorithm)
    return [
        _generate(index, signer, b"" if seed is None else b"%d %d" % (seed, index))
        for index in range(count)
    ]


def _generate(index: int, signer: Signer, seed: bytes) -> Identity:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.x509.oid import NameOID

    draw = Stream(b"keys", seed) if seed else os.urandom
    key = ed25519.Ed25519PrivateKey.from_private_bytes(draw(32))
    host = server_name(index)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        # With a seed the certificate must be the same in every run.
        .serial_number(index + 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=timezone.utc))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=timezone.utc))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, None)
    )
    if signer.algorithm.name == "Ed25519":
        own_key = ed25519.Ed25519PrivateKey.from_private_bytes(draw(32))
        public_key, secret_key = ed25519_bytes(own_key)
    else:
        with seeded_randomness(seed, b"signature keys") if seed else nullcontext():
            public_key, secret_key = signer.generate_keypair()
    encoding, no_password = serialization.Encoding, serialization.NoEncryption()
    public = PublicIdentity(
        index=index,
        certificate_pem=certificate.public_bytes(encoding.PEM),
        certificate_der=certificate.public_bytes(encoding.DER),
        algorithm=signer.algorithm.name,
        public_key=public_key,
    )
    key_pem = key.private_bytes(encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)
    return Identity(public=public, certificate_key_pem=key_pem, secret_key=secret_key, seed=seed)


def server_name(index: int) -> str:
    """Return the host name in a node's certificate."""
    return f"node-{index}.pqchain.invalid"
