"""Parameter sets, arithmetic and encodings of ML-DSA (FIPS 204) and Dilithium (round 3, v3.1).

Written from the two specifications, independent of the tested C code: polynomials are multiplied
through the matrix of all powers of the roots, in exact 64-bit integers. The code is slow and not
constant-time, because verification has no secret inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128, shake_256

import numpy as np

from pqchain_conform.models.bits import Integers, N, pack

Q = 8380417
D = 13
"""Number of low bits of t that the public key omits."""


@dataclass(frozen=True, slots=True)
class MLDSAParameters:
    """One column of FIPS 204, table 1, or of the Dilithium specification, table 2."""

    name: str
    rows: int
    columns: int
    beta: int
    tau: int
    gamma1_bits: int
    gamma2_divisor: int
    """(q - 1) / gamma2."""
    omega: int
    challenge_bytes: int
    standard: bool
    """Whether this is ML-DSA, which has contexts and longer hashes, and not Dilithium."""

    @property
    def gamma1(self) -> int:
        """Bound on the coefficients of the masking vector."""
        return 1 << self.gamma1_bits

    @property
    def gamma2(self) -> int:
        """Half the width of a rounding interval."""
        return (Q - 1) // self.gamma2_divisor

    @property
    def high_parts(self) -> int:
        """Number of values that the high part of a coefficient can take."""
        return self.gamma2_divisor // 2

    @property
    def bound(self) -> int:
        """Exclusive bound on the absolute value of the coefficients of z."""
        return self.gamma1 - self.beta

    @property
    def z_bytes(self) -> int:
        """Length of the encoded z in bytes."""
        return 32 * (self.gamma1_bits + 1) * self.columns

    @property
    def public_key_bytes(self) -> int:
        """Length of a public key in bytes: rho and t1."""
        return 32 + 320 * self.rows

    @property
    def signature_bytes(self) -> int:
        """Length of a signature in bytes: challenge hash, z and hints."""
        return self.challenge_bytes + self.z_bytes + self.omega + self.rows


PARAMETER_SETS = {
    parameters.name: parameters
    for parameters in (
        MLDSAParameters("ML-DSA-44", 4, 4, 78, 39, 17, 88, 80, 32, True),
        MLDSAParameters("ML-DSA-65", 6, 5, 196, 49, 19, 32, 55, 48, True),
        MLDSAParameters("ML-DSA-87", 8, 7, 120, 60, 19, 32, 75, 64, True),
        MLDSAParameters("Dilithium2", 4, 4, 78, 39, 17, 88, 80, 32, False),
        MLDSAParameters("Dilithium3", 6, 5, 196, 49, 19, 32, 55, 32, False),
        MLDSAParameters("Dilithium5", 8, 7, 120, 60, 19, 32, 75, 32, False),
    )
}


def _transform() -> tuple[Integers, Integers]:
    """Return the matrix of the number-theoretic transform and its inverse.

    Position 2i holds the value at zeta^brv(128 + i), position 2i + 1 the value at its negative
    (FIPS 204, section 2.5), where zeta = 1753 has order 512 and brv reverses 8 bits.
    """
    roots = []
    for i in range(N // 2):
        root = pow(1753, int(f"{128 + i:08b}"[::-1], 2), Q)
        roots += [root, Q - root]
    forward = np.array([[pow(root, n, Q) for n in range(N)] for root in roots], dtype=np.int64)
    inverse = [[pow(root, -n, Q) * pow(N, -1, Q) % Q for root in roots] for n in range(N)]
    return forward, np.array(inverse, dtype=np.int64)


FORWARD, INVERSE = _transform()


def transform(polynomials: Integers) -> Integers:
    """Return the values of polynomials, one per row (rows x 256), at all roots (the NTT)."""
    # Exact: 256 products below 2^46 stay below 2^54.
    values: Integers = (FORWARD @ (polynomials % Q).T % Q).T
    return values


def inverse(values: Integers) -> Integers:
    """Return the polynomials with these values at all roots; coefficients are in [0, q)."""
    polynomials: Integers = (INVERSE @ (values % Q).T % Q).T
    return polynomials


def centred(values: Integers) -> Integers:
    """Reduce values modulo q to representatives in (-q/2, q/2)."""
    reduced = values % Q
    return np.where(reduced > Q // 2, reduced - Q, reduced)


@lru_cache(maxsize=64)
def expand_a(parameters: MLDSAParameters, rho: bytes) -> Integers:
    """Return the NTT of the matrix A, as rows x columns x 256 (FIPS 204, algorithm 32)."""
    matrix = np.empty((parameters.rows, parameters.columns, N), dtype=np.int64)
    for row in range(parameters.rows):
        for column in range(parameters.columns):
            # 512 candidates for 256 coefficients: each is kept with a probability of q / 2^23.
            stream = shake_128(rho + bytes([column, row])).digest(3 * 512)
            triples = np.frombuffer(stream, np.uint8).reshape(-1, 3).astype(np.int64)
            candidates = triples @ np.array([1, 1 << 8, 1 << 16]) & 0x7FFFFF
            matrix[row, column] = candidates[candidates < Q][:N]
    return matrix


def product(parameters: MLDSAParameters, rho: bytes, z: Integers) -> Integers:
    """Return A z modulo q, as rows x 256 in [0, q)."""
    return inverse((expand_a(parameters, rho) * transform(z) % Q).sum(axis=1))


def commitment(
    parameters: MLDSAParameters, rho: bytes, z: Integers, c: Integers, t1: Integers
) -> Integers:
    """Return w' = A z - c t1 2^d modulo q, as rows x 256 in [0, q)."""
    shifted = transform(t1 << D) * transform(c[None]) % Q
    return inverse((expand_a(parameters, rho) * transform(z) % Q).sum(axis=1) - shifted)


def decompose(parameters: MLDSAParameters, values: Integers) -> tuple[Integers, Integers]:
    """Return high and low parts of values in [0, q) (FIPS 204, algorithm 36)."""
    width = 2 * parameters.gamma2
    low = values % width
    low = np.where(low > parameters.gamma2, low - width, low)
    wraps = values - low == Q - 1
    return np.where(wraps, 0, (values - low) // width), np.where(wraps, low - 1, low)


def use_hint(parameters: MLDSAParameters, hints: Integers, values: Integers) -> Integers:
    """Return the high parts corrected by hints (FIPS 204, algorithm 40)."""
    high, low = decompose(parameters, values)
    return (high + hints * np.where(low > 0, 1, -1)) % parameters.high_parts


def encode_hints(parameters: MLDSAParameters, hints: Integers) -> bytes:
    """Return encoded hints: positions and counters (FIPS 204, algorithm 20)."""
    positions = [int(n) for row in hints for n in np.flatnonzero(row)]
    counters = [int(count) for count in np.cumsum(hints.sum(axis=1))]
    return bytes(positions + [0] * (parameters.omega - len(positions)) + counters)


def read_hints(parameters: MLDSAParameters, data: bytes) -> Integers:
    """Return the decoded hints (rows x 256), also for an invalid encoding.

    The order of positions and the padding are not checked. With counters above omega, the bytes of
    the counters are read as positions.
    """
    # The model goes on after an invalid encoding to see whether the challenge rule fails too.
    hints = np.zeros((parameters.rows, N), dtype=np.int64)
    index = 0
    for row, count in enumerate(data[parameters.omega :]):
        hints[row, list(data[index : max(index, count)])] = 1
        index = count
    return hints


@lru_cache(maxsize=4096)
def sample_in_ball(parameters: MLDSAParameters, seed: bytes) -> Integers:
    """Return the challenge polynomial for a challenge hash (FIPS 204, algorithm 29)."""
    stream = iter(shake_256(seed).digest(2048))
    signs = int.from_bytes(bytes(next(stream) for _ in range(8)), "little")
    c = np.zeros(N, dtype=np.int64)
    for i in range(N - parameters.tau, N):
        j = next(byte for byte in stream if byte <= i)
        c[i] = c[j]
        c[j] = 1 - 2 * (signs & 1)
        signs >>= 1
    return c


def prefix(parameters: MLDSAParameters, context: bytes) -> bytes:
    """Return the prefix of the message (FIPS 204, algorithm 3, line 5), empty for Dilithium."""
    return bytes([0, len(context)]) + context if parameters.standard else b""


def message_hash(
    parameters: MLDSAParameters, public_key: bytes, message: bytes, prefix: bytes
) -> bytes:
    """Return the 64-byte mu, the hash of the hashed public key, the prefix and the message."""
    key_hash = shake_256(public_key).digest(64 if parameters.standard else 32)
    return shake_256(key_hash + prefix + message).digest(64)


def challenge_hash(parameters: MLDSAParameters, mu: bytes, high: Integers) -> bytes:
    """Return the challenge hash (first part of a signature) of mu and corrected high parts."""
    bits = (parameters.high_parts - 1).bit_length()
    return shake_256(mu + pack(high, bits)).digest(parameters.challenge_bytes)
