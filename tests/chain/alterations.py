"""Changes of a signature that need no secret key, and transactions with such signatures."""

import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from itertools import pairwise

from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from pqchain import algorithms
from pqchain.chain import Credential, Transaction
from pqchain_conform.models import falcon as falcon_model
from pqchain_conform.models.ml_dsa import PARAMETER_SETS
from tests.crypto import hawk_model
from tests.crypto.builds import ORDERS


@dataclass(frozen=True, slots=True)
class Signed:
    """A valid signature; `limit` bounds the samples of bits."""

    algorithm: str
    message: bytes
    public_key: bytes
    signature: bytes
    limit: int


def with_signature(transaction: Transaction, index: int, signature: bytes) -> Transaction:
    """Return a transaction with another signature, without the checks of a credential."""
    credentials = list(transaction.credentials)
    credentials[index] = unchecked(credentials[index], signature)
    return Transaction(transaction.payment, tuple(credentials))


def unchecked(credential: Credential, signature: bytes) -> Credential:
    """Return a credential with another signature, without its checks."""
    changed = copy(credential)
    object.__setattr__(changed, "signature", signature)
    return changed


def sampled(positions: list[int], limit: int) -> list[int]:
    """Return at most `limit` of the positions, evenly spaced."""
    return positions[:: -(-len(positions) // limit)] if positions else []


def lengths(signed: Signed) -> Iterator[bytes]:
    s, longest = signed.signature, algorithms.get(signed.algorithm).signature_max_bytes
    yield from (s + bytes(n) for n in range(1, min(max(longest - len(s), 8), 1000) + 1))
    yield from (s + end for end in (b"\1", b"\x80", b"\xff", s))
    yield from (s.rstrip(b"\0"), b"\0" + s, s[1:], s[:-1], s[:-2], s[: len(s) // 2], s[::-1])


def end_bytes(signed: Signed) -> Iterator[bytes]:
    s = signed.signature
    # All headers and flags of short signatures, which are fast to verify.
    for value in sampled(list(range(256)), 256 if len(s) < 1500 else signed.limit):
        yield from (bytes([value]) + s[1:], s[:-1] + bytes([value]))


def bits(signed: Signed) -> Iterator[bytes]:
    length = len(signed.signature)
    number = int.from_bytes(signed.signature, "little")
    for bit in sampled(list(range(8 * length)), signed.limit):
        yield (number ^ 1 << bit).to_bytes(length, "little")


def scalars(signed: Signed) -> Iterator[bytes]:
    """Add or subtract multiples of each curve's order and field prime; negate; re-encode."""
    s = signed.signature
    parts, rest = (s[:32], s[32:64]), s[64:]
    moduli = {*ORDERS.values(), 2**255 - 19, 2**256 - 2**32 - 977, 1 << 255}
    for which in (0, 1):
        for order in ("big", "little"):
            value = int.from_bytes(parts[which], order)  # type: ignore[arg-type]
            for modulus in moduli:
                for other in (modulus - value, *(value + k * modulus for k in range(-8, 9))):
                    if 0 <= other < 1 << 256:
                        halves = list(parts)
                        halves[which] = other.to_bytes(32, order)  # type: ignore[arg-type]
                        tails = [bytes([last]) for last in (0, 1, 2, 3, 27, 28)] if rest else [b""]
                        yield from (b"".join(halves) + tail for tail in tails)
    r, t = (int.from_bytes(part, "big") for part in parts)
    yield from (encode_dss_signature(r, t), parts[1] + parts[0], parts[0][::-1] + parts[1][::-1])
    yield from (s[:64] + bytes([last]) for last in range(256))
    yield from (bytes([first]) + s[:64] for first in range(256))


def falcon(signed: Signed) -> Iterator[bytes]:
    """Pad; encode zero as minus zero; set unused bits; do not compress; in recovery, negate."""
    m, s = falcon_model, signed.signature
    n = 512 if "512" in signed.algorithm else 1024
    room, step = (625, 666) if n == 512 else (1239, 1280)
    starts = [41, 41 + room] if "recovery" in signed.algorithm else [41]
    for start in starts:
        half = s[start : start + room]
        decoded = m.decompress(n, half)
        text = m.to_bits(half)
        used = decoded.used_bits

        def joined(other: str, start: int = start, half: bytes = half) -> bytes:
            return s[:start] + m.to_bytes(other) + s[start + len(half) :]

        for zero in (i for i, value in enumerate(decoded.s2) if not value):
            at = len(m.compress(decoded.s2[:zero]))
            yield joined(f"{text[:at]}1{text[at + 1 :]}")
        for at in range(used, len(text)):
            yield joined(f"{text[:at]}1{text[at + 1 :]}")
        negative = m.compress([-value for value in decoded.s2])
        yield joined(negative.ljust(len(text), "0"))
        body, bare = m.encode_uncompressed(decoded.s2), s[:start] + m.to_bytes(text[:used])
        yield from (bytes([header]) + s[1:start] + body for header in (s[0], s[0] + 0x20))
        yield from (bare, bare.ljust(step, b"\0"), bare.ljust(step, b"\0") + b"\0")


def hints(signed: Signed) -> Iterator[bytes]:
    """Exchange two positions of hints, repeat one, fill the padding, or change a counter."""
    p, s = PARAMETER_SETS[signed.algorithm], signed.signature
    start = len(s) - p.omega - p.rows
    counters = s[-p.rows :]

    def put(at: int, *values: int) -> bytes:
        return s[: start + at] + bytes(values) + s[start + at + len(values) :]

    for first, end in pairwise([0, *counters]):
        for at in range(first, end - 1):
            one, two = s[start + at : start + at + 2]
            yield from (put(at, two, one), put(at, one, one))
    for at in range(counters[-1], p.omega):
        yield from (put(at, 1), put(at, 255))
    for row, count in enumerate(counters):
        yield from (put(p.omega + row, max(count - 1, 0)), put(p.omega + row, count + 1))
        yield put(p.omega + row, 255)


def hawk(signed: Signed) -> Iterator[bytes]:
    """Replace s1 by h1 - s1, which negates w1; set each unused bit."""
    of, s = hawk_model.SETS[signed.algorithm], signed.signature
    salt, text = s[: of.seed_bytes], hawk_model.bits_of(s[of.seed_bytes :])
    s1, end = hawk_model.decompress(text, of.n, of.low_s1, of.high_s1)
    key_hash = shake_256(signed.public_key).digest(of.public_hash_bytes)
    digest = shake_256(signed.message + key_hash).digest(64)
    h1 = hawk_model.bits_of(shake_256(digest + salt).digest(of.n // 4))[of.n :]
    other = [bit - value for bit, value in zip(h1, s1, strict=True)]
    sizes = [-value - 1 if value < 0 else value for value in other]
    code = [int(value < 0) for value in other]
    code += [size >> bit & 1 for size in sizes for bit in range(of.low_s1)]
    code += [int(i == size >> of.low_s1) for size in sizes for i in range((size >> of.low_s1) + 1)]
    old = hawk_model.number(text)
    for changed in (hawk_model.number(code), *(old | 1 << at for at in range(end, len(text)))):
        yield salt + changed.to_bytes(len(s) - len(salt), "little")


def all_ones(signed: Signed) -> Iterator[bytes]:
    """Exchange 0 and 2^w - 1, which is 0 modulo the small primes 7 and 127; also 0 and 509."""
    s = signed.signature
    number, text = int.from_bytes(s, "little"), "".join(f"{byte:08b}" for byte in s[::-1])[::-1]
    for width, modulus in ((3, 7), (7, 127), (9, 509)):
        for old, change in ((0, modulus), (modulus, -modulus)):
            pattern = f"{old:0{width}b}"[::-1]
            places = [found.start() for found in re.finditer(f"(?={pattern})", text)]
            for place in sampled(places, signed.limit):
                yield (number + (change << place)).to_bytes(len(s), "little")


_Z = -0xD201000000010000
ORDER = _Z**4 - _Z**2 + 1
P = (_Z - 1) ** 2 * ORDER // 3 + _Z
"""The field prime of BLS12-381, and the order of its groups, by its parameter."""

_Z8 = _Z**8 - 4 * _Z**7 + 5 * _Z**6 - 4 * _Z**4 + 6 * _Z**3 - 4 * _Z**2 - 4 * _Z + 13
COFACTOR = _Z8 // 9
"""Number of points of the curve of signatures, divided by the order of their group."""

Fp2 = tuple[int, int]


def _times(a: Fp2, b: Fp2) -> Fp2:
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def _power(a: Fp2, exponent: int) -> Fp2:
    result = (1, 0)
    for bit in f"{exponent:b}":
        result = _times(result, result)
        result = _times(result, a) if bit == "1" else result
    return result


def _added(a: tuple[Fp2, Fp2] | None, b: tuple[Fp2, Fp2]) -> tuple[Fp2, Fp2]:
    """Add points of the curve, which must not be opposite."""
    if a is None:
        return b
    (x, y), (u, v) = a, b
    over = (2 * y[0], 2 * y[1]) if a == b else (u[0] - x[0], u[1] - x[1])
    top = tuple(3 * c for c in _times(x, x)) if a == b else (v[0] - y[0], v[1] - y[1])
    inverse = pow(over[0] ** 2 + over[1] ** 2, -1, P)
    slope = _times(top, (over[0] * inverse, -over[1] * inverse))  # type: ignore[arg-type]
    square = _times(slope, slope)
    w = (square[0] - x[0] - u[0]) % P, (square[1] - x[1] - u[1]) % P
    drop = _times(slope, (x[0] - w[0], x[1] - w[1]))
    return w, ((drop[0] - y[0]) % P, (drop[1] - y[1]) % P)


def _on_curve(x: Fp2) -> Fp2 | None:
    """Return a y with y^2 = x^3 + 4(1 + i), if there is one."""
    cube = _times(_times(x, x), x)
    square = (cube[0] + 4) % P, (cube[1] + 4) % P
    part = _power(square, (P - 3) // 4)
    root = _times(part, square)
    alpha = _times(part, root)
    y = (-root[1] % P, root[0])
    if alpha != (P - 1, 0):
        y = _times(_power(((1 + alpha[0]) % P, alpha[1]), (P - 1) // 2), root)
    return y if _times(y, y) == square else None


@cache
def torsion() -> tuple[Fp2, Fp2]:
    """Return a point whose order divides 169, outside the group of signatures."""
    x, y = next((x, y) for x in ((n, 0) for n in range(99)) if (y := _on_curve(x)))
    result = None
    for bit in f"{COFACTOR * ORDER // 169:b}":
        result = _added(result, result) if result else None
        result = _added(result, (x, y)) if bit == "1" else result
    assert result is not None
    return result


def bls(signed: Signed) -> Iterator[bytes]:
    """Add a point of small order, change the flags, or add p to a coordinate."""
    s = signed.signature
    x1, x0 = int.from_bytes(s[:48], "big") & (1 << 381) - 1, int.from_bytes(s[48:], "big")
    y = _on_curve((x0, x1))
    assert y is not None
    for v in (y, (-y[0] % P, -y[1] % P)):
        (u0, u1), _ = _added(((x0, x1), v), torsion())
        for flags in range(8):
            yield (flags << 381 | u1).to_bytes(48, "big") + u0.to_bytes(48, "big")
    yield from (bytes([flags << 5 | s[0] & 31]) + s[1:] for flags in range(8))
    yield from (bytes([flags << 5]) + bytes(95) for flags in range(8))
    for k in range(1, 9):
        if x0 + k * P < 1 << 384:
            yield s[:48] + (x0 + k * P).to_bytes(48, "big")
        if x1 + k * P < 1 << 381:
            yield (s[0] >> 5 << 381 | x1 + k * P).to_bytes(48, "big") + s[48:]


Alteration = Callable[[Signed], Iterator[bytes]]

GENERAL: tuple[Alteration, ...] = (lengths, end_bytes, bits)
"""Changes of signatures of all schemes."""

BY_FAMILY: dict[str, tuple[Alteration, ...]] = {
    "Dilithium": (hints,),
    "ML-DSA": (hints,),
    "Falcon": (falcon,),
    "Falcon-recovery": (falcon,),
    "Hawk": (hawk,),
    "CROSS": (all_ones,),
    "secp256k1": (scalars,),
    "P-256": (scalars,),
    "Ed25519": (scalars,),
    "BLS12-381": (bls,),
}
"""Changes that the encoding of one family suggests."""


def altered(signed: Signed, *, special_only: bool = False) -> list[bytes]:
    """Return other signatures that anybody can make of a valid one."""
    special = BY_FAMILY.get(algorithms.get(signed.algorithm).family, ())
    results: dict[bytes, None] = {}
    for alteration in (*special, *(() if special_only and special else GENERAL)):
        some = dict.fromkeys(alteration(signed))
        assert set(some) - {signed.signature}, alteration
        results |= some
    results.pop(signed.signature, None)
    return list(results)
