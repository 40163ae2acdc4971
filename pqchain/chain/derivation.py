"""Deterministic key pairs from a mnemonic: BIP-39, and SLIP-0010 with its extension to ML-DSA.

The extension is an open proposal (satoshilabs/slips, pull request 1968, of 2026-02-06; NEAR's
NEP-649 follows it). The node secret of 32 bytes is the seed xi of ML-DSA.KeyGen (FIPS 204).

Every child is hardened, that is, derived from its parent's secret: public keys of lattice schemes
cannot be derived from a parent's public key. A watch-only wallet therefore cannot compute further
addresses from one extended public key, as it can with BIP-32 and secp256k1; whoever holds the
secret must export each public key to it.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field

from pqchain import algorithms
from pqchain.crypto.interface import BytesLike, as_bytes
from pqchain.crypto.seeded import keypair_from_seed
from pqchain.errors import BadLength, UsageError

HARDENED = 1 << 31
"""First index of a hardened child."""

MAX_DEPTH = 255
"""Maximum number of levels below the master node: BIP-32 stores the depth in one byte."""

# SLIP-0010 marks hardened indices by H, BIP-32 by an apostrophe or h.
_PATH = re.compile(r"m(/[0-9]{1,10}['hH])*")
_SEED_BYTES = range(16, 64 + 1)


@dataclass(frozen=True, slots=True)
class KeyNode:
    """A node of the tree of keys. Its representation omits both values, which are secret."""

    secret: bytes = field(repr=False)
    """Seed of the node's key pair, 32 bytes."""
    chain_code: bytes = field(repr=False)
    """Key of the derivation of children, 32 bytes."""

    def child(self, index: int) -> KeyNode:
        """Return the hardened child of an index below 2^31."""
        if not 0 <= index < HARDENED:
            raise UsageError(f"an index must be from 0 to {HARDENED - 1}; got {index}")
        data = b"\0" + self.secret + (index + HARDENED).to_bytes(4, "big")
        return _node(self.chain_code, data)


def _node(key: bytes, data: bytes) -> KeyNode:
    digest = hmac.digest(key, data, "sha512")
    return KeyNode(digest[:32], digest[32:])


def derive(name: bytes, seed: BytesLike, path: str) -> KeyNode:
    """Return the node of a path such as "m/44'/1'/0'" or "m/44h/1h/0h" by SLIP-0010.

    `name` separates schemes, for example b"ML-DSA-65 seed"; `seed` has 16 to 64 bytes. Raises
    BadType, BadLength, and UsageError for a path that is malformed or has a child that is not
    hardened.
    """
    seed = as_bytes("seed", seed)
    if len(seed) not in _SEED_BYTES:
        raise BadLength(f"the seed must have 16 to 64 bytes; got {len(seed)}")
    if not _PATH.fullmatch(path) or path.count("/") > MAX_DEPTH:
        raise UsageError(
            f"a derivation path must be m followed by at most {MAX_DEPTH} hardened indices, such "
            f"as m/44'/1'/0'; got {path[:80]!r}"
        )
    node = _node(name, seed)
    for index in path.split("/")[1:]:
        node = node.child(int(index[:-1]))
    return node


def mnemonic_seed(words: str, passphrase: str = "") -> bytes:
    """Return the 64-byte seed of a mnemonic of 12 to 24 English words (BIP-39).

    Raises UsageError for a word that is not in the list or a wrong checksum; a mistyped mnemonic
    would give a valid wallet without funds.
    """
    from mnemonic import Mnemonic

    phrase = " ".join(words.split())
    # The message does not contain the words, which are secret.
    if not Mnemonic("english").check(phrase):
        raise UsageError(
            f"a mnemonic must be 12, 15, 18, 21 or 24 words of the English list of BIP-39 with "
            f"their checksum; these {len(phrase.split())} words are not. Check the spelling and "
            "the order."
        )
    return bytes(Mnemonic.to_seed(phrase, passphrase))


def derive_keypair(algorithm: str, seed: BytesLike, path: str) -> tuple[bytes, bytes]:
    """Return (public key, secret key) of an ML-DSA algorithm at a path below a BIP-39 seed.

    Raises UnknownAlgorithm, UsageError for a scheme other than ML-DSA, the errors of `derive`, and
    Unsupported if liboqs is not installed.
    """
    row = algorithms.get(algorithm)
    if row.family != "ML-DSA":
        raise UsageError(
            "keys can be derived from a mnemonic for ML-DSA-44, ML-DSA-65 and ML-DSA-87; got "
            f"{row.name}"
        )
    node = derive(f"{row.name} seed".encode(), seed, path)
    return keypair_from_seed(row, node.secret)
