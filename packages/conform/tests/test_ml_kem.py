"""The model of ML-KEM compared with NIST's vectors and the definitions; all builds likewise."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from pqchain.errors import DataError
from pqchain_conform import oracles, reading
from pqchain_conform.models import ml_kem as model
from pqchain_conform.models.bits import N
from tests.crypto.acvp import acvp, document

NAMES = tuple(model.PARAMETER_SETS)


FOLDER = "kem/mlkem/testdata/ML-KEM-{}-FIPS203/"
FILES = ("prompt.json.gz", "expectedResults.json.gz")


def test_model_gives_the_answers_of_nist(tmp_path):
    keys = acvp(*(FOLDER.format("keyGen") + name for name in FILES))
    tests = acvp(*(FOLDER.format("encapDecap") + name for name in FILES))
    assert len(keys) == 75
    for test in keys:
        d, z, ek, dk = (bytes.fromhex(test[name]) for name in ("d", "z", "ek", "dk"))
        assert model.generate(model.PARAMETER_SETS[test["parameterSet"]], d, z) == (ek, dk)
    for test in tests:
        if test["function"] == "encapsulation":
            ek, m, c, k = (bytes.fromhex(test[name]) for name in ("ek", "m", "c", "k"))
            assert model.encapsulate(model.PARAMETER_SETS[test["parameterSet"]], ek, m) == (c, k)
    path = tmp_path / "internalProjection.json"
    path.write_text(json.dumps(document(tests)))
    vectors = reading.read(path)[0].vectors
    assert Counter(vector.operation for vector in vectors) == {"encapsulate": 75, "decapsulate": 30}
    assert all(oracles.model(v.algorithm).verify(*v.case) for v in vectors)


def test_products_are_exact():
    random = np.random.default_rng(1)
    a, b = random.integers(0, model.Q, (2, N))
    full = np.convolve(a, b)
    expected = (full[:N] - np.append(full[N:], 0)) % model.Q
    values = model.multiply(model.transform(a[None]), model.transform(b[None]))
    assert model.inverse(values)[0].tolist() == expected.tolist()
    assert model.inverse(model.transform(a[None]))[0].tolist() == a.tolist()


@pytest.mark.parametrize("bits", [1, 4, 5, 10, 11])
def test_compression_rounds_to_the_nearest(bits):
    values = np.arange(model.Q)
    compressed = model.compress(values, bits)
    assert compressed.tolist() == [round(v * 2**bits / model.Q) % 2**bits for v in values.tolist()]
    # FIPS 203, section 4.2.1: a value comes back within half a step, and compresses to itself.
    all_compressed = np.arange(1 << bits)
    back = model.decompress(all_compressed, bits)
    assert (model.compress(back, bits) == all_compressed).all()
    distance = np.abs(model.decompress(compressed, bits) - values)
    assert np.minimum(distance, model.Q - distance).max() <= round(model.Q / 2 ** (bits + 1))


def test_key_checks_of_acvp_are_read(tmp_path):
    key, secret_key = model.generate(model.PARAMETER_SETS["ML-KEM-512"], bytes(32), bytes(32))
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
    p = model.PARAMETER_SETS["ML-KEM-512"]
    key, secret_key = model.generate(p, bytes(32), b"\1" * 32)
    ciphertext, secret = model.encapsulate(p, key, bytes(32))
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
