"""Checksummed JSON: equal content passes with any spacing; other content is rejected."""

import json

import pytest

from pqchain.errors import DataError
from pqchain.results import checksum

CONTENT = {"version": 1, "row": {"a": 1.5, "b": None, "c": "µ"}, "list": [1, "2"]}


def test_document_round_trips_with_any_spacing_and_order() -> None:
    text = checksum.dumps(CONTENT)
    assert checksum.loads(text, "it", "x") == CONTENT
    assert checksum.loads(text.encode(), "it", "x", version=("version", 1)) == CONTENT
    with pytest.raises(ValueError, match="JSON compliant"):
        checksum.dumps({"a": float("inf")})
    assert checksum.loads(checksum.dumps({"a": float("inf")}, allow_nan=True), "it", "x") == {
        "a": float("inf")
    }
    shuffled = dict(reversed(json.loads(text).items()))
    assert checksum.loads(json.dumps(shuffled, indent=3), "it", "x") == CONTENT


def test_checksum_covers_the_compact_sorted_text() -> None:
    """SHA-256 of {"a":1}, made with sha256sum."""
    assert json.loads(checksum.dumps({"a": 1}))["sha256"] == (
        "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it cannot be read"),
        ("[1]", "it cannot be read: expected a JSON object; got a list"),
        ("[" * 100_000, "it cannot be read"),
        (b"\xff", "it cannot be read"),
        ("{}", "it has the version None, but this pqchain reads 1; use the pqchain that"),
        ('{"version": 1}', "it has no checksum; mend it"),
        ('{"version": 1, "sha256": "00"}', "it was changed after it was written; mend it"),
        ('{"version": 1, "sha256": ["00"]}', "it was changed after it was written; mend it"),
        ('{"version": 1, "a": NaN, "sha256": "00"}', "it was changed"),
        ('{"version": 1, "a": "\\ud800", "sha256": "00"}', "it was changed"),
    ],
)
def test_invalid_documents_are_rejected(text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        checksum.loads(text, "it", "mend it", version=("version", 1))
