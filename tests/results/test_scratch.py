"""Scratch folders: gone with their process, and taken away after one that was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pqchain.results import scratch

PROGRAM = """
import sys, time
from pathlib import Path
from pqchain.results import scratch
with scratch.folder(Path(sys.argv[1]), prefix="x[1].", suffix=".tmp") as place:
    (place / "deep").mkdir()
    (place / "deep" / "file").write_bytes(b"data")
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    time.sleep(60)
"""


def folder(parent: Path):
    return scratch.folder(parent, prefix="x[1].", suffix=".tmp")


def test_it_is_gone_afterwards_also_after_an_error(tmp_path: Path) -> None:
    with folder(tmp_path) as place:
        (place / "file").write_bytes(b"data")
        assert place.parent == tmp_path
        assert place.stat().st_mode & 0o77 == 0
    with pytest.raises(KeyError), folder(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves_goes_with_the_next_and_what_is_in_use_stays(
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


def test_nothing_else_is_taken_away(tmp_path: Path) -> None:
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


def test_whoever_is_taken_for_left_behind_before_it_has_its_lock_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scratch.tempfile.mkdtemp
    lost = []

    def mkdtemp(*given: object) -> str:
        place = made(*given)
        if not lost:
            lost.append(place)
            Path(place).rmdir()
        return place

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", mkdtemp)
    with folder(tmp_path) as place:
        assert str(place) not in lost
        assert place.is_dir()
