"""Atomic writing of files, and the check before it."""

import errno
import signal
import subprocess
import sys
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


PROGRAM = """
import sys, time
from pathlib import Path
from pqchain.results import files
with files.scratch_folder(Path(sys.argv[1]), prefix="x[1].", suffix=".tmp") as place:
    (place / "deep").mkdir()
    (place / "deep" / "file").write_bytes(b"data")
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    time.sleep(60)
"""


def folder(parent: Path):
    return files.scratch_folder(parent, prefix="x[1].", suffix=".tmp")


def test_scratch_folder_is_removed_even_after_an_error(tmp_path: Path) -> None:
    with folder(tmp_path) as place:
        (place / "file").write_bytes(b"data")
        assert place.parent == tmp_path
        assert place.stat().st_mode & 0o77 == 0
    with pytest.raises(KeyError), folder(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_stale_scratch_folders_are_removed_and_used_ones_kept(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with folder(tmp_path):
            assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    assert (left / "deep" / "file").exists()
    with folder(tmp_path) as place:
        assert list(tmp_path.iterdir()) == [place]


def test_other_files_are_kept(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_bytes(b"data")
    parent = tmp_path / "parent"
    parent.mkdir()
    (parent / "x[1].file.tmp").write_bytes(b"data")
    (parent / "x[1].link.tmp").symlink_to(elsewhere)
    (parent / "x1.other.tmp").mkdir()
    before = sorted(parent.iterdir())
    with folder(parent):
        pass
    assert sorted(parent.iterdir()) == before
    assert (elsewhere / "file").exists()


def test_folder_removed_before_its_lock_is_recreated(tmp_path, monkeypatch):
    made = files.tempfile.mkdtemp
    lost = []

    def mkdtemp(*given: object) -> str:
        place = made(*given)
        if not lost:
            lost.append(place)
            Path(place).rmdir()
        return place

    monkeypatch.setattr(files.tempfile, "mkdtemp", mkdtemp)
    with folder(tmp_path) as place:
        assert str(place) not in lost
        assert place.is_dir()
