"""Verification of ML-DSA and Dilithium at its boundaries, in every build and by other oracles.

Honest signatures never come near these corners: known-answer tests pass with a verifier that
does not check the bound on z at all, as that of the unpatched AVX2 code in liboqs 0.13.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from pqchain.crypto import open_signer
from tests.crypto import dilithium_model as model
from tests.crypto.builds import IMPLEMENTATIONS, ROUND3_BUILDS, need
from tests.crypto.dilithium_model import PARAMETER_SETS, Integers, ParameterSet

MESSAGE = b"boundary"
POSITIONS = ((0, 0), (0, 7), (1, 8), (2, 131), (-1, 248), (-1, 255))
"""Rows and coefficients at the ends of polynomials and of vector registers."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One signature under a degenerate key, and the verdict that the specification gives."""

    name: str
    public_key: bytes
    signature: bytes
    valid: bool
    context: bytes = b""


class Forger:
    """Makes the vectors of one parameter set, each from its own short z."""

    def __init__(self, parameters: ParameterSet) -> None:
        self.parameters = parameters
        self.bound = parameters.gamma1 - parameters.beta
        self.random = np.random.default_rng(list(parameters.name.encode()))
        self.no_hints = np.zeros((parameters.rows, model.N), dtype=np.int64)
        self.made: list[Vector] = []

    def short_z(self) -> Integers:
        """Return a random z that is just short enough."""
        shape = (self.parameters.columns, model.N)
        return self.random.integers(-self.bound + 1, self.bound, shape)

    def add(
        self,
        name: str,
        valid: bool,
        *,
        z: Integers | None = None,
        hints: Integers | None = None,
        hint_bytes: bytes | None = None,
        rho: bytes = bytes(32),
        context: bytes = b"",
        rounding=model.use_hint,
    ) -> None:
        """Add a vector whose challenge agrees with everything else in it."""
        if hint_bytes is None:
            hints = self.no_hints if hints is None else hints
            hint_bytes = model.encode_hints(self.parameters, hints)
        signature = model.forge(
            self.parameters,
            MESSAGE,
            self.short_z() if z is None else z,
            hint_bytes,
            rho=rho,
            context=context,
            rounding=rounding,
        )
        key = model.degenerate_public_key(self.parameters, rho)
        self.made.append(Vector(name, key, signature, valid, context))

    def add_bounds_on_z(self) -> None:
        """The largest allowed coefficient, the smallest forbidden one, the ends of the encoding."""
        gamma1 = self.parameters.gamma1
        values = [self.bound - 1, self.bound, self.bound + 1, gamma1 - 1]
        for value in [*values, *(-value for value in values), gamma1]:
            valid = abs(value) < self.bound
            for row, n in POSITIONS:
                z = self.short_z()
                z[row, n] = value
                self.add(f"z[{row}][{n}] = {value}", valid, z=z)
            everywhere = np.full((self.parameters.columns, model.N), value)
            self.add(f"z = {value} everywhere", valid, z=everywhere)
        self.add("z = 0", True, z=0 * self.short_z())

    def add_roundings(self) -> None:
        """Hints at the edges of rounding intervals, at both ends of the range of high parts."""
        parameters, gamma2 = self.parameters, self.parameters.gamma2
        targets = [
            2 * gamma2 * high + low
            for high in (0, 1, parameters.high_parts // 2, parameters.high_parts - 1)
            for low in (0, 1, -1, 2, gamma2, gamma2 - 1, 1 - gamma2)
        ]
        # Above q - gamma2 the high part wraps to 0 and the low part loses one.
        targets += [model.Q - 1, model.Q - 2, model.Q - gamma2, model.Q - gamma2 + 1]
        for index, target in enumerate(target % model.Q for target in targets):
            row, n = POSITIONS[index % len(POSITIONS)]
            rho = bytes([index]) * 32
            z = model.steer(parameters, self.short_z(), row % parameters.rows, n, target, rho=rho)
            hint = self.no_hints.copy()
            hint[row, n] = 1
            name = f"w'[{row}][{n}] = {target}"
            self.add(f"{name}, no hint", True, z=z, rho=rho)
            self.add(f"{name}, hint", True, z=z, hints=hint, rho=rho)
            self.add(
                f"{name}, hint, rounded the wrong way", False,
                z=z, hints=hint, rho=rho, rounding=_wrong_way,
            )  # fmt: skip
            self.add(
                f"{name}, hint, not rounded", False,
                z=z, hints=hint, rho=rho, rounding=_hints_ignored,
            )  # fmt: skip

    def add_hint_encodings(self) -> None:
        """As many hints as allowed, and every way to write hints that is not the canonical one."""
        omega, rows = self.parameters.omega, self.parameters.rows
        for row in (0, rows - 1):
            full = self.no_hints.copy()
            full[row, -omega:] = 1
            self.add(f"all omega hints in row {row}", True, hints=full)
        for _ in range(4):
            spread = self.no_hints.copy()
            spread.flat[self.random.choice(spread.size, omega, replace=False)] = 1
            self.add("omega hints anywhere", True, hints=spread)

        def written(positions: list[int], counters: list[int]) -> bytes:
            counters += [counters[-1]] * (rows - len(counters))
            return bytes(positions + [0] * (omega - len(positions)) + counters)

        def refuse(name: str, positions: list[int], counters: list[int]) -> None:
            self.add(name, False, hint_bytes=written(positions, counters))

        # In each of the refused, one check alone stands between it and acceptance.
        last = rows - 1
        self.add("three hints in two rows", True, hint_bytes=written([3, 5, 4], [2, 3]))
        self.add("the same position in two rows", True, hint_bytes=written([3, 3], [1, 2]))
        self.add("hints at 0 and 255", True, hint_bytes=written([0, 255], [2]))
        refuse("positions fall", [5, 3, 4], [2, 3])
        refuse("positions fall in the last row", [3, 2], [0] * last + [2])
        refuse("a position twice", [3, 3], [2])
        refuse("position 0 twice", [0, 0], [2])
        refuse("padding that is not zero", [3, 7], [1])
        refuse("the last byte of padding is not zero", [0] * (omega - 1) + [1], [0])
        refuse("a counter falls and rises again", [3, 5], [2, 1, 2])
        refuse("a counter falls to zero over a hint at 0", [0], [1, 0])
        refuse("the last counter falls to zero over a hint at 0", [0], [1] * last + [0])
        refuse("a counter is omega + 1", [*range(omega)], [omega + 1])
        refuse("the last counter is omega + 1", [*range(omega)], [omega] * last + [omega + 1])
        refuse("a counter is 255", [*range(omega)], [255])
        refuse("the last counter is 255", [*range(omega)], [omega] * last + [255])

    def add_challenges(self) -> None:
        """Every byte of the challenge hash counts, although the degenerate key ignores it."""
        self.add("challenge as it should be", True)
        good = self.made[-1]
        for index in range(self.parameters.challenge_bytes):
            changed = bytearray(good.signature)
            changed[index] ^= 1 << index % 8
            name = f"challenge changed in byte {index}"
            self.made.append(Vector(name, good.public_key, bytes(changed), False))

    def add_contexts(self) -> None:
        """Only ML-DSA has contexts; each is bound to the signature."""
        for context in (b"c", b"context", bytes(254), bytes(range(255))):
            self.add(f"context of {len(context)} bytes", True, context=context)
            last = self.made[-1]
            self.made.append(
                Vector(f"{last.name}, left out", last.public_key, last.signature, False)
            )


def _wrong_way(parameters: ParameterSet, hints: Integers, values: Integers) -> Integers:
    """Round away from where a hint points."""
    high, low = model.decompose(parameters, values)
    return (high - hints * np.where(low > 0, 1, -1)) % parameters.high_parts


def _hints_ignored(parameters: ParameterSet, hints: Integers, values: Integers) -> Integers:
    """Round as if there were no hints."""
    return model.use_hint(parameters, 0 * hints, values)


@cache
def vectors(name: str) -> tuple[Vector, ...]:
    """Return all vectors of one algorithm; the same in every run."""
    forger = Forger(PARAMETER_SETS[name])
    forger.add_bounds_on_z()
    forger.add_roundings()
    forger.add_hint_encodings()
    forger.add_challenges()
    if forger.parameters.standard:
        forger.add_contexts()
    return tuple(forger.made)


def misjudged(name: str, verify) -> list[str]:
    """Return what a verifier gets wrong, in words."""
    return [
        f"{'rejects' if vector.valid else 'accepts'} {vector.name}"
        for vector in vectors(name)
        if verify(MESSAGE, vector.signature, vector.public_key, vector.context) != vector.valid
    ]


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        *((name, each) for name in PARAMETER_SETS for each in IMPLEMENTATIONS),
        *(("Dilithium2", each) for each in ROUND3_BUILDS),
    ],
)
def test_verification_is_exact_at_every_boundary(name, implementation):
    need(implementation, name)
    assert misjudged(name, open_signer(name, implementation).verify) == []


@pytest.mark.parametrize("name", PARAMETER_SETS)
def test_model_agrees_with_the_vectors(name):
    def verify(message, signature, public_key, context):
        return model.verify(PARAMETER_SETS[name], message, signature, public_key, context)

    assert misjudged(name, verify) == []


@pytest.mark.parametrize("name", [name for name, row in PARAMETER_SETS.items() if row.standard])
def test_openssl_agrees_with_the_vectors(name):
    exceptions = pytest.importorskip("cryptography.exceptions")
    mldsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.mldsa")
    key_class = getattr(mldsa, f"MLDSA{name[-2:]}PublicKey")

    def verify(message, signature, public_key, context):
        try:
            key_class.from_public_bytes(public_key).verify(signature, message, context or None)
        except exceptions.InvalidSignature:
            return False
        except exceptions.UnsupportedAlgorithm as error:
            pytest.skip(str(error))
        return True

    assert misjudged(name, verify) == []


@pytest.mark.parametrize("name", PARAMETER_SETS)
def test_vectors_are_many_and_of_both_verdicts(name):
    verdicts = [vector.valid for vector in vectors(name)]
    assert verdicts.count(True) > 80
    assert verdicts.count(False) > 80
