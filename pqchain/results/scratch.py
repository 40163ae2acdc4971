"""Temporary folders, and removal of those that a killed process left behind.

A folder is locked while it is in use. The system releases the lock when the process ends, however
it ends, so that a later process can recognize abandoned folders and remove them.
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
    """Yield a new folder in `parent`, and remove the new folder at the end of the block.

    `parent` is by default the system's folder for temporary files. Folders of the same prefix and
    suffix that killed processes of this user have left there are removed first.
    """
    parent = parent or Path(tempfile.gettempdir())
    for path in parent.glob(f"{glob.escape(prefix)}*{glob.escape(suffix)}"):
        _sweep(path)
    path, lock = _locked(parent, prefix, suffix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _locked(parent: Path, prefix: str, suffix: str) -> tuple[Path, int]:
    """Create and lock a folder; return its path and the descriptor that has the lock."""
    # Between creation and lock, another process may remove the folder as abandoned.
    while True:
        path = Path(tempfile.mkdtemp(suffix, prefix, parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        os.close(lock)


def _sweep(path: Path) -> None:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return  # removed meanwhile, not a folder, or not readable for this user
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass  # locked: in use
    finally:
        os.close(lock)
