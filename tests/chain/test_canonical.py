"""No public change of a valid signature gives another that a block accepts."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pqchain import algorithms
from pqchain.chain import (
    Block,
    BlockRejected,
    Reason,
    Rules,
    State,
    Transaction,
    Verifier,
    Wallet,
    bulk,
)
from pqchain.chain.encoding import RECOVERABLE, KeyForm, KeyMode
from pqchain.chain.transaction import FORMS, canonical_form
from pqchain.crypto import open_signer
from pqchain.crypto.native import NativeSigner, obstacle
from pqchain.errors import Malformed, Unsupported
from tests.chain.alterations import BY_FAMILY, Signed, altered, unchecked, with_signature
from tests.crypto.builds import ORDERS, has_small_signatures

pytestmark = pytest.mark.native

SIGNATURES = [row for row in algorithms.ALGORITHMS.values() if row.kind == "signature"]
BUILT = [
    pytest.param(
        row.name, marks=[pytest.mark.long] if has_small_signatures(row.name) else [], id=row.name
    )
    for row in SIGNATURES
    if row.implementations and row.default_build
]
PAIRS = [(row.name, which) for row in SIGNATURES for which in row.implementations]
REJECTED = (Reason.MALFORMED, Reason.BAD_SIGNATURE)


def opened(name: str, implementation: str | None = None) -> Wallet:
    """Return a new wallet; skip a scheme or an implementation that cannot run here."""
    if implementation and (reason := obstacle(implementation)):
        pytest.skip(str(reason))
    try:
        return Wallet(name, implementation=implementation)
    except Unsupported as error:
        if algorithms.get(name).default_build:
            raise
        pytest.skip(str(error))


def rejects(state: State, transactions: Sequence[Transaction], verifier: Verifier) -> bool:
    """Return whether a block is rejected because of the form of a signature, or a wrong one."""
    block = state.propose(transactions, proposer=bytes(32), timestamp=1)
    try:
        state.apply(block.encode(), verifier=verifier)
    except BlockRejected as error:
        assert error.reason in REJECTED, error
        return True
    return False


def key_modes(name: str) -> list[tuple[KeyMode, int]]:
    """Return the key modes of a scheme, with the nonces that give different credentials."""
    modes: list[tuple[KeyMode, int]] = [("registered", 0), ("registered", 1)]
    return modes + ([("recovered", 0)] if name in RECOVERABLE else [])


def signed_by(wallet: Wallet, transaction: Transaction, index: int, limit: int) -> Signed:
    signature = transaction.credentials[index].signature
    key, name = wallet.keys[index][1], wallet.algorithms[index]
    return Signed(name, transaction.message, key, signature, limit)


def second_forms(verifier: Verifier, signed: Signed, others: list[bytes]) -> list[int]:
    """Return the indices of the altered signatures that the library accepts."""
    columns = ([signed.message] * len(others), others, [signed.public_key] * len(others))
    wrong = verifier.signer(signed.algorithm).verify_batch(*columns)
    return sorted(set(range(len(others))).difference(wrong))


def check_forms(wallet: Wallet, implementation: str | None, *, limit: int) -> None:
    """Compare a block with the valid signature with blocks with each altered one, in all modes."""
    (name,) = wallet.algorithms
    verifier = Verifier(implementations=implementation and {name: implementation})
    start = State.genesis({wallet.address: 10}, Rules(sealed=False))
    payment = wallet.transfer(bytes(32), 1, nonce=0)
    assert not rejects(start, [payment], verifier)
    signed = signed_by(wallet, payment, 0, limit)
    others = altered(signed)
    several = [with_signature(payment, 0, other) for other in others]
    second = second_forms(verifier, signed, others)
    is_strict = (implementation or "").startswith(("liboqs-0.7.1", "fn-dsa"))
    assert bool(second) == (name in FORMS and not is_strict)
    for index in second:
        assert canonical_form(name, others[index]) == signed.signature
    # Each altered signature in a block of its own, one by one.
    sample = range(0, len(others), max(1, len(others) // limit))
    for index in sorted({*second, *sample}):
        assert rejects(start, [several[index]], verifier), others[index].hex()
    # All of them in one block, in bulk; C leaves blocks with another form to Python.
    readable = [payment]
    for index, other in enumerate(several):
        try:
            readable.append(Transaction.decode(other.encoded))
        except Malformed:
            if index in second or index % 50 == 0:
                assert bulk.read(block_of(start, [payment, other]), 1) is None
    read = bulk.read(block_of(start, readable), 1)
    assert read is not None
    signer = verifier.signer(name)
    if isinstance(signer, NativeSigner):
        assert signer.verify_packed(read.packed()) in (None, list(range(1, len(readable))))
    for mode, nonce in key_modes(name):
        check_mode(wallet, mode, nonce, verifier=verifier, limit=limit)


def block_of(state: State, transactions: Sequence[Transaction]) -> bytes:
    return state.propose(transactions, proposer=bytes(32), timestamp=1).encode()


def check_mode(wallet, mode, nonce, *, verifier, limit=40):
    """Alter each signature of a transaction in a key mode; every block is rejected."""
    wallet.key_mode = mode
    state = State.genesis({wallet.address: 10}, Rules(sealed=False))
    payments = [wallet.transfer(bytes(32), 1, nonce=n) for n in range(nonce + 1)]
    for payment in payments[:-1]:
        state = state.apply(block_of(state, [payment]), verifier=verifier)
    assert not rejects(state, payments[-1:], verifier)
    for index in range(len(wallet.algorithms)):
        signed = signed_by(wallet, payments[-1], index, limit)
        others = altered(signed, special_only=True)
        second = [others[at] for at in second_forms(verifier, signed, others)]
        # `verify` takes no signature with a key to recover, so all of them are tried.
        recovered = payments[-1].credentials[index].form is KeyForm.RECOVERED
        step = 1 if recovered else max(1, len(others) // limit)
        for other in [*second, *others[::step]]:
            changed = with_signature(payments[-1], index, other)
            assert rejects(state, [changed], verifier), (mode, nonce, index, other.hex())


@pytest.mark.parametrize("name", BUILT)
def test_no_changed_signature_is_accepted(name: str) -> None:
    is_long = algorithms.get(name).signature_bytes > 10_000
    check_forms(opened(name), None, limit=12 if is_long else 40)


@pytest.mark.long
@pytest.mark.parametrize(("name", "implementation"), PAIRS)
def test_no_implementation_accepts_a_changed_signature(name: str, implementation: str) -> None:
    slow = implementation == "pycryptodome/python"
    # Long signatures take long to verify.
    limit = 40 if slow else min(400, 500_000 // algorithms.get(name).signature_bytes)
    check_forms(opened(name, implementation), implementation, limit=limit)


@pytest.mark.parametrize(
    ("names", "mode"),
    [
        (("ECDSA-P256", "Falcon-512", "Ed25519", "ML-DSA-44"), "inline"),
        (("ECDSA-secp256k1", "Falcon-1024", "Schnorr-secp256k1"), "registered"),
        (("ECDSA-secp256k1", "Falcon-512", "ECDSA-P256"), "recovered"),
    ],
)
def test_no_signature_of_a_hybrid_can_be_changed(names: tuple[str, ...], mode: KeyMode) -> None:
    check_mode(Wallet(names), mode, int(mode == "registered"), verifier=Verifier())


@pytest.mark.parametrize("name", [*FORMS, "ECDSA-secp256k1", "Ed25519", "Falcon-padded-512"])
def test_no_seal_can_be_changed(name: str) -> None:
    wallet = Wallet(name)
    state = State.genesis({}, Rules())
    block = state.propose([], proposer=wallet, timestamp=1)
    assert block.seal is not None
    assert state.apply(block.encode()).height == 1
    message = block.header.seal_message
    signed = Signed(name, message, wallet.keys[0][1], block.seal.signature, 40)
    others = altered(signed, special_only=True)
    second = [others[at] for at in second_forms(Verifier(), signed, others)]
    assert bool(second) == (name in FORMS)
    for other in [*second, *others[:: max(1, len(others) // 40)]]:
        changed = Block(block.header, (), unchecked(block.seal, other))
        with pytest.raises(BlockRejected) as caught:
            state.apply(changed.encode())
        assert caught.value.reason in REJECTED


def test_families_of_changes_are_those_of_the_registry() -> None:
    assert set(BY_FAMILY) <= {row.family for row in SIGNATURES}
    assert set(FORMS) <= {row.name for row in SIGNATURES}


def test_wallets_use_the_lower_s() -> None:
    """About half of the signatures of the libraries have the higher one."""
    order, wallet, high = ORDERS["ECDSA-P256"], Wallet("ECDSA-P256"), 0
    signer = open_signer("ECDSA-P256")
    public, secret = signer.generate_keypair()
    for nonce in range(24):
        credential = wallet.transfer(bytes(32), 1, nonce=nonce).credentials[0]
        assert int.from_bytes(credential.signature[32:], "big") <= order // 2
        signature = signer.sign(bytes([nonce]), secret)
        high += int.from_bytes(signature[32:], "big") > order // 2
        lower = canonical_form("ECDSA-P256", signature)
        assert signer.verify(bytes([nonce]), lower, public)
        assert canonical_form("ECDSA-P256", lower) == lower
    assert 0 < high < 24


@pytest.mark.parametrize("s", [0, ORDERS["ECDSA-P256"], 2**256 - 1])
def test_invalid_scalars_are_left_to_the_verifier(s: int) -> None:
    signature = bytes(31) + b"\1" + s.to_bytes(32, "big")
    assert canonical_form("ECDSA-P256", signature) == signature


def test_other_forms_are_malformed() -> None:
    for name, signature, condition in (
        ("Falcon-512", b"\x39" + bytes(600), "without padding"),
        ("ECDSA-P256", b"\1" * 32 + b"\xf0" * 32, "with the lower of both values of s"),
    ):
        credential = Wallet(name).transfer(bytes(32), 1, nonce=0).credentials[0]
        with pytest.raises(Malformed, match=f"a signature of {name} must be {condition}"):
            replace(credential, signature=signature)
