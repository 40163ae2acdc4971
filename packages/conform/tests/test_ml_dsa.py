"""The model of ML-DSA compared with independent C code and with published vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pqchain.crypto import native, open_signer
from pqchain_conform import reading
from pqchain_conform.models import ml_dsa as model
from pqchain_conform.models import ml_dsa_signer as signer
from pqchain_conform.models.bits import N
from pqchain_conform.models.ml_dsa import MLDSAVerifier

STANDARD = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
WYCHEPROOF = (
    Path(__file__).resolve().parents[4]
    / "shared"
    / "kats"
    / "wycheproof"
    / "mldsa_65_verify_test.json"
)


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
