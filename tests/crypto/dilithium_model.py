"""A small model of verification in ML-DSA (FIPS 204) and Dilithium (round 3, version 3.1).

Written from the two specifications, independent of the C code under test: products of polynomials
go through the matrix of all powers of the roots, in exact 64-bit integers. Beside `verify` there
is `forge`: with t1 = 0 the verifier computes w' = A z, which does not depend on the challenge, so
every short z and every hint has a valid signature that needs no secret key and no search. That
reaches each corner of verification on purpose. Slow, and nothing here is secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128, shake_256

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

Q = 8380417
N = 256
D = 13
"""How many low bits of t the public key leaves out."""


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """One column of FIPS 204, table 1, or of the Dilithium specification, table 2."""

    name: str
    rows: int
    columns: int
    beta: int
    tau: int
    gamma1_bits: int
    """gamma1 is 2 to this power."""
    gamma2_divisor: int
    """gamma2 is (q - 1) divided by this."""
    omega: int
    challenge_bytes: int
    standard: bool
    """Whether it is ML-DSA, with its context and longer hashes."""

    @property
    def gamma1(self) -> int:
        """Bound of the masking vector."""
        return 1 << self.gamma1_bits

    @property
    def gamma2(self) -> int:
        """Half the width of a rounding interval."""
        return (Q - 1) // self.gamma2_divisor

    @property
    def high_parts(self) -> int:
        """Number of values that the high part of a coefficient can take."""
        return self.gamma2_divisor // 2


PARAMETER_SETS = {
    parameters.name: parameters
    for parameters in (
        ParameterSet("ML-DSA-44", 4, 4, 78, 39, 17, 88, 80, 32, True),
        ParameterSet("ML-DSA-65", 6, 5, 196, 49, 19, 32, 55, 48, True),
        ParameterSet("ML-DSA-87", 8, 7, 120, 60, 19, 32, 75, 64, True),
        ParameterSet("Dilithium2", 4, 4, 78, 39, 17, 88, 80, 32, False),
        ParameterSet("Dilithium3", 6, 5, 196, 49, 19, 32, 55, 32, False),
        ParameterSet("Dilithium5", 8, 7, 120, 60, 19, 32, 75, 32, False),
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
    inverse = np.array(
        [[pow(root, -n, Q) * pow(N, -1, Q) % Q for root in roots] for n in range(N)],
        dtype=np.int64,
    )
    return forward, inverse


FORWARD, INVERSE = _transform()


def pack(values: Integers, bits: int) -> bytes:
    """Write each value with that many bits, lowest first."""
    digits = (values.reshape(-1, 1) >> np.arange(bits)) & 1
    return np.packbits(digits.astype(np.uint8), bitorder="little").tobytes()


def unpack(data: bytes, bits: int) -> Integers:
    """Read rows of 256 values of that many bits."""
    digits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, bits)
    return (digits @ (np.int64(1) << np.arange(bits, dtype=np.int64))).reshape(-1, N)


@lru_cache(maxsize=64)
def expand_a(parameters: ParameterSet, rho: bytes) -> Integers:
    """Return the public matrix, transformed: rows x columns x 256 (FIPS 204, algorithm 32)."""
    matrix = np.empty((parameters.rows, parameters.columns, N), dtype=np.int64)
    for row in range(parameters.rows):
        for column in range(parameters.columns):
            stream = shake_128(rho + bytes([column, row])).digest(3 * 512)
            triples = np.frombuffer(stream, np.uint8).reshape(-1, 3).astype(np.int64)
            candidates = triples @ np.array([1, 1 << 8, 1 << 16]) & 0x7FFFFF
            matrix[row, column] = candidates[candidates < Q][:N]
    return matrix


def commitment(
    parameters: ParameterSet, rho: bytes, z: Integers, c: Integers, t1: Integers
) -> Integers:
    """Return w' = A z - c t1 2^d modulo q, as rows x 256 in [0, q)."""
    z_values = (FORWARD @ (z % Q).T % Q).T
    product = (expand_a(parameters, rho) * z_values % Q).sum(axis=1)
    if t1.any():
        t1_values = (FORWARD @ ((t1 << D) % Q).T % Q).T
        product -= t1_values * (FORWARD @ (c % Q) % Q) % Q
    return (INVERSE @ (product % Q).T % Q).T


def decompose(parameters: ParameterSet, values: Integers) -> tuple[Integers, Integers]:
    """Return high and low parts of values in [0, q) (FIPS 204, algorithm 36)."""
    width = 2 * parameters.gamma2
    low = values % width
    low = np.where(low > parameters.gamma2, low - width, low)
    wraps = values - low == Q - 1
    return np.where(wraps, 0, (values - low) // width), np.where(wraps, low - 1, low)


def use_hint(parameters: ParameterSet, hints: Integers, values: Integers) -> Integers:
    """Return the high parts that the hints correct (FIPS 204, algorithm 40)."""
    high, low = decompose(parameters, values)
    return (high + hints * np.where(low > 0, 1, -1)) % parameters.high_parts


def encode_hints(parameters: ParameterSet, hints: Integers) -> bytes:
    """Return positions and counters (FIPS 204, algorithm 20)."""
    positions = [int(n) for row in hints for n in np.flatnonzero(row)]
    counters = [int(count) for count in np.cumsum(hints.sum(axis=1))]
    return bytes(positions + [0] * (parameters.omega - len(positions)) + counters)


def decode_hints(parameters: ParameterSet, data: bytes, *, strict: bool = True) -> Integers | None:
    """Return the hints, None if the encoding is not the canonical one (FIPS 204, algorithm 21).

    Not strict, it reads what a careless verifier would: positions in any order, any padding, and
    beyond the positions the counters themselves.
    """
    hints = np.zeros((parameters.rows, N), dtype=np.int64)
    index = 0
    for row, count in enumerate(data[parameters.omega :]):
        if strict and not index <= count <= parameters.omega:
            return None
        first = index
        for position in range(index, min(count, len(data))):
            if strict and position > first and data[position] <= data[position - 1]:
                return None
            hints[row, data[position]] = 1
        index = count
    return None if strict and any(data[index : parameters.omega]) else hints


def sample_in_ball(parameters: ParameterSet, seed: bytes) -> Integers:
    """Return the challenge polynomial of a challenge hash (FIPS 204, algorithm 29)."""
    stream = iter(shake_256(seed).digest(2048))
    signs = int.from_bytes(bytes(next(stream) for _ in range(8)), "little")
    c = np.zeros(N, dtype=np.int64)
    for i in range(N - parameters.tau, N):
        j = next(byte for byte in stream if byte <= i)
        c[i] = c[j]
        c[j] = 1 - 2 * (signs & 1)
        signs >>= 1
    return c


def message_hash(
    parameters: ParameterSet, public_key: bytes, message: bytes, context: bytes
) -> bytes:
    """Return mu; only ML-DSA puts a domain byte and the context before the message."""
    if not parameters.standard:
        return shake_256(shake_256(public_key).digest(32) + message).digest(64)
    prefix = bytes([0, len(context)]) + context
    return shake_256(shake_256(public_key).digest(64) + prefix + message).digest(64)


def challenge_hash(parameters: ParameterSet, mu: bytes, high: Integers) -> bytes:
    """Return the hash that a signature begins with, from the corrected high parts."""
    bits = (parameters.high_parts - 1).bit_length()
    return shake_256(mu + pack(high, bits)).digest(parameters.challenge_bytes)


def verify(
    parameters: ParameterSet,
    message: bytes,
    signature: bytes,
    public_key: bytes,
    context: bytes = b"",
) -> bool:
    """Return whether the signature is valid; lengths are taken to be right."""
    z_bytes = 32 * (parameters.gamma1_bits + 1) * parameters.columns
    seed, rest = signature[: parameters.challenge_bytes], signature[parameters.challenge_bytes :]
    z = parameters.gamma1 - unpack(rest[:z_bytes], parameters.gamma1_bits + 1)
    hints = decode_hints(parameters, rest[z_bytes:])
    if hints is None or np.abs(z).max() >= parameters.gamma1 - parameters.beta:
        return False
    rho, t1 = public_key[:32], unpack(public_key[32:], 10)
    values = commitment(parameters, rho, z, sample_in_ball(parameters, seed), t1)
    mu = message_hash(parameters, public_key, message, context)
    return seed == challenge_hash(parameters, mu, use_hint(parameters, hints, values))


def degenerate_public_key(parameters: ParameterSet, rho: bytes) -> bytes:
    """Return the public key with t1 = 0, for which anyone can sign."""
    return rho + bytes(320 * parameters.rows)


def forge(
    parameters: ParameterSet,
    message: bytes,
    z: Integers,
    hint_bytes: bytes,
    *,
    rho: bytes = bytes(32),
    context: bytes = b"",
    rounding: Callable[[ParameterSet, Integers, Integers], Integers] = use_hint,
) -> bytes:
    """Return a signature under the degenerate key whose challenge agrees with z and the hints.

    It is valid if z is short, the hints are canonical and the rounding is the right one; else
    only the one check in question can tell.
    """
    hints = decode_hints(parameters, hint_bytes, strict=False)
    assert hints is not None
    zero = np.zeros((parameters.rows, N), dtype=np.int64)
    values = commitment(parameters, rho, z, zero[0], zero)
    mu = message_hash(parameters, degenerate_public_key(parameters, rho), message, context)
    seed = challenge_hash(parameters, mu, rounding(parameters, hints, values))
    return seed + pack(parameters.gamma1 - z, parameters.gamma1_bits + 1) + hint_bytes


def steer(
    parameters: ParameterSet, z: Integers, row: int, position: int, value: int, *, rho: bytes
) -> Integers:
    """Return z with one coefficient changed so that (A z)[row][position] is the value given."""
    # The coefficient is linear in z; these are its 256 x columns factors.
    factors = (INVERSE[position] * expand_a(parameters, rho)[row] % Q) @ FORWARD % Q
    missing = (value - int((factors * (z % Q) % Q).sum())) % Q
    bound = parameters.gamma1 - parameters.beta
    for column in range(parameters.columns):
        for n in range(N):
            if factors[column, n]:
                step = missing * pow(int(factors[column, n]), -1, Q) % Q
                moved = int(z[column, n]) + (step if step <= Q // 2 else step - Q)
                if abs(moved) < bound:
                    steered = z.copy()
                    steered[column, n] = moved
                    return steered
    raise AssertionError("no single coefficient of z reaches the value; use another z")
