"""Falcon vectors under the constant key h = 111 and similar keys.

With a constant h, s1 = c - 111 s2 holds for each coefficient separately. Each pair of coefficients
is then a point of a shifted two-dimensional lattice, so signatures of any norm above a hundredth of
the bound can be found without the secret key and without a search, even one whose squared norm is
exactly the bound.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from pqchain_conform.generators.falcon_forms import Encodings, SignatureParts
from pqchain_conform.models import falcon as model
from pqchain_conform.models.falcon import PARAMETER_SETS, SECOND_ROUND_BOUNDS, Integers, Q
from pqchain_conform.vector import Collector, Vector

K = 111
"""Constant key h. Its two-dimensional lattice has the short basis (111, -1) and (-31, -110)."""


def collect(algorithm: str) -> tuple[Vector, ...]:
    """Return the vectors of an algorithm, under crafted and honest keys."""
    from pqchain_conform.generators import falcon_honest

    collector = Collector(algorithm)
    forger = FalconForger(collector)
    forger.norms()
    forger.coefficients_of_s2()
    forger.coefficients_of_s1()
    forger.messages()
    forger.keys()
    forger.encodings.add_all(forger.base_signature())
    falcon_honest.extend(collector)
    return collector.vectors()


class FalconForger:
    """Generator of the vectors under constant keys for one parameter set."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.p = PARAMETER_SETS[collector.algorithm]
        self.n = self.p.n
        self.random = random.Random(f"falcon {self.n}")
        # Header and salt take 1 + 40 bytes.
        self.room_bits = 8 * (self.p.padded_bytes - 41)
        public_key = model.encode_key([K] + [0] * (self.n - 1))
        self.encodings = Encodings(collector, f"h = {K}", public_key)

    def salted(self, message: bytes) -> tuple[bytes, Integers]:
        """Return a random salt, and the result of HashToPoint for the salt and the message."""
        salt = self.random.randbytes(model.SALT_BYTES)
        return salt, model.hash_to_point(self.n, salt + message)

    def costs(self, c: Integers, reach: int) -> Integers:
        """Return s1^2 + s2^2 of each coefficient (row) for s2 from -reach to reach (columns)."""
        s2 = np.arange(-reach, reach + 1)
        costs: Integers = model.centred(c[:, None] - K * s2) ** 2 + s2**2
        return costs

    def shortest(self, c: Integers) -> Integers:
        """Return the s2 with coefficients from -60 to 60 that gives the shortest signature."""
        s2: Integers = self.costs(c, 60).argmin(axis=1) - 60
        return s2

    def norm(self, c: Integers, s2: Integers) -> int:
        """Return the squared norm of the signature (c - K s2, s2)."""
        s1 = model.centred(c - K * s2)
        return int(s1 @ s1 + s2 @ s2)

    def of_norm(self, c: Integers, target: int) -> Integers | None:
        """Return an s2 for which the squared norm is exactly `target`, or None if none is found."""
        # All coefficients but three are chosen greedily. The exact remainder is then found by a
        # meet-in-the-middle lookup over all values of the last three.
        order = list(range(self.n))
        self.random.shuffle(order)
        last, free = order[:3], order[3:]
        reach = 60 if target / self.n > 3e5 else 200
        table = self.costs(c, reach)
        s2 = np.zeros(self.n, dtype=np.int64)
        spent = 0
        for count, i in enumerate(free):
            left = (target - spent) / (self.n - count)
            # Near the bound, costs vary as in an honest signature. Larger targets leave little room
            # to vary, so each coefficient takes an equal share.
            share = 3 * left * self.random.random() ** 2 if reach > 60 else left
            best = int(np.abs(table[i] - share).argmin())
            s2[i] = best - reach
            spent += int(table[i, best])
        missing = target - spent
        a, b, rest = self.costs(c[last], 500)
        values, at = np.unique(rest, return_index=True)
        targets = missing - a[:, None] - b[None, :]
        nearest = np.searchsorted(values, targets).clip(max=len(values) - 1)
        hits = np.argwhere(values[nearest] == targets)
        if not len(hits):
            return None
        # The smallest coefficients have the shortest encoding, which must fit the padded form.
        picks = (
            np.stack([hits[:, 0], hits[:, 1], at[nearest[hits[:, 0], hits[:, 1]]]], axis=1) - 500
        )
        s2[last] = picks[np.abs(picks).sum(axis=1).argmin()]
        assert self.norm(c, s2) == target
        return s2

    def add(
        self,
        family: str,
        probe: str,
        expected: str | bool,
        message: bytes,
        salt: bytes,
        s2: Integers,
        h: Mapping[int, int] | None = None,
    ) -> None:
        """Add a vector for this s2; `h` maps positions to the non-zero values of the public key."""
        bits = model.compress(list(s2))
        values = [(h or {0: K}).get(i, 0) for i in range(self.n)]
        signature = self.encodings.signature(salt, bits)
        self.encodings.add(family, probe, expected, message, signature, model.encode_key(values))

    def norms(self) -> None:
        """Add vectors with norms near both rounds' bounds, and where 32-bit sums overflow."""
        p, old = self.p, SECOND_ROUND_BOUNDS[self.n]
        targets = [(f"the bound {delta:+d}", p.bound + delta) for delta in (-2, -1, 0, 1, 2)]
        targets += [(f"the second round's bound {delta:+d}", old + delta) for delta in (-1, 0, 1)]
        targets += [("2^31 - 1", 2**31 - 1), ("2^31", 2**31), ("2^32", 2**32)]
        # A verifier whose sum overflows at 31 or 32 bits sees a norm within the bound here.
        for base, name in ((2**31, "2^31"), (2**32, "2^32"), (2 * 2**32, "2 * 2^32")):
            targets += [(f"{name} + half the bound", base + p.bound // 2)]
            targets += [(f"{name} + the bound", base + p.bound)]
        for name, target in targets:
            # Not every point has an s2 of this norm with an encoding that fits.
            for _ in range(50):
                salt, c = self.salted(b"norm")
                s2 = self.of_norm(c, target)
                if s2 is not None and len(model.compress(list(s2))) <= self.room_bits:
                    break
            else:
                raise AssertionError(f"none of 50 salts gives a signature of squared norm {target}")
            probe = f"squared norm {target}: {name}"
            self.add("norm", probe, target <= p.bound, b"norm", salt, s2)

    def coefficients_of_s2(self) -> None:
        """Add vectors with one coefficient of s2 fixed and all others as small as possible."""
        # Seven bits are stored directly, the rest in unary, so 127 and 128 differ in form.
        # The reference code encodes at most 2047.
        for size in (127, 128, 255, 256, 840, 841, 1023, 1024, 2046, 2047):
            for value in (size, -size):
                for i in (0, self.n // 2, self.n - 1):
                    self._fixed_coefficient(value, i, "coefficient", "valid")
        # The specification's encoding allows these; its reference code rejects them.
        for size in (2048, 2049, 2175, 3000, 4095, 4096, 5000):
            for value in (size, -size):
                self._fixed_coefficient(value, 0, "beyond-encoding", "acceptable")

    def _fixed_coefficient(self, value: int, i: int, family: str, expected: str) -> None:
        while True:
            salt, c = self.salted(b"coefficient")
            s2 = self.shortest(c)
            s2[i] = value
            if self.norm(c, s2) <= self.p.bound:
                break
        self.add(family, f"s2[{i}] = {value}", expected, b"coefficient", salt, s2)

    def coefficients_of_s1(self) -> None:
        """Add vectors with large coefficients of s1, which Falcon does not bound individually."""
        for size in (841, 2047, 2048, 4095, 4096, 5600):
            for value in (size, -size):
                salt, c = self.salted(b"s1")
                s2 = self.shortest(c)
                s1 = model.centred(int(c[0]) - K * np.arange(-60, 61))
                s2[0] = int(np.abs(s1 - value).argmin()) - 60
                assert self.norm(c, s2) <= self.p.bound
                probe = f"s1[0] = {int(model.centred(c - K * s2)[0])}"
                self.add("coefficient", probe, True, b"s1", salt, s2)

    def messages(self) -> None:
        """Add vectors with special message lengths, salts, and hash samples at rejection limits."""
        for length in (0, 1, 95, 96, 97, 136, 1000, 100_000):
            message = bytes(i % 253 for i in range(length))
            salt, c = self.salted(message)
            probe = f"message of {length} bytes"
            self.add("message", probe, True, message, salt, self.shortest(c))
        for byte in (0, 255):
            salt = bytes([byte]) * model.SALT_BYTES
            c = model.hash_to_point(self.n, salt + b"salt")
            self.add("salt", f"salt of bytes {byte}", True, b"salt", salt, self.shortest(c))
        # Samples below 5 q are reduced modulo q, others are rejected. The salt is incremented until
        # each value at an edge has occurred.
        missing, number = {0, Q - 1, Q, 5 * Q - 1, 5 * Q, 65535}, 0
        while missing:
            salt, number = number.to_bytes(model.SALT_BYTES, "big"), number + 1
            samples = model.samples_used(self.n, salt + b"sample")
            for value in sorted(missing & set(samples.tolist())):
                missing.discard(value)
                c = model.hash_to_point(self.n, salt + b"sample")
                probe = f"a sample of the hash is {value}"
                self.add("hash-to-point", probe, True, b"sample", salt, self.shortest(c))

    def keys(self) -> None:
        """Add vectors under keys with extreme values at the first and the last position."""
        n = self.n
        for probe, h in (
            ("h = 111 x^(n-1)", {n - 1: K}),
            ("h = -111: a value of q - 111", {0: Q - K}),
            ("h = 111 - x^(n/2): a value of q - 1", {0: K, n // 2: Q - 1}),
            ("h = 111 - x^(n-1): its last value q - 1", {0: K, n - 1: Q - 1}),
            ("h = 111 + x", {0: K, 1: 1}),
        ):
            salt, c = self.salted(b"key")
            self.add("key", probe, True, b"key", salt, self._near(c, h), h)
        salt, c = self.salted(b"key")
        self.add("key", "h = 0", False, b"key", salt, 0 * c, {0: 0})

    def _near(self, c: Integers, h: Mapping[int, int]) -> Integers:
        """Return a short s2 for a key that is 111 or -111 at one position and small elsewhere."""
        position = next(i for i, value in h.items() if value in (K, Q - K))
        # Dividing by x^position turns the key into a constant, apart from its small values.
        turned = -model.times(np.eye(self.n, dtype=np.int64)[-position], c) if position else c
        s2 = self.shortest(turned % Q) * (1 if h[position] == K else -1)
        values = np.array([h.get(i, 0) for i in range(self.n)], dtype=np.int64)
        s1 = model.centred(c - model.times(s2, values))
        assert int(s1 @ s1 + s2 @ s2) <= self.p.bound
        return s2

    def base_signature(self) -> SignatureParts:
        """Return a signature whose s2 has zeros and unused bits, for other encodings of it."""
        zeros = (0, 3, self.n - 1)
        while True:
            salt, c = self.salted(b"forms")
            s2 = self.shortest(c)
            s2[list(zeros)] = 0
            # Coefficients above 127, so that the bits do not fill the last byte.
            large = self.costs(c[5:8], 255)[:, 255 + 128 :]
            s2[5:8] = large.argmin(axis=1) + 128
            bits = model.compress(list(s2))
            if self.norm(c, s2) <= self.p.bound and 1 <= len(bits) % 8 <= 6:
                return SignatureParts(b"forms", salt, s2, zeros)
