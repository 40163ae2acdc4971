"""`pqchain study`: lists, figures, pages and usage errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pqchain import results
from pqchain.commands import main as cli
from pqchain.study import load, ready, ready_names
from pqchain.study.figures import OUTPUTS
from tests import frames


def test_studies_are_listed(capsys) -> None:
    assert cli.main(["study", "--list"]) == 0
    # A name is not joined to its title, however long it is.
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(ready_names())
    assert cli.main(["study", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pqdpol"] == load("pqdpol").title


def test_other_name_of_a_chain_is_its_plan(capsys) -> None:
    assert cli.main(["study", "cosmos", "--show"]) == 0
    assert 'title = "CometBFT' in capsys.readouterr().out


def test_preset_can_be_shown_changed_and_run(tmp_path: Path, capsys) -> None:
    assert cli.main(["study", "pqdpol", "--show"]) == 0
    shown = capsys.readouterr().out
    assert shown.strip() == ready("pqdpol").strip()
    assert cli.main(["study", "pqdpol", "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"study": "pqdpol", "toml": ready("pqdpol")}
    (tmp_path / "my.toml").write_text(shown.replace("nodes = 32", "nodes = 16"), encoding="utf-8")
    page, figures = tmp_path / "my.html", tmp_path / "my.csv"
    files = ["--page", str(page), "--output", str(figures)]
    chosen = ["--all", "--set", "algorithms=Falcon-512,Dilithium2,mine"]
    chosen += ["--scheme", "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"]
    assert cli.main(["study", str(tmp_path / "my.toml"), "--draws", "2", *chosen, *files]) == 0
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
    assert cli.main(["study", "--inputs"]) == 0
    assert "rate_bits_per_second" in capsys.readouterr().out
    assert cli.main(["study", "--inputs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["input"]: row["unit"] for row in rows}["block_bytes"] == "B"
    assert cli.main(["study", "--help-all"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert all(output in told for output in OUTPUTS)


def test_all_invalid_settings_are_reported_at_once(capsys) -> None:
    changes = ["nodes=abc", "block_bytes=-1", "zz=1", "peers=4", "law"]
    assert cli.main(["study", "pqdpol", *(f"--set={change}" for change in changes)]) == 2
    told = capsys.readouterr().err
    for part in (
        "nodes must be a whole number",
        "block_bytes must be a whole number from 1 to",
        "'zz'",
        "peers is not an input",
        "--set must be INPUT=VALUE",
    ):
        assert part in told, part


def test_inputs_can_be_set(capsys) -> None:
    values = []
    for nodes in ("32", "16"):
        change = ["--set", f"nodes={nodes}", "--set", "algorithms=Falcon-512"]
        assert cli.main(["study", "pqdpol", "--draws", "1", "--json", *change]) == 0
        figures = json.loads(capsys.readouterr().out)["figures"]
        found = {(row["algorithm"], row["quantity"]): row["value"] for row in figures}
        values.append(found["Falcon-512", "final_seconds"])
    assert values[0] == pytest.approx(4 * values[1], rel=0.05)


def test_eight_figures_in_words_unless_all_are_asked_for(capsys) -> None:
    assert cli.main(["study", "pqdpol", "--draws", "1"]) == 0
    short = capsys.readouterr().out
    table = short[short.index("Main figures") :].splitlines()[3:]
    assert len(table) == 8
    assert "_" not in "\n".join(table)
    assert cli.main(["study", "pqdpol", "--draws", "1", "--all"]) == 0
    whole = capsys.readouterr().out
    assert whole.startswith(short.rstrip()) and "final_seconds" in whole


HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x9b\u202e<script>[x](javascript:y)"


@pytest.mark.parametrize("option", ["", "--json", "--markdown", "--latex"])
def test_title_of_a_plan_is_shown_without_control_characters(option, capsys, tmp_path) -> None:
    title = f"title = {json.dumps(HOSTILE)}"
    plan = re.sub("^title = .*$", lambda _: title, ready("pqdpol"), flags=re.MULTILINE)
    (tmp_path / "my.toml").write_text(plan, encoding="utf-8")
    assert cli.main(["study", str(tmp_path / "my.toml"), *filter(None, [option])]) == 0
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
        assert cli.main([*command, "--page", str(page)]) == 2
        assert "notes.html was not written by pqchain; name another" in capsys.readouterr().err
    assert page.read_text() == "about pqchain"


def test_price_of_one_scheme_can_be_set(capsys, tmp_path) -> None:
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["ECDSA-secp256k1", "ML-DSA-44", "Falcon-512"]), file)
    changes = ["--set", "algorithms=ML-DSA-44,Falcon-512", "--set", "floor_gas=0"]
    words = ["study", "bnb", "--draws", "1", "--json", "--measurements", str(file), *changes]
    gas = []
    for more in ([], ["--set", "gas_prices.ml-dsa-44=1000000", "--set", "gas_prices.Falcon-512=0"]):
        assert cli.main([*words, *more]) == 0
        rows = json.loads(capsys.readouterr().out)["figures"]
        gas.append({r["algorithm"]: r["value"] for r in rows if r["quantity"] == "transaction_gas"})
    by_time, stated = gas
    assert stated["ML-DSA-44"] > by_time["ML-DSA-44"] > stated["ML-DSA-44"] - 1_000_000
    assert stated["Falcon-512"] < by_time["Falcon-512"]
    assert cli.main([*words, "--set", "gas_prices.ML-DSA-44=dear"]) == 2
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
        (["pqdpol", "--sensitivity", "weather"], "unknown figure"),
        (["pqdpol", "--sensitivity", "latency_seconds"], "add --page"),
        (["pqdpol", "--page", "none/x.html"], "the folder none does not exist"),
        (["pqdpol", "--page", "x.txt"], "must end in .html"),
    ],
)
def test_usage_errors_name_the_remedy(arguments, message, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pqchain.study.run", lambda *given, **named: pytest.fail("computed"))
    assert cli.main(["study", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "pqchain.study" not in told
    assert not list(tmp_path.iterdir())
