"""SLH-DSA verification, rule by rule.

Only lengths and the comparison of the root can fail; all other steps compute the root. Each step is
a method, so that a mutant is a subclass that overrides one.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from pqchain_conform.models import slh_dsa as model
from pqchain_conform.models.checks import RuleCheck, SignatureModel
from pqchain_conform.models.slh_dsa import (
    FORS_ROOTS,
    FORS_TREE,
    TREE,
    WOTS_HASH,
    WOTS_PK,
    Address,
    W,
)


class SLHDSAVerifier(SignatureModel):
    """SLH-DSA verifier of the pure interface, for one parameter set."""

    parameters: model.SLHDSAParameters
    domain = 0
    """First byte of M'."""
    length_rules = (
        "FIPS 205, section 9.1", "FIPS 205, algorithm 20, line 1", "FIPS 205, algorithm 24, line 1",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.parameters = model.PARAMETER_SETS[name]

    def checks(
        self, message: bytes, signature: bytes, public_key: bytes, context: bytes = b""
    ) -> Iterator[RuleCheck]:
        """Yield the result of each rule; stop at a wrong length, as no other rule applies then."""
        p = self.parameters
        lengths = self.lengths(signature, public_key, context)
        yield from lengths
        if not all(check.holds for check in lengths):
            return
        # Only in a mutant that truncates longer input can lengths exceed the standard's here.
        public_key, signature = public_key[: p.public_key_bytes], signature[: p.signature_bytes]
        digest = self.message_digest(signature[: p.n], public_key, self.prefix(context) + message)
        computed = self.root(public_key[: p.n], signature[p.n :], digest)
        expected = public_key[p.n :]
        yield RuleCheck(
            "root", "FIPS 205, algorithm 13, line 16", self.same_root(computed, expected),
            f"{expected.hex()}; computed {computed.hex()}",
        )  # fmt: skip

    def root(self, seed: bytes, signature: bytes, digest: bytes) -> bytes:
        """Return the root that a signature without its randomness leads to."""
        # Most mutants that accept too much differ from the model in other steps only.
        changed = any(
            getattr(type(self), step) is not getattr(SLHDSAVerifier, step) for step in _STEPS
        )
        compute = SLHDSAVerifier.uncached_root if changed else _cached_root
        return compute(self, seed, signature, digest)

    def uncached_root(self, seed: bytes, signature: bytes, digest: bytes) -> bytes:
        """Return the root, by the steps of this class."""
        p = self.parameters
        indices, tree, leaf = self.split(digest)
        node = self.fors_key(seed, signature[: p.fors_bytes], indices, tree, leaf)
        for layer in range(p.d):
            start = p.fors_bytes + layer * p.layer_bytes
            part = signature[start : start + p.layer_bytes]
            node = self.tree_root(seed, part, node, layer, tree, leaf)
            tree, leaf = tree >> p.tree_height, tree % (1 << p.tree_height)
        return node

    def split(self, digest: bytes) -> tuple[list[int], int, int]:
        """Return FORS indices, tree and leaf of a digest (algorithm 20, lines 8 to 12)."""
        p = self.parameters
        first, second, _ = p.digest_parts
        tree = int.from_bytes(digest[first : first + second], "big")
        leaf = int.from_bytes(digest[first + second :], "big")
        indices = self.fors_indices(digest[:first])
        return indices, self.tree_index(tree), self.leaf_index(leaf)

    def fors_key(
        self, seed: bytes, signature: bytes, indices: list[int], tree: int, leaf: int
    ) -> bytes:
        """Return the FORS public key of a signature (algorithm 17)."""
        p, roots = self.parameters, b""
        size = (1 + p.a) * p.n
        for i, index in enumerate(indices):
            part = signature[i * size : (i + 1) * size]
            position = self.fors_position(i, index)
            words = (leaf, 0, position)
            node = self.hash(seed, self.address(0, tree, FORS_TREE, words), part[: p.n])
            roots += self.climb(
                seed, node, part[p.n :], index, position, (0, tree, FORS_TREE), leaf
            )
        return self.hash(seed, self.address(0, tree, FORS_ROOTS, (leaf, 0, 0)), roots)

    def tree_root(
        self, seed: bytes, signature: bytes, message: bytes, layer: int, tree: int, leaf: int
    ) -> bytes:
        """Return the root of a tree of the hypertree, from a signed message (algorithm 11)."""
        p = self.parameters
        chains, path = signature[: p.chains * p.n], signature[p.chains * p.n :]
        ends = b""
        for chain, digit in enumerate(self.chain_digits(message)):
            node = chains[chain * p.n : (chain + 1) * p.n]
            for step in range(digit, W - 1):
                words = (leaf, chain, step)
                node = self.hash(seed, self.address(layer, tree, WOTS_HASH, words), node)
            ends += node
        node = self.hash(seed, self.address(layer, tree, WOTS_PK, (leaf, 0, 0)), ends)
        return self.climb(seed, node, path, leaf, leaf, (layer, tree, TREE), 0)

    def climb(
        self,
        seed: bytes,
        node: bytes,
        path: bytes,
        index: int,
        position: int,
        place: tuple[int, int, int],
        leaf: int,
    ) -> bytes:
        """Return the root above a node with this authentication path.

        `index` decides the order of the two halves, `position` is part of the address; `place` has
        the layer, tree and type of the address, `leaf` its first word.
        """
        n = self.parameters.n
        for height in range(len(path) // n):
            other = path[height * n : (height + 1) * n]
            position >>= 1
            pair = node + other if self.is_left(index >> height & 1) else other + node
            node = self.hash(seed, self.address(*place, (leaf, height + 1, position)), pair)
        return node

    def prefix(self, context: bytes) -> bytes:
        """Return what precedes the message in M' (algorithm 24)."""
        return bytes([self.domain, len(context)]) + context

    def message_digest(self, randomness: bytes, public_key: bytes, message: bytes) -> bytes:
        """Return the digest of a message with its prefix."""
        return model.message_digest(self.parameters, randomness, public_key, message)

    def fors_indices(self, data: bytes) -> list[int]:
        """Return the index in each FORS tree."""
        return model.digits(data, self.parameters.a, self.parameters.k)

    def tree_index(self, value: int) -> int:
        """Return the index of the lowest tree of the hypertree."""
        return value % (1 << (self.parameters.h - self.parameters.tree_height))

    def leaf_index(self, value: int) -> int:
        """Return the index of the leaf in the lowest tree."""
        return value % (1 << self.parameters.tree_height)

    def fors_position(self, number: int, index: int) -> int:
        """Return the position of a leaf of the FORS tree of this number among all leaves."""
        return (number << self.parameters.a) + index

    def chain_digits(self, message: bytes) -> list[int]:
        """Return the digits of a message and its checksum."""
        return model.chain_digits(self.parameters, message)

    def is_left(self, bit: int) -> bool:
        """Return whether a node is the left one of two, by this bit of its index."""
        return not bit

    def address(self, layer: int, tree: int, kind: int, words: tuple[int, int, int]) -> Address:
        """Return the address of a hash."""
        return Address(layer, tree, kind, words)

    def hash(self, seed: bytes, address: Address, data: bytes) -> bytes:
        """Return F, H or T of the data."""
        return model.tweaked_hash(self.parameters, seed, address, data)

    def same_root(self, computed: bytes, expected: bytes) -> bool:
        """Return whether the root of the public key is the computed one."""
        return computed == expected


_STEPS = (
    "split", "fors_key", "tree_root", "climb", "fors_indices", "tree_index", "leaf_index",
    "fors_position", "chain_digits", "is_left", "address", "hash",
)  # fmt: skip
"""Methods on which the computed root depends."""

_roots: dict[tuple[str, bytes, bytes, bytes], bytes] = {}


def _cached_root(verifier: SLHDSAVerifier, seed: bytes, signature: bytes, digest: bytes) -> bytes:
    key = (verifier.parameters.name, seed, sha256(signature).digest(), digest)
    if key not in _roots:
        # Bounded, and more than all vectors need.
        if len(_roots) >= 10_000:
            _roots.clear()
        _roots[key] = verifier.uncached_root(seed, signature, digest)
    return _roots[key]
