"""`pqchain conform`, and the vector files of other projects that it reads."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pqchain.commands.main import main
from pqchain.crypto import open_signer
from pqchain.errors import DataError
from pqchain_conform import formats, implementations, oracles, reading, registry, suite
from pqchain_conform.generators import generate
from pqchain_conform.mutants import ml_dsa
from tests.crypto.test_known_answers import kem_response, signature_response

pytestmark = pytest.mark.native


def test_vectors_are_written_in_both_formats_with_digests(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "new" / "vectors"
    arguments = ["conform", "vectors", "--algorithm", "ML-DSA-44", "--output", str(folder)]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert "ML-DSA-44" in shown.out and "wrote 2 files" in shown.err
    content = json.loads((folder / "wycheproof" / "ml_dsa_44_verify.json").read_text())
    assert content["numberOfTests"] > 500
    assert json.loads((folder / "acvp" / "ml_dsa_44_verify.json").read_text())["mode"] == "sigVer"
    assert (folder / "acvp_sigver.schema.json").is_file()
    monkeypatch.setattr(suite, "digests", dict)
    assert main([*arguments, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["different"]) == 2


def run_fake(kind: str, *more: str) -> list[str]:
    fakes = Path(__file__).with_name("fakes.py")
    return ["conform", "run", *more, "--", sys.executable, str(fakes), kind]


def test_user_verifier_is_judged(tmp_path, capsys):
    file = tmp_path / "some.json"
    file.write_text(formats.text(formats.wycheproof(generate("ML-DSA-44")[::40])))
    assert main(run_fake("right", "--vectors", str(file))) == 0
    assert "ML-DSA-44" in capsys.readouterr().out
    assert main(run_fake("accept", "--vectors", str(file), "--json")) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["wrong"][0]["verdict"] == "accept"
    assert answer["summary"][0]["implementation"] == "fakes"
    output = tmp_path / "result"
    assert main(run_fake("accept", "--vectors", str(file), "--output", str(output))) == 1
    assert (output / "verdicts.csv").is_file()
    assert f"`pqchain conform explain --vectors={file} VECTOR`" in capsys.readouterr().err


def test_vectors_of_a_file_are_explained(tmp_path, capsys):
    """The file's vector of that number, and not pqchain's own."""
    theirs = replace(generate("ML-DSA-44")[40], number=1, family="z-bound")
    file = tmp_path / "theirs.json"
    document = formats.wycheproof([theirs])
    document["testGroups"][0]["tests"][0]["flags"] = ["TheirFlag"]
    file.write_text(formats.text(document))
    assert main(["conform", "explain", "--vectors", str(file), "ml-dsa-44:1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["signature"], shown["family"]) == (theirs.signature.hex(), "TheirFlag")
    assert main(["conform", "explain", "--vectors", str(file), "ML-DSA-44:1"]) == 0
    assert theirs.probe in capsys.readouterr().out


def test_response_file_of_another_scheme_than_its_header_is_noticed(tmp_path, capsys):
    file = tmp_path / "PQCsignKAT.rsp"
    file.write_text(f"# Dilithium2\n\n{signature_response('ML-DSA-44', 'liboqs-0.13/ref', 2)}")
    words = ["conform", "run", "--verifier", "pqchain liboqs-0.13/ref", "--vectors", str(file)]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert f"{file}: response file of NIST; vectors: 2 Dilithium2; skipped: 0" in error
    assert "No valid vector verifies as Dilithium2. The files may be of ML-DSA-44" in error
    assert main([*words, "--algorithm", "ml-dsa-44", "--json"]) == 0
    shown = capsys.readouterr()
    assert "No valid vector" not in shown.err
    (row,) = json.loads(shown.out)["files"]
    assert (row["vectors"], row["skipped"]) == (2, {})


def test_unreadable_vectors_are_wrong_use(tmp_path, refused):
    file = tmp_path / "vectors"
    for text, reason in (("{", "line 1 is not JSON"), ("{}", "testGroups is missing")):
        file.write_text(text)
        for words in (["run"], ["explain", "ML-DSA-44:1"]):
            refused(["conform", *words, "--vectors", str(file)], reason)
    refused(["conform", "run", "--vectors", str(tmp_path / "none")], "No such file")


def test_deciding_numbers_of_a_vector_are_shown(capsys):
    wanted = next(v for v in generate("ML-DSA-44") if v.probe == "z[0][255] = 130995")
    assert main(["conform", "explain", wanted.ident]) == 0
    shown = capsys.readouterr().out
    assert "|z[0][255]| = 130995; it must be below gamma1 - beta = 130994" in shown
    assert "FIPS 204, algorithm 8, line 13" in shown
    assert main(["conform", "explain", wanted.ident, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in answer["checks"] if not check["holds"]] == ["bound on z"]
    assert answer["signature"] == wanted.signature.hex()


def test_failed_builds_state_the_reason(capsys, monkeypatch):
    found = {"rust": ("unsupported", "no cargo on the path"), "go": ("cached", "")}
    monkeypatch.setattr(registry, "build", lambda folders: found)
    assert main(["conform", "build", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["adapters"] == [
        {"adapters": "rust", "status": "unsupported", "reason": "no cargo on the path"},
        {"adapters": "go", "status": "ok", "reason": "cached"},
    ]
    found["go"] = ("failed", "because")
    assert main(["conform", "build"]) == 1
    assert "because" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("run --verifier circl -- ./mine", "exclude each other"),
        ("run --timeout 0", "--timeout must be at least 1; got 0"),
        ("run vectors.json", "must start with a program; got 'vectors.json'"),
        ("run --algorithm Falcon-512 --name theirs", "--name names the verifier of a command"),
        ("explain Hawk-512:1", "Hawk-512"),
        ("explain ML-DSA-44:99999", "unknown vector"),
        ("vectors --output new --algorithm Hawk-512", "boundary vectors"),
        ("vectors --output /dev/null/x --algorithm ML-DSA-44", "cannot be written"),
    ],
)
def test_wrong_use_is_rejected(words, reason, refused):
    refused(["conform", *words.split()], reason)


@pytest.mark.long
def test_mutants_are_compared_with_other_vector_sets(tmp_path, capsys, monkeypatch):
    few = dict(list(ml_dsa.MUTANTS.items())[::15])
    monkeypatch.setattr(ml_dsa, "MUTANTS", few)
    file = tmp_path / "theirs.json"
    others = [v for v in generate("ML-DSA-44") if v.family == "message"]
    file.write_text(formats.text(formats.wycheproof(others)))
    output = tmp_path / "mutants.csv"
    arguments = ["conform", "mutants", "--algorithm", "ML-DSA-44", "--compare", str(file)]
    assert main([*arguments, "--output", str(output), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["survivors"] == []
    assert all(row["ours"] for row in answer["mutants"])
    assert any(row["theirs"] == 0 for row in answer["mutants"])
    assert output.is_file()


def test_protocol_mistake_of_a_user_ends_at_the_first_answer(tmp_path, capsys) -> None:
    script = tmp_path / "mine.py"
    answer = '{"id": 1, "verdict": "yes", "nanoseconds": [1]}'
    script.write_text(f"import sys\nfor line in sys.stdin:\n    print({answer!r}, flush=True)\n")
    words = ["conform", "run", "--algorithm", "Falcon-512"]
    assert main([*words, "--", sys.executable, str(script)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pqchain: mine must answer in the protocol of `pqchain conform run")
    assert "'yes'" in error
    assert main([*words, "--name", "theirs", "--", sys.executable, str(script)]) == 2
    assert "theirs must answer" in capsys.readouterr().err


REF = "liboqs-0.13/ref"


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
