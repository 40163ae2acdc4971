"""Damage encoded blocks in many ways and check that the decoder raises only Malformed.

    python tests/chain/fuzz.py 1000000

Decoded blocks must encode to the bytes they came from, and so must their fields: decoded
objects keep their bytes, so each transaction is rebuilt from its fields.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace

from pqchain.chain import Block, Transaction
from pqchain.errors import Malformed


def damaged(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one hostile input."""
    data = bytearray(rng.choice(seeds))
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(300))
    if kind == 1:
        return bytes(data[: rng.randrange(len(data))])
    for _ in range(rng.randrange(1, 4)):
        # Structure is at the front of an encoding, so half of the damage goes there.
        reach = len(data) if rng.random() < 0.5 else min(len(data), 260)
        at = rng.randrange(reach)
        if kind in (2, 3):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            data[at : at + 4] = rng.choice((b"\xff" * 4, bytes(4), b"\x00\x00\xff\xff"))
        elif kind == 5:
            data[at : at + rng.randrange(1, 9)] = b""
        elif kind == 6:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        else:
            other = rng.choice(seeds)
            cut = rng.randrange(len(other))
            data[at : at + 40] = other[cut : cut + 40]
    return bytes(data)


def rebuilt(block: Block) -> Block:
    """Return a block rebuilt from the fields, without cached bytes."""
    transactions = [
        Transaction(transaction.payment, transaction.credentials)
        for transaction in block.transactions
    ]
    for old, new in zip(block.transactions, transactions, strict=True):
        if old.message != new.message:
            raise AssertionError(f"two messages of one transaction: {old.encoded.hex()}")
    return replace(block, transactions=tuple(transactions))


def fuzz(seeds: Sequence[bytes], *, inputs: int, seed: int) -> int:
    """Decode damaged blocks and return how many are malformed.

    Raises any error other than Malformed, and AssertionError for a second encoding of a block.
    """
    rng = random.Random(seed)
    malformed = 0
    for _ in range(inputs):
        data = damaged(rng, seeds)
        try:
            block = Block.decode(data)
        except Malformed:
            malformed += 1
            continue
        if block.encode() != data or rebuilt(block).encode() != data:
            raise AssertionError(f"two encodings of one block: {data.hex()}")
    return malformed


def main() -> None:
    """Fuzz the number of inputs given on the command line."""
    from test_block import _falcon_block, golden_block

    seeds = [golden_block().encode(), _falcon_block().encode()]
    inputs = int(sys.argv[1])
    malformed = fuzz(seeds, inputs=inputs, seed=2)
    sys.stdout.write(
        f"{inputs} inputs: {malformed} malformed, {inputs - malformed} decoded, each to the bytes "
        "it came from\n"
    )


if __name__ == "__main__":
    main()
