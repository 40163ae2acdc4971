"""Key generation and signing of ML-DSA (FIPS 204), for vectors under honest keys.

`sign` is the standard's signer. `respond` is its core without the rejection checks, so that
`steered` can make signatures that no honest signer outputs. The arithmetic is not constant time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import shake_256

import numpy as np

from pqchain_conform.models import ml_dsa
from pqchain_conform.models.bits import Integers, N, pack, unpack
from pqchain_conform.models.ml_dsa import PARAMETER_SETS, D, MLDSAParameters, Q


@dataclass(frozen=True, slots=True, repr=False)
class Key:
    """Parts of a key pair; `repr` omits all of them, because some are secret."""

    parameters: MLDSAParameters
    rho: bytes
    signing_seed: bytes
    s1: Integers
    s2: Integers
    t0: Integers
    t1: Integers

    @property
    def public_key(self) -> bytes:
        """The encoded public key (FIPS 204, algorithm 22)."""
        return self.rho + pack(self.t1, 10)


@dataclass(frozen=True, slots=True)
class Response:
    """The signer's response to one masking vector."""

    seed: bytes
    c: Integers
    z: Integers
    hints: Integers
    correctable: bool
    """Whether at most omega hints correct w' to the committed high parts."""

    def encoded(self, parameters: MLDSAParameters) -> bytes:
        """Return the encoded signature (FIPS 204, algorithm 26); needs at most omega hints."""
        z = pack(parameters.gamma1 - self.z, parameters.gamma1_bits + 1)
        return self.seed + z + ml_dsa.encode_hints(parameters, self.hints)


def generate(name: str, seed: bytes) -> Key:
    """Return the key pair for a 32-byte seed (FIPS 204, algorithm 6)."""
    p = PARAMETER_SETS[name]
    expanded = shake_256(seed + bytes([p.rows, p.columns])).digest(128)
    rho, secret_seed, signing_seed = expanded[:32], expanded[32:96], expanded[96:]
    short = [_short(p, secret_seed, nonce) for nonce in range(p.columns + p.rows)]
    return _key(p, rho, signing_seed, np.array(short))


def _key(p: MLDSAParameters, rho: bytes, signing_seed: bytes, short: Integers) -> Key:
    s1, s2 = short[: p.columns], short[p.columns :]
    t = (ml_dsa.product(p, rho, s1) + s2) % Q
    t0 = t % (1 << D)  # algorithm 35
    t0 = np.where(t0 > 1 << (D - 1), t0 - (1 << D), t0)
    return Key(p, rho, signing_seed, s1, s2, t0, (t - t0) >> D)


def public_key(name: str, secret_key: bytes) -> bytes:
    """Return the public key of an encoded secret key (FIPS 204, algorithms 6 and 25)."""
    p = PARAMETER_SETS[name]
    eta = p.beta // p.tau
    bits = (2 * eta).bit_length()
    packed = secret_key[128:][: 32 * bits * (p.columns + p.rows)]
    return _key(p, secret_key[:32], b"", eta - unpack(packed, bits)).public_key


def _short(p: MLDSAParameters, secret_seed: bytes, nonce: int) -> list[int]:
    """Return a polynomial with coefficients in [-eta, eta] (FIPS 204, algorithms 15 and 31)."""
    # beta = tau * eta
    eta = p.beta // p.tau
    stream = shake_256(secret_seed + nonce.to_bytes(2, "little")).digest(1024)
    halves = (half for byte in stream for half in (byte & 15, byte >> 4))
    # Half-bytes from 15 (eta = 2) or 9 (eta = 4) on are rejected, which keeps the rest uniform.
    values = (2 - half % 5 if eta == 2 else 4 - half for half in halves if half < (15, 9)[eta == 4])
    return [next(values) for _ in range(N)]


def mask(p: MLDSAParameters, seed: bytes, count: int) -> Integers:
    """Return the masking vector (columns x 256) for a 64-byte seed (FIPS 204, algorithm 34)."""
    bits = p.gamma1_bits + 1
    rows = [
        shake_256(seed + (count + row).to_bytes(2, "little")).digest(32 * bits)
        for row in range(p.columns)
    ]
    return p.gamma1 - unpack(b"".join(rows), bits)


def respond(key: Key, mu: bytes, y: Integers) -> Response:
    """Return z = y + c s1 and the hints that verification needs, without checking bounds."""
    p = key.parameters
    w1, _ = ml_dsa.decompose(p, ml_dsa.product(p, key.rho, y))
    seed = ml_dsa.challenge_hash(p, mu, w1)
    c = ml_dsa.sample_in_ball(p, seed)
    z = y + _times_challenge(c, key.s1)
    values = ml_dsa.commitment(p, key.rho, z, c, key.t1)
    hints = (ml_dsa.decompose(p, values)[0] != w1).astype(np.int64)
    correctable = bool((ml_dsa.use_hint(p, hints, values) == w1).all() and hints.sum() <= p.omega)
    return Response(seed, c, z, hints, correctable)


def sign(key: Key, message: bytes, context: bytes = b"", *, rnd: bytes = bytes(32)) -> bytes:
    """Return a signature made with 32 random bytes `rnd` (FIPS 204, algorithms 2 and 7)."""
    p = key.parameters
    mu = ml_dsa.message_hash(p, key.public_key, message, ml_dsa.prefix(p, context))
    mask_seed = shake_256(key.signing_seed + rnd + mu).digest(64)
    count = 0
    while True:
        y = mask(p, mask_seed, count)
        count += p.columns
        response = respond(key, mu, y)
        low = ml_dsa.product(p, key.rho, y) - _times_challenge(response.c, key.s2)
        _, r0 = ml_dsa.decompose(p, low % Q)
        # Rejection sampling: a larger z or r0 would depend on the secret key.
        if np.abs(response.z).max() >= p.bound or np.abs(r0).max() >= p.gamma2 - p.beta:
            continue
        shifted = _times_challenge(response.c, key.t0)
        if np.abs(shifted).max() < p.gamma2 and response.hints.sum() <= p.omega:
            return response.encoded(p)


def steered(
    key: Key,
    mu: bytes,
    random: np.random.Generator,
    *,
    position: tuple[int, int] = (0, 0),
    value: int | None = None,
    condition: Callable[[bytes], bool] = lambda signature: True,
) -> bytes:
    """Return a signature that satisfies `condition` and whose z has `value` at `position`.

    All other coefficients of z are within the bound. Raises AssertionError if 20,000 masking
    vectors give no such signature.
    """
    p = key.parameters
    # |c s1| is at most beta, so all other coefficients of z stay within the bound.
    limit = p.bound - p.beta
    for _ in range(20_000):
        y: Integers = random.integers(-limit + 1, limit, (p.columns, N))
        if value is not None:
            # z = y + c s1 keeps this value if c s1 is 0 at `position`.
            y[position] = value
        response = respond(key, mu, y)
        if not response.correctable or (value is not None and response.z[position] != value):
            continue
        signature = response.encoded(p)
        if condition(signature):
            return signature
    raise AssertionError(f"20,000 masking vectors give no signature with z{position} = {value}")


def _times_challenge(c: Integers, vector: Integers) -> Integers:
    return ml_dsa.centred(ml_dsa.inverse(ml_dsa.transform(c[None]) * ml_dsa.transform(vector) % Q))
