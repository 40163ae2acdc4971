"""Model of ML-KEM (FIPS 203): arithmetic, decapsulation, and checks by rules.

Written from the standard, independent of the tested C code, with exact integers: polynomials are
evaluated through a matrix of powers of zeta instead of butterflies. The code is slow and not
constant-time, because its keys are public test data. Each rule and each step of the decapsulator is
a method, so that a mutant is a subclass that overrides one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha3_256, sha3_512, shake_128, shake_256

import numpy as np

from pqchain_conform.models.bits import Integers, N, pack, unpack
from pqchain_conform.models.checks import ReferenceModel, RuleCheck

Q = 3329
SECRET_BYTES = 32
"""Length of a shared secret, of a message of K-PKE, and of each seed."""


@dataclass(frozen=True, slots=True)
class MLKEMParameters:
    """One row of FIPS 203, table 2."""

    name: str
    k: int
    eta1: int
    du: int
    dv: int
    eta2: int = 2

    @property
    def encapsulation_key_bytes(self) -> int:
        """Length of an encapsulation key: t in 12 bits per coefficient, and rho."""
        return 384 * self.k + 32

    @property
    def decapsulation_key_bytes(self) -> int:
        """Length of a decapsulation key: s, the encapsulation key, its hash, and z."""
        return 768 * self.k + 96

    @property
    def u_bytes(self) -> int:
        """Length of the first part of a ciphertext, c1."""
        return 32 * self.du * self.k

    @property
    def ciphertext_bytes(self) -> int:
        """Length of a ciphertext: c1 and c2."""
        return 32 * (self.du * self.k + self.dv)


PARAMETER_SETS = {
    parameters.name: parameters
    for parameters in (
        MLKEMParameters("ML-KEM-512", 2, 3, 10, 4),
        MLKEMParameters("ML-KEM-768", 3, 2, 10, 4),
        MLKEMParameters("ML-KEM-1024", 4, 2, 11, 5),
    )
}


def _transform() -> tuple[Integers, Integers, Integers]:
    """Return the matrix of the NTT, its inverse, and zeta^(2 brv(i) + 1) for each pair.

    Rows 2i and 2i + 1 give the two coefficients of f modulo X^2 - zeta^(2 brv(i) + 1), where zeta =
    17 has order 256 and brv reverses 7 bits (FIPS 203, equation 4.12).
    """
    gammas = [pow(17, 2 * int(f"{i:07b}"[::-1], 2) + 1, Q) for i in range(N // 2)]
    forward = np.zeros((N, N), dtype=np.int64)
    inverse = np.zeros((N, N), dtype=np.int64)
    for i, gamma in enumerate(gammas):
        for j in range(N // 2):
            forward[2 * i, 2 * j] = forward[2 * i + 1, 2 * j + 1] = pow(gamma, j, Q)
            value = pow(gamma, -j, Q) * pow(N // 2, -1, Q) % Q
            inverse[2 * j, 2 * i] = inverse[2 * j + 1, 2 * i + 1] = value
    return forward, inverse, np.array(gammas, dtype=np.int64)


FORWARD, INVERSE, GAMMAS = _transform()


def transform(polynomials: Integers) -> Integers:
    """Return the NTT of polynomials, one per row (rows x 256)."""
    values: Integers = polynomials % Q @ FORWARD.T % Q
    return values


def inverse(values: Integers) -> Integers:
    """Return the polynomials with this NTT; coefficients are in [0, q)."""
    polynomials: Integers = values % Q @ INVERSE.T % Q
    return polynomials


def multiply(a: Integers, b: Integers) -> Integers:
    """Multiply in the NTT domain, pair by pair (FIPS 203, algorithms 11 and 12)."""
    a0, a1, b0, b1 = a[..., ::2], a[..., 1::2], b[..., ::2], b[..., 1::2]
    product = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=np.int64)
    product[..., ::2] = (a0 * b0 + a1 * b1 % Q * GAMMAS) % Q
    product[..., 1::2] = (a0 * b1 + a1 * b0) % Q
    return product


def compress(values: Integers, bits: int) -> Integers:
    """Return values in [0, q) rounded to `bits` bits (FIPS 203, equation 4.7)."""
    # q is odd, so that no quotient lies between two integers.
    rounded: Integers = ((values << bits) + Q // 2) // Q % (1 << bits)
    return rounded


def decompress(values: Integers, bits: int) -> Integers:
    """Return the value in [0, q) that a compressed value stands for (FIPS 203, equation 4.8)."""
    expanded: Integers = (values * Q + (1 << (bits - 1))) >> bits
    return expanded


def candidates(rho: bytes, row: int, column: int) -> Integers:
    """Return the 12-bit candidates for an entry of the matrix A (FIPS 203, algorithm 7)."""
    # 560 candidates: each of 256 coefficients takes one with a probability of q / 4096.
    stream = np.frombuffer(shake_128(rho + bytes([column, row])).digest(840), np.uint8)
    low, middle, high = stream.reshape(-1, 3).astype(np.int64).T
    return np.stack([low + ((middle & 15) << 8), (middle >> 4) + (high << 4)], axis=1).ravel()


@lru_cache(maxsize=256)
def expand_a(k: int, rho: bytes) -> Integers:
    """Return the NTT of the matrix A, as k x k x 256."""
    matrix = np.empty((k, k, N), dtype=np.int64)
    for row in range(k):
        for column in range(k):
            values = candidates(rho, row, column)
            matrix[row, column] = values[values < Q][:N]
    return matrix


def sample_cbd(seed: bytes, first_nonce: int, count: int, eta: int) -> Integers:
    """Return `count` polynomials of the centred binomial distribution (FIPS 203, algorithm 8)."""
    rows = []
    for nonce in range(first_nonce, first_nonce + count):
        stream = shake_256(seed + bytes([nonce])).digest(64 * eta)
        bits = np.unpackbits(np.frombuffer(stream, np.uint8), bitorder="little").astype(np.int64)
        x, y = bits.reshape(N, 2, eta).sum(axis=2).T
        rows.append(x - y)
    return np.array(rows)


def hash_h(data: bytes) -> bytes:
    """Return H of FIPS 203, equation 4.4."""
    return sha3_256(data).digest()


def hash_g(data: bytes) -> tuple[bytes, bytes]:
    """Return the halves of G of FIPS 203, equation 4.5."""
    digest = sha3_512(data).digest()
    return digest[:32], digest[32:]


def hash_j(data: bytes) -> bytes:
    """Return J of FIPS 203, equation 4.4."""
    return shake_256(data).digest(32)


def generate(p: MLKEMParameters, d: bytes, z: bytes) -> tuple[bytes, bytes]:
    """Return encapsulation and decapsulation key of the two seeds (FIPS 203, algorithm 16)."""
    rho, sigma = hash_g(d + bytes([p.k]))
    s = transform(sample_cbd(sigma, 0, p.k, p.eta1))
    e = transform(sample_cbd(sigma, p.k, p.k, p.eta1))
    t = (multiply(expand_a(p.k, rho), s[None]).sum(axis=1) + e) % Q
    key = pack(t, 12) + rho
    return key, pack(s, 12) + key + hash_h(key) + z


def noise(p: MLKEMParameters, r: bytes) -> tuple[Integers, Integers, Integers]:
    """Return y, e1 and e2 of an encryption, drawn from r (FIPS 203, algorithm 14)."""
    y, e1 = sample_cbd(r, 0, p.k, p.eta1), sample_cbd(r, p.k, p.k, p.eta2)
    return y, e1, sample_cbd(r, 2 * p.k, 1, p.eta2)[0]


@lru_cache(maxsize=1024)
def encrypt_parts(
    p: MLKEMParameters, key: bytes, message: bytes, r: bytes
) -> tuple[Integers, Integers]:
    """Return u (k x 256) and v (256) of an encryption, before compression."""
    return encrypt_with(p, expand_a(p.k, key[384 * p.k :]), key, message, r)


def encrypt_with(
    p: MLKEMParameters, a: Integers, key: bytes, message: bytes, r: bytes
) -> tuple[Integers, Integers]:
    """Return u and v of an encryption with this matrix A (NTT, k x k x 256)."""
    t = unpack(key[: 384 * p.k], 12) % Q
    y, e1, e2 = noise(p, r)
    y_values = transform(y)
    u = (inverse(multiply(a.transpose(1, 0, 2), y_values[None]).sum(axis=1)) + e1) % Q
    bits = decompress(unpack(message, 1)[0], 1)
    v = (inverse(multiply(t, y_values).sum(axis=0)) + e2 + bits) % Q
    return u, v


def encrypt(p: MLKEMParameters, key: bytes, message: bytes, r: bytes) -> bytes:
    """Return the ciphertext of a 32-byte message (FIPS 203, algorithm 14)."""
    u, v = encrypt_parts(p, key, message, r)
    return pack(compress(u, p.du), p.du) + pack(compress(v, p.dv), p.dv)


def encapsulate(p: MLKEMParameters, key: bytes, message: bytes) -> tuple[bytes, bytes]:
    """Return ciphertext and shared secret for 32 random bytes (FIPS 203, algorithm 17)."""
    secret, r = hash_g(message + hash_h(key))
    return encrypt(p, key, message, r), secret


@lru_cache(maxsize=1024)
def decoded(p: MLKEMParameters, s: bytes, ciphertext: bytes) -> Integers:
    """Return w = v' - s u', the coefficients of the encrypted bits (FIPS 203, algorithm 15)."""
    u = decompress(unpack(ciphertext[: p.u_bytes], p.du), p.du)
    v = decompress(unpack(ciphertext[p.u_bytes :], p.dv), p.dv)[0]
    product = multiply(unpack(s, 12) % Q, transform(u)).sum(axis=0)
    w: Integers = (v - inverse(product)) % Q
    return w


class MLKEMDecapsulator(ReferenceModel):
    """ML-KEM with one parameter set, as the receiver and as the user of an encapsulation key."""

    def __init__(self, name: str) -> None:
        self.parameters = PARAMETER_SETS[name]

    def checks(
        self, operation: str, key: bytes, ciphertext: bytes = b"", shared_secret: bytes = b""
    ) -> Iterator[RuleCheck]:
        """Yield the result of each rule for `operation`: "encapsulate" or "decapsulate".

        The last rule of a decapsulation is that it gives `shared_secret`; an empty one is not
        compared. Stops at a wrong length, as no other rule applies then.
        """
        if operation == "encapsulate":
            yield from self.encapsulation_checks(key)
        else:
            yield from self.decapsulation_checks(key, ciphertext, shared_secret)

    def encapsulation_checks(self, key: bytes) -> Iterator[RuleCheck]:
        """Yield the results of the checks of an encapsulation key."""
        p, section = self.parameters, "FIPS 203, section 7.2"
        fits = self.encapsulation_key_fits(len(key))
        detail = f"{len(key)} bytes; {p.name} has {p.encapsulation_key_bytes}"
        yield RuleCheck("encapsulation key length", section, fits, detail)
        if not fits:
            return
        values = unpack(key[: 384 * p.k], 12)
        large = self.large_coefficients(values)
        row, n = large[0] if large else divmod(int(values.argmax()), N)
        detail = f"t[{row}][{n}] = {values[row, n]}; it must be below q = {Q}"
        yield RuleCheck("modulus", section, not large, detail)

    def decapsulation_checks(
        self, key: bytes, ciphertext: bytes, shared_secret: bytes
    ) -> Iterator[RuleCheck]:
        """Yield the results of the checks of key and ciphertext, and of the shared secret."""
        p, section = self.parameters, "FIPS 203, section 7.3"
        fits = [self.key_fits(len(key)), self.ciphertext_fits(len(ciphertext))]
        detail = f"{len(key)} bytes; {p.name} has {p.decapsulation_key_bytes}"
        yield RuleCheck("decapsulation key length", section, fits[0], detail)
        detail = f"{len(ciphertext)} bytes; {p.name} has {p.ciphertext_bytes}"
        yield RuleCheck("ciphertext length", section, fits[1], detail)
        if not all(fits):
            return
        # Only in a mutant that truncates longer input can lengths exceed the standard's here.
        key, ciphertext = key[: p.decapsulation_key_bytes], ciphertext[: p.ciphertext_bytes]
        stored, computed = key[-64:-32], hash_h(self.hashed_key(key[384 * p.k : -64]))
        detail = f"{stored[:8].hex()}...; computed {computed[:8].hex()}..."
        yield RuleCheck("hash of the key", section, self.same_hash(stored, computed), detail)
        for name, values in self.key_polynomials(key):
            large = self.refused_coefficients(values)
            row, n = large[0] if large else divmod(int(values.argmax()), N)
            detail = f"{name}[{row}][{n}] = {values[row, n]}; the standard checks it only in an "
            yield RuleCheck(
                f"range of {name}", section, not large, f"{detail}encapsulation key", open=True
            )
        if shared_secret:
            secret = self.decapsulate(key, ciphertext)
            yield RuleCheck(
                "shared secret",
                "FIPS 203, algorithm 18",
                secret == shared_secret,
                f"{secret[:8].hex()}...; expected {shared_secret[:8].hex()}...",
            )

    def decapsulate(self, key: bytes, ciphertext: bytes) -> bytes:
        """Return the shared secret for a key and ciphertext of valid lengths (algorithm 18)."""
        p = self.parameters
        s, encapsulation_key = key[: 384 * p.k], key[384 * p.k : -64]
        message = self.message(decoded(p, s, ciphertext))
        secret, r = self.derived(message, encapsulation_key, key[-64:-32])
        if self.same_ciphertext(self.encrypted(encapsulation_key, message, r), ciphertext):
            return self.accepted(secret, ciphertext)
        return self.rejected(secret, key[-32:], ciphertext)

    def encapsulation_key_fits(self, length: int) -> bool:
        """Return whether an encapsulation key may have this length in bytes."""
        return length == self.parameters.encapsulation_key_bytes

    def large_coefficients(self, values: Integers) -> list[tuple[int, int]]:
        """Return (row, position) of the coefficients of t that are not below q."""
        return [(int(row), int(n)) for row, n in zip(*(values >= Q).nonzero(), strict=True)]

    def key_fits(self, length: int) -> bool:
        """Return whether a decapsulation key may have this length in bytes."""
        return length == self.parameters.decapsulation_key_bytes

    def ciphertext_fits(self, length: int) -> bool:
        """Return whether a ciphertext may have this length in bytes."""
        return length == self.parameters.ciphertext_bytes

    def hashed_key(self, encapsulation_key: bytes) -> bytes:
        """Return the part of the encapsulation key that is hashed for the check."""
        return encapsulation_key

    def same_hash(self, stored: bytes, computed: bytes) -> bool:
        """Return whether the stored hash of the encapsulation key is the computed one."""
        return stored == computed

    def key_polynomials(self, key: bytes) -> list[tuple[str, Integers]]:
        """Return s and t of a decapsulation key, which the standard does not compare with q."""
        size = 384 * self.parameters.k
        return [("s", unpack(key[:size], 12)), ("t", unpack(key[size : 2 * size], 12))]

    def refused_coefficients(self, values: Integers) -> list[tuple[int, int]]:
        """Return (row, position) of the coefficients for which a verifier may refuse a key."""
        return MLKEMDecapsulator.large_coefficients(self, values)

    def message(self, w: Integers) -> bytes:
        """Return the decrypted 32 bytes: bit 1 for the coefficients nearer to q/2 than to 0."""
        return pack(compress(w, 1), 1)

    def derived(
        self, message: bytes, encapsulation_key: bytes, key_hash: bytes
    ) -> tuple[bytes, bytes]:
        """Return the shared secret and the randomness that belong to a message."""
        return hash_g(message + key_hash)

    def encrypted(self, encapsulation_key: bytes, message: bytes, r: bytes) -> bytes:
        """Return the message encrypted again."""
        return encrypt(self.parameters, encapsulation_key, message, r)

    def same_ciphertext(self, computed: bytes, ciphertext: bytes) -> bool:
        """Return whether encrypting again gave the ciphertext."""
        return computed == ciphertext

    def accepted(self, secret: bytes, ciphertext: bytes) -> bytes:
        """Return the shared secret of a ciphertext that was encrypted correctly."""
        return secret

    def rejected(self, secret: bytes, z: bytes, ciphertext: bytes) -> bytes:
        """Return the secret of implicit rejection."""
        return hash_j(z + ciphertext)
