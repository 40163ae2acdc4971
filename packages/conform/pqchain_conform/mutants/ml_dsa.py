"""Mutants of the ML-DSA verifier; each overrides one rule of the model.

Many reproduce defects of published code, drafts, or other projects' tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pqchain_conform.models.bits import Integers
from pqchain_conform.models.ml_dsa import MLDSAVerifier, Q, use_hint
from pqchain_conform.mutants.shared import CONTEXTS_AND_LENGTHS, Overrides, comparisons, longer

# Parameter sets with challenge hashes above 32 bytes. With 32, these mutants equal the model.
LONG_CHALLENGE = ("ML-DSA-65", "ML-DSA-87")

# Parameter sets with 44 high parts. With 16, packing into four bits wraps around by itself.
HIGH_PARTS_44 = ("ML-DSA-44",)


def _long_if(test: Callable[[MLDSAVerifier, Integers], Any]) -> dict[str, Any]:
    def long_coefficients(self: MLDSAVerifier, z: Integers) -> list[tuple[int, int]]:
        return [(int(row), int(n)) for row, n in np.argwhere(test(self, z))]

    return {"long_coefficients": long_coefficients}


def _ignoring(rule: str, ignored: Callable[[MLDSAVerifier, Any, bytes], bool]) -> dict[str, Any]:
    rule_of_model = getattr(MLDSAVerifier, rule)

    def faults(self: MLDSAVerifier, data: bytes) -> list[Any]:
        return [fault for fault in rule_of_model(self, data) if not ignored(self, fault, data)]

    return {rule: faults}


def _rounded(high: Callable[[MLDSAVerifier, Integers, Integers], Integers]) -> dict[str, Any]:
    return {"corrected": high}


def _parts(
    self: MLDSAVerifier, values: Integers, *, up: bool = False, wrap: bool = True
) -> tuple[Integers, Integers]:
    """Decompose values; `up` rounds a low part of gamma2 up, `wrap` moves q - 1 to high part 0."""
    p = self.parameters
    width = 2 * p.gamma2
    low = values % width
    low = np.where(low >= p.gamma2 if up else low > p.gamma2, low - width, low)
    wraps = (values - low == Q - 1) & wrap
    return np.where(wraps, 0, (values - low) // width), np.where(wraps, low - 1, low)


def _hinted(
    hints: Integers, parts: tuple[Integers, Integers], *, zero_is_up: bool = False
) -> Integers:
    high, low = parts
    corrected: Integers = high + hints * np.where(low >= 0 if zero_is_up else low > 0, 1, -1)
    return corrected


def _truncated_to_bits(self: MLDSAVerifier, high: Integers) -> Integers:
    bits = (self.parameters.high_parts - 1).bit_length()
    truncated: Integers = high & ((1 << bits) - 1)
    return truncated


def _no_wrap(side: str) -> dict[str, Any]:
    def corrected(self: MLDSAVerifier, hints: Integers, values: Integers) -> Integers:
        count = self.parameters.high_parts
        high = _hinted(hints, _parts(self, values))
        if side == "top":
            high = np.where(high < 0, high + count, high)
        else:
            high = np.where(high >= count, high - count, high)
        return _truncated_to_bits(self, high)

    return _rounded(corrected) | {"only": HIGH_PARTS_44}


def _no_wrap_of_highest(self: MLDSAVerifier, hints: Integers, values: Integers) -> Integers:
    high = _hinted(hints, _parts(self, values, wrap=False))
    return _truncated_to_bits(self, np.where(high < 0, high + self.parameters.high_parts, high))


def _key_rejected(rejected: Callable[[bytes], bool]) -> dict[str, Any]:
    def verify(self: MLDSAVerifier, message: bytes, signature: bytes, *rest: bytes) -> bool:
        return MLDSAVerifier.verify(self, message, signature, *rest) and not rejected(rest[0][32:])

    return {"verify": verify}


MUTANTS: Overrides = {
    "z: no bound": _long_if(lambda v, z: z != z),
    "z: at the bound allowed": _long_if(lambda v, z: np.abs(z) > v.parameters.bound),
    "z: one below the bound refused": _long_if(lambda v, z: np.abs(z) >= v.parameters.bound - 1),
    "z: bound gamma1": _long_if(lambda v, z: np.abs(z) >= v.parameters.gamma1),
    "z: negative side unchecked": _long_if(lambda v, z: z >= v.parameters.bound),
    "z: positive side unchecked": _long_if(lambda v, z: z <= -v.parameters.bound),
    "z: first polynomial alone": _long_if(
        lambda v, z: (np.abs(z) >= v.parameters.bound) & (np.arange(len(z)) == 0)[:, None]
    ),
    "z: last polynomial unchecked": _long_if(
        lambda v, z: (np.abs(z) >= v.parameters.bound) & (np.arange(len(z)) < len(z) - 1)[:, None]
    ),
    "z: first coefficient of each unchecked": _long_if(
        lambda v, z: (np.abs(z) >= v.parameters.bound) & (np.arange(256) > 0)
    ),
    "z: middle coefficient of each unchecked": _long_if(
        lambda v, z: (np.abs(z) >= v.parameters.bound) & (np.arange(256) != 128)
    ),
    "z: last eight of each unchecked": _long_if(
        lambda v, z: (np.abs(z) >= v.parameters.bound) & (np.arange(256) < 248)
    ),
    "hints: order unchecked": _ignoring("order_faults", lambda v, fault, data: True),
    "hints: equal positions allowed": _ignoring(
        "order_faults", lambda v, fault, data: fault[1] == fault[2]
    ),
    "hints: falling positions allowed": _ignoring(
        "order_faults", lambda v, fault, data: fault[1] < fault[2]
    ),
    "hints: order unchecked in the last row": _ignoring(
        "order_faults", lambda v, fault, data: fault[0] == v.parameters.rows - 1
    ),
    "hints: order unchecked in the first row": _ignoring(
        "order_faults", lambda v, fault, data: fault[0] == 0
    ),
    "hints: padding unchecked": _ignoring("padding_faults", lambda v, fault, data: True),
    "hints: first byte of padding unchecked": _ignoring(
        "padding_faults", lambda v, fault, data: fault == data[-1]
    ),
    "hints: last byte of padding unchecked": _ignoring(
        "padding_faults", lambda v, fault, data: fault == v.parameters.omega - 1
    ),
    "hints: counters may fall": _ignoring(
        "counter_faults", lambda v, fault, data: fault[1] < fault[2]
    ),
    "hints: counters may exceed omega": _ignoring(
        "counter_faults", lambda v, fault, data: fault[1] > v.parameters.omega
    ),
    "hints: last counter unchecked": _ignoring(
        "counter_faults", lambda v, fault, data: fault[0] == v.parameters.rows - 1
    ),
    "hints: omega refused": {
        "counter_faults": lambda self, data: (
            MLDSAVerifier.counter_faults(self, data)
            or [(0, 0, 0)] * (data[-1] == self.parameters.omega)
        )
    },
    "rounding: hints ignored": _rounded(lambda v, hints, w: use_hint(v.parameters, 0 * hints, w)),
    "rounding: low part 0 goes up": _rounded(
        lambda v, hints, w: _hinted(hints, _parts(v, w), zero_is_up=True) % v.parameters.high_parts
    ),
    "rounding: low part gamma2 goes up": _rounded(
        lambda v, hints, w: _hinted(hints, _parts(v, w, up=True)) % v.parameters.high_parts
    ),
    "rounding: no wrap at the top": _no_wrap("top"),
    "rounding: no wrap at the bottom": _no_wrap("bottom"),
    "rounding: q - 1 keeps its high part": _rounded(_no_wrap_of_highest) | {"only": HIGH_PARTS_44},
    **comparisons("challenge", "same_challenge"),
    "challenge: 32 bytes compared": {
        "same_challenge": lambda self, a, b: a[:32] == b[:32],
        "only": LONG_CHALLENGE,
    },
    "challenge: polynomial of 32 bytes": {
        "ball_seed": lambda self, seed: seed[:32],
        "only": LONG_CHALLENGE,
    },
    **CONTEXTS_AND_LENGTHS,
    "length: longer key cut before it is hashed": longer("key_fits", "public_key_bytes")
    | {
        "hashed_key": lambda self, key: key[: self.parameters.public_key_bytes],
    },
    "key: t1 = 0 refused": _key_rejected(lambda t1: not any(t1)),
    "key: t1 = 1023 refused": _key_rejected(lambda t1: set(t1) == {255}),
}
