"""ML-KEM vectors: checks of keys and ciphertexts, implicit rejection, and ends of every rounding.

A decapsulation key is four independent parts, and no rule binds s to the encapsulation key. So s
can be solved for: with a chosen s, decryption gives any coefficients that a probe needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha256

import numpy as np

from pqchain_conform.models import ml_kem as model
from pqchain_conform.models.bits import Integers, N, pack, unpack
from pqchain_conform.models.ml_kem import GAMMAS, PARAMETER_SETS, MLKEMDecapsulator, Q
from pqchain_conform.vector import (
    Collector,
    DecapsulationVector,
    EncapsulationVector,
    Vector,
    flip,
)

POSITIONS = (0, 1, 127, 128, 254, 255)
"""Positions of changed coefficients: the ends and the middle of a polynomial, odd and even."""
LANES = (2, 7, 8, 15, 16, 31, 32, 63, 64, 239, 240)
"""Positions at ends of SIMD registers, probed in the last polynomial."""


@cache
def collect(algorithm: str) -> tuple[Vector, ...]:
    """Return the vectors of a parameter set."""
    generator = MLKEMVectors(algorithm)
    generator.modulus()
    generator.lengths()
    generator.key_hash()
    generator.messages()
    generator.rejections()
    generator.decrypted_bits()
    generator.compressions()
    generator.sampling()
    generator.key_ranges()
    return generator.collector.vectors()


class MLKEMVectors:
    """Generator of the vectors of one parameter set."""

    def __init__(self, algorithm: str) -> None:
        self.collector = Collector(algorithm)
        self.p = PARAMETER_SETS[algorithm]
        self.model = MLKEMDecapsulator(algorithm)
        self.random = np.random.default_rng([2, *algorithm.encode()])
        self.encapsulation_key, self.decapsulation_key = self.key_pair(0)

    def key_pair(self, number: int) -> tuple[bytes, bytes]:
        """Return the honest key pair of this number."""
        return model.generate(self.p, *(_seed(f"{name} {number}") for name in "dz"))

    def add_key(self, family: str, probe: str, valid: bool, key: bytes, kind: str) -> None:
        """Add an encapsulation key."""
        self.collector.collected.append(
            EncapsulationVector(
                algorithm=self.p.name, family=family, key=kind, probe=probe,
                expected="valid" if valid else "invalid", encapsulation_key=key,
            )
        )  # fmt: skip

    def add(
        self,
        family: str,
        probe: str,
        ciphertext: bytes,
        *,
        key: bytes | None = None,
        kind: str = "honest",
        expected: str = "valid",
    ) -> None:
        """Add a decapsulation; unless it is invalid, the model gives the expected secret."""
        key = self.decapsulation_key if key is None else key
        secret = b"" if expected == "invalid" else self.model.decapsulate(key, ciphertext)
        self.collector.collected.append(
            DecapsulationVector(
                algorithm=self.p.name, family=family, key=kind, probe=probe, expected=expected,
                decapsulation_key=key, ciphertext=ciphertext, shared_secret=secret,
            )
        )  # fmt: skip

    def honest(self, number: int = 0) -> bytes:
        """Return the ciphertext of the message of this number, for the honest key."""
        return model.encapsulate(self.p, self.encapsulation_key, _seed(f"m {number}"))[0]

    def modulus(self) -> None:
        """Add encapsulation keys with coefficients of t around q."""
        p, key = self.p, self.encapsulation_key
        t = unpack(key[: 384 * p.k], 12)
        self.add_key("modulus", "honest key", True, key, "honest")

        def put(row: int, n: int, value: int) -> None:
            changed = t.copy()
            changed[row, n] = value
            encoded = pack(changed, 12) + key[384 * p.k :]
            self.add_key("modulus", f"t[{row}][{n}] = {value}", value < Q, encoded, "changed")

        for row in range(p.k):
            for n in POSITIONS:
                for value in (Q - 1, Q, 4095):
                    put(row, n, value)
        for n in LANES:
            put(p.k - 1, n, Q)
        for value in (0, Q - 2, Q + 1, 3583, 3584, 3840, 4094):
            put(0, 0, value)
        for value in (Q - 1, Q, 4095):
            encoded = pack(np.full_like(t, value), 12) + key[384 * p.k :]
            self.add_key("modulus", f"all of t {value}", value < Q, encoded, "changed")

    def lengths(self) -> None:
        """Add keys and ciphertexts of wrong lengths."""
        ciphertext = self.honest()
        self.add("length", "all lengths as they should be", ciphertext)
        others = [q for q in PARAMETER_SETS.values() if q.name != self.p.name]
        for name, data in _resized(self.encapsulation_key):
            self.add_key("length", f"encapsulation key {name}", False, data, "changed")
        for name, data in _resized(self.decapsulation_key):
            probe = f"decapsulation key {name}"
            self.add("length", probe, ciphertext, key=data, kind="changed", expected="invalid")
        for name, data in _resized(ciphertext):
            self.add("length", f"ciphertext {name}", data, expected="invalid")
        for other in others:
            key, secret_key = model.generate(other, _seed("d 0"), _seed("z 0"))
            self.add_key("length", f"encapsulation key of {other.name}", False, key, "changed")
            probe = f"decapsulation key of {other.name}"
            self.add(
                "length", probe, ciphertext, key=secret_key, kind="changed", expected="invalid"
            )
            data = model.encapsulate(other, key, _seed("m 0"))[0]
            self.add("length", f"ciphertext of {other.name}", data, expected="invalid")

    def key_hash(self) -> None:
        """Add decapsulation keys whose stored hash is not that of the encapsulation key."""
        ciphertext, key = self.honest(), self.decapsulation_key
        start, end = len(key) - 64, len(key) - 32

        def put(probe: str, changed: bytes) -> None:
            self.add("key-hash", probe, ciphertext, key=changed, kind="changed", expected="invalid")

        for index in range(32):
            put(f"byte {index} of the hash changed", flip(key, start + index, index % 8))
        put("hash of zeros", key[:start] + bytes(32) + key[end:])
        put("hash of the decapsulation key", key[:start] + model.hash_h(key) + key[end:])
        size = 384 * self.p.k
        for name, index in (
            ("first byte of t", size), ("last byte of t", 2 * size - 1),
            ("first byte of rho", 2 * size), ("last byte of rho", start - 1),
        ):  # fmt: skip
            put(f"{name} changed after hashing", flip(key, index))
        # A hash that begins with a zero byte, where a C string comparison would stop.
        for number in range(10_000):
            encapsulation_key = key[size : start - 32] + _seed(f"rho {number}")
            stored = model.hash_h(encapsulation_key)
            if stored[0] == 0:
                break
        zero = key[:size] + encapsulation_key + stored + key[end:]
        self.add("key-hash", "hash begins with a zero", ciphertext, key=zero, kind="changed")
        put("hash begins with a zero, last byte changed", flip(zero, end - 1))

    def messages(self) -> None:
        """Add valid ciphertexts of messages with special bits."""
        bits = np.zeros(256, dtype=np.int64)
        self.encapsulated("message of zeros", bits)
        self.encapsulated("message of ones", bits + 1)
        for n in (*POSITIONS, *LANES):
            self.encapsulated(f"bit {n} alone", bits + (np.arange(256) == n))

    def encapsulated(self, probe: str, bits: Integers) -> None:
        """Add the ciphertext of a message."""
        message = pack(bits, 1)
        self.add("message", probe, model.encapsulate(self.p, self.encapsulation_key, message)[0])

    def rejections(self) -> None:
        """Add changed and foreign ciphertexts, for which decapsulation gives J(z, c)."""
        p, good = self.p, self.honest(1)
        self.add("rejection", "ciphertext as it should be", good)
        step_u, step_v = 32 * p.du, 32 * p.dv
        indices = {0, 31, 32, len(good) - 33, len(good) - 32, len(good) - 1, p.u_bytes}
        indices |= {row * step_u + at for row in range(p.k) for at in (0, 1, step_u - 1)}
        indices |= {p.u_bytes + step_v // 2, *range(63, len(good), 64)}
        for index in sorted(indices):
            for bit in (0, 7):
                probe = f"byte {index}, bit {bit} changed"
                self.add("rejection", probe, flip(good, index, bit))
        # Differences that cancel if they are combined with exclusive or, or added in a byte. They
        # leave the message as it is: bit 7 of these bytes is among the two lowest of a coefficient.
        low = [i for i in range(p.u_bytes) if (8 * i + 7) % p.du < 2]
        for first, second in ((low[0], low[1]), (low[0], low[-1])):
            twice = flip(flip(good, first, 7), second, 7)
            self.add("rejection", f"bit 7 of bytes {first} and {second} changed", twice)
        for name, data in (
            ("zeros", bytes(len(good))),
            ("ones", b"\xff" * len(good)),
            ("c1 alone", good[: p.u_bytes] + bytes(step_v)),
            ("c2 alone", bytes(p.u_bytes) + good[p.u_bytes :]),
            ("c1 of another", self.honest(2)[: p.u_bytes] + good[p.u_bytes :]),
            ("c2 of another", good[: p.u_bytes] + self.honest(2)[p.u_bytes :]),
        ):
            self.add("rejection", f"ciphertext of {name}", data)
        foreign = model.encapsulate(p, self.key_pair(1)[0], _seed("m 0"))[0]
        self.add("rejection", "ciphertext for another key", foreign)
        for name, z in (("zeros", bytes(32)), ("ones", b"\xff" * 32)):
            key = self.decapsulation_key[:-32] + z
            self.add("rejection", f"z of {name}, changed", flip(good, 0), key=key, kind="z")
            self.add("rejection", f"z of {name}, not changed", good, key=key, kind="z")
        # A ciphertext that begins with a zero byte, where a C string comparison would stop.
        number = next(i for i in range(10_000) if self.honest(i)[0] == 0)
        zero = self.honest(number)
        self.add("rejection", "ciphertext begins with a zero", zero)
        for index in (1, len(zero) - 1):
            probe = f"ciphertext begins with a zero, byte {index} changed"
            self.add("rejection", probe, flip(zero, index))

    def decrypted_bits(self) -> None:
        """Add keys with which decryption gives coefficients at the ends of the rounding to bits."""
        # For bits 0 and 1, the values that round to them and lie at the ends of the interval.
        ends = {"lower": (832, 833), "upper": (2497, 2496), "middle": (0, 1664), "zero": (1, 1665)}
        for number, (name, values) in enumerate(ends.items()):
            bits, ciphertext, parts = self.invertible(number)
            w = np.where(bits == 1, values[1], values[0])
            self.solved(f"coefficients at the {name} end", ciphertext, parts, w)
            mixed = np.where(bits == 1, *(self.random.choice([e[b] for e in ends.values()], N)
                                          for b in (1, 0)))  # fmt: skip
            self.solved(f"coefficients at all ends, {number}", ciphertext, parts, mixed)
            for n in POSITIONS:
                other = w.copy()
                # The first value that rounds to the other bit.
                other[n] = {"lower": (833, 832), "upper": (2496, 2497)}.get(name, (1664, 0))[
                    bits[n]
                ]
                self.solved(f"w[{n}] = {other[n]} for bit {bits[n]}", ciphertext, parts, other)

    def invertible(self, number: int) -> tuple[Integers, bytes, tuple[Integers, Integers]]:
        """Return bits, ciphertext and decompressed (NTT of u[0], v), where u[0] has an inverse."""
        p = self.p
        for attempt in range(1000):
            message = _seed(f"bits {number} {attempt}")
            ciphertext = model.encapsulate(p, self.encapsulation_key, message)[0]
            compressed = unpack(ciphertext[: p.u_bytes], p.du)
            u = model.transform(model.decompress(compressed, p.du))[0]
            if _norms(u).all():
                v = model.decompress(unpack(ciphertext[p.u_bytes :], p.dv), p.dv)[0]
                return unpack(message, 1)[0], ciphertext, (u, v)
        raise AssertionError("none of 1000 ciphertexts has an invertible u[0]")

    def solved(
        self, probe: str, ciphertext: bytes, parts: tuple[Integers, Integers], w: Integers
    ) -> None:
        """Add a key whose s is zero but in s[0] = (v - w) / u[0], so that decryption gives w."""
        u, v = parts
        s = np.zeros((self.p.k, N), dtype=np.int64)
        s[0] = model.multiply(model.transform((v - w)[None])[0], _inverted(u))
        key = pack(s, 12) + self.decapsulation_key[384 * self.p.k :]
        self.add("bits", probe, ciphertext, key=key, kind="s solved for")

    def compressions(self) -> None:
        """Add honest ciphertexts until u and v have had each value at an end of the rounding."""
        p = self.p
        missing = {"u": _ends(p.du), "v": _ends(p.dv)}
        number = 0
        while any(missing.values()):
            message = _seed(f"compression {number}")
            r = model.hash_g(message + model.hash_h(self.encapsulation_key))[1]
            u, v = model.encrypt_parts(p, self.encapsulation_key, message, r)
            found = {"u": set(u.ravel().tolist()), "v": set(v.tolist())}
            new = {name: missing[name] & found[name] for name in missing}
            if any(new.values()):
                counts = ", ".join(f"{len(new[name])} of {name}" for name in new)
                self.add(
                    "compression", f"number {number}, first values: {counts}",
                    model.encapsulate(p, self.encapsulation_key, message)[0],
                )  # fmt: skip
                missing = {name: missing[name] - found[name] for name in missing}
            number += 1

    def sampling(self) -> None:
        """Add keys whose matrix has a candidate q or q - 1, or needs a fourth block of SHAKE128."""
        missing = {"q - 1": Q - 1, "q": Q, "q + 1": Q + 1, "four blocks": None}
        number = 2
        while missing:
            key, secret_key = self.key_pair(number)
            used = [
                values[: np.flatnonzero(values < Q)[N - 1] + 1]
                for row, column in np.ndindex(self.p.k, self.p.k)
                for values in [model.candidates(key[-32:], row, column)]
            ]
            for name, value in list(missing.items()):
                # A block of SHAKE128 has 168 bytes and thus 112 candidates.
                if any((v == value).any() if value else len(v) > 336 for v in used):
                    del missing[name]
                    ciphertext = model.encapsulate(self.p, key, _seed("m 0"))[0]
                    self.add("sampling", f"candidates of A: {name}", ciphertext, key=secret_key)
                    self.add_key("sampling", f"candidates of A: {name}", True, key, "honest")
            number += 1

    def key_ranges(self) -> None:
        """Add decapsulation keys with coefficients of s or t that are not below q."""
        p, ciphertext = self.p, self.honest(3)
        size = 384 * p.k
        for name, start in (("s", 0), ("t", size)):
            values = unpack(self.decapsulation_key[start : start + size], 12)
            for row in (0, p.k - 1):
                # Only values below 4096 - q can be encoded as themselves plus q.
                small = np.flatnonzero(values[row] < 4096 - Q)
                for n in (small[0], small[-1]):
                    changed = values.copy()
                    changed[row, n] += Q
                    key = bytearray(self.decapsulation_key)
                    key[start : start + size] = pack(changed, 12)
                    key[-64:-32] = model.hash_h(bytes(key[size:-64]))
                    probe = f"{name}[{row}][{n}] = {changed[row, n]}"
                    self.add(
                        "key-range", probe, ciphertext, key=bytes(key), kind="changed",
                        expected="acceptable",
                    )  # fmt: skip


def _seed(text: str) -> bytes:
    return sha256(f"pqchain ML-KEM {text}".encode()).digest()


def _resized(data: bytes) -> Iterable[tuple[str, bytes]]:
    return (
        ("empty", b""),
        ("one byte", data[:1]),
        ("last byte missing", data[:-1]),
        ("first byte missing", data[1:]),
        ("a zero appended", data + b"\0"),
        ("32 bytes appended", data + bytes(32)),
        ("twice", data + data),
    )


def _norms(a: Integers) -> Integers:
    """Return the norm of each pair a0 + a1 X modulo X^2 - gamma; zero if it has no inverse."""
    return (a[::2] ** 2 - a[1::2] ** 2 % Q * GAMMAS) % Q


def _inverted(a: Integers) -> Integers:
    """Return the inverse of a polynomial in the NTT domain, pair by pair."""
    inverses = np.array([pow(int(norm), -1, Q) for norm in _norms(a)], dtype=np.int64)
    inverse = np.empty_like(a)
    inverse[::2], inverse[1::2] = a[::2] * inverses % Q, -a[1::2] * inverses % Q
    return inverse


def _ends(bits: int) -> set[int]:
    """Return the values in [0, q) next to which the compressed value changes."""
    rounded = model.compress(np.arange(Q), bits)
    changes = np.flatnonzero(rounded != np.roll(rounded, 1))
    return {int(value) for change in changes for value in (change, (change - 1) % Q)}
