"""Properties of every work: key, folder, and declared tables and figures."""

import inspect
import re
from pathlib import Path

import pandas as pd
import pytest

from pqchain import plots
from pqchain.errors import DataError, UnknownName, UnknownPaper
from pqchain.figures import Kind
from pqchain.installation import read_toml
from pqchain.report import figures
from pqchain.works import chapter, papers, registry
from pqchain.works.work import Bench, Work
from tests.frames import computed
from tests.works.expectations import EXPECTED
from tests.works.sixth.test_sixth import FOLDER


def test_works_are_in_report_order():
    works = registry.works()
    assert {work.key for work in works} == set(papers.keys())
    assert [work.paper.place for work in works] == list(range(1, len(works) + 1))


def test_works_do_not_import_each_other():
    folder = Path(papers.__file__).parent
    names = {path.name for path in folder.iterdir() if (path / "work.py").is_file()}
    assert len(names) >= 5
    for file in folder.glob("*/*.py"):
        text = file.read_text(encoding="utf-8")
        imported = set(re.findall(r"pqchain\.works\.(\w+)", text)) & names
        assert imported <= {file.parent.name}, file


def test_unknown_work_is_rejected():
    with pytest.raises(UnknownPaper, match="did you mean 'pqdpol'"):
        registry.get("pqdpool")


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_figure_names_a_plot_that_takes_its_options(work):
    rows = work.chapter.figures
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        plot = plots.find(row["plot"])
        inspect.signature(plot).bind(None, **row.get("options", {}))
        assert row["description"] and row["caption"] and row["part"]


def test_every_figure_of_this_machine_names_a_plot():
    rows = read_toml(Path(figures.__file__).with_name("figures.toml"))["figures"]
    assert [row["name"] for row in rows if row["plot"] in plots.KINDS] == [
        "speed-signatures", "speed-kems", "speedup", "tradeoff", "sizes",
    ]  # fmt: skip


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_table_has_known_columns(work):
    for entry in work.chapter.tables.values():
        for fields in entry.get("columns", []):
            assert chapter.column(**fields).title == fields["title"]
        if "frame" in entry:
            assert entry["frame"] in work.frame_names
            assert entry["part"] and entry["caption"] and set(entry["source"]) <= set(Kind)


def test_data_table_shows_its_frame(tmp_path):
    text = """
    [tables.one]
    frame = "f"
    caption = "C."
    source = ["modelled"]
    columns = [
      { title = "name" },
      { title = "ms", key = "seconds", numeric = true, show = "{:.1f}", scale = 1e3 },
      { title = "gain", numeric = true, unit = "×", digits = 2, blank = "none" },
    ]
    """
    (tmp_path / "chapter.toml").write_text(text, encoding="utf-8")
    rows = {"name": ["a", "b"], "seconds": [0.0104, 2.0], "gain": [float("nan"), 1.5]}
    (table,) = Work(tmp_path).tables({"f": pd.DataFrame(rows)})
    assert [line.split() for line in table.text().splitlines()[3:]] == [
        ["a", "10.4", "none"], ["b", "2000.0", "\N{MULTIPLICATION SIGN}1.5"],
    ]  # fmt: skip
    assert list(Work(tmp_path).tables({"f": pd.DataFrame()})) == []


def test_unknown_text_format_suggests_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'shortened'"):
        chapter.column("time", show="shorten")


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_without_clock_nothing_is_measured(work):
    frames = computed(work.key)
    assert list(work.failures(frames)) == []
    assert list(work.tables({})) == []
    assert list(work.figures({})) == []


def test_work_of_data_only_is_complete():
    work = Work(FOLDER)
    assert work.algorithms() == ("Falcon-512",)
    assert work.compute(Bench()) == {}
    assert list(work.tables({})) == list(work.figures({})) == []


def test_unknown_plot_suggests_the_nearest(tmp_path):
    texts = dict.fromkeys(("name", "part", "description", "caption"), "any")
    fields = texts | {"plot": "speeds", "frame": "f"}
    lines = [f'{field} = "{value}"' for field, value in fields.items()]
    text = "\n".join(["[[figures]]", *lines])
    (tmp_path / "chapter.toml").write_text(text, encoding="utf-8")
    frames = {"f": pd.DataFrame({"x": [1]})}
    with pytest.raises(UnknownName, match="did you mean 'speed'"):
        list(Work(tmp_path).figures(frames))


def test_figure_of_an_unknown_frame_is_rejected(tmp_path):
    fields = 'name = "n"\nplot = "speed"\nframe = "tabel1"\ndescription = "d"\ncaption = "c"'
    (tmp_path / "chapter.toml").write_text(f"[[figures]]\n{fields}", encoding="utf-8")
    work = Work(tmp_path)
    work.frame_names = ("table1",)
    with pytest.raises(UnknownName, match="did you mean 'table1'"):
        list(work.figures({}))


def test_unknown_part_of_a_chapter_is_rejected(tmp_path):
    (tmp_path / "chapter.toml").write_text("[[finding]]\ntext = 'It is so.'", encoding="utf-8")
    with pytest.raises(DataError, match="only tables, figures and findings; got finding"):
        _ = Work(tmp_path).chapter


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_finding_names_facts_of_the_work(work):
    # Without frames there are no facts, but misspelt names are still found.
    assert list(work.findings({})) == []
    assert len(work.chapter.findings) == EXPECTED[work.key]["findings"]
    names = {
        name for entry in work.chapter.findings for name in re.findall(r"{([^}:]+)", entry["text"])
    }
    assert names <= set(work.fact_names())


class Fast(Work):
    """A work with one fact."""

    def fact_names(self):
        return ("gain",)

    def facts(self, frames):
        return {"gain": 2.0} if frames else {}


def finding(folder: Path, text: str) -> Fast:
    (folder / "chapter.toml").write_text(f'[[findings]]\npart = "A b"\ntext = "{text}"')
    return Fast(folder)


def test_finding_without_its_fact_is_omitted(tmp_path):
    work = finding(tmp_path, "{gain:.0f} times")
    assert list(work.findings({})) == []
    (shown,) = work.findings({"f": pd.DataFrame()})
    assert (shown.text, shown.place) == ("2 times", f"{tmp_path.name}-a-b")


@pytest.mark.parametrize("frames", [{}, {"f": pd.DataFrame()}], ids=["no run", "a run"])
def test_finding_with_a_misspelt_fact_is_rejected(tmp_path, frames):
    work = finding(tmp_path, "{gain:.0f} and {gian:.0f} times")
    with pytest.raises(DataError, match=r"got \['gian'\]"):
        list(work.findings(frames))
