"""Vector files of other projects, made here in the formats of NIST and of Project Wycheproof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pqchain.crypto import open_signer
from pqchain.errors import DataError
from pqchain_conform import implementations, oracles, reading
from tests.crypto.test_known_answers import kem_response, signature_response

REF = "liboqs-0.13/ref"

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def signed() -> dict[str, str]:
    """The fields of a test of ML-DSA-44, by their names in ACVP's files."""
    public_key, secret_key = open_signer("ML-DSA-44", REF).generate_keypair()
    signature = open_signer("ML-DSA-44", REF).sign(b"message", secret_key, b"context")
    values = {"pk": public_key, "sk": secret_key, "message": b"message", "context": b"context"}
    return {
        name: value.hex().upper() for name, value in (values | {"signature": signature}).items()
    }


def acvp(mode: str, *groups: dict[str, Any], algorithm: str = "ML-DSA") -> dict[str, Any]:
    for number, group in enumerate(groups):
        group["tests"] = [test | {"tcId": 10 * number + i} for i, test in enumerate(group["tests"])]
    return {"vsId": 42, "algorithm": algorithm, "mode": mode, "testGroups": list(groups)}


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def accepted(vector) -> bool:
    return bool(implementations.accepts(oracles.portable(vector.algorithm), vector))


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("Falcon-512", "Falcon-512"),
        ("ML-DSA-44", "ML-DSA-44"),
        ("Dilithium2", "CRYSTALS-Dilithium2"),
        ("Falcon-padded-512", "Falcon-padded-512"),
        ("ML-KEM-512", "ML-KEM-512"),
    ],
)
def test_response_files_have_the_layout_of_their_submission(name, header, tmp_path):
    response = kem_response if name.startswith("ML-KEM") else signature_response
    text = f"# {header}\n\n{response(name, REF, 2)}\n"
    (file,) = reading.read(write(tmp_path / "kat.rsp", text))
    assert [vector.ident for vector in file.vectors] == [f"{name}:0", f"{name}:1"]
    assert all(map(accepted, file.vectors))
    assert str(file).endswith(f"response file of NIST; vectors: 2 {name}; skipped: 0")


def test_the_algorithm_of_the_user_counts_and_not_the_header(tmp_path):
    text = signature_response("ML-DSA-44", REF, 1)
    path = write(tmp_path / "kat.rsp", f"# Dilithium2\n\n{text}\ncount = 1\nmsg = 00\nsm =\n")
    (file,) = reading.read(path)
    assert [vector.algorithm for vector in file.vectors] == ["Dilithium2"]
    assert not any(map(accepted, file.vectors))
    assert reading.alternatives("Dilithium2") == ["ML-DSA-44"]
    (file,) = reading.read(path, algorithms=["Falcon-512", "ML-DSA-44"])
    assert all(map(accepted, file.vectors))
    assert file.skipped == {"(no result)": 1}
    for header, names in (("Dilithium3", ()), ("", ()), ("ML-DSA-44", ("Falcon-512",))):
        write(path, f"# {header}\n\n{text}")
        with pytest.raises(DataError, match="those of Dilithium2, ML-DSA-44; give one by --alg"):
            reading.read(path, algorithms=names)
    write(path, text.replace("msg = ", "msg = 00"))
    with pytest.raises(DataError, match="sm must be a signature and msg"):
        reading.read(path, algorithms=["ML-DSA-44"])


def test_acvp_of_every_interface_is_read_or_skipped_with_the_reason(signed, tmp_path):
    key = {"parameterSet": "ML-DSA-44", "pk": signed["pk"]}
    external = {**key, "signatureInterface": "external", "preHash": "pure"}
    test = {name: signed[name] for name in ("message", "context", "signature")}
    good = test | {"testPassed": True}
    bad = test | {"testPassed": False, "message": "00", "reason": "changed message"}
    document = acvp(
        "sigVer",
        {**external, "tests": [good, bad]},
        {**key, "tests": [good]},  # as in the first files
        {**key, "signatureInterface": "internal", "externalMu": False, "tests": [good]},
        {**key, "signatureInterface": "internal", "externalMu": True, "tests": [good]},
        {**external, "preHash": "preHash", "tests": [good | {"hashAlg": "SHA2-256"}]},
        {**external, "tests": [test]},
    )
    # The protocol's files are pairs of a version and the document.
    path = write(tmp_path / "internalProjection.json", [{"acvVersion": "1.0"}, document])
    (file,) = reading.read(path)
    assert [(v.number, v.expected, accepted(v)) for v in file.vectors] == [
        (0, "valid", True), (1, "invalid", False),
    ]  # fmt: skip
    assert file.vectors[1].family == "changed message"
    assert file.format == "ACVP sigVer, external interface"
    assert file.skipped == {
        "(internal interface)": 2, "(external mu)": 1, "(pre-hash)": 1,
        "(no expected result; give expectedResults.json, too)": 1,
    }  # fmt: skip
    first = write(tmp_path / "first.json", acvp("sigVer", {**key, "tests": [good]}))
    with pytest.raises(DataError, match=r"no vector .*skipped: 1 \(internal interface\)"):
        reading.read(first)


@pytest.mark.parametrize("algorithm", ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "SLH-DSA-SHA2-128f"])
def test_generated_signatures_are_verified_with_the_key_of_the_secret_key(algorithm, tmp_path):
    signer = open_signer(algorithm)
    _, secret_key = signer.generate_keypair()
    prompt = {"parameterSet": algorithm, "signatureInterface": "external", "preHash": "pure"}
    prompt["tests"] = [{"sk": secret_key.hex(), "message": "00"}]
    signature = signer.sign(b"\0", secret_key).hex()
    kind = algorithm.partition("-DSA")[0] + "-DSA"
    groups = {"expectedResults": {"tests": [{"signature": signature}]}, "prompt": prompt}
    paths = [
        write(tmp_path / f"{name}.json", acvp("sigGen", group, algorithm=kind))
        for name, group in groups.items()
    ]
    (file,) = reading.read(*paths)
    assert file.path.endswith("prompt.json")
    assert list(map(accepted, file.vectors)) == [True]
    with pytest.raises(DataError, match=r"no expected result; give expectedResults\.json, too"):
        reading.read(paths[1])
    with pytest.raises(DataError, match="no vector can be used of results without prompts"):
        reading.read(paths[0])


def test_results_of_another_vector_set_or_folder_are_not_those_of_a_prompt(signed, tmp_path):
    group = {"parameterSet": "ML-DSA-44", "signatureInterface": "external"}
    test = {name: signed[name] for name in ("pk", "message", "context", "signature")}
    prompt = write(tmp_path / "prompt.json", acvp("sigVer", {**group, "tests": [test]}))
    results = acvp("sigVer", {"tests": [{"testPassed": True}]})
    (tmp_path / "other").mkdir()
    for path, document in (
        (tmp_path / "expectedResults.json", results | {"vsId": 43}),
        (tmp_path / "other" / "expectedResults.json", results),
    ):
        with pytest.raises(DataError, match="no expected result"):
            reading.read(prompt, write(path, document))


def test_signing_tests_of_wycheproof_are_skipped(signed, tmp_path):
    group = {"type": "MlDsaSign", "privateKey": "", "tests": [{"tcId": 1, "flags": [], "sig": ""}]}
    document = {"algorithm": "ML-DSA-44", "testGroups": [group]}
    with pytest.raises(DataError, match=r"Project Wycheproof; vectors: 0; skipped: 1 \(signing"):
        reading.read(write(tmp_path / "sign.json", document))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a file of vectors that can be used: line 1 is not JSON"),
        ("hello", "not a file of vectors that can be used: line 1 is not JSON"),
        ('{"a": \n 1,', "line 2 is not JSON"),
        ("[" * 100_000, "a field has another type or value"),
        ("[]", "a field has another type or value"),
        ("{}", "testGroups is missing or unknown"),
        ('{"algorithm": "ML-DSA-44", "testGroups": 1}', "a field has another type or value"),
        (
            '{"algorithm": "RSA", "testGroups": [{}]}',
            "unknown algorithm with boundary vectors 'RSA'",
        ),
        ("count = 0\nmsg = 00\nsm = 0000\n", "pk is missing"),
        ("count = 0\npk = 00\nmsg = 00\nsm = 0g\n", "a field has another type or value"),
    ],
)
def test_unreadable_files_are_described_without_words_of_python(text, reason, tmp_path):
    with pytest.raises(DataError) as error:
        reading.read(write(tmp_path / "file", text))
    assert reason in str(error.value)
    assert "Error" not in str(error.value)
