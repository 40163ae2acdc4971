"""Files written whole, and temporary folders, also those that a killed process left behind.

An interrupted process leaves the old file, or the new one. A temporary folder is locked while it is
in use, so that a later process recognizes abandoned folders and removes them.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pqchain.errors import UsageError
from pqchain.installation import MAX_JSON_BYTES, read_bytes

MADE_BY = "made by pqchain"
"""Mark of a page or a plot, which may be replaced by another one."""

_PREFIX = "pqchain-scratch-"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically, replacing an earlier one of that name.

    Raises UsageError if the file cannot be created. A killed process leaves nothing behind where
    unnamed files exist (Linux: O_TMPFILE), and a temporary file elsewhere.
    """
    data = content.encode() if isinstance(content, str) else content
    _check_regular(path)
    if _written_unnamed(path, data):
        return
    temporary = _temporary(path)
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)  # noqa: PTH105 - the name says what happens to an old file
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _written_unnamed(path: Path, data: bytes) -> bool:
    """Write an unnamed file and link it to `path`; return False if the system cannot do that."""
    try:
        descriptor = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (OSError, AttributeError):
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        # With src_dir_fd Python calls linkat, which follows the symbolic link in /proc.
        source, folder = f"/proc/self/fd/{descriptor}", descriptor
        try:
            os.link(source, path, src_dir_fd=folder)
        except FileExistsError:
            temporary = _temporary_name(path)
            try:
                os.link(source, temporary, src_dir_fd=folder)
                os.replace(temporary, path)  # noqa: PTH105
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError:
            return False  # no /proc, or an invalid name, for which the caller raises the error
    return True


def check_writable(path: str | Path, *, only_ours: bool = False) -> None:
    """Raise UsageError if the file cannot be written; for use before the file's content exists.

    With `only_ours` also if it exists without MADE_BY, so that it is not a file of pqchain.
    """
    path = Path(path)
    _temporary(path).unlink()
    if only_ours and path.exists() and MADE_BY.encode() not in read_bytes(path, MAX_JSON_BYTES):
        raise UsageError(f"{path} was not written by pqchain; name another file")


def _temporary(path: Path) -> Path:
    _check_regular(path)
    try:
        temporary = _temporary_name(path)
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    return temporary


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def _unwritable(path: Path, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"{path} cannot be written: {reason}; name another file")


def _check_regular(path: Path) -> None:
    try:
        if path.is_dir():
            raise UsageError(f"{path} must be a file; it is a folder")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} must be a regular file; name another")
        if not path.parent.is_dir():
            raise UsageError(
                f"{path} cannot be written: the folder {path.parent} does not exist; create it, or "
                "name another file"
            )
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


@contextmanager
def scratch_folder(
    parent: Path | None = None, *, prefix: str = _PREFIX, suffix: str = ""
) -> Iterator[Path]:
    """Yield a new folder in `parent`, and remove the new folder at the end of the block.

    `parent` is by default the system's folder for temporary files. Folders of the same prefix and
    suffix that killed processes of this user have left there are removed first.
    """
    # The system releases the lock when the process ends, however it ends.
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
