"""`pqchain study` and `whatif`: lists, answers, pages and usage errors."""

import json
import re
from pathlib import Path

import pytest

from pqchain import results
from pqchain.study import load, ready, ready_names
from tests import frames
from tests.commands.test_usage import MINE


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return a command line whose times come from a file."""
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["ECDSA-secp256k1", "ML-DSA-44", "Falcon-512"]), file)
    return ["whatif", "bnb", "ml-dsa-44", "--draws", "1", "--measurements", str(file)]


def test_studies_are_listed(run) -> None:
    # A name is not joined to its title, however long it is.
    lines = run("study --list").out.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(ready_names())
    assert run("study --list --json").data["pqdpol"] == load("pqdpol").title


def test_preset_can_be_shown_changed_and_run(tmp_path: Path, run) -> None:
    shown = run("study pqdpol --show").out
    assert shown.strip() == ready("pqdpol").strip()
    assert run("study pqdpol --show --json").data["toml"] == ready("pqdpol")
    (tmp_path / "my.toml").write_text(shown.replace("nodes = 32", "nodes = 16"), encoding="utf-8")
    page, figures = tmp_path / "my.html", tmp_path / "my.csv"
    chosen = f"--set algorithms=Falcon-512,Dilithium2,mine --scheme {MINE}"
    line = f"study {tmp_path / 'my.toml'} --draws 2 --all {chosen}"
    out = run(f"{line} --page {page} --output {figures}")
    assert "Falcon-512" in out.out and "final_seconds" in out.out and str(page) in out.err
    assert "<svg" in page.read_text(encoding="utf-8")
    saved = results.load(figures)
    assert saved.attrs["provenance"]["costs"] == "paper:pqdpol"
    assert set(saved["quantity"]) >= {"final_seconds", "repair_seconds"}
    given = saved[(saved["algorithm"] == "Mine") & (saved["kind"] == "given")]
    assert set(given["source"]) == {"given: the command line"}


def test_inputs_are_listed_with_units(run) -> None:
    assert "rate_bits_per_second" in run("study --inputs").out
    rows = run("study --inputs --json").data
    assert {row["input"]: row["unit"] for row in rows}["block_bytes"] == "B"


def test_eight_figures_in_words_unless_all_are_asked_for(run) -> None:
    short = run("study pqdpol --draws 1").out
    table = short[short.index("Main figures") :].splitlines()[3:]
    assert len(table) == 8
    assert "_" not in "\n".join(table)
    whole = run("study pqdpol --draws 1 --all").out
    assert whole.startswith(short.rstrip()) and "final_seconds" in whole


HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x9b\u202e<script>[x](javascript:y)"


@pytest.mark.parametrize("option", ["", "--json", "--latex"])
def test_title_of_a_plan_is_shown_without_control_characters(option, run, tmp_path) -> None:
    title = f"title = {json.dumps(HOSTILE)}"
    plan = re.sub("^title = .*$", lambda _: title, ready("pqdpol"), flags=re.MULTILINE)
    (tmp_path / "my.toml").write_text(plan, encoding="utf-8")
    captured = run(f"study {tmp_path / 'my.toml'} {option}")
    shown = captured.out + captured.err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    if option == "--json":
        assert captured.data["study"] == HOSTILE
    else:
        assert "u202e" in shown


def test_foreign_page_is_not_replaced(run, tmp_path) -> None:
    page = tmp_path / "notes.html"
    page.write_text("about pqchain")
    for command in (["study", "pqdpol"], ["whatif", "ethereum", "Falcon-512"]):
        said = run([*command, "--page", str(page)], 2)
        assert "notes.html was not written by pqchain; name another" in said.err
    assert page.read_text() == "about pqchain"


def test_price_of_one_scheme_can_be_set(run, words: list[str]) -> None:
    changes = ["--set", "algorithms=ML-DSA-44,Falcon-512", "--set", "floor_gas=0"]
    words = ["study", "bnb", "--json", *words[3:], *changes]
    gas = []
    for more in ([], ["--set", "gas_prices.ml-dsa-44=1000000", "--set", "gas_prices.Falcon-512=0"]):
        rows = run([*words, *more]).data["figures"]
        gas.append({r["algorithm"]: r["value"] for r in rows if r["quantity"] == "transaction_gas"})
    by_time, stated = gas
    assert stated["ML-DSA-44"] > by_time["ML-DSA-44"] > stated["ML-DSA-44"] - 1_000_000
    assert stated["Falcon-512"] < by_time["Falcon-512"]
    said = run([*words, "--set", "gas_prices.ML-DSA-44=dear"], 2)
    assert "gas_prices of ML-DSA-44 must be a number from 0 to" in said.err


def test_every_format(words: list[str], tmp_path: Path, run) -> None:
    data = run([*words, "--json"]).data
    assert (data["chain"], data["algorithm"]) == ("bnb", "ML-DSA-44")
    assert len(data["statements"]) == 8
    latex = run([*words, "--latex"]).out
    assert latex.count("\\\\") == 9 and "toprule" in latex
    cited = run([*words, "--bibtex"]).out
    assert "\\%" in cited
    assert "~\\cite{pqchain}." in cited and "@misc{pqchain," in cited
    page = tmp_path / "bnb.html"
    assert str(page) in run([*words, "--page", str(page)]).err
    opening = page.read_text(encoding="utf-8").partition('class="verdict plain"')[2]
    assert opening.index("transaction: ") < opening.index("read next: ") < opening.index("<h2")


def test_scheme_by_numbers(words: list[str], run) -> None:
    assert run([*words[:2], *words[3:], "--scheme", MINE]).out.startswith("Mine on BNB Smart Chain")


@pytest.mark.parametrize("words", [["whatif", "bnb", "ML-DSA-44"], ["study", "bnb"]])
def test_unreadable_measurements_are_wrong_use(words: list[str], tmp_path: Path, run) -> None:
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
        assert told in run([*words, "--measurements", str(path)], 2).err


def test_asked_scheme_alone_is_enough_for_a_plan_with_observations(tmp_path: Path, run) -> None:
    file = tmp_path / "mine.csv"
    results.save(frames.measurements(["Ed25519", "ML-DSA-44"]), file)
    times = ["--draws", "1", "--measurements", str(file)]
    assert "Compared with this chain" in run(["whatif", "cosmos", "ML-DSA-44", *times]).out
    said = run(["study", "cometbft", "--set", "algorithms=ML-DSA-44", "--all", *times])
    assert "not compared: not measured" in said.out
