"""A sixth work needs a new folder and no change of an existing file."""

from pathlib import Path

import pytest

from pqchain import bench, reproduce, results
from pqchain.reproduce import notebooks
from pqchain.works import registry
from pqchain.works.work import Bench, Work
from tests import frames
from tests.reproduce.fakes import no_pages
from tests.works.sixth.work import FLIGHT, Sixth

FOLDER = Path(__file__).parent / "data" / "sixth"


def reproduction_of(folder, *works):
    """Reproduce works on synthetic measurements, without pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "measure", lambda names, **_: frames.measurements(names))
        patch.setattr(notebooks, "write_pages", no_pages)
        patch.setattr(registry, "works", lambda: list(works))
        return reproduce.run(folder / "results")


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    """Reproduce it with an existing work."""
    return reproduction_of(
        tmp_path_factory.mktemp("sixth"), registry.get("falcon-hls"), Sixth(FOLDER)
    )


def test_frames_are_written_and_listed(reproduction):
    flight = results.load(reproduction.output / "sixth" / "flight.csv")
    assert results.contract_of(flight) == FLIGHT
    index = (reproduction.output / "index.html").read_text(encoding="utf-8")
    assert "Signatures by carrier pigeon" in index
    assert '<a href="sixth/flight.csv">' in index


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
    rows = reproduction.results[1].comparisons["comparison"]
    assert rows["quantity"].tolist() == ["verify_seconds"]
    assert rows["ratio"].iloc[0] == pytest.approx(58 / 50)


def test_work_of_data_only_needs_no_class(tmp_path):
    work = Work(FOLDER)
    assert (work.algorithms(), work.compute(Bench())) == (("Falcon-512",), {})
    reproduction = reproduction_of(tmp_path, work)
    claims = reproduction.claims.set_index("claim_id")
    assert claims.loc["pigeons-are-slower", "verdict"] == "cannot be decided here"
