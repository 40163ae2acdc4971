"""Commands for publications: `pqchain compare`, `plot`, `cite` and `native`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pqchain import results
from pqchain.bench import runs, stored
from pqchain.commands import main as cli
from pqchain.works import citation, papers
from tests import frames


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return results.save(frames.measurements(["Falcon-512", "ML-DSA-44"]), tmp_path / "mine.csv")


def test_compare_shows_draws_and_saves(saved: Path, capsys) -> None:
    arguments = ["compare", str(saved), str(saved), "--plot", "two.svg", "--output", "two.csv"]
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "Imaginary 9000" in shown
    assert "single run: repeat both sides, alternating" in shown
    assert "1 run, median/min of verifications 1.05" in shown
    assert shown.count("single run") == 1 and "Warning" not in shown
    assert Path("two.svg").read_text().startswith("<?xml")
    assert cli.main(["compare", str(saved), str(saved), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["compared"][0]["verdict"] == ""
    assert plain["compared"][0]["ratio"] == 1.0
    assert cli.main(["compare", str(saved), str(saved), "--latex"]) == 0
    assert r"\toprule" in capsys.readouterr().out
    assert cli.main(["compare", str(saved), str(saved), "--markdown"]) == 0
    assert "| algorithm |" in capsys.readouterr().out


def test_compare_takes_sides_of_several_files(saved: Path, capsys) -> None:
    files = [str(saved)] * 3
    assert cli.main(["compare", *files, "--with", *files, "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["compared"]
    assert {(row["base_runs"], row["runs"]) for row in compared} == {(3, 3)}
    assert {row["verdict"] for row in compared} == {"no difference"}
    for _ in range(3):
        runs.append(results.load(saved), Path("old.csv"))
        runs.append(frames.run_of("test-machine-00000000", 2.0), Path("new.csv"))
    assert cli.main(["compare", "old.csv", "new.csv", "--plot", "two.svg", "--json"]) == 0
    falcon = json.loads(capsys.readouterr().out)["compared"][0]
    assert (falcon["verdict"], falcon["base"], falcon["run"]) == ("slower", "old", "new")
    assert falcon["ratio"] == pytest.approx(2.0)


def test_compare_begins_with_the_warning_of_a_busy_machine(saved: Path, capsys) -> None:
    busy = results.load(saved).eval("median_seconds = 1.3 * min_seconds")
    busy.attrs = results.load(saved).attrs
    results.save(busy, Path("busy.csv"))
    assert cli.main(["compare", str(saved), "busy.csv"]) == 0
    warning = capsys.readouterr().out.splitlines()[0]
    assert warning.startswith("Warning: the machine was busy during busy: ") and "1.30" in warning
    assert cli.main(["compare", str(saved), "busy.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [warning]


def test_plot_draws_for_a_column(saved: Path, capsys) -> None:
    arguments = ["plot", "speed", str(saved), "--width", "3.5in", "--output", "speed.pdf"]
    assert cli.main([*arguments, "--algorithm", "falcon-512"]) == 0
    assert capsys.readouterr().out == "speed.pdf\n"
    content = Path("speed.pdf").read_bytes()
    assert b"/FontFile2" in content  # Type 42 is a TrueType file in the PDF
    assert b"/Type3" not in content  # which publishers reject
    assert b"/MediaBox [ 0 0 252 " in content  # 3.5 inches of 72 points
    mine = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
    assert cli.main(["plot", "sizes", "--scheme", mine, "--output", "own.png"]) == 0
    assert Path("own.png").stat().st_size > 1000


def test_history_is_drawn(saved: Path) -> None:
    for _ in range(2):
        runs.append(results.load(saved), Path("history.csv"))
    arguments = ["plot", "history", "history.csv", "--algorithm", "FALCON-512"]
    assert cli.main(arguments) == 0
    assert "Falcon-512" in Path("history.svg").read_text()


@pytest.mark.parametrize("name", ["notes.txt", "folder"])
def test_compared_name_that_is_no_table_states_what_is_expected(saved, refused, name) -> None:
    Path("notes.txt").touch()
    Path("folder").mkdir()
    refused(["compare", str(saved), name], f"{name} must be a table of `pqchain bench --output`")


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "pgf"])
def test_foreign_file_is_not_replaced_by_a_plot(saved, refused, suffix) -> None:
    path = Path(f"mine.{suffix}")
    path.write_text("a drawing of speeds by pqchain")
    refused(["plot", "speed", str(saved), "--output", str(path)], "was not written by pqchain")
    refused(["compare", str(saved), str(saved), "--plot", str(path)], "was not written by pqchain")
    assert path.read_text() == "a drawing of speeds by pqchain"


def test_plot_is_replaced_by_a_plot(saved: Path) -> None:
    for suffix in ("svg", "pdf", "png"):
        for algorithm in ("Falcon-512", "ML-DSA-44"):
            words = ["plot", "sizes", "--algorithm", algorithm, "--output", f"a.{suffix}"]
            assert cli.main(words) == 0
    assert cli.main(["compare", str(saved), str(saved), "--plot", "a.svg"]) == 0


def test_unknown_machine_is_reported(saved: Path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stored, "folder", lambda: tmp_path)
    assert cli.main(["compare", str(saved), "elsewhere"]) == 2
    assert "no measurements of 'elsewhere'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "sped", "mine.csv"], "unknown plot 'sped'"),
        (["plot", "speed", "none.csv"], "none.csv does not exist"),
        (["plot", "speed"], "speed needs a file"),
        (["plot", "speed", "mine.csv", "--quantity", "bytes"], "speed has one quantity"),
        (["plot", "blocks", "mine.csv"], "blocks needs --quantity"),
        (["plot", "speed", "mine.csv", "--width", "wide"], "must be single, double"),
        (["plot", "speed", "mine.csv", "--output", "a.gif"], "must end in .pdf"),
        (["compare", "mine.csv"], "at least two"),
        (["compare", "mine.csv", "none.csv"], "none.csv does not exist"),
        (["compare", "mine.csv", "--with", "none.csv"], "none.csv does not exist"),
        (["doctor", "--library", "none.so"], "none.so does not exist"),
        (["study", "--list", "--latex"], "this command shows none"),
        (["bench", "--algorithm", "Falcon-512", "--append", "h.txt"], "must end in .csv"),
    ],
)
def test_usage_errors_are_reported(saved: Path, arguments: list[str], message: str, capsys) -> None:
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_published_table_is_written_as_latex(capsys) -> None:
    assert cli.main(["papers", "pqdpol", "table4", "--latex"]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert r"Falcon 512 & Falcon-512 & 11.444\,ms & 512\,\ensuremath{\mu}s" in text


def test_cite_names_the_software_and_every_work(capsys) -> None:
    assert cli.main(["papers", "--bibtex"]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    keys = [line[line.index("{") + 1 : -1] for line in text.splitlines() if line[:1] == "@"]
    # What a style would print as a name, or not read as a year, is left out.
    assert "authors not named" not in text and "year = {2021}" in text
    assert "@inproceedings{pqdpol," in text
    assert keys == ["pqchain", *papers.keys()]
    assert "author = {Yongseok Lee and Yunji Lee and Yunheung Paek}" in text
    assert cli.main(["papers", "PQDPOL", "--cite"]) == 0
    assert capsys.readouterr().out.startswith("[pqdpol] authors not named")


def test_cite_equals_the_citation_file() -> None:
    text = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f'title: "{citation.SOFTWARE["title"]}"' in text
    for entry in citation.entries():
        assert all(name.split("(")[-1].split()[-1].strip(")") in text for name in entry["authors"])


def test_example_of_a_library_states_its_build_command(capsys) -> None:
    assert cli.main(["doctor", "--example"]) == 0
    shown = capsys.readouterr()
    assert "pq_sign" in shown.out
    assert "-shared -fPIC" in shown.err
    assert cli.main(["doctor", "--example", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["example"] == shown.out.rstrip()
