"""Key derivation against the vectors of SLIP-0010 and of the proposal that adds ML-DSA to it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain import Wallet
from pqchain.chain.derivation import HARDENED, derive, derive_keypair, mnemonic_seed
from pqchain.errors import BadLength, UsageError

SEED_1 = bytes(range(16))
SEED_2 = bytes(range(255, -1, -3))[:64]

ED25519 = [
    (SEED_1, "m", "2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7"),
    (SEED_1, "m/0'/1'", "b1d0bad404bf35da785a64ca1ac54b2617211d2777696fbffaf208f746ae84f2"),
    (SEED_2, "m", "171cb88b1b3c1db25add599712e36245d75bc65a1a5c9e18d76f9f2b1eab4012"),
    (SEED_2, "m/0'", "1559eb2bbec5790b0c65d8693e4d0875b1747f4970ae8b650486ed7470845635"),
]
"""Seed, path, node secret: SLIP-0010, test vectors 1 and 2 for ed25519."""

ML_DSA_65 = [
    (SEED_1, "m", "7e74b6275f92cc4fb2cbdac0c63cb5e7ac2bce1ded2b7dbc7bf2232f772578d5",
     "f41b8366cd9b720dbab9dfcefde673e4c19798192d7543f30f277e57e77ba457"),
    (SEED_1, "m/0'", "d8b27c87ec212d6501629199262a9d0d66ec26deab313c26a474bc4ddd5dce7c",
     "1d9d7fce0a1560acef9b117f3e3022cb0bdd46f30a3134db33165baf66b53e7e"),
    (SEED_1, "m/0'/1'", "60219beef857bd0bc7870424c4f60464decb097a18ae37b035df22ebaa7515b9",
     "0fdc416cbe544a493b59ae8112a907d5acf09ed4583eb8e12d6c769bcf394943"),
    (SEED_1, "m/0'/1'/2'", "dc7b0e1379b3f1acd02d1e25f13d8bb16830ca68c73b00d900b9030a41d6a658",
     "6db4146987c59099709622700d66bcb07b8d49e1007ea6570e15fc3f6dac1c53"),
    (SEED_1, "m/0'/1'/2'/2'", "565cb34027c3b54773f7f48e329bc86db7ffc6f618b112af6d59a3f82501e17a",
     "d487dcf16e74ddd731fafe780d0e5e8b8d338d4f7a3b7e209f8b4c519419764d"),
    (SEED_1, "m/0'/1'/2'/2'/1000000000'",
     "dc65d6cf4fa993c2f04fae2b41d70d8c5ba4c9d2042ea5720bf42a2315a6b7db",
     "9591ff122a7eff9cd64100f2123e678db9c257815ec5570b0b6acd8847e62f24"),
    (SEED_2, "m", "0e696f43f0e71c1c9febf61f43f10903385b78cee5871915472027b25ba755cc",
     "36233a01384e7081becf4da903d10fe7d357da9061cbed1983819fe0a0ced509"),
    (SEED_2, "m/0'", "d977be3c8525364e155764ef76b985126d8f6be41b55e6e50a9915ae29f27a56",
     "577dc77b0987d6cc587a88605590b183f3a7580577dab08cac1ede0a9636b882"),
    (SEED_2, "m/0'/2147483647'",
     "45406bac7fc36390d89ac938bff6ca1ebf9fc6da2057d1580b26a8f2e25a0d2f",
     "a0155112060496906db18bd46cdd7e18dd35e6e14621083300a0027fd6a421a2"),
    (SEED_2, "m/0'/2147483647'/1'",
     "10ffddec3c4acf719afe528b1ced03e0f7d8555999c11b69376bd5ff4e04dbea",
     "41357d47d1269fe94f9fc66396d7dc768e5bcaae700a0b877471a06ef2e12d27"),
    (SEED_2, "m/0'/2147483647'/1'/2147483646'",
     "3580d842e9d8d6a072b77d95e08b0a87648edfaec9bc25cee6c9127d1aa4a679",
     "e947963f404e03be513bdccf23c5a3cb9bd4455f306276fcd9acd4b0d3e16e75"),
    (SEED_2, "m/0'/2147483647'/1'/2147483646'/2'",
     "55a202d3f7803dd79e31c454e65eb7da49dee824b467bfed5204df980e71571d",
     "4b6c9f1dd1a811fe704c1355e32c43b63007317868ed6c3fce385f11c1b5da39"),
]  # fmt: skip
"""Seed, path, chain code, SHA-256 of the public key: satoshilabs/slips, pull request 1968."""

NODE_SECRET = "dbe1e4f588227dec9e2dc59a4534e7721bf3e977452f0193591603f79880795b"
"""Secret of the master node of SEED_1 for ML-DSA-65: NEP-649, test-vectors.json."""

ABANDON = "abandon " * 11 + "about"


@pytest.mark.parametrize(("seed", "path", "secret"), ED25519)
def test_nodes_are_those_of_slip_0010(seed: bytes, path: str, secret: str) -> None:
    assert derive(b"ed25519 seed", seed, path).secret.hex() == secret


@pytest.mark.parametrize(("seed", "path", "chain_code", "digest"), ML_DSA_65)
def test_ml_dsa_65_matches_the_proposal(
    seed: bytes, path: str, chain_code: str, digest: str
) -> None:
    assert derive(b"ML-DSA-65 seed", seed, path).chain_code.hex() == chain_code
    public_key, _ = derive_keypair("ML-DSA-65", seed, path)
    assert hashlib.sha256(public_key).hexdigest() == digest


def test_hardened_indices_may_be_marked_by_h_and_its_capital() -> None:
    secret = ED25519[1][2]
    for spelled in ("m/0h/1h", "m/0H/1H", "m/0'/1H"):
        assert derive(b"ed25519 seed", SEED_1, spelled).secret.hex() == secret


def test_the_node_secret_is_the_seed_of_the_key_pair() -> None:
    from cryptography.hazmat.primitives.asymmetric import mldsa

    node = derive(b"ML-DSA-65 seed", SEED_1, "m")
    assert node.secret.hex() == NODE_SECRET
    key = mldsa.MLDSA65PrivateKey.from_seed_bytes(node.secret)
    public_key, secret_key = derive_keypair("ML-DSA-65", SEED_1, "m")
    assert key.public_key().public_bytes_raw() == public_key
    assert secret_key[:32] == public_key[:32]  # rho, FIPS 204, algorithm 24


@pytest.mark.parametrize(
    ("words", "passphrase", "seed"),
    [
        (ABANDON, "TREZOR", "c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e5349553"),
        (f"  {ABANDON}\n", "TREZOR", "c55257c360c07c72029aebc1b53c05ed"),
        ("zoo " * 11 + "wrong", "TREZOR",
         "ac27495480225222079d7be181583751e86f571027b0497b5b5d11218e0a8a13"),
    ],
)  # fmt: skip
def test_seed_of_a_mnemonic_is_that_of_bip_39(words: str, passphrase: str, seed: str) -> None:
    assert mnemonic_seed(words, passphrase).hex().startswith(seed)


@pytest.mark.parametrize("algorithm", ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
def test_a_wallet_is_restored_from_its_mnemonic(algorithm: str) -> None:
    wallet, again, other, protected = (
        Wallet.from_mnemonic(algorithm, ABANDON, **options)  # type: ignore[arg-type]
        for options in ({}, {}, {"path": "m/44'/1'/1'"}, {"passphrase": "x"})
    )
    assert wallet.keys == again.keys
    assert len({wallet.address, other.address, protected.address}) == 3
    transaction = again.transfer(bytes(32), 1, nonce=0)
    assert transaction.payment.sender == wallet.address


@pytest.mark.parametrize(
    "path",
    ["", "M", "44'/1'", "m/", "m/0", "m/0'/1", "m//0'", "m/x'", "m/-1'", "m/2147483648'",
     "m/0''", " m", "m\n", "m/0hh", "m/h", "m/0'H", "m/٣'", "m" + "/0'" * 256],
)  # fmt: skip
def test_a_path_that_is_not_hardened_or_malformed_is_rejected(path: str) -> None:
    with pytest.raises(UsageError, match=r"path must|index must"):
        derive(b"ML-DSA-65 seed", SEED_1, path)


@pytest.mark.parametrize("count", [0, 15, 65])
def test_a_seed_of_another_length_is_rejected(count: int) -> None:
    with pytest.raises(BadLength, match=f"16 to 64 bytes; got {count}"):
        derive(b"ML-DSA-65 seed", bytes(count), "m")


@pytest.mark.parametrize(
    "words", ["", "abandon", "abandon " * 12, "abandon " * 11 + "able", "ABANDON " * 11 + "ABOUT"]
)
def test_an_invalid_mnemonic_is_rejected_without_showing_it(words: str) -> None:
    with pytest.raises(UsageError, match="must be 12, 15, 18, 21 or 24 words") as error:
        Wallet.from_mnemonic("ML-DSA-65", words)
    assert "abandon" not in str(error.value).lower()


def test_other_schemes_are_rejected() -> None:
    with pytest.raises(UsageError, match="ML-DSA-44, ML-DSA-65 and ML-DSA-87; got Falcon-512"):
        Wallet.from_mnemonic("Falcon-512", ABANDON)


def test_a_node_shows_no_secret() -> None:
    assert repr(derive(b"ML-DSA-65 seed", SEED_1, "m")) == "KeyNode()"


@given(st.lists(st.integers(0, HARDENED - 1), max_size=6))
def test_a_path_is_its_children_in_order(indices: list[int]) -> None:
    node = derive(b"ML-DSA-65 seed", SEED_1, "m")
    for index in indices:
        node = node.child(index)
    path = "/".join(["m", *(f"{index}'" for index in indices)])
    assert derive(b"ML-DSA-65 seed", SEED_1, path) == node


@pytest.mark.parametrize("index", [-1, HARDENED])
def test_a_child_out_of_range_is_rejected(index: int) -> None:
    with pytest.raises(UsageError, match="index must be from 0"):
        derive(b"ML-DSA-65 seed", SEED_1, "m").child(index)
