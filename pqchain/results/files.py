"""Files written whole: an interrupted process leaves the old file, or the new one."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pqchain.errors import UsageError
from pqchain.installation import MAX_JSON_BYTES, read_bytes

MADE_BY = "made by pqchain"
"""Mark of a page or a plot, which may be replaced by another one."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically, replacing an earlier one of that name.

    Raises UsageError if the file cannot be created.
    """
    temporary = _temporary(path)
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)  # noqa: PTH105 - the name says what happens to an old file
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path, *, only_ours: bool = False) -> None:
    """Raise UsageError if the file cannot be written; for use before the file's content exists.

    With `only_ours` also if it exists without MADE_BY, so that it is not a file of pqchain.
    """
    path = Path(path)
    _temporary(path).unlink()
    if only_ours and path.exists() and MADE_BY.encode() not in read_bytes(path, MAX_JSON_BYTES):
        raise UsageError(f"{path} was not written by pqchain; name another file")


def _temporary(path: Path) -> Path:
    """Return a new file next to the path. Raises UsageError if the path cannot be written."""
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
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {reason}; name another file") from error
    return temporary


@contextmanager
def scratch_folder(
    parent: Path | None = None, *, prefix: str = "pqchain-scratch-", suffix: str = ""
) -> Iterator[Path]:
    """Yield a new folder in `parent`, by default the system's, and remove it at the end."""
    # What cannot be removed is no error of the command.
    with tempfile.TemporaryDirectory(suffix, prefix, parent, ignore_cleanup_errors=True) as place:
        yield Path(place)
