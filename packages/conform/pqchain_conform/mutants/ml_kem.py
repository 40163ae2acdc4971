"""Mutants of ML-KEM's decapsulation and key checks; each overrides one rule or step of the model.

Several reproduce what implementations of Kyber do, or optimisations of comparisons and rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from hashlib import sha3_256, shake_256
from operator import xor
from typing import Any

import numpy as np

from pqchain_conform.models import ml_kem as model
from pqchain_conform.models.bits import Integers, N, pack
from pqchain_conform.models.ml_kem import MLKEMDecapsulator, MLKEMParameters, Q
from pqchain_conform.mutants.shared import UNCHECKED, Overrides, comparisons, longer

# Parameter set whose keys have wider noise than its ciphertexts.
TWO_WIDTHS = ("ML-KEM-512",)

# Parameter sets with 10 bits for u. With 11, no value below q rounds to 2^11.
TEN_BITS = ("ML-KEM-512", "ML-KEM-768")

Rounding = Callable[[Integers, int], Integers]


def _large_if(test: Callable[[Integers], Any]) -> dict[str, Any]:
    def large_coefficients(self: MLKEMDecapsulator, values: Integers) -> list[tuple[int, int]]:
        return [(int(row), int(n)) for row, n in np.argwhere(test(values))]

    return {"large_coefficients": large_coefficients}


def _compared(same: Callable[[MLKEMDecapsulator, bytes, bytes], bool]) -> dict[str, Any]:
    return {"same_ciphertext": same}


def _rejected(secret: Callable[[bytes, bytes, bytes], bytes]) -> dict[str, Any]:
    return {"rejected": lambda self, *values: secret(*values)}


def _u(self: MLKEMDecapsulator, ciphertext: bytes) -> bytes:
    return ciphertext[: self.parameters.u_bytes]


def _v(self: MLKEMDecapsulator, ciphertext: bytes) -> bytes:
    return ciphertext[self.parameters.u_bytes :]


def _bits_if(test: Callable[[Integers], Any]) -> dict[str, Any]:
    def message(self: MLKEMDecapsulator, w: Integers) -> bytes:
        return pack(np.asarray(test(w), dtype=np.int64), 1)

    return {"message": message}


def _compressed(
    u_rounding: Rounding = model.compress, v_rounding: Rounding = model.compress
) -> dict[str, Any]:
    def encrypted(self: MLKEMDecapsulator, key: bytes, message: bytes, r: bytes) -> bytes:
        p = self.parameters
        u, v = model.encrypt_parts(p, key, message, r)
        return pack(u_rounding(u, p.du), p.du) + pack(v_rounding(v, p.dv), p.dv)

    return {"encrypted": encrypted}


def _rounding(offset: int) -> Rounding:
    def rounding(values: Integers, bits: int) -> Integers:
        rounded: Integers = ((values << bits) + offset) // Q % (1 << bits)
        return rounded

    return rounding


def _without_wrap(values: Integers, bits: int) -> Integers:
    rounded: Integers = np.minimum(((values << bits) + Q // 2) // Q, (1 << bits) - 1)
    return rounded


def _matrix(a: Callable[[MLKEMParameters, bytes], Integers]) -> dict[str, Any]:
    def encrypted(self: MLKEMDecapsulator, key: bytes, message: bytes, r: bytes) -> bytes:
        p = self.parameters
        u, v = model.encrypt_with(p, a(p, key[384 * p.k :]), key, message, r)
        return pack(model.compress(u, p.du), p.du) + pack(model.compress(v, p.dv), p.dv)

    return {"encrypted": encrypted}


def _sampled(choose: Callable[[Integers], Integers]) -> dict[str, Any]:
    def matrix(p: MLKEMParameters, rho: bytes) -> Integers:
        a = np.zeros((p.k, p.k, N), dtype=np.int64)
        for row, column in np.ndindex(p.k, p.k):
            values = choose(model.candidates(rho, row, column))[:N] % Q
            a[row, column, : len(values)] = values
        return a

    return _matrix(matrix)


def _noise_of_keys(self: MLKEMDecapsulator, key: bytes, message: bytes, r: bytes) -> bytes:
    p = self.parameters
    narrow = MLKEMParameters(p.name, p.k, 2, p.du, p.dv)
    return model.encrypt(narrow, key, message, r)


MUTANTS: Overrides = {
    "modulus: unchecked": _large_if(lambda t: t != t),
    "modulus: q allowed": _large_if(lambda t: t > Q),
    "modulus: q - 1 refused": _large_if(lambda t: t >= Q - 1),
    "modulus: 4095 alone refused": _large_if(lambda t: t == 4095),
    "modulus: high four bits compared": _large_if(lambda t: t >> 8 > Q >> 8),
    "modulus: first polynomial alone": _large_if(
        lambda t: (t >= Q) & (np.arange(len(t)) == 0)[:, None]
    ),
    "modulus: last polynomial unchecked": _large_if(
        lambda t: (t >= Q) & (np.arange(len(t)) < len(t) - 1)[:, None]
    ),
    "modulus: first coefficient unchecked": _large_if(lambda t: (t >= Q) & (np.arange(N) > 0)),
    "modulus: last coefficient unchecked": _large_if(lambda t: (t >= Q) & (np.arange(N) < N - 1)),
    "modulus: odd coefficients unchecked": _large_if(lambda t: (t >= Q) & (np.arange(N) % 2 == 0)),
    "modulus: last sixteen unchecked": _large_if(lambda t: (t >= Q) & (np.arange(N) < N - 16)),
    **comparisons("hash", "same_hash", (*UNCHECKED, "16 bytes compared")),
    "hash: stored one ignored": {
        "same_hash": lambda self, a, b: True,
        "derived": lambda self, message, key, key_hash: model.hash_g(message + model.hash_h(key)),
    },
    "length: longer encapsulation key cut": longer(
        "encapsulation_key_fits", "encapsulation_key_bytes"
    ),
    "length: longer decapsulation key cut": longer("key_fits", "decapsulation_key_bytes"),
    "length: longer ciphertext cut": longer("ciphertext_fits", "ciphertext_bytes"),
    **comparisons("comparison", "same_ciphertext", (*UNCHECKED, "32 bytes compared")),
    "comparison: always rejected": _compared(lambda self, a, b: False),
    "comparison: c1 alone": _compared(lambda self, a, b: _u(self, a) == _u(self, b)),
    "comparison: c2 alone": _compared(lambda self, a, b: _v(self, a) == _v(self, b)),
    "comparison: last 32 bytes unchecked": _compared(lambda self, a, b: a[:-32] == b[:-32]),
    "comparison: differences cancel": _compared(
        lambda self, a, b: not reduce(xor, (x ^ y for x, y in zip(a, b, strict=True)))
    ),
    "comparison: differences added in a byte": _compared(
        lambda self, a, b: not sum(x ^ y for x, y in zip(a, b, strict=True)) % 256
    ),
    "comparison: low bit of each byte unchecked": _compared(
        lambda self, a, b: all((x ^ y) < 2 for x, y in zip(a, b, strict=True))
    ),
    "rejection: secret of zeros": _rejected(lambda secret, z, c: bytes(32)),
    "rejection: refused": _rejected(lambda secret, z, c: b""),
    "rejection: z alone": _rejected(lambda secret, z, c: model.hash_j(z)),
    "rejection: ciphertext alone": _rejected(lambda secret, z, c: model.hash_j(c)),
    "rejection: ciphertext before z": _rejected(lambda secret, z, c: model.hash_j(c + z)),
    "rejection: hash of the ciphertext, as in Kyber": _rejected(
        lambda secret, z, c: model.hash_j(z + model.hash_h(c))
    ),
    "rejection: SHA3-256 for SHAKE256": _rejected(lambda secret, z, c: sha3_256(z + c).digest()),
    "rejection: z of zeros": _rejected(lambda secret, z, c: model.hash_j(bytes(32) + c)),
    "rejection: last byte of the ciphertext left out": _rejected(
        lambda secret, z, c: model.hash_j(z + c[:-1])
    ),
    "secret: hashed with the ciphertext, as in Kyber": {
        "accepted": lambda self, secret, c: shake_256(secret + model.hash_h(c)).digest(32)
    },
    "secret: key not hashed in": {
        "derived": lambda self, message, key, key_hash: model.hash_g(message)
    },
    "secret: message hashed first, as in Kyber": {
        "derived": lambda self, message, key, key_hash: model.hash_g(
            model.hash_h(message) + key_hash
        )
    },
    "bits: 832 is 1": _bits_if(lambda w: (w >= 832) & (w <= 2496)),
    "bits: 833 is 0": _bits_if(lambda w: (w > 833) & (w <= 2496)),
    "bits: 2496 is 0": _bits_if(lambda w: (w >= 833) & (w < 2496)),
    "bits: 2497 is 1": _bits_if(lambda w: (w >= 833) & (w <= 2497)),
    "bits: rounded down": _bits_if(lambda w: w >= Q // 2),
    "compression: u rounded down": _compressed(u_rounding=_rounding(0)),
    "compression: v rounded down": _compressed(v_rounding=_rounding(0)),
    "compression: u rounded one too late": _compressed(u_rounding=_rounding(Q // 2 - 1)),
    "compression: v rounded one too late": _compressed(v_rounding=_rounding(Q // 2 - 1)),
    "compression: u rounded one too early": _compressed(u_rounding=_rounding(Q // 2 + 1)),
    "compression: v rounded one too early": _compressed(v_rounding=_rounding(Q // 2 + 1)),
    "compression: u without wrap": _compressed(u_rounding=_without_wrap) | {"only": TEN_BITS},
    "compression: v without wrap": _compressed(v_rounding=_without_wrap),
    "sampling: q allowed": _sampled(lambda values: values[values <= Q]),
    "sampling: q - 1 rejected": _sampled(lambda values: values[values < Q - 1]),
    "sampling: three blocks of SHAKE128": _sampled(lambda values: values[:336][values[:336] < Q]),
    "sampling: matrix transposed": _matrix(
        lambda p, rho: model.expand_a(p.k, rho).transpose(1, 0, 2)
    ),
    "sampling: noise of one width": {"encrypted": _noise_of_keys, "only": TWO_WIDTHS},
}
