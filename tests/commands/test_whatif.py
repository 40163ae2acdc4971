"""`pqchain whatif`: one screen, JSON, LaTeX, a citation, a page, and usage errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pqchain import results
from pqchain.commands import main as cli
from pqchain.study import ready_names
from tests import frames


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return a command line whose times come from a file."""
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["ECDSA-secp256k1", "ML-DSA-44", "Falcon-512"]), file)
    return ["whatif", "bnb", "ml-dsa-44", "--draws", "1", "--measurements", str(file)]


def test_every_format(words: list[str], capsys) -> None:
    assert cli.main([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["chain"], data["algorithm"]) == ("bnb", "ML-DSA-44")
    assert len(data["statements"]) == 8
    assert cli.main([*words, "--latex"]) == 0
    latex = capsys.readouterr().out
    assert latex.count("\\\\") == 9 and "toprule" in latex
    assert cli.main([*words, "--markdown"]) == 0
    assert capsys.readouterr().out.count("\n| ") >= 8
    assert cli.main([*words, "--bibtex"]) == 0
    cited = capsys.readouterr().out
    assert "\\%" in cited
    assert "~\\cite{pqchain}." in cited and "@misc{pqchain," in cited


def test_page_opens_with_the_answer(words: list[str], tmp_path: Path, capsys) -> None:
    page = tmp_path / "bnb.html"
    assert cli.main([*words, "--page", str(page)]) == 0
    assert str(page) in capsys.readouterr().err
    text = page.read_text(encoding="utf-8")
    opening = text[text.index('class="verdict plain"') :]
    assert opening.index("transaction: ") < opening.index("read next: ") < opening.index("<h2")


def test_scheme_by_numbers(words: list[str], capsys) -> None:
    mine = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
    assert cli.main([*words[:2], *words[3:], "--scheme", mine]) == 0
    assert capsys.readouterr().out.startswith("Mine on BNB Smart Chain")
    assert cli.main([*words, "--scheme", mine]) == 2
    assert "name one scheme" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a chain: algorand"),
        (["ethereum"], "name one scheme, such as ML-DSA-44"),
        (["dogecoin", "ML-DSA-44"], ", ".join(ready_names())),
        (["bnb", "Falcon-511"], "unknown algorithm 'Falcon-511'"),
        (["bnb", "ML-KEM-768"], "signature"),
        (["bnb", "ML-DSA-44", "--page", "x.txt"], "must end in .html"),
        (["bnb", "ML-DSA-44", "--measurements", "none.csv"], "none.csv does not exist"),
        (["none.toml", "ML-DSA-44"], "none.toml"),
    ],
)
def test_usage_errors_name_the_remedy(arguments, message, refused, monkeypatch) -> None:
    monkeypatch.setattr("pqchain.study.sampling.measured", lambda *a, **b: pytest.fail("measured"))
    refused(["whatif", *arguments], message)


@pytest.mark.parametrize("words", [["whatif", "bnb", "ML-DSA-44"], ["study", "bnb"]])
def test_unreadable_measurements_are_wrong_use(words: list[str], tmp_path: Path, capsys) -> None:
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("scheme,cycles\nml-dsa-44,99\n", encoding="utf-8")
    results.save(frames.measurements(["ML-DSA-44"]), broken := tmp_path / "broken.csv")
    broken.write_bytes(broken.read_bytes() + b"x")
    for path, told in (
        (tmp_path, f"{tmp_path} must be a file; got a folder. Name a table in it."),
        (tmp_path / "none.csv", "none.csv does not exist"),
        (foreign, "has no sidecar"),
        (broken, "broken.csv"),
        (tmp_path / "broken.json", "must end in .csv"),
    ):
        assert cli.main([*words, "--measurements", str(path)]) == 2
        assert told in capsys.readouterr().err


def test_asked_scheme_alone_is_enough_for_a_plan_with_observations(tmp_path: Path, capsys) -> None:
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["Ed25519", "ML-DSA-44"]), file)
    times = ["--draws", "1", "--measurements", str(file)]
    assert cli.main(["whatif", "cosmos", "ML-DSA-44", *times]) == 0
    assert "Compared with this chain" in capsys.readouterr().out
    assert cli.main(["study", "cometbft", "--set", "algorithms=ML-DSA-44", "--all", *times]) == 0
    assert "not compared: not measured" in capsys.readouterr().out
