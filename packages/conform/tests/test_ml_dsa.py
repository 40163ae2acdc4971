"""The model of ML-DSA compared with independent C code and with published vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pqchain.chain import State, Wallet
from pqchain.chain.state import BlockRejected, Reason
from pqchain.chain.verification import Verifier
from pqchain.crypto import native, open_signer
from pqchain.errors import UnknownName, UsageError
from pqchain_conform import ModelSigner, reading
from pqchain_conform.models import ml_dsa as model
from pqchain_conform.models import ml_dsa_signer as signer
from pqchain_conform.models.bits import N
from pqchain_conform.models.ml_dsa import MLDSAVerifier

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


def test_wycheproof_verdicts_are_reproduced():
    if not WYCHEPROOF.is_file():
        pytest.skip(f"{WYCHEPROOF.name} is not in shared/kats/wycheproof next to the checkout")
    verifier = MLDSAVerifier("ML-DSA-65")
    cases = reading.read(WYCHEPROOF)[0].vectors
    assert len(cases) >= 200
    for case in cases:
        assert verifier.verify(*case.case) == (case.expected == "valid"), case.probe


def test_products_are_exact():
    random = np.random.default_rng(1)
    a, b = random.integers(0, model.Q, (2, N))
    slow = np.zeros(2 * N, dtype=object)
    for i, value in enumerate(a.tolist()):
        slow[i : i + N] += value * b.astype(object)
    expected = [int(x - y) % model.Q for x, y in zip(slow[:256], slow[256:], strict=True)]
    values = model.transform(a[None]) * model.transform(b[None]) % model.Q
    assert model.inverse(values)[0].tolist() == expected


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
