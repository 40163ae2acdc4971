"""Damaged and forged ledger files are rejected with the reason."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pqchain.chain import Block, Ledger, Rules, State
from pqchain.chain.state import LEAST_IN_BULK
from pqchain.errors import DataError
from tests.chain.ledgers import ALICE, BOB, PROPOSER, damage, rewrite_ledger
from tests.chain.wallets import alice, bob, hybrid


@pytest.mark.parametrize(
    ("statement", "values", "message"),
    [
        ("UPDATE blocks SET data = ? WHERE height = 2", (b"\xff" * 50,), "block 2 was changed"),
        ("UPDATE blocks SET data = zeroblob(100000000) WHERE height = 1", (), "at most 5000"),
        ("UPDATE blocks SET data = 'text' WHERE height = 1", (), "of type text"),
        ("UPDATE blocks SET digest = zeroblob(32) WHERE height = 3", (), "block 3 was changed"),
        ("UPDATE blocks SET digest = 7 WHERE height = 1", (), "block 1 was changed"),
        ("DELETE FROM blocks WHERE height = 3", (), "blocks are missing or were added"),
        ("DELETE FROM blocks WHERE height = 1", (), "blocks are missing or were added"),
        ("UPDATE blocks SET height = 0 WHERE height = 2", (), "block 2 is missing"),
        ("UPDATE blocks SET height = 9 WHERE height = 3", (), "blocks are missing or were added"),
        ("INSERT INTO blocks VALUES (4, x'', x'')", (), "blocks are missing or were added"),
        ("UPDATE head SET height = 2", (), "blocks are missing or were added"),
        ("UPDATE head SET height = 'x'", (), "blocks are missing or were added"),
        ("UPDATE head SET tip = zeroblob(32)", (), "last block was changed"),
        ("UPDATE head SET digest = zeroblob(32)", (), "last block was changed"),
        ("INSERT INTO head SELECT * FROM head", (), "blocks are missing or were added"),
        ("DELETE FROM genesis", (), "genesis is missing"),
        ("INSERT INTO genesis VALUES ('{}')", (), "genesis is .*damaged"),
        ("UPDATE genesis SET description = description || ' '", (), "genesis is .*damaged"),
        (
            "UPDATE genesis SET description = CAST(description || ' ' AS BLOB)",
            (),
            "block 1 was changed",
        ),
        ("UPDATE genesis SET description = ?", (b"[" * 100_000,), "genesis is .*damaged"),
        ("UPDATE genesis SET description = ?", (b"[]",), "genesis is .*damaged"),
        ("UPDATE genesis SET description = ?", (b"\xff\xfe{",), "genesis is .*damaged"),
        (
            "UPDATE genesis SET description = ?",
            (b'{"chain": "x", "limit_bytes": 1, "algorithms": null, "sealed": 1, "balances": {}}',),
            "genesis is .*damaged",
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END",
            (),
            "not a ledger",
        ),
        ("ALTER TABLE blocks RENAME COLUMN digest TO hash", (), "not a ledger"),
        ("PRAGMA application_id = 1", (), "not a ledger"),
        ("PRAGMA application_id = 0x70716331", (), "a ledger of format 1, which has no digests"),
        (
            "PRAGMA application_id = 0x70716332",
            (),
            "format 2, .*start a new one with Ledger.create",
        ),
    ],
)
def test_damage_is_rejected_with_the_reason(
    path: Path, statement: str, values: tuple[object, ...], message: str
) -> None:
    damage(path, statement, *values)
    before = path.read_bytes()
    with pytest.raises(DataError, match=message):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_rewritten_file_is_checked(path: Path) -> None:
    """An attacker can recompute the digests, but not valid blocks or the old head."""
    with Ledger.open(path) as ledger:
        kept = ledger.digest
        stored = [block.encode() for block in ledger.blocks()]
    for blocks, said in (
        ([stored[0], stored[1][:-1] + b"?", stored[2]], "block 2: block rejected, wrong root"),
        ([stored[0], stored[2]], "block 2: block rejected, wrong height"),
        ([stored[0], b"\xff" * 50, b""], "block 2: block rejected, malformed"),
    ):
        rewrite_ledger(path, blocks)
        with pytest.raises(DataError, match=said):
            Ledger.open(path)
    rewrite_ledger(path, stored[:2])
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 2
        assert ledger.digest != kept


def ledgers_by_key_mode() -> dict[str, tuple[list[Block], State]]:
    """Return blocks and final state of a ledger for every key mode."""
    both = hybrid(key_mode="registered")
    sent = {
        "empty": [],
        "inline": [ALICE.transfer(BOB.address, 1, nonce=0)],
        "registered": [
            alice(key_mode="registered").transfer(BOB.address, 1, nonce=n) for n in range(2)
        ],
        "recovered": [bob(key_mode="recovered").transfer(ALICE.address, 1, nonce=0)],
        "hybrid": [hybrid().transfer(BOB.address, 1, nonce=0)],
        "registered hybrid": [both.transfer(BOB.address, 1, nonce=n) for n in range(2)],
        "many alike": [ALICE.transfer(BOB.address, 1, nonce=n) for n in range(LEAST_IN_BULK)],
    }
    made = {}
    for name, transactions in sent.items():
        state, blocks = State.genesis(FORM_BALANCES), []
        for height in range(3):
            chosen = transactions if height == 1 else []
            blocks.append(state.propose(chosen, proposer=PROPOSER, timestamp=height))
            state = state.apply(blocks[-1])
        made[name] = blocks, state
    return made


FORM_BALANCES = {wallet.address: 1000 for wallet in (ALICE, BOB, hybrid())}
WEAKER_RULES = {
    "sealed": False,
    "limit_bytes": 2**40,
    "algorithms": ["Ed25519", "ECDSA-secp256k1", "Falcon-512"],
    "chain": 2,
}


@pytest.mark.parametrize(
    "form",
    [
        form
        if form in ("empty", "registered hybrid")
        else pytest.param(form, marks=pytest.mark.long)
        for form in ledgers_by_key_mode()
    ],
)
def test_rules_cannot_be_changed_afterwards(form: str, tmp_path: Path) -> None:
    """Every block refers to a hash of the rules, which recomputed digests do not change."""
    blocks, state = ledgers_by_key_mode()[form]
    stored = [block.encode() for block in blocks]
    forged = Block(
        replace(blocks[-1].header, height=4, previous=state.tip), blocks[0].transactions, None
    )
    path = tmp_path / "chain.pqc"
    with Ledger.create(path, FORM_BALANCES) as ledger:
        for block in blocks:
            ledger.append(block)
    rewrite_ledger(path, stored)  # unchanged: the rejections below are due to the rules
    Ledger.open(path).close()
    for rule, value in WEAKER_RULES.items():
        for kept in (stored, [*stored, forged.encode()]):
            rewrite_ledger(path, kept, **{rule: value})
            with pytest.raises(DataError, match="block 1: block rejected, wrong previous hash"):
                Ledger.open(path)
            rewrite_ledger(path, kept[:3], **asdict(Rules()))
    rewrite_ledger(path, [*stored, forged.encode()])
    with pytest.raises(DataError, match=r"block 4: .*the block has no seal"):
        Ledger.open(path)
