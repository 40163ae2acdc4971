"""`pqchain falcon`: input files, output files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pqchain.commands import main as cli

pytestmark = pytest.mark.native


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return a folder with a key pair and a message."""
    files = ["--public-key", str(tmp_path / "pk"), "--secret-key", str(tmp_path / "sk")]
    assert cli.main(["falcon", "keys", *files]) == 0
    (tmp_path / "note").write_bytes(b"a note")
    return tmp_path


@pytest.mark.parametrize("backend", ["auto", "reference", "kernel"])
def test_signed_message_verifies(keys: Path, backend: str, capsys) -> None:
    sign = ["falcon", "sign", str(keys / "note"), "--secret-key", str(keys / "sk")]
    assert cli.main([*sign, "--output", str(keys / "sig"), "--backend", backend, "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["algorithm"] == "Falcon-512"
    assert out["backend"] == ("kernel" if backend == "auto" else backend)
    verify = ["falcon", "verify", str(keys / "note"), str(keys / "sig")]
    assert cli.main([*verify, "--public-key", str(keys / "pk")]) == 0
    (keys / "note").write_bytes(b"another note")
    assert cli.main([*verify, "--public-key", str(keys / "pk")]) == 1
    assert "WRONG" in capsys.readouterr().err


def test_secret_key_file_is_private_and_never_overwritten(keys: Path, capsys) -> None:
    assert (keys / "sk").stat().st_mode & 0o077 == 0
    before = (keys / "sk").read_bytes()
    code = cli.main(
        ["falcon", "keys", "--public-key", str(keys / "new"), "--secret-key", str(keys / "sk")]
    )
    assert code == 2
    assert (keys / "sk").read_bytes() == before
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["nowhere", "link"])
def test_key_does_not_replace_a_dangling_link(
    tmp_path: Path, monkeypatch, target: str, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(target)
    for names in (("link", "new"), ("new", "link")):
        words = ["falcon", "keys", "--public-key", names[0], "--secret-key", names[1]]
        assert cli.main(words) == 2
        assert "link already exists" in capsys.readouterr().err
    assert (tmp_path / "link").readlink() == Path(target)


def test_link_loop_is_an_error_without_traceback(keys: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(keys)
    (keys / "loop").symlink_to("loop")
    words = ["falcon", "sign", "note", "--secret-key", "sk", "--output", "loop/signature"]
    assert cli.main(words) == 2
    assert "the folder loop does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("same", ["same", "./same", "folder/../same", "link/same"])
def test_both_keys_in_one_file_are_rejected(tmp_path: Path, monkeypatch, same: str, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    assert cli.main(["falcon", "keys", "--public-key", "same", "--secret-key", same]) == 2
    assert "which would be overwritten" in capsys.readouterr().err
    assert not (tmp_path / "same").exists()


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("note", "must differ from MESSAGE"),
        ("./sk", "must differ from --secret-key"),
        (".", "must be a file"),
        ("none/sig", "the folder none does not exist"),
    ],
)
def test_signature_output_overwrites_nothing(
    keys: Path, monkeypatch, output: str, said: str, capsys
) -> None:
    monkeypatch.chdir(keys)
    before = {path.name: path.read_bytes() for path in keys.iterdir()}
    assert cli.main(["falcon", "sign", "note", "--secret-key", "sk", "--output", output]) == 2
    assert said in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in keys.iterdir()} == before


def test_usage_errors_name_the_remedy(keys: Path, capsys) -> None:
    sign = ["falcon", "sign", str(keys / "note"), "--output", str(keys / "sig")]
    assert cli.main([*sign, "--secret-key", str(keys / "pk")]) == 2
    assert "1281 or 2305" in capsys.readouterr().err
    assert cli.main([*sign, "--secret-key", str(keys / "sk"), "--backend", "gpu"]) == 2
    assert cli.main([*sign, "--secret-key", str(keys / "nothing")]) == 2
    assert not (keys / "sig").exists()


def test_profile_is_shown(capsys) -> None:
    assert cli.main(["falcon", "profile", "--degree", "1024", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert {row["where"] for row in steps} == {"software", "engine"}
    assert cli.main(["falcon", "profile"]) == 0
    assert "SamplerZ" in capsys.readouterr().out


def test_model_labels_every_row(capsys) -> None:
    assert cli.main(["falcon", "model", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["kind"] for row in data["table3"]} == {
        "published",
        "cited",
        "estimated",
        "modelled",
    }
    assert data["resources"]
    assert cli.main(["falcon", "model"]) == 0
    shown = capsys.readouterr()
    assert "0.0401" in shown.out.replace("\u202f", "") or "40.1" in shown.out
    assert "assumed" in shown.err


def test_doctor_tries_every_backend(capsys) -> None:
    assert cli.main(["falcon", "doctor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["backends"]
    assert [row["backend"] for row in rows] == [
        "reference", "kernel", "simboard", "overlay", "serial",
    ]  # fmt: skip
    assert all(row["works"] or row["reason"] for row in rows)
    assert cli.main(["falcon", "doctor"]) == 0
    assert "ok  kernel" in capsys.readouterr().out


def test_rtl_figures_are_shown(capsys) -> None:
    assert cli.main(["falcon", "rtl", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    totals = [row for row in data["cycles"] if row["phase"] == "total"]
    signed = {(row["configuration"], row["degree"]) for row in totals}
    assert signed >= {("compact", 512), ("compact", 1024), ("fast", 512), ("fast, new key", 512)}
    assert all(row["known_answers"] >= 1 for row in totals)
    assert {row["phase"] for row in data["model"]} >= {"transforms", "leaves and sampler"}
    assert data["limits"]
    assert cli.main(["falcon", "rtl"]) == 0
    shown = capsys.readouterr()
    assert "11\u202f522" in shown.out
    assert "not placed" in shown.err
