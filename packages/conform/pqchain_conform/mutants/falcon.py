"""Mutants of the Falcon verifier; each overrides one rule of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pqchain_conform.models.falcon import SECOND_ROUND_BOUNDS, FalconVerifier, Integers, Q
from pqchain_conform.mutants.shared import Overrides, longer


def _norm(fits: Any) -> dict[str, Any]:
    return {"norm_fits": lambda self, first, second: bool(fits(self.parameters, first, second))}


def _large(test: Callable[[Integers], Any]) -> dict[str, Any]:
    return {"large_values": lambda self, h: [int(i) for i in np.flatnonzero(test(h))]}


def _signed(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _first_half(**changed: Any) -> dict[str, Any]:
    def first_half(
        self: FalconVerifier, h: bytes, s2: tuple[int, ...], salt: bytes, message: bytes
    ) -> Any:
        salt = changed.get("salt", lambda data: data)(salt)
        message = changed.get("message", lambda data: data)(message)
        return FalconVerifier.first_half(self, h, s2, salt, message)

    return {"first_half": first_half}


def _padding(ignored: Callable[[int, int], bool]) -> dict[str, Any]:
    """Return padding rules that accept the padded form and ignore some bytes of the padding."""

    def faults(self: FalconVerifier, padding: bytes) -> list[int]:
        return [i for i, byte in enumerate(padding) if byte and not ignored(i, len(padding))]

    # Without this, a verifier of the unpadded form would reject padding by its length.
    def fits(self: FalconVerifier, length: int, padding: int) -> bool:
        return not padding or length == self.parameters.padded_bytes

    return {"padding_faults": faults, "length_fits": fits}


MUTANTS: Overrides = {
    "norm: no bound": _norm(lambda p, s1, s2: True),
    "norm: the bound refused": _norm(lambda p, s1, s2: s1 + s2 < p.bound),
    "norm: one above the bound allowed": _norm(lambda p, s1, s2: s1 + s2 <= p.bound + 1),
    "norm: the second round's bound": _norm(lambda p, s1, s2: s1 + s2 <= SECOND_ROUND_BOUNDS[p.n]),
    "norm: s1 alone": _norm(lambda p, s1, s2: s1 <= p.bound),
    "norm: s2 alone": _norm(lambda p, s1, s2: s2 <= p.bound),
    "norm: each half by itself": _norm(lambda p, s1, s2: max(s1, s2) <= p.bound),
    "norm: sum of 32 bits": _norm(lambda p, s1, s2: (s1 + s2) % 2**32 <= p.bound),
    "norm: signed sum of 32 bits": _norm(lambda p, s1, s2: _signed(s1 + s2) <= p.bound),
    "norm: sum of 31 bits": _norm(lambda p, s1, s2: (s1 + s2) % 2**31 <= p.bound),
    "s2: more than 1023 refused": {"size_fits": lambda self, longest: longest <= 1023},
    "s2: 2047 refused": {"size_fits": lambda self, longest: longest < 2047},
    "s2: minus zero allowed": {"signed_zeros": lambda self, decoded: []},
    "s2: minus zero allowed in the last place": {
        "signed_zeros": lambda self, decoded: [
            i for i in decoded.minus_zeros if i < self.parameters.n - 1
        ]
    },
    "s2: minus zero allowed in the first place": {
        "signed_zeros": lambda self, decoded: [i for i in decoded.minus_zeros if i]
    },
    "s2: unused bits unchecked": {"unused_bits_fit": lambda self, spare: True},
    "s2: first unused bit unchecked": {"unused_bits_fit": lambda self, spare: "1" not in spare[1:]},
    "s2: last unused bit unchecked": {"unused_bits_fit": lambda self, spare: "1" not in spare[:-1]},
    "padding: unchecked": _padding(lambda i, count: True),
    "padding: first byte unchecked": _padding(lambda i, count: i == 0),
    "padding: last byte unchecked": _padding(lambda i, count: i == count - 1),
    "padding: any length": {"length_fits": lambda self, length, padding: True},
    "header: unchecked": {"header_fits": lambda self, header: True},
    "header: degree unchecked": {"header_fits": lambda self, header: header >> 4 == 3},
    "header: form unchecked": {
        "header_fits": lambda self, header: header & 15 == self.parameters.log_n
    },
    "key: header unchecked": {"key_header_fits": lambda self, header: True},
    "key: upper half of the header unchecked": {
        "key_header_fits": lambda self, header: header & 15 == self.parameters.log_n
    },
    "key: values from q on reduced": _large(lambda h: h < 0),
    "key: first value unchecked": _large(lambda h: (h >= Q) & (np.arange(len(h)) > 0)),
    "key: last value unchecked": _large(lambda h: (h >= Q) & (np.arange(len(h)) < len(h) - 1)),
    "key: q - 1 refused": _large(lambda h: h >= Q - 1),
    "key: longer key cut": longer("key_fits", "public_key_bytes"),
    "hash: samples from 5 q on reduced": {"sample_limit": 1 << 16},
    "hash: sample 5 q kept": {"sample_limit": 5 * Q + 1},
    "hash: sample 5 q - 1 refused": {"sample_limit": 5 * Q - 1},
    "hash: salt's last byte left out": _first_half(salt=lambda salt: salt[:-1] + b"\0"),
    "hash: message left out": _first_half(message=lambda message: b""),
}
"""Methods that each mutant overrides in the model, by the name of the defect."""
