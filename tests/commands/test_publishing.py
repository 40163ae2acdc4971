"""Commands for publications: `pqchain compare`, `plot` and `papers`; the example of a library."""

from pathlib import Path

import pytest

from pqchain import results
from pqchain.bench import runs, stored
from pqchain.works import citation, papers
from tests import frames
from tests.commands.test_usage import MINE


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return results.save(frames.measurements(["Falcon-512", "ML-DSA-44"]), tmp_path / "mine.csv")


def test_compare_shows_draws_and_saves(saved: Path, run) -> None:
    line = "compare mine.csv mine.csv"
    shown = run(f"{line} --plot two.svg --output two.csv").out
    assert "Imaginary 9000" in shown
    assert "single run: repeat both sides, alternating" in shown
    assert "1 run, median/min of verifications 1.05" in shown
    assert shown.count("single run") == 1 and "Warning" not in shown
    assert Path("two.svg").read_text().startswith("<?xml")
    first = run(f"{line} --json").data["compared"][0]
    assert (first["verdict"], first["ratio"]) == ("", 1.0)
    assert r"\toprule" in run(f"{line} --latex").out


def test_compare_takes_sides_of_several_files(saved: Path, run) -> None:
    for _ in range(3):
        runs.append(results.load(saved), Path("old.csv"))
        runs.append(frames.run_of("test-machine-00000000", 2.0), Path("new.csv"))
    falcon = run("compare old.csv new.csv --plot two.svg --json").data["compared"][0]
    assert (falcon["verdict"], falcon["base"], falcon["run"]) == ("slower", "old", "new")
    assert falcon["ratio"] == pytest.approx(2.0)


def test_compare_begins_with_the_warning_of_a_busy_machine(saved: Path, run) -> None:
    busy = results.load(saved).eval("median_seconds = 1.3 * min_seconds")
    busy.attrs = results.load(saved).attrs
    results.save(busy, Path("busy.csv"))
    warning = run(["compare", str(saved), "busy.csv"]).out.splitlines()[0]
    assert warning.startswith("Warning: the machine was busy during busy: ") and "1.30" in warning
    assert run(["compare", str(saved), "busy.csv", "--json"]).data["warnings"] == [warning]


def test_plot_draws_for_a_column(saved: Path, run) -> None:
    line = "plot speed mine.csv --width 3.5in --output speed.pdf --algorithm falcon-512"
    assert run(line).out == "speed.pdf\n"
    content = Path("speed.pdf").read_bytes()
    assert b"/FontFile2" in content  # Type 42 is a TrueType file in the PDF
    assert b"/Type3" not in content  # which publishers reject
    assert b"/MediaBox [ 0 0 252 " in content  # 3.5 inches of 72 points
    run(f"plot sizes --scheme {MINE} --output own.png")
    assert Path("own.png").stat().st_size > 1000


def test_history_is_drawn(saved: Path, run) -> None:
    for _ in range(2):
        runs.append(results.load(saved), Path("history.csv"))
    run("plot history history.csv --algorithm FALCON-512")
    assert "Falcon-512" in Path("history.svg").read_text()


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "pgf"])
def test_foreign_file_is_not_replaced_by_a_plot(saved, refused, suffix) -> None:
    path = Path(f"mine.{suffix}")
    path.write_text("a drawing of speeds by pqchain")
    refused(["plot", "speed", str(saved), "--output", str(path)], "was not written by pqchain")
    refused(["compare", str(saved), str(saved), "--plot", str(path)], "was not written by pqchain")
    assert path.read_text() == "a drawing of speeds by pqchain"


def test_plot_is_replaced_by_a_plot(saved: Path, run) -> None:
    for suffix in ("svg", "pdf", "png"):
        for algorithm in ("Falcon-512", "ML-DSA-44"):
            run(f"plot sizes --algorithm {algorithm} --output a.{suffix}")
    run("compare mine.csv mine.csv --plot a.svg")


def test_unknown_machine_is_reported(saved: Path, tmp_path, monkeypatch, run):
    monkeypatch.setattr(stored, "folder", lambda: tmp_path)
    assert "no measurements of 'elsewhere'" in run(["compare", str(saved), "elsewhere"], 2).err


def test_published_table_is_written_as_latex(run) -> None:
    text = run("papers pqdpol table4 --latex").out
    assert text.isascii()
    assert r"Falcon 512 & Falcon-512 & 11.444\,ms & 512\,\ensuremath{\mu}s" in text


def test_cite_names_the_software_and_every_work(run) -> None:
    text = run("papers --bibtex").out
    assert text.isascii()
    keys = [line[line.index("{") + 1 : -1] for line in text.splitlines() if line[:1] == "@"]
    # What a style would print as a name, or not read as a year, is left out.
    assert "authors not named" not in text and "year = {2021}" in text
    assert "@inproceedings{pqdpol," in text
    assert keys == ["pqchain", *papers.keys()]
    assert "author = {Yongseok Lee and Yunji Lee and Yunheung Paek}" in text


def test_cite_equals_the_citation_file() -> None:
    text = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f'title: "{citation.SOFTWARE["title"]}"' in text
    for entry in citation.entries():
        assert all(name.split("(")[-1].split()[-1].strip(")") in text for name in entry["authors"])


def test_example_of_a_library_states_its_build_command(run) -> None:
    shown = run("doctor --example")
    assert "pq_sign" in shown.out
    assert "-shared -fPIC" in shown.err
    assert run("doctor --example --json").data["example"] == shown.out.rstrip()


def test_papers_are_listed_and_shown(run):
    assert "round3" in run("papers").out
    shown = run("papers pqdpol").out
    assert all(text in shown for text in ("Intel i3-6100U", "table6", "0.4907"))
    assert {work["key"] for work in run("papers --json").data} >= {"pqdpol", "round3"}
    assert run("papers falcon-hls --json").data["title_korean"].startswith("HLS")


def test_table_is_shown_as_printed(run):
    captured = run("papers pqdpol table4")
    assert "11.444\N{NARROW NO-BREAK SPACE}ms" in captured.out
    assert "section 4.3" in captured.out
    shown = run("papers pqdpol table4 --json").data
    assert shown["rows"][0]["sign_seconds"] == 0.000163
    assert shown["units"]["sign_seconds"] == "s"
