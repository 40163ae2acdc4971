"""A sixth work needs a new folder and no change of an existing file."""

from pathlib import Path

import pytest

from pqchain import bench, plots, report, results
from pqchain.report import figures
from pqchain.works import registry
from pqchain.works.work import Work
from tests import frames
from tests.report.fakes import blank_figure
from tests.works.sixth.work import FLIGHT, Sixth

FOLDER = Path(__file__).parent / "data" / "sixth"


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    """Reproduce it with an existing work."""

    def measure(names, *, preset, **options):
        return frames.measurements(names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "measure", measure)
        patch.setattr(plots, "figure_bytes", blank_figure)
        works = [registry.get("falcon-hls"), Sixth(FOLDER)]
        return report.reproduce(tmp_path_factory.mktemp("sixth") / "results", works=works)


def test_chapter_is_in_the_report(reproduction):
    assert reproduction.keys == ("falcon-hls", "sixth")
    chapter = (reproduction.output / "sixth.html").read_text(encoding="utf-8")
    for expected in (
        "Signatures by carrier pigeon", '<section id="sixth-in-the-air">', "7.58\u202fmin",
        'id="figure-sixth-load"', "455 s on the wing", "Verification on the wing",
        "Pigeons fly by day only",
    ):  # fmt: skip
        assert expected in chapter
    assert 'href="sixth.html' in reproduction.index.read_text(encoding="utf-8")
    files = (reproduction.output / "machine.html").read_text(encoding="utf-8")
    assert '<a href="sixth/flight.csv">' in files


def test_frames_and_figures_are_written(reproduction):
    flight = results.load(reproduction.output / "sixth" / "flight.csv")
    assert results.contract_of(flight) == FLIGHT
    assert (reproduction.output / "figures" / "sixth-load.png").is_file()


def test_statements_are_judged_by_its_numbers(reproduction):
    claims = reproduction.claims[reproduction.claims["paper"] == "sixth"].set_index(
        ["claim_id", "source"]
    )
    assert claims["verdict"].to_dict() == {
        ("pigeons-are-slower", "modelled"): "holds",
        ("flight-takes-minutes", "published"): "cannot be decided here",
        ("flight-takes-minutes", "modelled"): "holds",
    }
    assert claims.loc[("flight-takes-minutes", "modelled"), "setting"] == "22 m/s"


def test_published_times_are_next_to_measured_ones(reproduction):
    rows = reproduction.times[reproduction.times["paper"] == "sixth"]
    assert rows["quantity"].tolist() == ["verify_seconds"]
    assert rows["ratio"].iloc[0] == pytest.approx(58 / 50)


def test_work_of_data_only_needs_no_class(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda names, **_: frames.measurements(names))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    reproduction = report.reproduce(tmp_path / "results", works=[Work(FOLDER)])
    claims = reproduction.claims.set_index("claim_id")
    assert claims.loc["pigeons-are-slower", "verdict"] == "cannot be decided here"
    text = (reproduction.output / "sixth.html").read_text(encoding="utf-8")
    assert "Signatures by carrier pigeon" in text
