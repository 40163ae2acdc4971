"""`pqchain study` and `whatif`: lists, answers, pages and usage errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pqchain import results
from pqchain.commands.main import main
from pqchain.study import load, ready, ready_names
from pqchain.study.figures import OUTPUTS
from tests import frames


def test_studies_are_listed(capsys) -> None:
    assert main(["study", "--list"]) == 0
    # A name is not joined to its title, however long it is.
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(ready_names())
    assert main(["study", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pqdpol"] == load("pqdpol").title


def test_preset_can_be_shown_changed_and_run(tmp_path: Path, capsys) -> None:
    assert main(["study", "pqdpol", "--show"]) == 0
    shown = capsys.readouterr().out
    assert shown.strip() == ready("pqdpol").strip()
    assert main(["study", "pqdpol", "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"study": "pqdpol", "toml": ready("pqdpol")}
    (tmp_path / "my.toml").write_text(shown.replace("nodes = 32", "nodes = 16"), encoding="utf-8")
    page, figures = tmp_path / "my.html", tmp_path / "my.csv"
    files = ["--page", str(page), "--output", str(figures)]
    chosen = ["--all", "--set", "algorithms=Falcon-512,Dilithium2,mine"]
    chosen += ["--scheme", "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"]
    assert main(["study", str(tmp_path / "my.toml"), "--draws", "2", *chosen, *files]) == 0
    out = capsys.readouterr()
    assert "Falcon-512" in out.out
    assert "final_seconds" in out.out
    assert str(page) in out.err
    assert "<svg" in page.read_text(encoding="utf-8")
    saved = results.load(figures)
    assert saved.attrs["provenance"]["costs"] == "paper:pqdpol"
    assert set(saved["quantity"]) >= {"final_seconds", "repair_seconds"}
    given = saved[(saved["algorithm"] == "Mine") & (saved["kind"] == "given")]
    assert set(given["source"]) == {"given: the command line"}


def test_inputs_are_listed_with_units_and_help_names_every_figure(capsys) -> None:
    assert main(["study", "--inputs"]) == 0
    assert "rate_bits_per_second" in capsys.readouterr().out
    assert main(["study", "--inputs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["input"]: row["unit"] for row in rows}["block_bytes"] == "B"
    assert main(["study", "--help-all"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert all(output in told for output in OUTPUTS)


def test_eight_figures_in_words_unless_all_are_asked_for(capsys) -> None:
    assert main(["study", "pqdpol", "--draws", "1"]) == 0
    short = capsys.readouterr().out
    table = short[short.index("Main figures") :].splitlines()[3:]
    assert len(table) == 8
    assert "_" not in "\n".join(table)
    assert main(["study", "pqdpol", "--draws", "1", "--all"]) == 0
    whole = capsys.readouterr().out
    assert whole.startswith(short.rstrip()) and "final_seconds" in whole


HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x9b\u202e<script>[x](javascript:y)"


@pytest.mark.parametrize("option", ["", "--json", "--markdown", "--latex"])
def test_title_of_a_plan_is_shown_without_control_characters(option, capsys, tmp_path) -> None:
    title = f"title = {json.dumps(HOSTILE)}"
    plan = re.sub("^title = .*$", lambda _: title, ready("pqdpol"), flags=re.MULTILINE)
    (tmp_path / "my.toml").write_text(plan, encoding="utf-8")
    assert main(["study", str(tmp_path / "my.toml"), *filter(None, [option])]) == 0
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    if option == "--json":
        assert json.loads(captured.out)["study"] == HOSTILE
    elif option == "--markdown":
        assert "\\\\u202e\\<script>[x\\](javascript:y)" in shown
    else:
        assert "u202e" in shown


def test_foreign_page_is_not_replaced(capsys, tmp_path) -> None:
    page = tmp_path / "notes.html"
    page.write_text("about pqchain")
    for command in (["study", "pqdpol"], ["whatif", "ethereum", "Falcon-512"]):
        assert main([*command, "--page", str(page)]) == 2
        assert "notes.html was not written by pqchain; name another" in capsys.readouterr().err
    assert page.read_text() == "about pqchain"


def test_price_of_one_scheme_can_be_set(capsys, tmp_path) -> None:
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["ECDSA-secp256k1", "ML-DSA-44", "Falcon-512"]), file)
    changes = ["--set", "algorithms=ML-DSA-44,Falcon-512", "--set", "floor_gas=0"]
    words = ["study", "bnb", "--draws", "1", "--json", "--measurements", str(file), *changes]
    gas = []
    for more in ([], ["--set", "gas_prices.ml-dsa-44=1000000", "--set", "gas_prices.Falcon-512=0"]):
        assert main([*words, *more]) == 0
        rows = json.loads(capsys.readouterr().out)["figures"]
        gas.append({r["algorithm"]: r["value"] for r in rows if r["quantity"] == "transaction_gas"})
    by_time, stated = gas
    assert stated["ML-DSA-44"] > by_time["ML-DSA-44"] > stated["ML-DSA-44"] - 1_000_000
    assert stated["Falcon-512"] < by_time["Falcon-512"]
    assert main([*words, "--set", "gas_prices.ML-DSA-44=dear"]) == 2
    assert "gas_prices of ML-DSA-44 must be a number from 0 to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a study"),
        (["etherium"], "'ethereum'"),
        (["pqdpol", "--set", "nodes"], "must be INPUT=VALUE"),
        (["pqdpol", "--set", "nodes=0"], "nodes must be a whole number from 1 to"),
        (["pqdpol", "--set", "node=3"], "did you mean 'nodes'"),
        (["pqdpol", "--set", "migration=Falcon-512"], "set it in a TOML file"),
        (["pqdpol", "--set", "algorithms=Falcon-500"], "unknown algorithm 'Falcon-500'"),
        (["pqdpol", "--sensitivity", "weather", "--page", "x.html"], "unknown figure"),
        (["pqdpol", "--sensitivity", "latency_seconds"], "add --page"),
        (["pqdpol", "--page", "none/x.html"], "the folder none does not exist"),
        (["pqdpol", "--page", "x.txt"], "must end in .html"),
    ],
)
def test_usage_errors_name_the_remedy(arguments, message, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pqchain.study.run", lambda *given, **named: pytest.fail("computed"))
    assert main(["study", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "pqchain.study" not in told
    assert not list(tmp_path.iterdir())


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return a command line whose times come from a file."""
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["ECDSA-secp256k1", "ML-DSA-44", "Falcon-512"]), file)
    return ["whatif", "bnb", "ml-dsa-44", "--draws", "1", "--measurements", str(file)]


def test_every_format(words: list[str], capsys) -> None:
    assert main([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["chain"], data["algorithm"]) == ("bnb", "ML-DSA-44")
    assert len(data["statements"]) == 8
    assert main([*words, "--latex"]) == 0
    latex = capsys.readouterr().out
    assert latex.count("\\\\") == 9 and "toprule" in latex
    assert main([*words, "--markdown"]) == 0
    assert capsys.readouterr().out.count("\n| ") >= 8
    assert main([*words, "--bibtex"]) == 0
    cited = capsys.readouterr().out
    assert "\\%" in cited
    assert "~\\cite{pqchain}." in cited and "@misc{pqchain," in cited


def test_page_opens_with_the_answer(words: list[str], tmp_path: Path, capsys) -> None:
    page = tmp_path / "bnb.html"
    assert main([*words, "--page", str(page)]) == 0
    assert str(page) in capsys.readouterr().err
    text = page.read_text(encoding="utf-8")
    opening = text[text.index('class="verdict plain"') :]
    assert opening.index("transaction: ") < opening.index("read next: ") < opening.index("<h2")


def test_scheme_by_numbers(words: list[str], capsys) -> None:
    mine = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
    assert main([*words[:2], *words[3:], "--scheme", mine]) == 0
    assert capsys.readouterr().out.startswith("Mine on BNB Smart Chain")
    assert main([*words, "--scheme", mine]) == 2
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
def test_usage_errors_of_whatif_name_the_remedy(arguments, message, refused, monkeypatch) -> None:
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
        assert main([*words, "--measurements", str(path)]) == 2
        assert told in capsys.readouterr().err


def test_asked_scheme_alone_is_enough_for_a_plan_with_observations(tmp_path: Path, capsys) -> None:
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["Ed25519", "ML-DSA-44"]), file)
    times = ["--draws", "1", "--measurements", str(file)]
    assert main(["whatif", "cosmos", "ML-DSA-44", *times]) == 0
    assert "Compared with this chain" in capsys.readouterr().out
    assert main(["study", "cometbft", "--set", "algorithms=ML-DSA-44", "--all", *times]) == 0
    assert "not compared: not measured" in capsys.readouterr().out
