"""Sizes of Bitcoin's Pay-to-Merkle-Root inputs and outputs (BIP-360, draft, version 0.12.1).

An output commits to the root of a tree of scripts. Its input reveals one script and proves that it
is a leaf at depth m, by a control block of 1 + 32 m bytes. A script that pushes a key and checks
one signature has a witness of 103 + 32 m bytes with a Schnorr signature. BIP-360 leaves
post-quantum signatures to later proposals; the same leaf with another scheme is an assumption.
"""

from __future__ import annotations

HASH_BYTES = 32
"""A node of the tree."""

KEY_BYTES = {"Schnorr-secp256k1": 32}
"""Lengths of keys in a script that differ from the registry: BIP 340 leaves out the sign byte."""

MOST_DEPTH = 128
"""Greatest depth of a leaf, as in BIP 341."""


def compact_size_bytes(count: float) -> int:
    """Return the length of Bitcoin's CompactSize encoding of a count below 2^32."""
    return 1 if count < 253 else 3 if count < 2**16 else 5


def push_bytes(length: float) -> int:
    """Return the length of the opcode that pushes this many bytes, with its length field."""
    return 1 if length <= 75 else 2 if length <= 255 else 3 if length < 2**16 else 5


def script_bytes(public_key_bytes: int) -> int:
    """Return the length of a script that pushes a key and checks a signature with one opcode."""
    return push_bytes(public_key_bytes) + public_key_bytes + 1


def control_block_bytes(depth: int) -> int:
    """Return the length of the control block of a leaf at this depth."""
    return 1 + HASH_BYTES * depth


def framing_bytes(algorithm: str, public_key_bytes: int, signature_bytes: int, depth: int) -> int:
    """Return the bytes of a witness in addition to the key and the signature of the registry.

    >>> framing_bytes("Schnorr-secp256k1", 33, 64, depth=0) + 33 + 64
    103
    """
    script = script_bytes(KEY_BYTES.get(algorithm, public_key_bytes))
    items = (signature_bytes, script, control_block_bytes(depth))
    # The witness is a count of its items and each item after its length.
    witness = 1 + sum(compact_size_bytes(item) + item for item in items)
    return witness - public_key_bytes - signature_bytes
