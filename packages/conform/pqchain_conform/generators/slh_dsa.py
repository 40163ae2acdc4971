"""SLH-DSA vectors: each rule of verification, each part of a signature, ends of the indices.

No rule binds the FORS keys and the lower trees to a secret. Only the highest tree has to be a real
one: any bytes below it lead to some root, which the highest tree then signs. So a signature costs
hardly more than a verification, also with the sets of slow signatures. With a changed root in the
public key, the computed root differs from it in the chosen byte alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha3_256, sha256, sha512, shake_128, shake_256
from itertools import count

from pqchain_conform.models import slh_dsa as model
from pqchain_conform.models.slh_dsa import (
    TREE,
    WOTS_HASH,
    WOTS_PK,
    WOTS_PRF,
    Address,
    SLHDSAParameters,
    W,
)
from pqchain_conform.models.slh_dsa_verifier import SLHDSAVerifier
from pqchain_conform.vector import Collector, Vector, flip

BLOCKS = (0, 1, 55, 64, 119, 1000, 20_000)
"""Message lengths in bytes, some at ends of blocks of the hash functions."""

Split = tuple[list[int], int, int]
"""FORS indices, tree and leaf of a digest."""

# Identifiers 2.16.840.1.101.3.4.2.x of hash functions in DER, and the hashes of the message.
_IDENTIFIER = bytes.fromhex("06096086480165030402")
PRE_HASHED = {
    "SHA2-256": _IDENTIFIER + b"\1" + sha256(b"message").digest(),
    "SHA2-512": _IDENTIFIER + b"\3" + sha512(b"message").digest(),
    "SHAKE-128": _IDENTIFIER + b"\x0b" + shake_128(b"message").digest(32),
    "SHAKE-256": _IDENTIFIER + b"\x0c" + shake_256(b"message").digest(64),
    "SHA3-256": _IDENTIFIER + b"\x08" + sha3_256(b"message").digest(),
}
"""What the pre-hash interface signs instead of the message (FIPS 205, algorithm 25)."""


@cache
def collect(algorithm: str) -> tuple[Vector, ...]:
    """Return the vectors of a parameter set."""
    generator = SLHDSAVectors(algorithm)
    generator.messages()
    generator.contexts()
    generator.pre_hashes()
    generator.roots()
    generator.indices()
    generator.parts()
    generator.lengths()
    generator.keys()
    return generator.collector.vectors()


@cache
def _highest_tree(p: SLHDSAParameters, seed: bytes) -> list[list[bytes]]:
    """Return the levels of the highest tree of a key pair, from the leaves to the root."""
    layer = p.d - 1

    def leaf(index: int) -> bytes:
        ends = b""
        for chain in range(p.chains):
            node = _chain_start(p, seed, index, chain)
            for step in range(W - 1):
                address = Address(layer, 0, WOTS_HASH, (index, chain, step))
                node = model.tweaked_hash(p, seed, address, node)
            ends += node
        return model.tweaked_hash(p, seed, Address(layer, 0, WOTS_PK, (index, 0, 0)), ends)

    def parent(height: int, index: int, pair: bytes) -> bytes:
        return model.tweaked_hash(p, seed, Address(layer, 0, TREE, (0, height, index)), pair)

    return model.nodes([leaf(i) for i in range(1 << p.tree_height)], parent)


def _chain_start(p: SLHDSAParameters, seed: bytes, leaf: int, chain: int) -> bytes:
    """Return PRF of the secret seed for a chain of the highest tree."""
    secret = _bytes("secret seed", p.n)
    return model.tweaked_hash(p, seed, Address(p.d - 1, 0, WOTS_PRF, (leaf, chain, 0)), secret)


def _bytes(text: str, count: int) -> bytes:
    return shake_256(f"pqchain SLH-DSA {text}".encode()).digest(count)


class SLHDSAVectors:
    """Generator of the vectors of one parameter set."""

    def __init__(self, algorithm: str) -> None:
        self.collector = Collector(algorithm)
        self.p = model.PARAMETER_SETS[algorithm]
        self.model = SLHDSAVerifier(algorithm)
        self.seed = _bytes("seed", self.p.n)
        self.public_key = self.seed + self.root(self.seed)

    def root(self, seed: bytes) -> bytes:
        """Return the root of the key pair with this public seed."""
        return _highest_tree(self.p, seed)[-1][0]

    def sign(
        self,
        message: bytes,
        prefix: bytes = b"\0\0",
        *,
        public_key: bytes | None = None,
        condition: Callable[[Split], bool] = lambda split: True,
    ) -> bytes:
        """Return a signature of a message with its prefix, whose digest satisfies `condition`.

        The computed root is that of the key pair with the seed of the public key, also if the
        public key has another root or length.
        """
        p, key = self.p, public_key or self.public_key
        seed = key[: p.n].ljust(p.n, b"\0")
        for number in count():
            randomness = _bytes(f"randomness {number}", p.n)
            digest = model.message_digest(p, randomness, key, prefix + message)
            indices, tree, leaf = split = self.model.split(digest)
            if condition(split):
                break
        body = _bytes(f"body {digest.hex()}", p.signature_bytes - p.n - p.layer_bytes)
        node = self.model.fors_key(seed, body[: p.fors_bytes], indices, tree, leaf)
        for layer in range(p.d - 1):
            start = p.fors_bytes + layer * p.layer_bytes
            part = body[start : start + p.layer_bytes]
            node = self.model.tree_root(seed, part, node, layer, tree, leaf)
            tree, leaf = tree >> p.tree_height, tree % (1 << p.tree_height)
        return randomness + body + self.highest_signature(seed, node, leaf)

    def highest_signature(self, seed: bytes, message: bytes, leaf: int) -> bytes:
        """Return the signature of the root of a tree by the highest tree: chains and path."""
        p, signature = self.p, b""
        for chain, digit in enumerate(model.chain_digits(p, message)):
            node = _chain_start(p, seed, leaf, chain)
            for step in range(digit):
                address = Address(p.d - 1, 0, WOTS_HASH, (leaf, chain, step))
                node = model.tweaked_hash(p, seed, address, node)
            signature += node
        levels = _highest_tree(p, seed)
        return signature + b"".join(
            level[leaf >> height ^ 1] for height, level in enumerate(levels[:-1])
        )

    def add(
        self,
        family: str,
        probe: str,
        valid: bool,
        signature: bytes,
        message: bytes = b"message",
        *,
        context: bytes = b"",
        public_key: bytes | None = None,
    ) -> None:
        """Add a vector, under the honest key unless another is given."""
        key = self.public_key if public_key is None else public_key
        self.collector.add(
            family, probe, valid, key="honest" if public_key is None else "changed",
            public_key=key, message=message, signature=signature, context=context,
        )  # fmt: skip

    def messages(self) -> None:
        """Add vectors with messages of several lengths, and with another message."""
        for length in BLOCKS:
            message = bytes(i * 7 % 251 for i in range(length))
            signature = self.sign(message)
            self.add("message", f"message of {length} bytes", True, signature, message)
        self.add("message", "another message", False, self.sign(b"message"), b"massage")
        self.add("message", "message extended", False, self.sign(b"message"), b"message\0")

    def contexts(self) -> None:
        """Add vectors with contexts of up to 255 bytes and longer, and with other prefixes."""
        for length in (1, 254, 255):
            context = bytes(range(length))
            signature = self.sign(b"message", bytes([0, length]) + context)
            self.add("context", f"context of {length} bytes", True, signature, context=context)
            self.add("context", f"context of {length} bytes, left out", False, signature)
        moved = self.sign(b"message", b"\0\2ab")
        self.add("context", "context moved into the message", False, moved, b"abmessage")
        self.add("context", "end of the context moved", False, moved, b"bmessage", context=b"a")
        # Each prefix is what a faulty verifier would hash for a context of 256 bytes.
        long = bytes(range(256))
        for name, prefix in (
            ("length modulo 256", b"\0" + long),
            ("length cut to 255", b"\xff" + long),
            ("context and length cut to 255", b"\xff" + long[:255]),
            ("two bytes of length", b"\1\0" + long),
            ("none at all", b"\0"),
        ):
            probe = f"context of 256 bytes, signed as {name}"
            signature = self.sign(b"message", b"\0" + prefix)
            self.add("context", probe, False, signature, context=long)
        signature = self.sign(b"message", b"")
        self.add("context", "signed without prefix (internal interface)", False, signature)
        signature = self.sign(b"message", b"\1\0")
        self.add("context", "signed with the first byte 1", False, signature)

    def pre_hashes(self) -> None:
        """Add signatures of the pre-hash interface, and of hashed messages as messages."""
        for name, content in PRE_HASHED.items():
            signature = self.sign(content, b"\1\0")
            self.add("pre-hash", f"pre-hashed with {name}", False, signature)
            probe = f"pre-hashed with {name}, as a message"
            self.add("pre-hash", probe, True, self.sign(content), content)

    def roots(self) -> None:
        """Add public keys whose root differs from the computed one in a single byte."""
        p = self.p
        self.add("root", "root as it should be", True, self.sign(b"message"))
        for index in sorted({0, 1, 7, 8, 15, p.n // 2, p.n - 8, p.n - 2, p.n - 1}):
            key = flip(self.public_key, p.n + index, index % 8)
            signature = self.sign(b"message", public_key=key)
            probe = f"byte {index} of the root changed"
            self.add("root", probe, False, signature, public_key=key)
        for name, root in (("zeros", bytes(p.n)), ("the seed", self.seed)):
            key = self.seed + root
            signature = self.sign(b"message", public_key=key)
            self.add("root", f"root of {name}", False, signature, public_key=key)
        # A root with a zero byte, where a C string comparison would stop. The sets with high trees
        # take too long to find one.
        if p.tree_height < 8:
            number = 0
            while 0 not in self.root(seed := _bytes(f"seed {number}", p.n))[: p.n - 1]:
                number += 1
            key = seed + self.root(seed)
            signature = self.sign(b"message", public_key=key)
            self.add("root", "root with a zero byte", True, signature, public_key=key)
            changed = key[:-1] + bytes([key[-1] ^ 1])
            signature = self.sign(b"message", public_key=changed)
            probe = "root with a zero byte, last byte changed"
            self.add("root", probe, False, signature, public_key=changed)

    def indices(self) -> None:
        """Add signatures with the least and the greatest indices, and trees of many bits."""
        p = self.p
        last = (1 << p.tree_height) - 1
        high = 1 << (p.h - p.tree_height - 1)
        conditions: dict[str, Callable[[Split], bool]] = {
            "leaf 0": lambda split: split[2] == 0,
            "greatest leaf": lambda split: split[2] == last,
            # A 64-bit float rounds a tree index of 54 bits, but only an odd one.
            "ends of the tree set": lambda split: split[1] >= high and split[1] % 2 == 1,
            "highest bit of the tree clear": lambda split: split[1] < high,
            "highest tree: leaf 0": lambda split: split[1] >> (p.h - 2 * p.tree_height) == 0,
            "highest tree: greatest leaf": lambda split: (
                split[1] >> (p.h - 2 * p.tree_height) == last
            ),
            "some FORS index 0": lambda split: 0 in split[0],
            "some FORS index greatest": lambda split: (1 << p.a) - 1 in split[0],
        }
        for probe, condition in conditions.items():
            signature = self.sign(b"index", condition=condition)
            self.add("index", probe, True, signature, b"index")
            changed = flip(signature, len(signature) - 1)
            self.add("index", f"{probe}, last byte changed", False, changed, b"index")

    def parts(self) -> None:
        """Add signatures with one bit changed: randomness, FORS trees, and every layer."""
        p, good = self.p, self.sign(b"message")
        size = (1 + p.a) * p.n
        places = {"first byte of R": 0, "last byte of R": p.n - 1}
        for tree in (0, p.k - 1):
            start = p.n + tree * size
            places |= {
                f"secret of FORS tree {tree}": start,
                f"start of the path of FORS tree {tree}": start + p.n,
                f"end of the path of FORS tree {tree}": start + size - 1,
            }
        for layer in range(p.d):
            start = p.n + p.fors_bytes + layer * p.layer_bytes
            ends = start + p.chains * p.n
            kinds = {
                "first chain": start,
                "last chain of the message": ends - 3 * p.n - 1,
                "last chain of the checksum": ends - 1,
                "start of the path": ends,
                "end of the path": start + p.layer_bytes - 1,
            }
            for number, (kind, index) in enumerate(kinds.items()):
                # All kinds at both ends; in the layers between them one each.
                if layer in (0, p.d - 1) or number == layer % len(kinds):
                    places[f"layer {layer}, {kind}"] = index
        for probe, index in places.items():
            self.add("part", f"{probe} changed", False, flip(good, index))

    def lengths(self) -> None:
        """Add signatures and keys of wrong lengths, and signatures for such keys."""
        p, good, key = self.p, self.sign(b"length"), self.public_key
        other = p.n + p.fors_bytes
        self.add("length", "all lengths as they should be", True, good, b"length")
        for name, data in (
            ("empty", b""),
            ("one byte", good[:1]),
            ("R alone", good[: p.n]),
            ("FORS alone", good[:other]),
            ("highest layer missing", good[: -p.layer_bytes]),
            ("last byte missing", good[:-1]),
            ("first byte missing", good[1:]),
            ("a zero appended", good + b"\0"),
            ("its message appended", good + b"length"),
        ):
            self.add("length", f"signature {name}", False, data, b"length")
        for name, data in (
            ("empty", b""),
            ("seed alone", key[: p.n]),
            ("last byte missing", key[:-1]),
            ("a zero appended", key + b"\0"),
        ):
            self.add("length", f"public key {name}", False, good, b"length", public_key=data)
        longer = key + b"\0"
        signature = self.sign(b"message", public_key=longer)
        probe = "public key a zero appended, signed for it"
        self.add("length", probe, False, signature, public_key=longer)

    def keys(self) -> None:
        """Add keys with special seeds."""
        for name, seed in (("zeros", bytes(self.p.n)), ("ones", b"\xff" * self.p.n)):
            key = seed + self.root(seed)
            signature = self.sign(b"message", public_key=key)
            self.add("key", f"seed of {name}", True, signature, public_key=key)
            probe = f"seed of {name}, first byte changed"
            self.add("key", probe, False, flip(signature, 0), public_key=key)
