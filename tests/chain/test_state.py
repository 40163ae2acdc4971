"""The rules of the ledger: each violation has its reason, and balances are conserved."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha3_256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain import (
    Block,
    BlockRejected,
    Credential,
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

ALICE, BOB, PROPOSER, HYBRID = alice(), bob(), proposer(), hybrid()


def start(**rules: object) -> State:
    balances = {ALICE.address: 100, BOB.address: 50, HYBRID.address: 10}
    return State.genesis(balances, Rules(**rules))  # type: ignore[arg-type]


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
    changed = replace(block.header, **header)  # type: ignore[arg-type]
    return Block(changed, block.transactions, PROPOSER.seal(changed.seal_message))


def test_valid_blocks_update_balances_and_nonces() -> None:
    state = start()
    first = state.propose([pay(30, nonce=0), pay(1, nonce=1)], proposer=PROPOSER, timestamp=10)
    after = state.apply(first)
    assert after.account(ALICE.address).balance == 69
    assert after.account(ALICE.address).nonce == 2
    assert after.account(BOB.address).balance == 81
    assert (after.height, after.tip, after.timestamp) == (1, first.hash(), 10)
    assert after.total == state.total == 160
    assert state.account(ALICE.address).balance == 100
    # Funds received in a block can be spent in it, and a payment to oneself is valid.
    back = BOB.transfer(ALICE.address, 81, nonce=0)
    again = ALICE.transfer(ALICE.address, 150, nonce=2)
    last = after.apply(after.propose([back, again], proposer=PROPOSER, timestamp=10).encode())
    assert last.account(ALICE.address).balance == 150
    assert last.account(BOB.address).balance == last.account(bytes(32)).balance == 0
    empty = last.apply(last.propose([], proposer=PROPOSER, timestamp=10))
    assert (empty.height, empty.accounts) == (3, last.accounts)
    with pytest.raises(TypeError):
        state.accounts[bytes(32)] = None  # type: ignore[index]


def paid(keys: Wallet | Transaction, wallet: Wallet = ALICE, nonce: int = 0) -> Transaction:
    """Return a payment of the wallet with the credentials of another wallet or transaction."""
    payment = Payment(wallet.address, BOB.address, 1, nonce)
    return (
        Transaction(payment, keys.credentials)
        if isinstance(keys, Transaction)
        else keys.sign(payment)
    )


def unsigned(identifier: int, form: KeyForm, key: bytes = b"") -> Transaction:
    payment = Payment(ALICE.address, BOB.address, 1, 0)
    return Transaction(payment, (Credential(identifier, form, key, bytes(63) + b"\1"),))


def mixed(position: int) -> Transaction:
    """Return a payment by a hybrid account with one signature of another payment."""
    good, other = (HYBRID.transfer(BOB.address, n, nonce=0).credentials for n in (1, 2))
    credentials = [*good]
    credentials[position] = other[position]
    return Transaction(Payment(HYBRID.address, BOB.address, 1, 0), tuple(credentials))


def registered_again() -> tuple[Transaction, Transaction]:
    wallet = alice(key_mode="registered")
    first = wallet.transfer(BOB.address, 1, nonce=0)
    payment = Payment(wallet.address, BOB.address, 1, 1)
    kinds = [(first.credentials[0].identifier, KeyForm.REGISTERING)]
    signature = wallet._signers[0].sign(payment.message(kinds), wallet._secret_keys[0])
    return first, Transaction(payment, (replace(first.credentials[0], signature=signature),))


ED25519 = algorithm_identifier("Ed25519")
ONLY_ED25519 = {"algorithms": frozenset({"Ed25519"})}
OTHER_SEAL = PROPOSER.seal(b"another message")

# Rules of the chain, and the block that a dishonest proposer makes.
BREACHES: dict[str, tuple[Reason, dict[str, object], Callable[[State], Block]]] = {
    "height": (Reason.WRONG_HEIGHT, {}, lambda s: resealed(s, height=3)),
    "previous": (Reason.WRONG_PREVIOUS_HASH, {}, lambda s: resealed(s, previous=bytes(32))),
    "root": (Reason.WRONG_ROOT, {}, lambda s: resealed(s, root=bytes(32))),
    "proposer": (Reason.BAD_SIGNATURE, {}, lambda s: resealed(s, proposer=ALICE.address)),
    "early": (Reason.BAD_TIMESTAMP, {}, lambda s: resealed(s, timestamp=4)),
    "unsealed": (Reason.BAD_SIGNATURE, {}, lambda s: replace(resealed(s), seal=None)),
    "other seal": (Reason.BAD_SIGNATURE, {}, lambda s: replace(resealed(s), seal=OTHER_SEAL)),
    "seal of an unsealed chain": (
        Reason.BAD_SIGNATURE, {"sealed": False}, lambda s: replace(resealed(s), seal=OTHER_SEAL),
    ),
    "algorithm of the seal": (
        Reason.UNKNOWN_ALGORITHM, ONLY_ED25519, lambda s: s.propose([], proposer=BOB, timestamp=10),
    ),
}  # fmt: skip

PAYMENTS: dict[str, tuple[Reason, dict[str, object], tuple[Transaction, ...]]] = {
    "chain": (Reason.WRONG_CHAIN, {}, (pay(1, nonce=0, chain=2),)),
    "future nonce": (Reason.BAD_NONCE, {}, (pay(1, nonce=1),)),
    "old nonce": (Reason.BAD_NONCE, {}, (pay(1, nonce=0), pay(2, nonce=0))),
    "twice": (Reason.DUPLICATE, {}, (pay(1, nonce=0), pay(1, nonce=0))),
    "overspend": (Reason.OVERSPEND, {}, (pay(101, nonce=0),)),
    "overspend together": (Reason.OVERSPEND, {}, (pay(60, nonce=0), pay(60, nonce=1))),
    "key never registered": (Reason.UNKNOWN_KEY, {}, (unsigned(ED25519, KeyForm.REGISTERED),)),
    "key registered again": (Reason.DUPLICATE, {}, registered_again()),
    "unknown algorithm": (Reason.UNKNOWN_ALGORITHM, {}, (unsigned(1, KeyForm.INLINE, b"key"),)),
    "algorithm not allowed": (
        Reason.UNKNOWN_ALGORITHM, ONLY_ED25519, (pay(1, nonce=0), paid(BOB, BOB)),
    ),
    "signature of another payment": (Reason.BAD_SIGNATURE, {}, (paid(pay(2, nonce=0)),)),
    "key of another": (Reason.BAD_SIGNATURE, {}, (paid(BOB),)),
    "first signature of a hybrid": (Reason.BAD_SIGNATURE, {}, (mixed(0),)),
    "second signature of a hybrid": (Reason.BAD_SIGNATURE, {}, (mixed(1),)),
    # The holder of only one of the two keys has another address.
    "one key of a hybrid": (Reason.BAD_SIGNATURE, {}, (paid(BOB, HYBRID),)),
    "recovered key of another": (
        Reason.BAD_SIGNATURE, {}, (paid(Wallet("ECDSA-secp256k1", key_mode="recovered"), BOB),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("breach", [*BREACHES, *PAYMENTS])
def test_every_broken_rule_has_its_reason(breach: str) -> None:
    if breach in PAYMENTS:
        reason, rules, payments = PAYMENTS[breach]
    else:
        reason, rules, make = BREACHES[breach]
    state = start(**rules)
    state = state.apply(state.propose([], proposer=PROPOSER, timestamp=5))
    block = resealed(state, *payments) if breach in PAYMENTS else make(state)
    error = refused(state, block)
    assert error.reason is reason
    assert refused(state, block.encode()).reason is reason
    assert error.indices == ((len(payments) - 1,) if breach in PAYMENTS else ())
    assert str(error).startswith(f"block rejected, {reason.value}: ")
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, str(again), again.indices) == (reason, str(error), error.indices)
    assert isinstance(error, PqchainError)


def test_repeated_block_is_a_duplicate_or_has_a_wrong_height() -> None:
    state = start()
    first = state.propose([], proposer=PROPOSER, timestamp=5)
    state = state.apply(first)
    assert refused(state, first).reason is Reason.DUPLICATE
    state = state.apply(state.propose([], proposer=PROPOSER, timestamp=5))
    assert refused(state, first).reason is Reason.WRONG_HEIGHT


def test_block_size_is_checked_first() -> None:
    block = start().propose([pay(1, nonce=0)], proposer=PROPOSER, timestamp=0)
    exact = start(limit_bytes=block.encoded_bytes)
    fitting = exact.propose([pay(1, nonce=0)], proposer=PROPOSER, timestamp=0)
    assert exact.apply(fitting).height == 1
    tight = start(limit_bytes=block.encoded_bytes - 1)
    assert refused(tight, block).reason is Reason.OVERSIZE
    assert refused(tight, b"\xff" * block.encoded_bytes).reason is Reason.OVERSIZE
    assert refused(tight, b"\xff" * 10).reason is Reason.MALFORMED


def test_unsealed_chains_accept_any_proposer_and_allowed_algorithms_sign() -> None:
    for wallet in (bytes(32), PROPOSER):
        state = start(sealed=False, **ONLY_ED25519)
        block = state.propose([pay(1, nonce=0)], proposer=wallet, timestamp=0)
        assert state.apply(block).height == 1


@pytest.mark.parametrize("mode", ["inline", "registered", "recovered"])
@pytest.mark.parametrize("make", [alice, bob, hybrid])
def test_all_key_modes_are_accepted_over_several_blocks(make, mode):
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


@pytest.mark.native
def test_one_key_of_a_hybrid_is_recovered() -> None:
    names = ["ECDSA-secp256k1", "Falcon-recovery-512"]
    wallet = Wallet(names, key_mode="recovered")
    state = State.genesis({wallet.address: 10})
    payment = wallet.transfer(bytes(32), 1, nonce=0)
    assert [row.form for row in payment.credentials] == [KeyForm.RECOVERED, KeyForm.INLINE]
    assert state.apply(resealed(state, payment)).account(bytes(32)).balance == 1
    both = (payment.credentials[0], replace(payment.credentials[0], identifier=1))
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
def test_first_invalid_signature_of_a_mixed_block_is_named() -> None:
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
        first = refused(state, resealed(state, *mixed), verifier=verifier)
        assert (first.reason, first.indices) == (Reason.BAD_SIGNATURE, wrong[:1])


def test_unsupported_algorithm_gives_no_verdict() -> None:
    verifier = Verifier(implementations={"Ed25519": "coincurve/libsecp256k1"})
    with pytest.raises(Unsupported, match="the implementation of Ed25519 must be"):
        start().apply(resealed(start(), pay(1, nonce=0)), verifier=verifier)


def test_invalid_genesis_and_rules_are_rejected() -> None:
    balances: list[dict[Any, Any]] = [
        {bytes(31): 1}, {"Alice": 1}, {bytes(32): -1}, {bytes(32): 1.5},
        {bytes(32): 2**63, b"\x01" * 32: 2**63},
    ]  # fmt: skip
    for listed in balances:
        with pytest.raises(UsageError):
            State.genesis(listed)
    for name, values, message in (
        ("chain", (-1, 2**32), "chain must be"),
        ("limit_bytes", (0, float("nan")), "limit_bytes must be .* got"),
        ("sealed", (None, [], 0, 1, "no"), "sealed must be True or False.* got .*"),
        (
            "algorithms",
            ("Falcon-512", ["Falcon-512"], {"Falcon-512"}, frozenset({7}), 0),
            "algorithms must be a frozenset of names or None",
        ),
    ):
        for value in values:
            with pytest.raises(UsageError, match=message):
                Rules(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(UnknownAlgorithm):
        Rules(algorithms=frozenset({"RSA"}))
    assert Rules(algorithms=frozenset({"falcon 512"})).algorithms == {"Falcon-512"}


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
        State.genesis({ALICE.address: 50, BOB.address: 100, HYBRID.address: 10}).tip,
    }
    assert len(tips) == 9
    listed = {HYBRID.address: 10, BOB.address: 50, ALICE.address: 100}
    assert State.genesis(listed).tip == start().tip


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
def test_total_balance_is_conserved(history):
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
            block = replace(block, header=replace(block.header, root=bytes(32)))
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
