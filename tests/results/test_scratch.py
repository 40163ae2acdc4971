"""Scratch folders are removed with their process, or after a killed one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pqchain.results import files

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


def test_stale_scratch_folders_are_removed_and_used_ones_kept(
    tmp_path: Path,
) -> None:
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


def test_folder_removed_before_its_lock_is_recreated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
