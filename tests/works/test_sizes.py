"""Printed sizes: equal, of another version, by another definition, or an erratum that is one."""

import pytest

from pqchain import algorithms
from pqchain.errors import DataError
from pqchain.works import papers
from pqchain.works.sizes import SIZE, VERDICTS, judged, sizes
from tests.works.expectations import EXPECTED, KEYS


@pytest.mark.parametrize("key", KEYS)
def test_sizes_are_equal_or_explained(key):
    frame = sizes(papers.published(key))
    assert set(frame["verdict"]) <= set(VERDICTS) - {"different"}
    other = frame[frame["verdict"] != "equal"]
    columns = ["table", "algorithm", "quantity", "published_bytes", "registry_bytes", "verdict"]
    assert other[columns].values.tolist() == EXPECTED[key]["other_sizes"]
    assert (other["note"] != "").all()
    assert len(frame) == EXPECTED[key]["sizes"]


def cell(value: float, note: str = "") -> dict:
    """Return a printed size of Dilithium2's secret key."""
    about = {"paper": "p", "table": "t", "algorithm": "Dilithium2", "quantity": "secret_key_bytes"}
    return about | {"value": value, "note": note}


@pytest.mark.parametrize(
    ("value", "note", "verdict"),
    [
        (2528.0, "", "equal"), (2544.0, "", "version"), (2529.0, "wrong digit", "erratum"),
        (2529.0, "", "different"),
    ],
)  # fmt: skip
def test_verdicts(value, note, verdict):
    assert judged(cell(value, note), 2528.0)[0] == verdict


def test_planted_an_erratum_that_the_prints_version_explains_is_refused():
    with pytest.raises(DataError, match=r"2544 .* listed as an erratum, but 2544 is version 3\.0"):
        judged(cell(2544.0, "prints 2544, expected 2528"), 2528.0)


def test_other_sizes_are_of_algorithms_and_differ_from_ours():
    for other in algorithms.OTHER_SIZES.values():
        assert getattr(algorithms.get(other.name), other.quantity) != other.bytes
        assert other.kind in VERDICTS and other.source


def test_a_size_that_nothing_explains_is_different():
    published = papers.published("pqdpol")
    is_key = (published["algorithm"] == "Dilithium3") & (
        published["quantity"] == "public_key_bytes"
    )
    published.loc[is_key, "value"] += 1
    frame = sizes(published)
    (row,) = frame[frame["verdict"] == "different"].to_dict("records")
    assert (row["algorithm"], row["published_bytes"], row["registry_bytes"]) == (
        "Dilithium3", 1953, 1952,
    )  # fmt: skip


def test_the_longest_signature_is_compared_with_the_longest():
    frame = sizes(papers.published("mini-blockchain"))
    row = frame[frame["quantity"] == "signature_max_bytes"].iloc[0]
    assert (row["published_bytes"], row["registry_bytes"], row["verdict"]) == (752, 752, "equal")


def test_without_any():
    frame = sizes(papers.published("quic-reencoding"))
    assert len(frame) == 0
    assert list(frame.columns) == list(SIZE.columns)
