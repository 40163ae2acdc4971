"""Ledger files for tests, and ways to change them without the library."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from pqchain.chain import Block, Ledger, State
from tests.chain.wallets import alice, bob, proposer

ALICE, BOB, PROPOSER = alice(), bob(), proposer()
ROOT = Path(__file__).resolve().parent.parent.parent
CRASH = (sys.executable, "-m", "tests.chain.crash")


def append_blocks(ledger: Ledger, count: int) -> Ledger:
    for _ in range(count):
        ledger.append(next_block(ledger))
    return ledger


def next_block(ledger: Ledger) -> Block:
    return next_block_of(ledger.state)


def next_block_of(state: State) -> Block:
    payment = ALICE.transfer(BOB.address, 1, nonce=state.account(ALICE.address).nonce)
    return state.propose([payment], proposer=PROPOSER, timestamp=state.height)


def damage(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def digest_after(before: bytes, data: bytes) -> bytes:
    return sha256(b"pqchain ledger 3\0" + bytes([len(before)]) + before + data).digest()


def rewrite_ledger(path: Path, blocks: list[bytes], **rules: object) -> None:
    """Change the rules in a file and store these blocks with recomputed digests."""
    with closing(sqlite3.connect(path)) as connection:
        (description,) = connection.execute("SELECT description FROM genesis").fetchone()
    genesis = json.dumps(json.loads(description) | rules).encode()
    digest = digest_after(b"", genesis)
    damage(path, "UPDATE genesis SET description = ?", genesis)
    damage(path, "DELETE FROM blocks")
    for height, data in enumerate(blocks, 1):
        digest = digest_after(digest, data)
        damage(path, "INSERT INTO blocks VALUES (?, ?, ?)", height, digest, data)
    tip = Block.decode(blocks[-1]).hash() if blocks[-1] else b""
    damage(path, "UPDATE head SET height = ?, tip = ?, digest = ?", len(blocks), tip, digest)
