"""Atomic writing of files, and the check before it."""

import errno
from pathlib import Path

import pytest

from pqchain.errors import UsageError
from pqchain.results import files


def test_failed_write_keeps_the_old_file_only(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    files.write_atomically(path, "old")

    def full(source: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        files.write_atomically(path, b"new")
    assert [(child.name, child.read_text()) for child in tmp_path.iterdir()] == [
        ("page.html", "old")
    ]


def test_foreign_file_is_not_replaced_where_only_ours_may_be(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    files.check_writable(path, only_ours=True)
    path.write_text("a page about pqchain")
    files.check_writable(path)
    with pytest.raises(UsageError, match=r"page.html was not written by pqchain; name another"):
        files.check_writable(path, only_ours=True)
    path.write_text(f"<meta content='{files.MADE_BY}'>")
    files.check_writable(path, only_ours=True)
    assert [child.name for child in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "is a folder"),
        ("none/a.csv", "folder .*none does not exist; create it"),
        ("file/a.csv", "folder .*file does not exist; create it"),
        ("/dev/null", "must be a regular file"),
        ("a" * 300, "File name too long"),
    ],
)
def test_unwritable_path_is_rejected(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    for refused in (files.check_writable, lambda path: files.write_atomically(path, "new")):
        with pytest.raises(UsageError, match=message):
            refused(tmp_path / name)
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


def test_path_check_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.csv").write_text("old")
    for name in ("old.csv", "new.csv"):
        files.check_writable(tmp_path / name)

    def refuse(path: Path, *given: object, **named: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(UsageError, match=r"new\.csv cannot be written: Permission denied"):
        files.check_writable(tmp_path / "new.csv")
    assert [(child.name, child.read_text()) for child in tmp_path.iterdir()] == [("old.csv", "old")]


def test_scratch_folder_is_removed_even_after_an_error(tmp_path: Path) -> None:
    with files.scratch_folder(tmp_path, prefix="x", suffix=".tmp") as place:
        (place / "file").write_bytes(b"data")
        assert place.parent == tmp_path
        assert place.stat().st_mode & 0o77 == 0
    with pytest.raises(KeyError), files.scratch_folder(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
