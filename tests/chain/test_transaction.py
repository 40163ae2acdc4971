"""Transactions: pinned bytes, round trips, sizes without signing, safe decoding."""

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain import algorithms
from pqchain.chain import Block, Credential, Payment, Transaction, Wallet, encoded_size
from pqchain.chain.encoding import RECOVERABLE, KeyForm, algorithm_identifier
from pqchain.crypto import open_signer
from pqchain.errors import BadType, Malformed, UnknownAlgorithm, UsageError
from tests.chain.wallets import alice, hybrid
from tests.crypto.builds import has_small_signatures

BUILT = [name for name in algorithms.names("signature") if algorithms.get(name).implementations]
SMALL = [name for name in BUILT if has_small_signatures(name)]
PAYMENTS = ((0, "inline"), (0, "registered"), (1, "registered"))
"""Nonces and key modes."""

PAYMENT = Payment(bytes(32), b"\x01" * 32, 5, 7)

identifiers = st.sampled_from(
    [algorithm_identifier(n) for n in ("Ed25519", "Falcon-512", "ECDSA-secp256k1")] + [1, 0xFFFF]
)


@st.composite
def credentials(draw: st.DrawFn) -> Credential:
    identifier = draw(identifiers)
    forms = list(KeyForm)
    row = Credential(identifier, KeyForm.REGISTERED, b"", b"s").algorithm
    if row is not None and row.name != "ECDSA-secp256k1":
        forms.remove(KeyForm.RECOVERED)
    form = draw(st.sampled_from(forms))
    key_bytes = row.public_key_bytes if row is not None else draw(st.integers(0, 50))
    fill = draw(st.binary(min_size=1, max_size=1))
    key = fill * key_bytes if form.carries_key else b""
    # A last byte of zero would be padding.
    return Credential(identifier, form, key, draw(st.binary(max_size=63)) + b"\1")


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    addresses = st.binary(min_size=32, max_size=32)
    whole = st.integers(0, 2**64 - 1)
    fields = (
        addresses,
        addresses,
        whole,
        whole,
        st.binary(max_size=300),
        st.integers(0, 2**32 - 1),
    )
    payment = Payment(*map(draw, fields))
    several = st.lists(credentials(), min_size=1, max_size=4, unique_by=lambda c: c.identifier)
    # At most one key may be recovered.
    at_most_one = several.filter(lambda rows: [c.form for c in rows].count(KeyForm.RECOVERED) < 2)
    return Transaction(payment, tuple(draw(at_most_one)))


@given(transactions())
def test_encoded_transactions_decode_to_themselves(transaction: Transaction) -> None:
    again = Transaction.decode(transaction.encoded)
    assert again == transaction
    assert again.encoded == transaction.encoded
    assert again.message == transaction.message
    assert again.identifier == transaction.identifier


@given(transactions(), st.data())
def test_truncated_or_extended_transactions_are_malformed(transaction, data):
    cut = data.draw(st.integers(0, len(transaction.encoded) - 1))
    for damaged in (transaction.encoded[:cut], transaction.encoded + b"\0"):
        with pytest.raises(Malformed):
            Transaction.decode(damaged)


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "payments"),
    [
        *((name, PAYMENTS[:1] if name in SMALL else PAYMENTS) for name in BUILT),
        *(pytest.param(name, PAYMENTS, marks=pytest.mark.long) for name in SMALL),
    ],
)
def test_size_is_known_without_signing(name: str, payments: Sequence[tuple[int, str]]) -> None:
    wallet = Wallet(name)
    row = algorithms.get(name)
    for nonce, mode in payments:
        wallet.key_mode = mode  # type: ignore[assignment]
        transaction = wallet.transfer(bytes(32), 1, nonce=nonce, data=b"abc")
        length = len(transaction.credentials[0].signature)
        known = "registered" if mode == "registered" and nonce else "inline"
        size = encoded_size(name, key_mode=known, signature_bytes=length, data_bytes=3)
        assert size == len(transaction.encoded)
        if not row.signature_varies:
            assert length == row.signature_bytes


@pytest.mark.native
@pytest.mark.parametrize("name", ["Falcon-512", "Falcon-1024"])
def test_nominal_size_is_the_mean_where_signatures_vary(name: str) -> None:
    wallet = Wallet(name)
    sizes = [len(wallet.transfer(bytes(32), 1, nonce=i).encoded) for i in range(200)]
    assert len(set(sizes)) > 1
    # The standard deviation of one is 2.2 and 3.1 bytes: 1.2 is more than five of the mean's.
    assert sum(sizes) / len(sizes) == pytest.approx(encoded_size(name), abs=1.2)


@pytest.mark.native
@pytest.mark.parametrize("name", RECOVERABLE)
def test_recovered_key_is_omitted(name: str) -> None:
    wallet = Wallet(name, key_mode="recovered")
    one = wallet.transfer(bytes(32), 1, nonce=0)
    assert one.credentials[0].form is KeyForm.RECOVERED
    assert len(one.encoded) == encoded_size(name, key_mode="recovered")
    assert not one.credentials[0].public_key
    assert len(one.encoded) < encoded_size(name.replace("recovery-", ""))


def test_invalid_credentials_and_payments_are_malformed() -> None:
    ed25519, falcon = algorithm_identifier("Ed25519"), algorithm_identifier("Falcon-512")
    for arguments in (
        (0, KeyForm.INLINE, bytes(32), bytes(64)),
        (65536, KeyForm.INLINE, bytes(32), bytes(64)),
        (ed25519, KeyForm.INLINE, bytes(31), bytes(64)),
        (ed25519, KeyForm.INLINE, bytes(32), bytes(65)),
        (ed25519, KeyForm.INLINE, bytes(32), b""),
        (ed25519, KeyForm.REGISTERED, bytes(32), bytes(64)),
        (falcon, KeyForm.RECOVERED, b"", bytes(600)),
    ):
        with pytest.raises(Malformed):
            Credential(*arguments)
    changes: list[dict[str, object]] = [
        {"sender": bytes(31)}, {"recipient": "Bob"}, {"amount": -1}, {"amount": 2**64},
        {"amount": True}, {"chain": 2**32}, {"data": bytes(65536)},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(Malformed):
            dataclasses.replace(PAYMENT, **change)  # type: ignore[arg-type]
    one = Credential(1, KeyForm.INLINE, b"k", b"s")
    for several in ((), (one, one), (one,) * 5):
        with pytest.raises(Malformed, match="credentials"):
            Transaction(PAYMENT, several)
    assert dataclasses.replace(PAYMENT, data=bytearray(b"rent")).data == b"rent"
    for data in ("rent", None, 5):
        with pytest.raises(BadType, match="the data of a payment must be bytes"):
            dataclasses.replace(PAYMENT, data=data)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", ["x", None, 5, [1]])
@pytest.mark.parametrize("kind", [Transaction, Block])
def test_only_bytes_are_decoded(kind: type[Transaction] | type[Block], data: object) -> None:
    with pytest.raises(BadType, match=f"must be bytes.* got {type(data).__name__}"):
        kind.decode(data)  # type: ignore[arg-type]


def test_wallets_reject_unsupported_modes_with_the_reason() -> None:
    with pytest.raises(UsageError, match="key_mode='recovered' must be"):
        alice(key_mode="recovered")
    with pytest.raises(UsageError, match="'inline', 'registered' or 'recovered'"):
        alice(key_mode="hidden")
    with pytest.raises(UsageError, match="must have 2 entries; got 1"):
        Wallet(["Ed25519", "ECDSA-P256"], keypairs=[(bytes(32), bytes(32))])
    with pytest.raises(UnknownAlgorithm):
        Wallet("Ed25518")
    with pytest.raises(UsageError, match="must have one algorithm"):
        hybrid().seal(b"")
    with pytest.raises(UsageError, match="signers must be those of"):
        Wallet("Ed25519", signers=[open_signer("ECDSA-P256")])


def test_wallet_repr_has_no_secret() -> None:
    wallet = alice()
    shown = repr(wallet) + str(wallet)
    assert wallet._secret_keys[0].hex() not in shown
    assert str(wallet._secret_keys[0]) not in shown
    assert wallet.algorithms == ("Ed25519",)
