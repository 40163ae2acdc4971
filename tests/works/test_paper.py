"""Damaged paper folders are rejected."""

import shutil
from pathlib import Path

import pytest

from pqchain import installation
from pqchain.errors import DataError
from pqchain.works import papers


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the data that a test may damage."""
    folder = tmp_path / "papers"
    shutil.copytree(installation.data("papers"), folder)
    monkeypatch.setattr(installation, "data", lambda name: folder)
    return folder


def replace(path: Path, old: str, new: str) -> None:
    """Damage a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "table4.csv",
            "0.000163",
            "fast",
            "sign_seconds must be a number in s .*; got 'fast'",
        ),
        (
            "table4.csv",
            "0.000163",
            "NaN",
            "sign_seconds must be a number in s .*; got 'NaN'",
        ),
        ("table4.csv", "0.000163,", "", r"table4\.csv, line 2\b.*\b4"),
        ("table4.csv", "verify_seconds", "sign_seconds", "must have distinct headings"),
        ("table4.csv", "name,", "scheme,", "must have distinct headings, one of them 'name'"),
        ("paper.toml", "title = ", "title ", "cannot read .*paper.toml"),
        ("paper.toml", "authors = []", "", r"paper\.toml has a wrong part: authors"),
        ("paper.toml", "layout = ", "shape = ", r"paper\.toml has a wrong part: .*\.shape"),
        ("paper.toml", '"table4.csv"', '"table9.csv"', r"cannot read .*table9\.csv"),
    ],
)
def test_damaged_files_are_named(copy, file, old, new, message):
    replace(copy / "pqdpol" / file, old, new)
    with pytest.raises(DataError, match=message):
        papers.published("pqdpol")


@pytest.mark.parametrize("content", [b"", b"name\xff\n"])
def test_empty_or_binary_csv_is_named(copy, content):
    (copy / "pqdpol" / "table4.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot read .*table4\.csv"):
        papers.table("pqdpol", "table4")
