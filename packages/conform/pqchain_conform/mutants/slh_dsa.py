"""Mutants of the SLH-DSA verifier; each overrides one rule or step of the model.

Several reproduce SPHINCS+ of earlier rounds, or integers that are too short for an index.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256, sha512
from typing import Any

from pqchain_conform.models import slh_dsa as model
from pqchain_conform.models.slh_dsa import PARAMETER_SETS, Address
from pqchain_conform.models.slh_dsa_verifier import SLHDSAVerifier
from pqchain_conform.mutants.shared import (
    CONTEXTS_AND_LENGTHS,
    UNCHECKED,
    Overrides,
    compared,
    comparisons,
)


def _sets(condition: Callable[[model.SLHDSAParameters], bool]) -> tuple[str, ...]:
    return tuple(name for name, p in PARAMETER_SETS.items() if condition(p))


# Parameter sets in which a mutant differs from the model, where it does not in all.
LONG_ROOT = _sets(lambda p: p.n > 16)
LOW_TREES = _sets(lambda p: p.tree_height < 8)
MASKED_TREE = _sets(lambda p: (p.h - p.tree_height) % 8 != 0)
MASKED_LEAF = _sets(lambda p: p.tree_height % 8 != 0)
TREE_OF_64_BITS = _sets(lambda p: p.h - p.tree_height == 64)
LEAF_OF_9_BITS = _sets(lambda p: p.tree_height == 9)
PARTIAL_INDICES = _sets(lambda p: p.k * p.a % 8 != 0)
SPLIT_BYTES = _sets(lambda p: p.a != 8)
SHA2 = _sets(lambda p: p.sha2)
LONG_SHA2 = _sets(lambda p: p.sha2 and p.n > 16)


def _only(names: tuple[str, ...], mutants: Overrides) -> Overrides:
    return {defect: methods | {"only": names} for defect, methods in mutants.items()}


def _tree(index: Callable[[int], int]) -> dict[str, Any]:
    return {"tree_index": lambda self, value: index(SLHDSAVerifier.tree_index(self, value))}


def _addressed(changed: Callable[[Address], Address]) -> dict[str, Any]:
    return {"address": lambda self, *fields: changed(Address(*fields))}


def _word(number: int) -> dict[str, Any]:
    def without(address: Address) -> Address:
        words = list(address.words)
        words[number] = 0
        return address._replace(words=(words[0], words[1], words[2]))

    return _addressed(without)


def _digest(computed: Callable[..., bytes]) -> dict[str, Any]:
    return {"message_digest": lambda self, *parts: computed(self.parameters, *parts)}


def _low_digits(self: SLHDSAVerifier, data: bytes) -> list[int]:
    p = self.parameters
    value = int.from_bytes(data, "little")
    return [value >> (p.a * i) & ((1 << p.a) - 1) for i in range(p.k)]


def _right_aligned(self: SLHDSAVerifier, data: bytes) -> list[int]:
    p = self.parameters
    value = int.from_bytes(data, "big") << (8 * len(data) - p.a * p.k)
    return model.digits(value.to_bytes(len(data) + 1, "big")[1:], p.a, p.k)


def _unshifted(self: SLHDSAVerifier, message: bytes) -> list[int]:
    values = model.chain_digits(self.parameters, message)[: -model.CHECKSUM_DIGITS]
    checksum = sum(model.W - 1 - value for value in values)
    return values + model.digits(checksum.to_bytes(2, "big"), 4, model.CHECKSUM_DIGITS)


def _short_checksum(self: SLHDSAVerifier, message: bytes) -> list[int]:
    values = model.chain_digits(self.parameters, message)
    return [*values[: -model.CHECKSUM_DIGITS], 0, *values[-2:]]


def _sha256_alone(self: SLHDSAVerifier, seed: bytes, address: Address, data: bytes) -> bytes:
    digest = sha256(seed.ljust(64, b"\0") + address.compressed() + data).digest()
    return digest[: self.parameters.n]


def _uncompressed(self: SLHDSAVerifier, seed: bytes, address: Address, data: bytes) -> bytes:
    digest = sha256(seed.ljust(64, b"\0") + address.encoded() + data).digest()
    return digest[: self.parameters.n]


def _digest_of_sha256(p: model.SLHDSAParameters, r: bytes, key: bytes, message: bytes) -> bytes:
    inner = sha256(r + key + message).digest()
    return model.mgf1(sha256, r + key[: p.n] + inner, sum(p.digest_parts))


def _digest_without_seed(p: model.SLHDSAParameters, r: bytes, key: bytes, message: bytes) -> bytes:
    function = sha256 if p.n == 16 else sha512
    return model.mgf1(function, function(r + key + message).digest(), sum(p.digest_parts))


MUTANTS: Overrides = {
    **comparisons("root", "same_root", UNCHECKED[:3]),
    "root: last eight bytes unchecked": compared(lambda a, b: a[:-8] == b[:-8], "same_root"),
    "root: first half alone": compared(
        lambda a, b: a[: len(a) // 2] == b[: len(b) // 2], "same_root"
    ),
    **_only(LONG_ROOT, comparisons("root", "same_root", ("16 bytes compared",))),
    **_only(LOW_TREES, comparisons("root", "same_root", ("compared up to a zero",))),
    **CONTEXTS_AND_LENGTHS,
    "context: first byte of the other interface": {
        "prefix": lambda self, c: bytes([1 - self.domain, len(c)]) + c
    },
    "digest: randomness left out": _digest(
        lambda p, r, key, message: model.message_digest(p, bytes(p.n), key, message)
    ),
    "digest: seed left out": _digest(
        lambda p, r, key, message: model.message_digest(p, r, bytes(p.n) + key[p.n :], message)
    ),
    "digest: root left out": _digest(
        lambda p, r, key, message: model.message_digest(p, r, key[: p.n] + bytes(p.n), message)
    ),
    "digest: SHA-256 in all sets": _digest(_digest_of_sha256) | {"only": LONG_SHA2},
    "digest: MGF1 without R and seed": _digest(_digest_without_seed) | {"only": SHA2},
    "index: tree not masked": {"tree_index": lambda self, value: value, "only": MASKED_TREE},
    "index: leaf not masked": {"leaf_index": lambda self, value: value, "only": MASKED_LEAF},
    "index: tree of 32 bits": _tree(lambda tree: tree % (1 << 32)),
    "index: tree of 53 bits": _tree(lambda tree: int(float(tree)) if tree >> 53 else tree),
    "index: tree of 63 bits": _tree(lambda tree: tree % (1 << 63)) | {"only": TREE_OF_64_BITS},
    "index: leaf of 8 bits": {
        "leaf_index": lambda self, value: value % 256,
        "only": LEAF_OF_9_BITS,
    },
    "index: leaf 0 moved": {
        "leaf_index": lambda self, value: SLHDSAVerifier.leaf_index(self, value) or 1
    },
    "FORS: lowest bits first, as in SPHINCS+": {
        "fors_indices": _low_digits,
        "only": SPLIT_BYTES,
    },
    "FORS: indices at the end of the digest": {
        "fors_indices": _right_aligned,
        "only": PARTIAL_INDICES,
    },
    "FORS: position without the number of the tree": {
        "fors_position": lambda self, number, index: index
    },
    "FORS: index 0 moved": {
        "fors_indices": lambda self, data: [
            index or 1 for index in SLHDSAVerifier.fors_indices(self, data)
        ]
    },
    "FORS: greatest index moved": {
        "fors_indices": lambda self, data: [
            min(index, (1 << self.parameters.a) - 2)
            for index in SLHDSAVerifier.fors_indices(self, data)
        ]
    },
    "chains: checksum not shifted": {"chain_digits": _unshifted},
    "chains: checksum of eight bits": {"chain_digits": _short_checksum},
    "paths: halves exchanged": {"is_left": lambda self, bit: bool(bit)},
    "address: layer left out": _addressed(lambda address: address._replace(layer=0)),
    "address: tree left out": _addressed(lambda address: address._replace(tree=0)),
    "address: type left out": _addressed(lambda address: address._replace(type=0)),
    "address: leaf left out": _word(0),
    "address: chain or height left out": _word(1),
    "address: step or position left out": _word(2),
    "address: not compressed": {
        "hash": _uncompressed,
        "only": _sets(lambda p: p.sha2 and p.n == 16),
    },
    "hash: SHA-256 in all sets": {"hash": _sha256_alone, "only": LONG_SHA2},
    "hash: seed left out": {
        "hash": lambda self, seed, address, data: model.tweaked_hash(
            self.parameters, bytes(len(seed)), address, data
        )
    },
}
