"""The rules of the ledger: each violation has its reason, and balances are conserved."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from hashlib import sha3_256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain import (
    Block,
    BlockRejected,
    Credential,
    Header,
    Payment,
    Reason,
    Rules,
    State,
    Transaction,
    Verifier,
    Wallet,
)
from pqchain.chain.encoding import KeyForm, algorithm_identifier
from pqchain.errors import Malformed, PqchainError, UnknownAlgorithm, Unsupported, UsageError
from tests.chain.wallets import alice, bob, fresh, hybrid, proposer

ALICE, BOB, PROPOSER = alice(), bob(), proposer()


def start(**rules: object) -> State:
    return State.genesis({ALICE.address: 100, BOB.address: 50}, Rules(**rules))  # type: ignore[arg-type]


def refused(state: State, block: Block | bytes, **options: object) -> BlockRejected:
    before = (state.height, state.tip, dict(state.accounts))
    with pytest.raises(BlockRejected) as caught:
        state.apply(block, **options)  # type: ignore[arg-type]
    assert (state.height, state.tip, dict(state.accounts)) == before
    return caught.value


def pay(amount: int, *, nonce: int, **options: object) -> Transaction:
    return ALICE.transfer(BOB.address, amount, nonce=nonce, **options)  # type: ignore[arg-type]


def resealed(state: State, *transactions: Transaction, **header: object) -> Block:
    block = state.propose(transactions, proposer=PROPOSER, timestamp=10)
    changed = dataclasses.replace(block.header, **header)  # type: ignore[arg-type]
    return Block(changed, block.transactions, PROPOSER.seal(changed.seal_message))


def test_valid_blocks_update_balances_and_nonces() -> None:
    state = start()
    first = state.propose([pay(30, nonce=0), pay(1, nonce=1)], proposer=PROPOSER, timestamp=10)
    after = state.apply(first)
    assert after.account(ALICE.address).balance == 69
    assert after.account(ALICE.address).nonce == 2
    assert after.account(BOB.address).balance == 81
    assert (after.height, after.tip, after.timestamp) == (1, first.hash(), 10)
    assert after.total == state.total == 150
    assert state.account(ALICE.address).balance == 100
    # Funds received in a block can be spent in it, and a payment to oneself is valid.
    back = BOB.transfer(ALICE.address, 81, nonce=0)
    again = ALICE.transfer(ALICE.address, 150, nonce=2)
    last = after.apply(after.propose([back, again], proposer=PROPOSER, timestamp=10).encode())
    assert last.account(ALICE.address).balance == 150
    assert last.account(BOB.address).balance == 0


def test_empty_block_is_valid_and_unknown_address_has_no_balance() -> None:
    state = start().apply(start().propose([], proposer=PROPOSER, timestamp=0))
    assert state.height == 1
    assert state.account(bytes(32)).balance == 0


BREACHES: dict[str, tuple[Reason, Callable[[State], Block]]] = {
    "height": (Reason.WRONG_HEIGHT, lambda s: resealed(s, height=2)),
    "previous": (Reason.WRONG_PREVIOUS_HASH, lambda s: resealed(s, previous=bytes(32))),
    "root": (Reason.WRONG_ROOT, lambda s: resealed(s, root=bytes(32))),
    "proposer": (Reason.BAD_SIGNATURE, lambda s: resealed(s, proposer=ALICE.address)),
    "chain": (Reason.WRONG_CHAIN, lambda s: resealed(s, pay(1, nonce=0, chain=2))),
    "future nonce": (Reason.BAD_NONCE, lambda s: resealed(s, pay(1, nonce=1))),
    "old nonce": (Reason.BAD_NONCE, lambda s: resealed(s, pay(1, nonce=0), pay(2, nonce=0))),
    "twice": (Reason.DUPLICATE, lambda s: resealed(s, pay(1, nonce=0), pay(1, nonce=0))),
    "overspend": (Reason.OVERSPEND, lambda s: resealed(s, pay(101, nonce=0))),
    "overspend together": (
        Reason.OVERSPEND,
        lambda s: resealed(s, pay(60, nonce=0), pay(60, nonce=1)),
    ),
    "unsealed": (
        Reason.BAD_SIGNATURE,
        lambda s: s.propose([], proposer=PROPOSER.address, timestamp=0),
    ),
    "other seal": (
        Reason.BAD_SIGNATURE,
        lambda s: dataclasses.replace(resealed(s), seal=PROPOSER.seal(b"another message")),
    ),
    "key never registered": (
        Reason.UNKNOWN_KEY,
        lambda s: resealed(
            s,
            Transaction(
                Payment(ALICE.address, BOB.address, 1, 0),
                (Credential(algorithm_identifier("Ed25519"), KeyForm.REGISTERED, b"", bytes(64)),),
            ),
        ),
    ),
    "unknown algorithm": (
        Reason.UNKNOWN_ALGORITHM,
        lambda s: resealed(
            s,
            Transaction(
                Payment(ALICE.address, BOB.address, 1, 0),
                (Credential(1, KeyForm.INLINE, b"key", b"signature"),),
            ),
        ),
    ),
    "signature of another": (
        Reason.BAD_SIGNATURE,
        lambda s: resealed(
            s, Transaction(pay(1, nonce=0).payment, pay(2, nonce=0).credentials)
        ),
    ),
    "key of another": (
        Reason.BAD_SIGNATURE,
        lambda s: resealed(s, BOB.sign(Payment(ALICE.address, BOB.address, 1, 0))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("breach", BREACHES)
def test_every_broken_rule_has_its_reason(breach: str) -> None:
    state = start()
    reason, make = BREACHES[breach]
    block = make(state)
    error = refused(state, block)
    assert error.reason is reason
    assert refused(state, block.encode()).reason is reason
    assert str(error).startswith(f"block rejected, {reason.value}: ")
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, str(again), again.indices) == (reason, str(error), error.indices)
    assert isinstance(error, PqchainError)


def test_repeated_block_is_a_duplicate_or_has_a_wrong_height() -> None:
    state = start()
    first = state.propose([], proposer=PROPOSER, timestamp=5)
    state = state.apply(first)
    assert refused(state, first).reason is Reason.DUPLICATE
    second = state.propose([], proposer=PROPOSER, timestamp=5)
    state = state.apply(second)
    assert refused(state, first).reason is Reason.WRONG_HEIGHT


def test_timestamps_must_not_decrease() -> None:
    state = start().apply(start().propose([], proposer=PROPOSER, timestamp=100))
    early = state.propose([], proposer=PROPOSER, timestamp=99)
    assert refused(state, early).reason is Reason.BAD_TIMESTAMP


def test_block_size_is_checked_first() -> None:
    block = start().propose([pay(1, nonce=0)], proposer=PROPOSER, timestamp=0)
    exact = start(limit_bytes=block.encoded_bytes)
    fitting = exact.propose([pay(1, nonce=0)], proposer=PROPOSER, timestamp=0)
    assert exact.apply(fitting).height == 1
    tight = start(limit_bytes=block.encoded_bytes - 1)
    assert refused(tight, block).reason is Reason.OVERSIZE
    assert refused(tight, b"\xff" * block.encoded_bytes).reason is Reason.OVERSIZE
    assert refused(tight, b"\xff" * 10).reason is Reason.MALFORMED


def test_chain_may_restrict_algorithms() -> None:
    rules = {"algorithms": frozenset({"Ed25519"})}
    state = start(**rules)
    state = state.apply(resealed(state, pay(1, nonce=0)))
    error = refused(state, resealed(state, pay(1, nonce=1), BOB.transfer(bytes(32), 1, nonce=0)))
    assert (error.reason, error.indices) == (Reason.UNKNOWN_ALGORITHM, (1,))
    assert "ECDSA-secp256k1" in error.detail
    sealed_by_bob = state.propose([], proposer=BOB, timestamp=10)
    assert refused(state, sealed_by_bob).reason is Reason.UNKNOWN_ALGORITHM


def test_unsealed_chains_accept_any_proposer() -> None:
    state = start(sealed=False)
    assert state.apply(state.propose([], proposer=bytes(32), timestamp=0)).height == 1
    assert state.apply(state.propose([], proposer=PROPOSER, timestamp=0)).height == 1
    forged = dataclasses.replace(resealed(state), seal=PROPOSER.seal(b"another message"))
    assert refused(state, forged).reason is Reason.BAD_SIGNATURE


@pytest.mark.parametrize("mode", ["inline", "registered", "recovered"])
@pytest.mark.parametrize("make", [alice, bob, hybrid])
def test_all_key_modes_are_accepted_over_several_blocks(
    make: Callable[..., Wallet], mode: str
) -> None:
    if mode == "recovered" and make is alice:
        return
    wallet = make(key_mode=mode)
    state = State.genesis({wallet.address: 10})
    for nonces in ((0, 1), (2,)):
        transactions = [wallet.transfer(bytes(32), 1, nonce=nonce) for nonce in nonces]
        if mode == "registered":
            carried = [t.credentials[0].form.carries_key for t in transactions]
            assert carried == [nonce == 0 for nonce in nonces]
        state = state.apply(resealed(state, *transactions))
    assert state.account(bytes(32)).balance == 3
    assert bool(state.account(wallet.address).keys) == (mode == "registered")


def test_key_is_registered_once() -> None:
    wallet = alice(key_mode="registered")
    state = State.genesis({wallet.address: 10})
    state = state.apply(resealed(state, wallet.transfer(bytes(32), 1, nonce=0)))
    message = Payment(wallet.address, bytes(32), 1, 1)
    kinds = [(algorithm_identifier("Ed25519"), KeyForm.REGISTERING)]
    signature = wallet._signers[0].sign(message.message(kinds), wallet._secret_keys[0])
    again = Transaction(message, (Credential(*kinds[0], wallet.keys[0][1], signature),))
    assert refused(state, resealed(state, again)).reason is Reason.DUPLICATE


def test_one_signature_of_a_hybrid_is_rejected() -> None:
    wallet = hybrid()
    state = State.genesis({wallet.address: 10})
    good = wallet.transfer(bytes(32), 1, nonce=0)
    other = wallet.transfer(bytes(32), 2, nonce=0)
    for position in range(2):
        credentials = list(good.credentials)
        credentials[position] = other.credentials[position]
        forged = Transaction(good.payment, tuple(credentials))
        assert refused(state, resealed(state, forged)).reason is Reason.BAD_SIGNATURE
    # Holding only one of the two keys gives another address.
    alone = BOB.sign(Payment(wallet.address, bytes(32), 1, 0))
    assert refused(state, resealed(state, alone)).reason is Reason.BAD_SIGNATURE


@pytest.mark.native
def test_one_key_of_a_hybrid_is_recovered() -> None:
    names = ["ECDSA-secp256k1", "Falcon-recovery-512"]
    wallet = Wallet(names, key_mode="recovered")
    state = State.genesis({wallet.address: 10})
    payment = wallet.transfer(bytes(32), 1, nonce=0)
    assert [row.form for row in payment.credentials] == [KeyForm.RECOVERED, KeyForm.INLINE]
    assert state.apply(resealed(state, payment)).account(bytes(32)).balance == 1
    both = (payment.credentials[0], dataclasses.replace(payment.credentials[0], identifier=1))
    with pytest.raises(Malformed, match="at most one recovered key; got 2"):
        Transaction(payment.payment, both)


@pytest.mark.parametrize(
    "name", ["ECDSA-secp256k1", pytest.param("Falcon-recovery-512", marks=pytest.mark.native)]
)
def test_foreign_signature_recovers_a_foreign_key(name: str) -> None:
    owner, thief = (Wallet(name, key_mode="recovered") for _ in range(2))
    state = State.genesis({owner.address: 100})
    spent, stolen = (one.sign(Payment(owner.address, bytes(32), 50, 0)) for one in (owner, thief))
    assert state.apply(resealed(state, spent)).account(bytes(32)).balance == 50
    assert refused(state, resealed(state, stolen)).reason is Reason.BAD_SIGNATURE


@pytest.mark.native
def test_invalid_signatures_of_a_mixed_block_are_listed() -> None:
    wallets = [fresh(n, i) for i in range(3) for n in ("Falcon-512", "ML-DSA-44", "Ed25519")]
    wallets += [bob(key_mode="recovered"), hybrid()]
    state = State.genesis({wallet.address: 10 for wallet in wallets})
    good = [wallet.transfer(bytes(32), 1, nonce=0) for wallet in wallets]
    bad = [wallet.transfer(bytes(32), 2, nonce=0) for wallet in wallets]
    block = resealed(state, *good)
    for threads in (1, 3):
        assert state.apply(block, verifier=Verifier(threads=threads)).height == 1
    wrong = (1, 2, 5, 9, 10)
    mixed = [
        Transaction(t.payment, bad[i].credentials) if i in wrong else t for i, t in enumerate(good)
    ]
    for threads in (1, 3):
        verifier = Verifier(threads=threads)
        every = refused(state, resealed(state, *mixed), verifier=verifier, all_wrong=True)
        assert (every.reason, every.indices) == (Reason.BAD_SIGNATURE, wrong)
        first = refused(state, resealed(state, *mixed), verifier=verifier)
        assert (first.reason, first.indices) == (Reason.BAD_SIGNATURE, wrong[:1])


def test_unsupported_algorithm_gives_no_verdict() -> None:
    verifier = Verifier(implementations={"Ed25519": "coincurve/libsecp256k1"})
    with pytest.raises(Unsupported, match="the implementation of Ed25519 must be"):
        start().apply(resealed(start(), pay(1, nonce=0)), verifier=verifier)


@pytest.mark.parametrize(
    "balances",
    [{bytes(31): 1}, {"Alice": 1}, {bytes(32): -1}, {bytes(32): 1.5},
     {bytes(32): 2**63, b"\x01" * 32: 2**63}],
)  # fmt: skip
def test_invalid_genesis_is_rejected(balances: dict[bytes, int]) -> None:
    with pytest.raises(UsageError):
        State.genesis(balances)


def test_invalid_rules_are_rejected() -> None:
    for rules in ({"chain": -1}, {"chain": 2**32}, {"limit_bytes": 0}):
        with pytest.raises(UsageError):
            Rules(**rules)
    with pytest.raises(UnknownAlgorithm):
        Rules(algorithms=frozenset({"RSA"}))
    with pytest.raises(UsageError, match=r"limit_bytes must be .* got nan"):
        Rules(limit_bytes=float("nan"))  # type: ignore[arg-type]
    assert Rules(algorithms=frozenset({"falcon 512"})).algorithms == {"Falcon-512"}
    for sealed in (None, [], 0, 1, "no"):
        with pytest.raises(UsageError, match=r"sealed must be True or False.* got .*"):
            Rules(sealed=sealed)  # type: ignore[arg-type]
    for names in ("Falcon-512", ["Falcon-512"], {"Falcon-512"}, frozenset({7}), 0):
        with pytest.raises(UsageError, match="algorithms must be a frozenset of names or None"):
            Rules(algorithms=names)  # type: ignore[arg-type]


def test_genesis_depends_on_every_rule_and_the_balances() -> None:
    rules: dict[str, object] = {
        "chain": 2,
        "limit_bytes": 10**6,
        "algorithms": frozenset({"Ed25519"}),
        "sealed": False,
    }
    assert set(rules) == set(Rules.__slots__)
    tips = {
        start().tip,
        *(start(**{name: value}).tip for name, value in rules.items()),
        start(algorithms=frozenset()).tip,
        start(algorithms=frozenset({"Ed25519", "Falcon-512"})).tip,
        State.genesis({ALICE.address: 100}).tip,
        State.genesis({ALICE.address: 50, BOB.address: 100}).tip,
    }
    assert len(tips) == 9
    assert State.genesis({BOB.address: 50, ALICE.address: 100}).tip == start().tip


def test_genesis_hash_is_pinned() -> None:
    named = Rules(chain=7, limit_bytes=2**40, algorithms=frozenset({"Ed25519"}), sealed=False)
    for rules, encoded in (
        (Rules(), "0000000100000000003d09000100"),
        (named, "0000000700000100000000000001000000010007" + b"Ed25519".hex()),
    ):
        listed = bytes(32) + (5).to_bytes(8, "big")
        expected = sha3_256(b"pqchain genesis 2\0" + bytes.fromhex(encoded) + listed)
        assert State.genesis({bytes(32): 5}, rules).tip == expected.digest()


WALLETS = [fresh("Ed25519", i) for i in range(3)]

amounts = st.one_of(st.integers(0, 60), st.sampled_from([2**63, 2**64 - 1]))
moves = st.tuples(st.integers(0, 2), st.integers(0, 2), amounts, st.integers(-1, 1))
blocks = st.lists(moves, max_size=4)


@given(st.lists(st.tuples(blocks, st.booleans()), max_size=6))
def test_total_balance_is_conserved(
    history: list[tuple[list[tuple[int, int, int, int]], bool]],
) -> None:
    balances = {wallet.address: 50 + 10 * i for i, wallet in enumerate(WALLETS)}
    state = State.genesis(balances)
    # A three-line reference model of balances.
    money, nonces = [50, 60, 70], [0, 0, 0]
    for listed, honest in history:
        transactions = []
        tried, counted, valid = list(money), list(nonces), honest
        for sender, recipient, amount, skew in listed:
            nonce = max(0, counted[sender] + skew)
            transactions.append(
                WALLETS[sender].transfer(WALLETS[recipient].address, amount, nonce=nonce)
            )
            valid = valid and nonce == counted[sender] and amount <= tried[sender]
            counted[sender] += 1
            tried[sender] -= amount
            tried[recipient] += amount
        block = state.propose(transactions, proposer=PROPOSER, timestamp=state.height)
        if not honest:
            block = Block(_flipped(block.header), block.transactions, block.seal)
        try:
            state = state.apply(block.encode())
        except BlockRejected:
            assert not valid
        else:
            assert valid
            money, nonces = tried, counted
        assert [state.account(wallet.address).balance for wallet in WALLETS] == money
        assert [state.account(wallet.address).nonce for wallet in WALLETS] == nonces
        assert state.total == 180
        assert all(account.balance >= 0 for account in state.accounts.values())


def _flipped(header: Header) -> Header:
    root = bytes([header.root[0] ^ 1]) + header.root[1:]
    return dataclasses.replace(header, root=root)


def test_states_are_immutable() -> None:
    state = start()
    with pytest.raises(TypeError):
        state.accounts[bytes(32)] = None  # type: ignore[index]
