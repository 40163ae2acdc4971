"""Blocks: known bytes, exact packing, and a robust decoder."""

import json
import os
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from pqchain import chain
from pqchain.chain.block import GROUP, transactions_root
from pqchain.chain.encoding import VERSION, KeyForm
from pqchain.consensus import Layout
from pqchain.errors import Malformed, UsageError
from pqchain.works.pqdpol import DATA_BYTES
from tests.chain.wallets import alice, bob, fresh, hybrid, proposer

GOLDEN = Path(__file__).parent.parent / "vectors" / f"chain_v{VERSION}.json"


def golden_state() -> chain.State:
    balances = {alice().address: 1000, bob().address: 500, hybrid().address: 70}
    return chain.State.genesis(balances, chain.Rules(chain=9))


def golden_block() -> chain.Block:
    registering = hybrid(key_mode="registered")
    transactions = [
        alice().transfer(bob().address, 300, nonce=0, chain=9, data=b"rent"),
        bob(key_mode="recovered").transfer(alice().address, 1, nonce=0, chain=9),
        registering.transfer(alice().address, 2, nonce=0, chain=9),
        registering.transfer(bob().address, 3, nonce=1, chain=9),
    ]
    return golden_state().propose(transactions, proposer=proposer(), timestamp=1_700_000_000)


def test_block_encoding_is_pinned() -> None:
    golden = json.loads(GOLDEN.read_text())
    block, state = golden_block(), golden_state()
    assert block.encode().hex() == golden["block"]
    assert block.hash().hex() == golden["block_hash"]
    assert state.tip.hex() == golden["genesis_hash"]
    assert [t.identifier.hex() for t in block.transactions] == golden["transaction_identifiers"]
    assert chain.Block.decode(bytes.fromhex(golden["block"])) == block
    after = state.apply(bytes.fromhex(golden["block"]))
    assert after.tip.hex() == golden["block_hash"]
    assert {a.hex(): x.balance for a, x in after.accounts.items()} == golden["balances"]


def test_lengths_are_known_without_encoding() -> None:
    for block in (golden_block(), chain.Block(golden_block().header, golden_block().transactions)):
        assert block.encoded_bytes == len(block.encode())
    assert chain.header_bytes() == len(chain.Block(golden_block().header, ()).encode())
    assert chain.header_bytes() + chain.encoded_size("Ed25519", kind="seal") == len(
        chain.Block(golden_block().header, (), golden_block().seal).encode()
    )


def test_claimed_transaction_count_allocates_nothing() -> None:
    header = golden_block().header.encode()
    claim = (header + bytes(2) + (10**6).to_bytes(4, "big")).ljust(111 + 100, b"\0")
    tracemalloc.start()
    with pytest.raises(Malformed, match=r"1000000 transactions are claimed in 100 bytes"):
        chain.Block.decode(claim)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_unencodable_headers_and_seals_are_malformed() -> None:
    for arguments in (
        (-1, bytes(32), bytes(32), 0, bytes(32)),
        (0, bytes(31), bytes(32), 0, bytes(32)),
        (0, bytes(32), bytes(33), 0, bytes(32)),
        (0, bytes(32), bytes(32), 2**32, bytes(32)),
        (0, bytes(32), bytes(32), 0, "me"),
    ):
        with pytest.raises(Malformed):
            chain.Header(*arguments)  # type: ignore[arg-type]
    with pytest.raises(Malformed, match="seal"):
        chain.Block(golden_block().header, (), chain.Credential(1, KeyForm.REGISTERED, b"", b"s"))


def test_root_depends_on_the_list_and_not_on_threads() -> None:
    wallet = alice()
    many = [wallet.transfer(bytes(32), 1, nonce=i) for i in range(3 * GROUP + 1)]
    roots = {transactions_root(many, threads=threads) for threads in (1, 2, 7)}
    assert len(roots) == 1
    others = [many[:-1], many[1:], [*many, many[-1]], many[::-1], [], many[:GROUP]]
    assert len(roots | {transactions_root(other) for other in others}) == 1 + len(others)


def damaged(rng: random.Random, seeds: list[bytes]) -> bytes:
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


@pytest.mark.native
def test_decoder_survives_fuzzing() -> None:
    """Only Malformed is raised; decoded blocks, and their fields, encode to the same bytes.

    `make fuzz-chain` decodes a million damaged blocks.
    """
    falcon, inputs = fresh("Falcon-512"), int(os.environ.get("INPUTS", "15000"))
    payments = [falcon.transfer(bytes(32), 1, nonce=i) for i in range(2)]
    block = golden_state().propose(payments, proposer=falcon.address, timestamp=1)
    seeds, rng, malformed = [golden_block().encode(), block.encode()], random.Random(1), 0
    for _ in range(inputs):
        data = damaged(rng, seeds)
        try:
            decoded = chain.Block.decode(data)
        except Malformed:
            malformed += 1
            continue
        # Decoded objects keep their bytes, so each transaction is rebuilt from its fields.
        rebuilt = [chain.Transaction(row.payment, row.credentials) for row in decoded.transactions]
        assert [row.message for row in rebuilt] == [row.message for row in decoded.transactions]
        assert decoded.encode() == replace(decoded, transactions=tuple(rebuilt)).encode() == data
    # The decoder does not interpret bits of keys and signatures; such blocks are unchanged.
    assert inputs / 3 < malformed < 0.93 * inputs


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Dilithium2", 12), ("Dilithium3", 9), ("Dilithium5", 6), ("Falcon-1024", 15),
        ("SPHINCS+-SHA2-128f-simple", 2),
    ],
)  # fmt: skip
def test_pqdpol_block_has_the_implied_transaction_count(name: str, count: int) -> None:
    wallet = fresh(name)
    data = bytes(Layout().data_bytes)
    assert len(data) == DATA_BYTES
    offered = (wallet.transfer(bytes(32), 1, nonce=i, data=data) for i in range(30))
    taken = chain.pack(offered, 50_000)
    assert len(taken) == count
    block = chain.State.genesis({}).propose(taken, proposer=wallet.address, timestamp=1)
    assert block.encoded_bytes <= 50_000 < block.encoded_bytes + len(taken[-1].encoded)


@pytest.mark.native
def test_falcon_512_block_fill_is_near_29_42() -> None:
    wallet = fresh("Falcon-512")
    data = bytes(DATA_BYTES)
    pool = [wallet.transfer(bytes(32), 1, nonce=i, data=data) for i in range(3000)]
    rng = random.Random(5)
    counts = [len(chain.pack(rng.sample(pool, 31), 50_000)) for _ in range(2000)]
    assert set(counts) <= {28, 29, 30, 31}
    # A byte more in 30 signatures makes 0.033 transactions less; the pool's own mean is uncertain
    # by 0.04 bytes, which is 0.04 transactions: five standard deviations.
    assert sum(counts) / len(counts) == pytest.approx(29.42, abs=0.2)


def test_packing_stops_before_the_limit() -> None:
    wallet = alice()
    endless = iter([wallet.transfer(bytes(32), 1, nonce=i) for i in range(10)])
    each = chain.encoded_size("Ed25519")
    assert len(chain.pack(endless, chain.header_bytes() + 3 * each + each - 1)) == 3
    assert len(list(endless)) == 6
    everything = [wallet.transfer(bytes(32), 1, nonce=i) for i in range(3)]
    assert chain.pack(everything, chain.header_bytes() + 3 * each) == tuple(everything)
    assert len(chain.pack(everything, chain.header_bytes() + 3 * each - 1)) == 2
    sealed = chain.header_bytes() + chain.encoded_size("Ed25519", kind="seal") + 2 * each
    assert len(chain.pack(everything, sealed, seal="Ed25519")) == 2
    assert len(chain.pack(everything, sealed - 1, seal="Ed25519")) == 1
    assert chain.pack([], chain.header_bytes()) == ()
    for limit in (110, 50_000.0):
        with pytest.raises(UsageError, match=r"limit_bytes must be"):
            chain.pack(everything, limit)  # type: ignore[arg-type]
