"""Model of ML-DSA (FIPS 204) and Dilithium (round 3, v3.1): arithmetic, and verification by rules.

Written from the two specifications, independent of the tested C code: polynomials are multiplied
through the matrix of all powers of the roots, in exact 64-bit integers. The code is slow and not
constant-time, because verification has no secret inputs. `MLDSAVerifier.checks` applies every rule
and does not stop at the first failure, to show whether a single rule rejects a signature. Each rule
is a method, so that a mutant is a subclass that overrides one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128, shake_256

import numpy as np

from pqchain_conform.models.bits import Integers, N, pack, unpack
from pqchain_conform.models.checks import RuleCheck, SignatureModel

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


@lru_cache(maxsize=8192)
def _commitment_of(p: MLDSAParameters, z: bytes, seed: bytes, public_key: bytes) -> Integers:
    """Return w' for an encoded z and public key. Cached, because most mutants share the result."""
    return commitment(
        p,
        public_key[:32],
        p.gamma1 - unpack(z, p.gamma1_bits + 1),
        sample_in_ball(p, seed),
        unpack(public_key[32:], 10),
    )


def _compared(signed: bytes, computed: bytes) -> str:
    if signed == computed:
        return f"{signed[:8].hex()}..., equal to the computed hash"
    pairs = enumerate(zip(signed, computed, strict=True))
    start = max(0, next(i for i, (a, b) in pairs if a != b) - 2)
    end = start + 6
    return f"byte {start} on is {signed[start:end].hex()}; computed {computed[start:end].hex()}"


class MLDSAVerifier(SignatureModel):
    """ML-DSA or Dilithium verifier for one parameter set; its methods are the rules."""

    parameters: MLDSAParameters
    domain = 0
    length_rules = ("FIPS 204, section 3.6.2",) * 2 + ("FIPS 204, algorithm 3, line 1",)

    def __init__(self, name: str) -> None:
        self.parameters = PARAMETER_SETS[name]
        self.max_context_bytes = 255 if self.parameters.standard else 0

    def checks(
        self, message: bytes, signature: bytes, public_key: bytes, context: bytes = b""
    ) -> Iterator[RuleCheck]:
        """Yield the result of each rule; stop at a wrong length, as no other rule applies then."""
        p = self.parameters
        lengths = self.lengths(signature, public_key, context)
        yield from lengths
        if not all(check.holds for check in lengths):
            return
        # Only in a mutant that truncates longer input can lengths exceed the standard's here.
        signature, shortened = signature[: p.signature_bytes], public_key[: p.public_key_bytes]
        seed, rest = signature[: p.challenge_bytes], signature[p.challenge_bytes :]
        z_bytes, hint_bytes = rest[: p.z_bytes], rest[p.z_bytes :]

        faults = self.counter_faults(hint_bytes)
        yield RuleCheck(
            "hint counters",
            "FIPS 204, algorithm 21, line 4",
            not faults,
            f"the counter of row {faults[0][0]} is {faults[0][1]}; at least {faults[0][2]} and at "
            f"most {p.omega}" if faults else f"counters {list(hint_bytes[p.omega :])}",
        )  # fmt: skip
        faults = self.order_faults(hint_bytes)
        yield RuleCheck(
            "hint order",
            "FIPS 204, algorithm 21, line 9",
            not faults,
            f"in row {faults[0][0]} position {faults[0][1]} follows {faults[0][2]}; it must be "
            "greater" if faults else "positions increase in every row",
        )  # fmt: skip
        padding = self.padding_faults(hint_bytes)
        yield RuleCheck(
            "hint padding",
            "FIPS 204, algorithm 21, line 17",
            not padding,
            f"byte {padding[0]} is {hint_bytes[padding[0]]}, after the last hint; it must be 0"
            if padding else "only zeros after the last hint",
        )  # fmt: skip

        z = p.gamma1 - unpack(z_bytes, p.gamma1_bits + 1)
        long = self.long_coefficients(z)
        row, n = long[0] if long else np.unravel_index(int(np.abs(z).argmax()), z.shape)
        yield RuleCheck(
            "bound on z",
            "FIPS 204, algorithm 8, line 13",
            not long,
            f"|z[{row}][{n}]| = {abs(int(z[row, n]))}; it must be below gamma1 - beta = {p.bound}",
        )

        values = _commitment_of(p, z_bytes, self.ball_seed(seed), shortened)
        high = self.corrected(read_hints(p, hint_bytes), values)
        mu = message_hash(p, self.hashed_key(public_key), message, self.prefix(context))
        computed = challenge_hash(p, mu, high)
        yield RuleCheck(
            "challenge",
            "FIPS 204, algorithm 8, line 13",
            self.same_challenge(seed, computed),
            _compared(seed, computed),
        )

    def counter_faults(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return (row, counter, previous counter) where a counter decreases or exceeds omega."""
        counters = list(data[self.parameters.omega :])
        pairs = zip(counters, [0, *counters], strict=False)
        return [
            (row, count, before)
            for row, (count, before) in enumerate(pairs)
            if not before <= count <= self.parameters.omega
        ]

    def order_faults(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return (row, position, previous position) where positions in a row do not increase."""
        faults, index = [], 0
        for row, count in enumerate(data[self.parameters.omega :]):
            positions = data[index:count]
            pairs = zip(positions[1:], positions, strict=False)
            faults += [(row, after, before) for after, before in pairs if after <= before]
            index = count
        return faults

    def padding_faults(self, data: bytes) -> list[int]:
        """Return the positions of non-zero bytes after the last hint."""
        return [i for i in range(data[-1], self.parameters.omega) if data[i]]

    def long_coefficients(self, z: Integers) -> list[tuple[int, int]]:
        """Return (row, position) of the coefficients of z that reach the bound."""
        return [(int(row), int(n)) for row, n in np.argwhere(np.abs(z) >= self.parameters.bound)]

    def ball_seed(self, seed: bytes) -> bytes:
        """Return the part of the challenge hash that determines the challenge polynomial."""
        return seed

    def corrected(self, hints: Integers, values: Integers) -> Integers:
        """Return the high parts of w' corrected by hints."""
        return use_hint(self.parameters, hints, values)

    def hashed_key(self, public_key: bytes) -> bytes:
        """Return the part of the public key that is hashed."""
        return public_key

    def prefix(self, context: bytes) -> bytes:
        """Return the prefix of the message."""
        return prefix(self.parameters, context)

    def same_challenge(self, signed: bytes, computed: bytes) -> bool:
        """Return whether the signature's challenge hash equals the computed one."""
        return signed == computed
