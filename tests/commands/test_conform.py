"""`pqchain conform`: files that others can take, verdicts, and what is refused."""

from __future__ import annotations

import json

import pytest

from pqchain.commands.main import main
from pqchain.conform import suite

pytestmark = pytest.mark.native


def test_vectors_are_written_in_both_forms_with_their_digests(tmp_path, capsys):
    folder = tmp_path / "new" / "vectors"
    assert main(["conform", "vectors", "--algorithm", "ML-DSA-44", "--output", str(folder)]) == 0
    shown = capsys.readouterr()
    assert "ML-DSA-44" in shown.out
    assert "wrote 2 files" in shown.err
    content = json.loads((folder / "wycheproof" / "ml_dsa_44_verify.json").read_text())
    assert content["numberOfTests"] > 500
    assert json.loads((folder / "acvp" / "ml_dsa_44_verify.json").read_text())["mode"] == "sigVer"
    assert (folder / "acvp_sigver.schema.json").is_file()


def test_other_bytes_than_committed_are_a_failed_check(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(suite, "digests", dict)
    arguments = ["conform", "vectors", "--algorithm", "ML-DSA-44", "--output", str(tmp_path)]
    assert main([*arguments, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["different"]) == 2


def test_wrong_use_is_refused(tmp_path, refused):
    file = tmp_path / "file"
    file.write_text("")
    vectors = ["conform", "vectors", "--output"]
    refused([*vectors, str(tmp_path), "--algorithm", "Hawk-512"], "boundary vectors")
    refused([*vectors, str(file / "x"), "--algorithm", "ML-DSA-44"], "cannot be a folder")
