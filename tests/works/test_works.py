"""What holds for every work: its key, its folder, and tables and figures that are data."""

import inspect
from pathlib import Path

import pandas as pd
import pytest

from pqchain import plots
from pqchain.errors import UnknownName, UnknownPaper
from pqchain.figures import Kind
from pqchain.installation import read_toml
from pqchain.report import figures
from pqchain.works import papers, registry, shown
from pqchain.works.work import Bench, Work


def test_all_are_there_in_the_order_of_the_report():
    works = registry.works()
    assert {work.key for work in works} == set(papers.keys())
    assert [work.paper.place for work in works] == list(range(1, len(works) + 1))


def test_an_unknown_one_is_refused():
    with pytest.raises(UnknownPaper, match="did you mean 'pqdpol'"):
        registry.get("pqdpool")


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_figure_names_a_plot_that_takes_its_options(work):
    file = work.paper.folder / "figures.toml"
    rows = read_toml(file)["figures"] if file.is_file() else []
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        plot = getattr(plots, f"plot_{row['plot']}")
        inspect.signature(plot).bind(None, **row.get("options", {}))
        assert row["description"] and row["caption"] and row["part"]


def test_every_figure_of_this_machine_names_a_plot():
    rows = read_toml(Path(figures.__file__).with_name("figures.toml"))["figures"]
    assert [row["name"] for row in rows if hasattr(plots, f"plot_{row['plot']}")] == [
        "speed-signatures", "speed-kems", "speedup", "tradeoff", "sizes",
    ]  # fmt: skip


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_table_has_columns_that_can_be_shown(work):
    for said in work.words.values():
        for each in said.get("columns", []):
            assert shown.column(**each).title == each["title"]
        if "frame" in said:
            assert said["part"] and said["caption"] and set(said["source"]) <= set(Kind)


def test_a_table_that_is_data_shows_its_frame(tmp_path):
    text = """
    [one]
    frame = "f"
    caption = "C."
    source = ["modelled"]
    columns = [
      { title = "name" },
      { title = "ms", key = "seconds", numeric = true, show = "{:.1f}", scale = 1e3 },
      { title = "gain", numeric = true, unit = "×", digits = 2, blank = "none" },
    ]
    """
    (tmp_path / "tables.toml").write_text(text, encoding="utf-8")
    rows = {"name": ["a", "b"], "seconds": [0.0104, 2.0], "gain": [float("nan"), 1.5]}
    (table,) = Work(tmp_path).tables({"f": pd.DataFrame(rows)})
    assert [line.split() for line in table.text().splitlines()[3:]] == [
        ["a", "10.4", "none"], ["b", "2000.0", "\N{MULTIPLICATION SIGN}1.5"],
    ]  # fmt: skip
    assert list(Work(tmp_path).tables({"f": pd.DataFrame()})) == []


def test_an_unknown_text_format_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'shortened'"):
        shown.column("time", show="shorten")


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_without_a_clock_nothing_is_measured_and_nothing_fails(work):
    frames = work.compute(Bench())
    assert list(work.failures(frames)) == []
    assert list(work.tables({})) == []
    assert list(work.figures({})) == []


def test_a_work_is_complete_without_a_line_of_code():
    work = Work(registry.get("falcon-hls").paper.folder)
    assert work.schemes() == ("Falcon-512", "Falcon-1024")
    assert work.compute(Bench()) == {}
    assert list(work.tables({})) == list(work.figures({})) == []


def test_a_figure_of_no_plot_is_refused_with_the_nearest(tmp_path):
    texts = dict.fromkeys(("name", "part", "description", "caption"), "any")
    fields = texts | {"plot": "speeds", "frame": "f"}
    lines = [f'{field} = "{value}"' for field, value in fields.items()]
    text = "\n".join(["[[figures]]", *lines])
    (tmp_path / "figures.toml").write_text(text, encoding="utf-8")
    frames = {"f": pd.DataFrame({"x": [1]})}
    with pytest.raises(UnknownName, match="did you mean 'speed'"):
        list(Work(tmp_path).figures(frames))
