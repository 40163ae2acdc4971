"""Hawk's keys and verification in Python with exact integers, written from the specification.

Slow and independent of the C code: polynomials are lists of integers, products are made by one big
multiplication, and quotients come from floating point and are multiplied back to check them.
"""

from dataclasses import dataclass
from hashlib import shake_256

import numpy as np


@dataclass(frozen=True, slots=True)
class Set:
    """A parameter set."""

    n: int
    public_key_bytes: int
    seed_bytes: int
    public_hash_bytes: int
    low_00: int
    high_00: int
    low_01: int
    high_01: int
    low_s1: int
    high_s1: int
    bound: int


SETS = {
    "Hawk-512": Set(512, 1024, 24, 32, 5, 9, 9, 12, 5, 9, 8317),
    "Hawk-1024": Set(1024, 2440, 40, 64, 6, 10, 10, 14, 6, 10, 20218),
}

Poly = list[int]


def multiply(a: Poly, b: Poly) -> Poly:
    """Multiply in Z[X]/(X^n + 1), by Kronecker substitution."""
    n, width = len(a), 64
    shift = sum(1 << (width * i + width - 1) for i in range(2 * n))
    packed = [sum(x << (width * i) for i, x in enumerate(p)) for p in (a, b)]
    product = packed[0] * packed[1] + shift
    digits = product.to_bytes(2 * n * width // 8 + 8, "little", signed=False)
    values = [
        int.from_bytes(digits[8 * i : 8 * i + 8], "little") - (1 << (width - 1))
        for i in range(2 * n)
    ]
    return [values[i] - values[i + n] for i in range(n)]


def adjoint(a: Poly) -> Poly:
    """Return a(1/X)."""
    return [a[0], *(-x for x in a[:0:-1])]


def add(a: Poly, b: Poly) -> Poly:
    """Return the sum."""
    return [x + y for x, y in zip(a, b, strict=True)]


def bits_of(data: bytes) -> list[int]:
    """Return the bits, lowest bit of each byte first."""
    return [int(bit) for bit in np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")]


def number(bits: list[int]) -> int:
    """Return the integer with these bits, lowest first."""
    return sum(bit << i for i, bit in enumerate(bits))


def decompress(bits: list[int], count: int, low: int, high: int) -> tuple[Poly, int]:
    """Read `count` Golomb-Rice codes; return the values and the end position."""
    at, values = count * (low + 1), []
    for i in range(count):
        end = bits.index(1, at)
        value = number(bits[count + i * low : count + (i + 1) * low]) + ((end - at) << low)
        assert value < 1 << high
        values.append(-value - 1 if bits[i] else value)
        at = end + 1
    return values, at


def decode_public(of: Set, public_key: bytes) -> tuple[Poly, Poly]:
    """Return q00 and q01."""
    bits, tail, n = bits_of(public_key), 16 - of.high_00, of.n
    half, at = decompress(bits, n // 2, of.low_00, of.high_00)
    half[0] = (half[0] << tail) + number(bits[at : at + tail])
    at = -(-(at + tail) // 8) * 8
    q01, _ = decompress(bits[at:], n, of.low_01, of.high_01)
    return [*half, 0, *(-x for x in half[:0:-1])], q01


def regenerate(of: Set, seed: bytes) -> tuple[Poly, Poly]:
    """Return f and g of a seed."""
    count, width = 2 * of.n, of.n // 64
    streams = [
        np.frombuffer(shake_256(seed + bytes([i])).digest(count * width // 32), np.uint64)
        for i in range(4)
    ]
    bits = bits_of(np.stack(streams, axis=1).tobytes())
    values = [sum(bits[i * width : (i + 1) * width]) - width // 2 for i in range(count)]
    return values[: of.n], values[of.n :]


def key_is_right(name: str, public_key: bytes, secret_key: bytes) -> bool:
    """Return whether a key pair is valid: q00, integral q11, odd f G - g F, the hash."""
    of = SETS[name]
    n = of.n
    q00, q01 = decode_public(of, public_key)
    f, g = regenerate(of, secret_key[: of.seed_bytes])
    at = of.seed_bytes
    F, G = (bits_of(secret_key[at + i * n // 8 : at + (i + 1) * n // 8]) for i in (0, 1))  # noqa: N806
    odd = [x & 1 for x in add(multiply(f, G), multiply(g, F))]
    top = multiply(q01, adjoint(q01))
    top[0] += 1
    q11 = [round(x) for x in coefficients(values(top) / values(q00))]
    return (
        q00 == add(multiply(f, adjoint(f)), multiply(g, adjoint(g)))
        and odd == [1] + [0] * (n - 1)
        and multiply(q00, q11) == top
        and secret_key[at + n // 4 :] == shake_256(public_key).digest(of.public_hash_bytes)
    )


def values(a: Poly) -> np.ndarray:
    """Return the values at the roots of X^n + 1, in floating point."""
    twist = np.exp(1j * np.pi * np.arange(len(a)) / len(a))
    return np.fft.fft(np.array(a, dtype=float) * twist)


def coefficients(at_roots: np.ndarray) -> np.ndarray:
    """Return the real polynomial with these values."""
    n = len(at_roots)
    return (np.fft.ifft(at_roots) * np.exp(-1j * np.pi * np.arange(n) / n)).real


def verify(name: str, message: bytes, signature: bytes, public_key: bytes) -> bool:
    """Verify a well-formed signature with exact integers."""
    of = SETS[name]
    n = of.n
    q00, q01 = decode_public(of, public_key)
    salt, bits = signature[: of.seed_bytes], bits_of(signature[of.seed_bytes :])
    s1, at = decompress(bits, n, of.low_s1, of.high_s1)
    digest = shake_256(public_key).digest(of.public_hash_bytes)
    digest = shake_256(message + digest).digest(64)
    h = bits_of(shake_256(digest + salt).digest(n // 4))
    w1 = [bit - 2 * s for bit, s in zip(h[n:], s1, strict=True)]
    first = next((x for x in w1 if x), 0)
    near = coefficients(values(q01) * values(w1) / values(q00))
    w0 = [bit - 2 * round((bit - x) / 2) for bit, x in zip(h[:n], near, strict=True)]
    e = add(multiply(q01, w1), [-x for x in multiply(q00, w0)])
    top = add(multiply(e, adjoint(e)), multiply(w1, adjoint(w1)))
    quotient = [round(x) for x in coefficients(values(top) / values(q00))]
    whole = multiply(quotient, q00) == top
    return whole and first > 0 and not any(bits[at:]) and quotient[0] <= of.bound
