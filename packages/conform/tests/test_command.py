"""`pqchain conform`: exported files, verdicts and usage errors."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pqchain.commands.main import main
from pqchain_conform import formats, registry, suite
from pqchain_conform.generators import generate
from pqchain_conform.mutants import ml_dsa
from tests.crypto.test_known_answers import signature_response

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
