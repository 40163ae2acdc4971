"""ML-DSA and Dilithium vectors under crafted keys, which need no secret key to sign.

With t1 = 0 the verifier computes w' = A z, which does not depend on the challenge. Every short z
and every hint then has a valid signature, found without a secret key or a search, so each boundary
of verification can be reached. With coefficients of t1 that are 0 or 1023 the product c t1 2^d
stays small, because 1023 times 2^13 is -1 modulo q, and hints correct its effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pqchain_conform.models import ml_dsa as model
from pqchain_conform.models.bits import Integers, N, pack
from pqchain_conform.models.ml_dsa import PARAMETER_SETS, MLDSAParameters
from pqchain_conform.vector import Collector, SignatureVector, Vector, flip

MESSAGE = b"boundary"
LANES = ((0, 7), (0, 8), (1, 8), (2, 131), (-1, 248))
"""Positions (row, coefficient) at ends of SIMD registers, besides the ends of polynomials."""
RHO = bytes(range(32))

Rounding = Callable[[MLDSAParameters, Integers, Integers], Integers]


def collect(algorithm: str, *more: Callable[[Collector], None]) -> tuple[Vector, ...]:
    """Return an algorithm's vectors under crafted keys, and those that the functions `more` add."""
    collector = Collector(algorithm)
    forger = MLDSAForger(collector)
    forger.bounds_on_z()
    forger.roundings()
    forger.hint_counters()
    forger.hint_order()
    forger.hint_padding()
    forger.challenges()
    if forger.p.standard:
        forger.contexts()
    forger.unusual_keys()
    for extend in more:
        extend(collector)
    return collector.vectors()


class MLDSAForger:
    """Generator of the vectors under crafted keys for one parameter set."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.p = PARAMETER_SETS[collector.algorithm]
        self.random = np.random.default_rng(list(collector.algorithm.encode()))
        self.no_hints = np.zeros((self.p.rows, N), dtype=np.int64)

    def short_z(self) -> Integers:
        """Return a random z (columns x 256), uniform within the bound."""
        shape = (self.p.columns, N)
        return self.random.integers(-self.p.bound + 1, self.p.bound, shape)

    def add(
        self,
        family: str,
        probe: str,
        valid: bool,
        *,
        z: Integers | None = None,
        hints: Integers | None = None,
        hint_bytes: bytes | None = None,
        rho: bytes = bytes(32),
        context: bytes = b"",
        rounding: Rounding = model.use_hint,
    ) -> bytes:
        """Add a vector under t1 = 0 whose challenge matches its z, hints and context."""
        p = self.p
        if hint_bytes is None:
            hint_bytes = model.encode_hints(p, self.no_hints if hints is None else hints)
        z = self.short_z() if z is None else z
        public_key = rho + bytes(320 * p.rows)
        mu = model.message_hash(p, public_key, MESSAGE, model.prefix(p, context))
        high = rounding(p, model.read_hints(p, hint_bytes), model.product(p, rho, z))
        seed = model.challenge_hash(p, mu, high)
        signature = seed + pack(p.gamma1 - z, p.gamma1_bits + 1) + hint_bytes
        self.add_signed(family, probe, valid, public_key, signature, context)
        return signature

    def add_signed(
        self,
        family: str,
        probe: str,
        valid: bool,
        public_key: bytes,
        signature: bytes,
        context: bytes = b"",
    ) -> None:
        """Add a vector under t1 = 0 with this signature."""
        self.collector.add(
            family, probe, valid, key="t1 = 0", public_key=public_key, message=MESSAGE,
            signature=signature, context=context,
        )  # fmt: skip

    def bounds_on_z(self) -> None:
        """Add vectors with the largest valid, smallest invalid and extreme values of z."""
        p = self.p
        edges = [sign * (p.bound + step) for step in (-1, 0, 1) for sign in (1, -1)]
        # A faulty loop may skip the first or last polynomial, or one end of its coefficients.
        for column in range(p.columns):
            for n in (0, N // 2, N - 1):
                for value in edges:
                    self._bound(value, column, n)
        for value in (*edges, p.gamma1 - 1, 1 - p.gamma1, p.gamma1):
            for column, n in ((0, 0), (-1, N - 1), *LANES):
                self._bound(value, column, n)
            everywhere = np.full((p.columns, N), value)
            valid = abs(value) < p.bound
            self.add("z-bound", f"z = {value} everywhere", valid, z=everywhere)
        self.add("z-bound", "z = 0", True, z=0 * self.short_z())

    def _bound(self, value: int, column: int, n: int) -> None:
        z = self.short_z()
        z[column, n] = value
        column %= self.p.columns
        self.add("z-bound", f"z[{column}][{n}] = {value}", abs(value) < self.p.bound, z=z)

    def roundings(self) -> None:
        """Add vectors with hints at the edges of rounding intervals and at extreme high parts."""
        p, gamma2 = self.p, self.p.gamma2
        targets = [
            2 * gamma2 * high + low
            for high in (0, 1, p.high_parts // 2, p.high_parts - 1)
            for low in (0, 1, -1, 2, gamma2, gamma2 - 1, 1 - gamma2)
        ]
        # Above q - gamma2 the high part wraps to 0 and the low part decreases by one.
        targets += [model.Q - 1, model.Q - 2, model.Q - gamma2, model.Q - gamma2 + 1]
        positions = ((0, 0), (-1, N - 1), *LANES)
        for index, target in enumerate(target % model.Q for target in targets):
            row, n = positions[index % len(positions)]
            rho, row = bytes([index]) * 32, row % p.rows
            z = steer(p, self.short_z(), row, n, target, rho=rho)
            hint = self.no_hints.copy()
            hint[row, n] = 1
            case = f"w'[{row}][{n}] = {target}"
            self.add("rounding", f"{case}, no hint", True, z=z, rho=rho)
            self.add("rounding", f"{case}, hint", True, z=z, hints=hint, rho=rho)
            # Only a verifier that rounds in the same wrong way accepts such a challenge.
            for name, rounding in (
                ("the wrong way", _opposite_hints),
                ("as if there were no hint", lambda p, hints, w: model.use_hint(p, 0 * hints, w)),
            ):
                probe = f"{case}, hint, rounded {name}"
                self.add("rounding", probe, False, z=z, hints=hint, rho=rho, rounding=rounding)

    def encoded_hints(self, positions: Sequence[int], counters: Sequence[int]) -> bytes:
        """Return encoded hints; the last counter is repeated for each remaining row."""
        p = self.p
        filled = [*counters, *[counters[-1]] * (p.rows - len(counters))]
        return bytes([*positions, *[0] * (p.omega - len(positions)), *filled])

    def hint_counters(self) -> None:
        """Add vectors with the maximum number of hints, and with invalid counters."""
        omega, last = self.p.omega, self.p.rows - 1
        for row in range(self.p.rows):
            full = self.no_hints.copy()
            full[row, -omega:] = 1
            self.add("hint-counters", f"all omega hints in row {row}", True, hints=full)
        for _ in range(4):
            spread = self.no_hints.copy()
            spread.flat[self.random.choice(spread.size, omega, replace=False)] = 1
            self.add("hint-counters", "omega hints anywhere", True, hints=spread)
        for probe, positions, counters in (
            ("a counter falls and rises again", [3, 5], [2, 1, 2]),
            ("the last counter falls", [3, 5], [2] * last + [1]),
            ("a counter falls to zero over a hint at 0", [0], [1, 0]),
            ("the last counter falls to zero over a hint at 0", [0], [1] * last + [0]),
            ("a counter is omega + 1", range(omega), [omega + 1]),
            ("the last counter is omega + 1", range(omega), [omega] * last + [omega + 1]),
            ("a counter is 255", range(omega), [255]),
            ("the last counter is 255", range(omega), [omega] * last + [255]),
            ("every counter is 255", [], [255]),
        ):
            hint_bytes = self.encoded_hints(positions, counters)
            self.add("hint-counters", probe, False, hint_bytes=hint_bytes)

    def hint_order(self) -> None:
        """Add vectors with hint positions in ascending order, as required, and in other orders."""
        last = self.p.rows - 1
        for probe, valid, positions, counters in (
            ("three hints in two rows", True, [3, 5, 4], [2, 3]),
            ("the same position in two rows", True, [3, 3], [1, 2]),
            ("hints at 0 and 255", True, [0, 255], [2]),
            ("positions fall", False, [5, 3, 4], [2, 3]),
            ("positions fall in the last row", False, [3, 2], [0] * last + [2]),
            ("the second pair of a row falls", False, [3, 7, 5], [3]),
            ("the second pair of the last row falls", False, [3, 7, 5], [0] * last + [3]),
            ("a position twice", False, [3, 3], [2]),
            ("a position twice in the last row", False, [3, 3], [0] * last + [2]),
            ("position 0 twice", False, [0, 0], [2]),
            ("position 255 twice", False, [255, 255], [2]),
        ):
            self.add("hint-order", probe, valid, hint_bytes=self.encoded_hints(positions, counters))

    def hint_padding(self) -> None:
        """Add vectors with non-zero bytes after the last hint."""
        omega, last = self.p.omega, [0] * (self.p.rows - 1) + [1]
        for value in (1, 128, 255):
            for probe, positions, counters in (
                ("the only byte behind it", [*range(omega - 1), value], [omega - 1]),
                ("the first byte behind it", [3, value], [1]),
                ("the last byte behind it", [0] * (omega - 1) + [value], [0]),
                ("the first byte where there is no hint", [value], [0]),
            ):
                hint_bytes = self.encoded_hints(positions, counters)
                probe = f"hint padding, {probe} is {value}"
                self.add("hint-padding", probe, False, hint_bytes=hint_bytes)
        self.add("hint-padding", "no hint", True, hint_bytes=self.encoded_hints([], [0]))
        self.add(
            "hint-padding", "a hint in the last row", True, hint_bytes=self.encoded_hints([1], last)
        )

    def challenges(self) -> None:
        """Add vectors with a change in each byte of the challenge hash."""
        # With t1 = 0 the challenge has no effect on w', so only the comparison can reject a change.
        good = self.add("challenge", "challenge as it should be", True)
        key = bytes(self.p.public_key_bytes)
        for index in range(self.p.challenge_bytes):
            for bit in (index % 8,) if index else range(8):
                probe = f"challenge changed in byte {index}, bit {bit}"
                self.add_signed("challenge", probe, False, key, flip(good, index, bit))
        self.challenge_with_a_zero(key)
        zeros = bytes(self.p.challenge_bytes) + good[self.p.challenge_bytes :]
        self.add_signed("challenge", "challenge of zeros", False, key, zeros)

    def challenge_with_a_zero(self, key: bytes) -> None:
        """Add challenges that begin with a zero byte, where a C string comparison would stop."""
        p = self.p
        prefix = b"\0\0" if p.standard else b""
        mu = model.message_hash(p, key, MESSAGE, prefix)
        z = self.short_z()
        while True:
            z[0, 0] = int(self.random.integers(-p.bound + 1, p.bound))
            high, _ = model.decompose(p, model.product(p, bytes(32), z))
            if model.challenge_hash(p, mu, high)[0] == 0:
                break
        good = self.add("challenge", "challenge begins with a zero", True, z=z)
        for index in (1, p.challenge_bytes - 1):
            probe = f"challenge begins with a zero, changed in byte {index}"
            self.add_signed("challenge", probe, False, key, flip(good, index))

    def contexts(self) -> None:
        """Add a vector per context, and one with the same signature and no context."""
        key = bytes(self.p.public_key_bytes)
        for context in (b"c", b"context", bytes(254), bytes(range(255))):
            probe = f"context of {len(context)} bytes"
            signature = self.add("context", probe, True, context=context)
            self.add_signed("context", f"{probe}, left out", False, key, signature)

    def unusual_keys(self) -> None:
        """Add vectors under keys with maximal, mixed and sparse t1, with z at its bound."""
        p = self.p
        full = np.full((p.rows, N), 1023)
        mixed = self.random.integers(0, 2, (p.rows, N)) * 1023
        sparse = self.no_hints.copy()
        sparse[-1, 255] = 1
        edges = (p.bound - 1, 1 - p.bound, p.bound, -p.bound, p.bound + 1, p.gamma1, 1 - p.gamma1)
        for kind, t1 in (("t1 = 1023", full), ("t1 of 0 and 1023", mixed), ("t1 sparse", sparse)):
            for value in edges:
                for column, n in ((0, 0), (p.columns - 1, 255)):
                    z = self.short_z()
                    z[column, n] = value
                    family = "key" if abs(value) < p.bound else "z-bound"
                    probe = f"{kind}, z[{column}][{n}] = {value}"
                    self._signed(family, probe, abs(value) < p.bound, kind, t1, z)
            good = self._signed("key", f"{kind}, z = 0", True, kind, t1, 0 * self.short_z())
            self.collector.add(
                "key", f"{kind}, z = 0, challenge changed", False, key=kind,
                public_key=good.public_key, message=good.message, signature=flip(good.signature, 0),
            )  # fmt: skip

    def _signed(
        self, family: str, probe: str, valid: bool, kind: str, t1: Integers, z: Integers
    ) -> SignatureVector:
        """Add a vector with this z: commit to the high parts of A z, correct w' with hints."""
        p = self.p
        public_key = RHO + pack(t1, 10)
        high, _ = model.decompose(p, model.product(p, RHO, z))
        # Whether omega hints suffice depends on the challenge, so several messages are tried.
        for number in range(500):
            message = b"key %d" % number
            prefix = b"\0\0" if p.standard else b""
            seed = model.challenge_hash(p, model.message_hash(p, public_key, message, prefix), high)
            c = model.sample_in_ball(p, seed)
            values = model.commitment(p, RHO, z, c, t1)
            hints = (model.decompose(p, values)[0] != high).astype(np.int64)
            if hints.sum() <= p.omega and (model.use_hint(p, hints, values) == high).all():
                break
        else:
            raise AssertionError(f"{probe}: none of 500 messages gives a signature; use another z")
        packed = pack(p.gamma1 - z, p.gamma1_bits + 1)
        signature = seed + packed + model.encode_hints(p, hints)
        return self.collector.add(
            family, probe, valid, key=kind, public_key=public_key, message=message,
            signature=signature,
        )  # fmt: skip


def steer(p: MLDSAParameters, z: Integers, row: int, n: int, value: int, *, rho: bytes) -> Integers:
    """Return z with one coefficient changed so that (A z)[row][n] equals `value`."""
    # (A z)[row][n] is linear in z; these are its columns x 256 factors.
    factors = (model.INVERSE[n] * model.expand_a(p, rho)[row] % model.Q) @ model.FORWARD % model.Q
    missing = (value - int((factors * (z % model.Q) % model.Q).sum())) % model.Q
    for column, at in np.argwhere(factors):
        step = missing * pow(int(factors[column, at]), -1, model.Q) % model.Q
        moved = int(z[column, at]) + (step if step <= model.Q // 2 else step - model.Q)
        if abs(moved) < p.bound:
            steered = z.copy()
            steered[column, at] = moved
            return steered
    raise AssertionError(f"no single coefficient of z reaches {value}; use another z")


def _opposite_hints(p: MLDSAParameters, hints: Integers, values: Integers) -> Integers:
    high, low = model.decompose(p, values)
    return (high - hints * np.where(low > 0, 1, -1)) % p.high_parts
