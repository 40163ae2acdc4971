"""The models compared with independent C code, published vectors and the definitions."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain import State, Wallet
from pqchain.chain.state import BlockRejected, Reason
from pqchain.chain.verification import Verifier
from pqchain.crypto import native, open_signer
from pqchain.errors import BadLength, DataError, UnknownName, Unsupported, UsageError
from pqchain_conform import ModelSigner, oracles, reading, registry
from pqchain_conform.models import falcon as falcon
from pqchain_conform.models import ml_dsa as model
from pqchain_conform.models import ml_dsa_signer as signer
from pqchain_conform.models import ml_kem as ml_kem
from pqchain_conform.models import slh_dsa as slh_dsa
from pqchain_conform.models.bits import N
from pqchain_conform.models.falcon import FalconVerifier
from pqchain_conform.models.ml_dsa import MLDSAVerifier
from pqchain_conform.models.slh_dsa_verifier import SLHDSAVerifier
from tests.crypto.acvp import acvp, document
from tests.crypto.builds import IMPLEMENTATIONS

STANDARD = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
_KATS = Path(__file__).resolve().parents[4] / "shared" / "kats"
WYCHEPROOF = _KATS / "wycheproof" / "mldsa_65_verify_test.json"


@pytest.mark.native
@pytest.mark.parametrize("name", STANDARD)
def test_keys_and_signatures_equal_portable_c(name):
    seed = bytes(range(32))
    build = native.library("liboqs-0.13/ref")
    with build.randomness(lambda count: seed):
        public_key, secret_key = open_signer(name, "liboqs-0.13/ref").generate_keypair()
    key = signer.generate(name, seed)
    assert key.public_key == public_key
    for number in range(4):
        message, context = b"message %d" % number, bytes(number)
        with build.randomness(bytes):
            signature = open_signer(name, "liboqs-0.13/ref").sign(message, secret_key, context)
        assert signer.sign(key, message, context) == signature
        assert MLDSAVerifier(name).verify(message, signature, public_key, context)
        assert not MLDSAVerifier(name).verify(message + b".", signature, public_key, context)


@pytest.mark.parametrize("build", ["model", *IMPLEMENTATIONS])
def test_wycheproof_verdicts_are_reproduced(build):
    if not WYCHEPROOF.is_file():
        pytest.skip(f"{WYCHEPROOF.name} is not in shared/kats/wycheproof next to the checkout")
    name = "ML-DSA-65"
    verifier = MLDSAVerifier(name) if build == "model" else open_signer(name, build)
    cases = reading.read(WYCHEPROOF)[0].vectors
    assert len(cases) >= 200
    for case in cases:
        try:
            valid = verifier.verify(*case.case)
        except BadLength:  # naming a wrong length is as good as False
            assert case.family in ("IncorrectPublicKeyLength", "InvalidContext")
            valid = False
        assert valid == (case.expected == "valid"), case.probe


@pytest.mark.parametrize(
    ("module", "multiply"), [(model, lambda a, b: a * b % model.Q), (ml_kem, ml_kem.multiply)]
)
def test_products_are_exact(module, multiply):
    a, b = np.random.default_rng(1).integers(0, module.Q, (2, N))
    full = np.convolve(a, b)
    expected = (full[:N] - np.append(full[N:], 0)) % module.Q
    values = multiply(module.transform(a[None]), module.transform(b[None]))
    assert module.inverse(values)[0].tolist() == expected.tolist()
    assert module.inverse(module.transform(a[None]))[0].tolist() == a.tolist()


@pytest.mark.parametrize("name", STANDARD)
def test_high_and_low_parts_recompose(name):
    p = model.PARAMETER_SETS[name]
    values = np.concatenate([np.arange(0, model.Q, 997), np.arange(model.Q - 300_000, model.Q)])
    high, low = model.decompose(p, values)
    assert ((high * 2 * p.gamma2 + low - values) % model.Q == 0).all()
    assert high.min() == 0
    assert high.max() == p.high_parts - 1
    assert np.abs(low).max() <= p.gamma2


@pytest.mark.parametrize("name", STANDARD)
def test_encoded_hints_decode_to_themselves(name):
    p = model.PARAMETER_SETS[name]
    random = np.random.default_rng(2)
    for count in (0, 1, p.omega):
        hints = np.zeros((p.rows, N), dtype=np.int64)
        hints.flat[random.choice(hints.size, count, replace=False)] = 1
        data = model.encode_hints(p, hints)
        assert len(data) == p.omega + p.rows
        assert (model.read_hints(p, data) == hints).all()
        checker = MLDSAVerifier(name)
        assert not checker.counter_faults(data)
        assert not checker.order_faults(data)
        assert not checker.padding_faults(data)


NAME = "ML-DSA-44"


@pytest.mark.native
@pytest.mark.parametrize(("edge", "valid"), [(None, True), (-1, True), (0, False), (1, False)])
def test_edge_vectors_lie_at_their_bound(edge, valid):
    hostile, portable = ModelSigner(NAME, edge=edge), open_signer(NAME, "liboqs-0.13/ref")
    public_key, secret_key = hostile.generate_keypair()
    signature = hostile.sign(b"message", secret_key, b"context")
    case = (b"message", signature, public_key, b"context")
    assert portable.verify(*case) == ModelSigner(NAME).verify(*case) == valid
    assert not ModelSigner(NAME).verify(*case[:3])
    unbounded = ModelSigner(NAME, mutant="z: no bound")
    assert unbounded.verify(*case)
    assert not unbounded.verify(b"another", *case[1:])
    at_the_bound = ModelSigner(NAME, mutant="z: at the bound allowed")
    assert at_the_bound.verify(*case) == (valid or edge < 1)


def test_wrong_bound_makes_verifiers_disagree():
    mallory, proposer = Wallet(NAME, signers=[ModelSigner(NAME, edge=0)]), Wallet("Ed25519")
    state = State.genesis({mallory.address: 9})
    payment = mallory.transfer(bytes(32), 9, nonce=0)
    block = state.propose([payment], proposer=proposer, timestamp=1)
    wrong = ModelSigner(NAME, mutant="z: at the bound allowed")
    after = state.apply(block, verifier=Verifier(implementations={NAME: wrong}))
    assert after.account(mallory.address).balance == 0
    with pytest.raises(BlockRejected) as caught:
        state.apply(block, verifier=Verifier(implementations={NAME: ModelSigner(NAME)}))
    assert caught.value.reason is Reason.BAD_SIGNATURE


def test_wrong_names_and_edges_are_rejected():
    with pytest.raises(UnknownName, match="Falcon-512"):
        ModelSigner("Falcon-512")
    with pytest.raises(UnknownName, match="z: no limit"):
        ModelSigner(NAME, mutant="z: no limit")
    with pytest.raises(UsageError, match="edge must be from -130993 to 78; got 79"):
        ModelSigner(NAME, edge=79)


FALCON_SETS = tuple(falcon.PARAMETER_SETS)


@pytest.mark.native
@pytest.mark.parametrize("name", FALCON_SETS)
def test_honest_signatures_are_valid_and_changed_ones_are_not(name):
    signer, verifier = open_signer(name, "liboqs-0.13/ref"), FalconVerifier(name)
    public_key, secret_key = signer.generate_keypair()
    for number in range(8):
        message = b"message %d" % number
        signature = signer.sign(message, secret_key)
        checks = list(verifier.checks(message, signature, public_key))
        assert [check.name for check in checks if not check.holds] == []
        assert not verifier.verify(message + b".", signature, public_key)
        s2 = falcon.decompress(verifier.parameters.n, signature[41:]).s2
        again = falcon.to_bytes(falcon.compress(s2))
        assert signature[41:].rstrip(b"\0") == again.rstrip(b"\0")


@given(st.lists(st.integers(-5000, 5000), min_size=4, max_size=4))
def test_encoded_coefficients_decode_to_themselves(s2):
    bits = falcon.compress(s2)
    decoded = falcon.decompress(4, falcon.to_bytes(bits))
    assert decoded.s2 == s2
    assert decoded.minus_zeros == []
    assert decoded.used_bits == len(bits)


@given(st.binary(min_size=1, max_size=40))
def test_decoded_bytes_encode_to_themselves(data):
    decoded = falcon.decompress(4, data)
    if len(decoded.s2) == 4 and not decoded.minus_zeros:
        assert falcon.to_bits(data)[: decoded.used_bits] == falcon.compress(decoded.s2)


@given(st.lists(st.integers(0, 16383), min_size=8, max_size=8))
def test_encoded_keys_decode_to_themselves(values):
    key = falcon.encode_key(values)
    assert key[0] == 3
    assert falcon.decode_key(key[1:]).tolist() == values


def test_products_are_reduced_modulo_x_to_the_n_plus_1():
    x = np.eye(8, dtype=np.int64)
    for i in range(8):
        for j in range(8):
            sign = 1 if i + j < 8 else -1
            assert falcon.times(x[i], x[j]).tolist() == (sign * x[(i + j) % 8]).tolist()


ML_KEM_SETS = tuple(ml_kem.PARAMETER_SETS)


FOLDER = "kem/mlkem/testdata/ML-KEM-{}-FIPS203/"
FILES = ("prompt.json.gz", "expectedResults.json.gz")


def test_model_gives_the_answers_of_nist(tmp_path):
    keys = list(acvp(*(FOLDER.format("keyGen") + name for name in FILES)))
    tests = list(acvp(*(FOLDER.format("encapDecap") + name for name in FILES)))
    assert len(keys) == 75
    for test in keys:
        d, z, ek, dk = (bytes.fromhex(test[name]) for name in ("d", "z", "ek", "dk"))
        assert ml_kem.generate(ml_kem.PARAMETER_SETS[test["parameterSet"]], d, z) == (ek, dk)
    for test in tests:
        if test["function"] == "encapsulation":
            ek, m, c, k = (bytes.fromhex(test[name]) for name in ("ek", "m", "c", "k"))
            assert ml_kem.encapsulate(ml_kem.PARAMETER_SETS[test["parameterSet"]], ek, m) == (c, k)
    path = tmp_path / "internalProjection.json"
    path.write_text(json.dumps(document(tests)))
    vectors = reading.read(path)[0].vectors
    assert Counter(vector.operation for vector in vectors) == {"encapsulate": 75, "decapsulate": 30}
    assert all(oracles.model(v.algorithm).verify(*v.case) for v in vectors)


@pytest.mark.parametrize("bits", [1, 4, 5, 10, 11])
def test_compression_rounds_to_the_nearest(bits):
    values = np.arange(ml_kem.Q)
    compressed = ml_kem.compress(values, bits)
    assert compressed.tolist() == [round(v * 2**bits / ml_kem.Q) % 2**bits for v in values.tolist()]
    # FIPS 203, section 4.2.1: a value comes back within half a step, and compresses to itself.
    all_compressed = np.arange(1 << bits)
    back = ml_kem.decompress(all_compressed, bits)
    assert (ml_kem.compress(back, bits) == all_compressed).all()
    distance = np.abs(ml_kem.decompress(compressed, bits) - values)
    assert np.minimum(distance, ml_kem.Q - distance).max() <= round(ml_kem.Q / 2 ** (bits + 1))


def test_key_checks_of_acvp_are_read(tmp_path):
    key, secret_key = ml_kem.generate(ml_kem.PARAMETER_SETS["ML-KEM-512"], bytes(32), bytes(32))
    groups = [
        {"parameterSet": "ML-KEM-512", "function": function, "tests": [
            {"tcId": 1, "testPassed": True, name: good.hex()},
            {"tcId": 2, "testPassed": False, name: bad.hex()},
        ]}
        for function, name, good, bad in (
            ("encapsulationKeyCheck", "ek", key, b"\xff" * len(key)),
            ("decapsulationKeyCheck", "dk", secret_key, bytes(len(secret_key))),
        )
    ]  # fmt: skip
    path = tmp_path / "checks.json"
    path.write_text(json.dumps({"algorithm": "ML-KEM", "mode": "encapDecap", "testGroups": groups}))
    vectors = reading.read(path)[0].vectors
    verdicts = [oracles.model(v.algorithm).verify(*v.case) for v in vectors]
    assert verdicts == [v.expected == "valid" for v in vectors] == [True, False, True, False]


def test_seeds_of_wycheproof_become_keys(tmp_path):
    p = ml_kem.PARAMETER_SETS["ML-KEM-512"]
    key, secret_key = ml_kem.generate(p, bytes(32), b"\1" * 32)
    ciphertext, secret = ml_kem.encapsulate(p, key, bytes(32))
    seed = bytes(32) + b"\1" * 32
    common = {"comment": "", "flags": [], "result": "valid", "c": ciphertext.hex()}
    tests = [
        common | {"tcId": 1, "seed": seed.hex(), "K": secret.hex()},
        common | {"tcId": 2, "seed": seed.hex()[:-2], "result": "invalid"},
    ]
    group = {"type": "MLKEMTest", "parameterSet": p.name, "tests": tests}
    path = tmp_path / "mlkem_512_test.json"
    content = {"algorithm": "ML-KEM", "testGroups": [group]}
    path.write_text(json.dumps(content))
    (vector,) = reading.read(path)[0].vectors
    assert vector.case == ("decapsulate", secret_key, ciphertext, secret)
    group["parameterSet"] = "ML-KEM-2048"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="not a file of vectors"):
        reading.read(path)


class Internal(SLHDSAVerifier):
    """Verifier of the internal interface, which has no prefix."""

    def prefix(self, context: bytes) -> bytes:
        return b""


@pytest.mark.acvp
def test_model_gives_the_verdicts_of_nist():
    counts: Counter[tuple[str, bool]] = Counter()
    folder = "sign/slhdsa/testdata/verify_"
    for test in acvp(f"{folder}prompt.json.gz", f"{folder}results.json.gz"):
        if (interface := test.get("preHash") or "internal") == "preHash":
            continue
        verifier = (Internal if interface == "internal" else SLHDSAVerifier)(test["parameterSet"])
        names = ("message", "signature", "pk", "context")
        case = [bytes.fromhex(test.get(name, "")) for name in names]
        assert verifier.verify(*case) == test["testPassed"], test["tcId"]
        counts[interface, test["testPassed"]] += 1
    assert counts == {
        ("pure", True): 24, ("pure", False): 144, ("internal", True): 24, ("internal", False): 144,
    }  # fmt: skip


@pytest.mark.native
@pytest.mark.long
@pytest.mark.parametrize("crate", ["slh-dsa (RustCrypto)", "fips205"])
@pytest.mark.parametrize("name", slh_dsa.PARAMETER_SETS)
def test_signatures_equal_those_of_the_crates(name, crate):
    """Deterministic signatures, byte for byte, with the fastest build of this machine."""
    (verifier,) = registry.select([crate])
    signer = open_signer(name)
    public_key, secret_key = signer.generate_keypair()
    seed = public_key[: len(public_key) // 2]
    try:
        # A crate without vector instructions signs for seconds, on a busy machine for a minute.
        adapter = verifier.adapter(limit_seconds=250)
    except Unsupported as error:
        pytest.skip(str(error))
    with adapter, signer.library.randomness(lambda _: seed):
        for message, context in ((b"", b""), (b"message" * 20, b"context")):
            answer = adapter.request("sign", name, secret_key, message, context)
            assert answer.verdict == "accept", answer.reason
            assert answer.signature == signer.sign(message, secret_key, context)


def test_digits_are_those_of_the_standard():
    assert slh_dsa.digits(bytes([0x12, 0x34, 0xAB]), 4, 6) == [1, 2, 3, 4, 10, 11]
    assert slh_dsa.digits(bytes([0b10110011, 0b01000000]), 3, 4) == [5, 4, 6, 4]
    p = slh_dsa.PARAMETER_SETS["SLH-DSA-SHA2-128s"]
    # 32 digits of 15 have the checksum 0, 32 digits of 0 the checksum 480 = 0x1e0.
    assert slh_dsa.chain_digits(p, b"\xff" * 16) == [15] * 32 + [0, 0, 0]
    assert slh_dsa.chain_digits(p, bytes(16)) == [0] * 32 + [1, 14, 0]


def test_addresses_have_the_fields_of_the_standard():
    address = slh_dsa.Address(1, 0x0203, 4, (5, 6, 7))
    words = [1, 0, 0, 0x0203, 4, 5, 6, 7]
    assert address.encoded() == b"".join(word.to_bytes(4, "big") for word in words)
    compressed = bytes([1]) + (0x0203).to_bytes(8, "big") + bytes([4])
    assert address.compressed() == compressed + address.encoded()[20:]
