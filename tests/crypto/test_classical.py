"""The classical baseline: official vectors, agreement of implementations, malformed keys."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain.algorithms import ALGORITHMS, IMPLEMENTATIONS, get
from pqchain.crypto import classical, open_signer, unavailable_reason
from pqchain.errors import (
    BadLength,
    BadType,
    CryptoFailure,
    UnknownAlgorithm,
    Unsupported,
    UsageError,
)
from pqchain.installation import install_command

PACKAGES = {
    "coincurve/libsecp256k1": "coincurve",
    "cryptography/openssl": "cryptography",
    "pycryptodome/python": "Crypto",
}

PAIRS = [
    (algorithm.name, implementation)
    for algorithm in ALGORITHMS.values()
    for implementation in algorithm.implementations
    if implementation in PACKAGES
]

ORDERS = {
    "ECDSA-secp256k1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    "Schnorr-secp256k1": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    "ECDSA-P256": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "Ed25519": 2**252 + 27742317777372353535851937790883648493,
}

# BIP 340, test-vectors.csv, final version (rows 15 to 18 of 2022-12).
BIP340_SIGNING = [  # index, secret key, x of the public key, message, signature
    (
        0,
        "0000000000000000000000000000000000000000000000000000000000000003",
        "F9308A019258C31049344F85F89D5229B531C845836F99B08601F113BCE036F9",
        "00" * 32,
        "E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA8215"
        "25F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0",
    ),
    (
        15,
        "0340034003400340034003400340034003400340034003400340034003400340",
        "778CAA53B4393AC467774D09497A87224BF9FAB6F6E68B23086497324D6FD117",
        "",
        "71535DB165ECD9FBBC046E5FFAEA61186BB6AD436732FCCC25291A55895464CF"
        "6069CE26BF03466228F19A3A62DB8A649F2D560FAC652827D1AF0574E427AB63",
    ),
    (
        16,
        "0340034003400340034003400340034003400340034003400340034003400340",
        "778CAA53B4393AC467774D09497A87224BF9FAB6F6E68B23086497324D6FD117",
        "11",
        "08A20A0AFEF64124649232E0693C583AB1B9934AE63B4C3511F3AE1134C6A303"
        "EA3173BFEA6683BD101FA5AA5DBC1996FE7CACFC5A577D33EC14564CEC2BACBF",
    ),
    (
        17,
        "0340034003400340034003400340034003400340034003400340034003400340",
        "778CAA53B4393AC467774D09497A87224BF9FAB6F6E68B23086497324D6FD117",
        "0102030405060708090A0B0C0D0E0F1011",
        "5130F39A4059B43BC7CAC09A19ECE52B5D8699D1A71E3C52DA9AFDB6B50AC370"
        "C4A482B77BF960F8681540E25B6771ECE1E5A37FD80E5A51897C5566A97EA5A5",
    ),
    (
        18,
        "0340034003400340034003400340034003400340034003400340034003400340",
        "778CAA53B4393AC467774D09497A87224BF9FAB6F6E68B23086497324D6FD117",
        "99" * 100,
        "403B12B0D8555A344175EA7EC746566303321E5DBFA8BE6F091635163ECA79A8"
        "585ED3E3170807E7C03B720FC54C7B23897FCBA0E9D0B4A06894CFD249F22367",
    ),
]

_PI = "243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89"
_KEY = "DFF1D77F2A671C5F36183726DB2341BE58FEAE1DA2DECED843240F7B502BA659"
_R = "6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E177769"
_S = "69E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B"

BIP340_VERIFYING = [  # index, x of the public key, message, signature, verdict
    (
        1,
        _KEY,
        _PI,
        "6896BD60EEAE296DB48A229FF71DFE071BDE413E6D43F917DC8DCF8C78DE3341"
        "8906D11AC976ABCCB20B091292BFF4EA897EFCB639EA871CFA95F6DE339E4B0A",
        True,
    ),
    (
        3,
        "25D1DFF95105F5253C4022F628A996AD3A0D95FBF21D468A1B33F8C160D8F517",
        "FF" * 32,
        "7EB0509757E246F19449885651611CB965ECC1A187DD51B64FDA1EDC9637D5EC"
        "97582B9CB13DB3933705B32BA982AF5AF25FD78881EBB32771FC5922EFC66EA3",
        True,
    ),
    (
        4,
        "D69C3509BB99E412E68B0FE8544E72837DFA30746D8BE2AA65975F29D22DC7B9",
        "4DF3C3F68FCC83B27E9D42C90431A72499F17875C81A599B566C9889B9696703",
        "00000000000000000000003B78CE563F89A0ED9414F5AA28AD0D96D6795F9C63"
        "76AFB1548AF603B3EB45C9F8207DEE1060CB71C04E80F593060B07D28308D7F4",
        True,
    ),
    # public key not on the curve
    (5, "EEFDEA4CDB677750A420FEE807EACF21EB9898AE79B9768766E4FAA04A2D4A34", _PI, _R + _S, False),
    # has_even_y(R) is false
    (
        6,
        _KEY,
        _PI,
        "FFF97BD5755EEEA420453A14355235D382F6472F8568A18B2F057A1460297556"
        "3CC27944640AC607CD107AE10923D9EF7A73C643E166BE5EBEAFA34B1AC553E2",
        False,
    ),
    # negated message
    (
        7,
        _KEY,
        _PI,
        "1FA62E331EDBC21C394792D2AB1100A7B432B013DF3F6FF4F99FCB33E0E1515F"
        "28890B3EDB6E7189B630448B515CE4F8622A954CFE545735AAEA5134FCCDB2BD",
        False,
    ),
    # negated s value
    (
        8,
        _KEY,
        _PI,
        _R + "961764B3AA9B2FFCB6EF947B6887A226E8D7C93E00C5ED0C1834FF0D0C2E6DA6",
        False,
    ),
    # sG - eP is infinite
    (
        9,
        _KEY,
        _PI,
        "0000000000000000000000000000000000000000000000000000000000000000"
        "123DDA8328AF9C23A94C1FEECFD123BA4FB73476F0D594DCB65C6425BD186051",
        False,
    ),
    # r is not an x coordinate on the curve; r equals the field size; s equals the order
    (
        11,
        _KEY,
        _PI,
        "4A298DACAE57395A15D0795DDBFD1DCB564DA82B0F269BC70A74F8220429BA1D" + _S,
        False,
    ),
    (
        12,
        _KEY,
        _PI,
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F" + _S,
        False,
    ),
    (
        13,
        _KEY,
        _PI,
        _R + "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141",
        False,
    ),
    # the public key exceeds the field size
    (14, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC30", _PI, _R + _S, False),
]

# RFC 8032, section 7.1: seed, public key, message, signature.
RFC8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]

# RFC 6979, appendix A.2.5 (P-256, SHA-256).
RFC6979_SECRET = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721"
RFC6979_PUBLIC = "0360FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
RFC6979 = {
    b"sample": "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
    "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
    b"test": "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367"
    "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083",
}

# RFC 6979 on secp256k1 as Bitcoin's libraries share it (bitcointalk topic 285142), low s.
SECP256K1 = [  # secret key, message, signature
    (
        1,
        b"Satoshi Nakamoto",
        "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8"
        "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
    ),
    (
        ORDERS["ECDSA-secp256k1"] - 1,
        b"Satoshi Nakamoto",
        "fd567d121db66e382991534ada77a6bd3106f0a1098c231e47993447cd6af2d0"
        "6b39cd0eb1bc8603e159ef5c20a5c8ad685a45b06ce9bebed3f153d10d93bed5",
    ),
]

hexadecimal = bytes.fromhex


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1].split('/')[0]}")
def signer(request):
    name, implementation = request.param
    pytest.importorskip(PACKAGES[implementation])
    return open_signer(name, implementation)


def openers(name):
    """Return the signers of one algorithm whose package is installed."""
    for implementation in get(name).implementations:
        pytest.importorskip(PACKAGES[implementation])
        yield open_signer(name, implementation)


def test_registry_and_module_list_the_same_pairs():
    assert set(PAIRS) == set(classical.SIGNERS)
    assert set(PACKAGES) <= set(IMPLEMENTATIONS)


def test_sizes_and_round_trip(signer):
    row = signer.algorithm
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"message", secret_key)
    lengths = (len(public_key), len(secret_key), len(signature))
    assert lengths == (row.public_key_bytes, row.secret_key_bytes, row.signature_bytes)
    assert {type(value) for value in (public_key, secret_key, signature)} == {bytes}
    assert signer.verify(b"message", signature, public_key) is True
    assert signer.verify(b"massage", signature, public_key) is False
    other_public_key, other_secret_key = signer.generate_keypair()
    assert other_secret_key != secret_key
    assert signer.verify(b"message", signature, other_public_key) is False


def test_switching_between_secret_keys_never_uses_the_wrong_one(signer):
    """The OpenSSL signers keep the last secret key loaded."""
    pairs = [signer.generate_keypair() for _ in range(3)]
    for _ in range(2):
        for public_key, secret_key in pairs:
            assert signer.verify(b"m", signer.sign(b"m", secret_key), public_key)
            equal_but_not_same = bytes(bytearray(secret_key))
            assert signer.verify(b"m", signer.sign(b"m", equal_but_not_same), public_key)


def test_threads_share_a_signer(signer):
    pairs = [signer.generate_keypair() for _ in range(4)]

    def sign_and_verify(index):
        public_key, secret_key = pairs[index % len(pairs)]
        message = index.to_bytes(4, "big")
        return signer.verify(message, signer.sign(message, secret_key), public_key)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(sign_and_verify, range(40)))


def test_signing_is_deterministic(signer):
    _, secret_key = signer.generate_keypair()
    assert signer.sign(b"m", secret_key) == signer.sign(b"m", secret_key)


def test_secret_keys_that_are_no_scalars_are_refused(signer):
    order = ORDERS[signer.algorithm.name]
    for scalar in (0, order, order + 1, 2**256 - 1):
        secret_key = scalar.to_bytes(32, "big")
        if signer.algorithm.name == "Ed25519":  # whose secret keys are seeds, all of them good
            signer.sign(b"m", secret_key)
            continue
        with pytest.raises(CryptoFailure, match="from 1 to"):
            signer.sign(b"m", secret_key)
    for scalar in (1, order - 1):
        signer.sign(b"m", scalar.to_bytes(32, "big"))


def test_public_keys_that_are_no_points_verify_nothing(signer):
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"m", secret_key)
    length = len(public_key)
    malformed = [bytes(length), b"\xff" * length]
    if length == 33:
        prefixes = set(range(256)) - {2, 3}
        malformed += [bytes([prefix]) + public_key[1:] for prefix in sorted(prefixes)]
        # 5 is no x coordinate on secp256k1, 1 is none on P-256.
        off_curve = 1 if signer.algorithm.name == "ECDSA-P256" else 5
        malformed += [prefix + off_curve.to_bytes(32, "big") for prefix in (b"\2", b"\3")]
        malformed += [b"\2" + b"\xff" * 32]
    for candidate in malformed:
        assert signer.verify(b"m", signature, candidate) is False


def test_degenerate_signatures_are_wrong(signer):
    public_key, secret_key = signer.generate_keypair()
    good = signer.sign(b"m", secret_key)
    order = ORDERS[signer.algorithm.name].to_bytes(32, "big")
    for bad in (bytes(64), bytes(32) + good[32:], good[:32] + bytes(32), b"\xff" * 64):
        assert signer.verify(b"m", bad, public_key) is False
    assert signer.verify(b"m", good[:32] + order, public_key) is False
    for bad in (b"", good[:-1], good + b"\0", good * 2):
        assert signer.verify(b"m", bad, public_key) is False


def test_second_value_of_s(signer):
    """ECDSA has two s for each r; only libsecp256k1 insists on the lower one."""
    public_key, secret_key = signer.generate_keypair()
    name = signer.algorithm.name
    order = ORDERS[name]
    for index in range(8):
        message = bytes([index])
        signature = signer.sign(message, secret_key)
        if name == "Ed25519":
            s = int.from_bytes(signature[32:], "little")
            mutant = signature[:32] + (s + order).to_bytes(32, "little")
        else:
            s = int.from_bytes(signature[32:], "big")
            mutant = signature[:32] + (order - s).to_bytes(32, "big")
        accepted = name == "ECDSA-P256"
        assert signer.verify(message, mutant, public_key) is accepted
        assert name != "ECDSA-secp256k1" or s <= order // 2


def test_types_and_lengths_are_checked(signer):
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"m", secret_key)
    for wrong in ("m", None, 7, [1]):
        with pytest.raises(BadType, match="message"):
            signer.sign(wrong, secret_key)
        with pytest.raises(BadType, match="secret key"):
            signer.sign(b"m", wrong)
        with pytest.raises(BadType, match="signature"):
            signer.verify(b"m", wrong, public_key)
        with pytest.raises(BadType, match="public key"):
            signer.verify(b"m", signature, wrong)
        with pytest.raises(BadType, match="context"):
            signer.verify(b"m", signature, public_key, wrong)
    with pytest.raises(BadLength, match=rf"{signer.algorithm.name} must have 32 bytes .* got 31"):
        signer.sign(b"m", secret_key[:-1])
    with pytest.raises(BadLength, match="public key"):
        signer.verify(b"m", signature, public_key + b"\0")
    with pytest.raises(BadLength, match="must have at most 0 bytes"):
        signer.sign(b"m", secret_key, b"c")
    with pytest.raises(BadLength, match="must have at most 0 bytes"):
        signer.verify(b"m", signature, public_key, b"c")
    views = [bytearray(b"m"), memoryview(b"m")]
    assert all(signer.sign(view, bytearray(secret_key)) == signature for view in views)
    assert signer.verify(memoryview(b"m"), bytearray(signature), memoryview(public_key))


@pytest.mark.parametrize("vector", BIP340_SIGNING, ids=lambda vector: f"row-{vector[0]}")
def test_bip340_signing(vector):
    _, secret_key, x, message, expected = vector
    (signer,) = openers("Schnorr-secp256k1")
    signature = signer.sign(hexadecimal(message), hexadecimal(secret_key))
    assert signature == hexadecimal(expected)
    for parity in (b"\2", b"\3"):
        assert signer.verify(hexadecimal(message), signature, parity + hexadecimal(x))


@pytest.mark.parametrize("vector", BIP340_VERIFYING, ids=lambda vector: f"row-{vector[0]}")
def test_bip340_verifying(vector):
    _, x, message, signature, valid = vector
    (signer,) = openers("Schnorr-secp256k1")
    public_key = b"\2" + hexadecimal(x)
    assert signer.verify(hexadecimal(message), hexadecimal(signature), public_key) is valid


@pytest.mark.parametrize("vector", RFC8032, ids=["empty", "one-byte", "two-bytes"])
def test_rfc8032(vector):
    secret_key, public_key, message, signature = map(hexadecimal, vector)
    for signer in openers("Ed25519"):
        assert signer.sign(message, secret_key) == signature
        assert signer.verify(message, signature, public_key)


@pytest.mark.parametrize("message", RFC6979)
def test_rfc6979_on_p256(message):
    signature = hexadecimal(RFC6979[message])
    for signer in openers("ECDSA-P256"):
        assert signer.sign(message, hexadecimal(RFC6979_SECRET)) == signature
        assert signer.verify(message, signature, hexadecimal(RFC6979_PUBLIC))


@pytest.mark.parametrize(("secret_key", "message", "signature"), SECP256K1)
def test_rfc6979_on_secp256k1(secret_key, message, signature):
    (signer,) = openers("ECDSA-secp256k1")
    assert signer.sign(message, secret_key.to_bytes(32, "big")) == hexadecimal(signature)


@settings(max_examples=10, deadline=None)
@given(message=st.binary(max_size=200), seed=st.binary(min_size=32, max_size=32))
@pytest.mark.parametrize("name", ["ECDSA-P256", "Ed25519"])
def test_implementations_of_one_scheme_agree(name, message, seed):
    secret_key = (int.from_bytes(seed, "big") % (ORDERS["ECDSA-P256"] - 1) + 1).to_bytes(32, "big")
    assert len({signer.sign(message, secret_key) for signer in openers(name)}) == 1


@pytest.mark.parametrize("name", ["ECDSA-P256", "Ed25519"])
def test_implementations_verify_each_other(name):
    signers = list(openers(name))
    for signs in signers:
        public_key, secret_key = signs.generate_keypair()
        signature = signs.sign(b"m", secret_key)
        assert all(verifies.verify(b"m", signature, public_key) for verifies in signers)


def test_unknown_pairs():
    with pytest.raises(UnknownAlgorithm, match="Ed25519"):
        open_signer("Ed2551", "cryptography/openssl")
    with pytest.raises(Unsupported, match=r"of Ed25519 must be .* got coincurve/libsecp256k1"):
        open_signer("Ed25519", "coincurve/libsecp256k1")
    with pytest.raises(UsageError, match="it is a kem"):
        classical._OpensslEd25519(get("ML-KEM-512"), "cryptography/openssl")


@pytest.mark.parametrize(("name", "implementation"), PAIRS)
def test_missing_package_says_what_to_install(name, implementation, monkeypatch):
    package = PACKAGES[implementation]
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        Unsupported, match=f"{name} by {implementation} needs .* {install_command(package)}"
    ):
        open_signer(name, implementation)
    assert unavailable_reason(implementation) == (
        f"the Python package {package} is not installed: {install_command(package)}"
    )


def test_importing_loads_no_native_code():
    code = (
        "import sys, pqchain.crypto.classical, pqchain.chain.state;"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('coincurve', 'cryptography', 'Crypto', 'oqs')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
