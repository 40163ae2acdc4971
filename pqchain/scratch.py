"""Folders that go with their process, and those that a killed one has left.

A folder is locked while it is in use, and the system lets go of the lock when the process ends,
however it ends. So the next one can tell what is left behind, and takes it away.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "pqchain-scratch-"


@contextmanager
def folder(
    parent: Path | None = None, *, prefix: str = _PREFIX, suffix: str = ""
) -> Iterator[Path]:
    """Give a new folder in `parent`, by default where the system keeps such; it is gone afterwards.

    Takes away what killed processes of this user have left there under such names.
    """
    parent = parent or Path(tempfile.gettempdir())
    for place in parent.glob(f"{glob.escape(prefix)}*{glob.escape(suffix)}"):
        _sweep(place)
    place, lock = _locked(parent, prefix, suffix)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def _locked(parent: Path, prefix: str, suffix: str) -> tuple[Path, int]:
    """Make a folder and lock it; again if somebody took it for left behind meanwhile."""
    while True:
        place = Path(tempfile.mkdtemp(suffix, prefix, parent))
        try:
            lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            return place, lock
        os.close(lock)


def _sweep(place: Path) -> None:
    """Remove a folder of ours that nobody has locked."""
    try:
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return  # gone, no folder, or somebody else's
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
    except OSError:
        pass  # in use
    finally:
        os.close(lock)
