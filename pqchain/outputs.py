"""Folders that a command fills with files: nobody else's files are replaced or removed.

A folder of ours holds `files.json`, which lists what was written there. Only a folder that is new,
empty or ours is written into, so that `--output /etc` or the name of somebody's web site is refused
before any work. Other files may be added to a folder of ours, and stay.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pqchain import checksum, results, scratch
from pqchain.errors import DataError, UsageError
from pqchain.installation import MOST_TEXT_BYTES, read_bytes

MANIFEST = "files.json"
"""Lists the files in a folder of ours, with a checksum of itself."""

_FIRST_PAGE = Path("index.html")


def claim(folder: Path) -> None:
    """Make a folder, and mark it as ours, before the work for it is done.

    Raises UsageError if it cannot be written, or holds anything but folders of ours.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file; expected a folder")
        if (folder / MANIFEST).exists():
            listed(folder)
        elif (other := _foreign(folder)) is not None:
            raise UsageError(
                f"{folder} must be new, empty or written by pqchain; it holds {other.name}. Name "
                "another folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be written: {reason}; name another folder") from error
    if (folder / MANIFEST).exists():
        results.check_writable(folder / MANIFEST)
    else:
        _list(folder, [])


@contextmanager
def filled(folder: Path, *, keep: bool = False) -> Iterator[Path]:
    """Give an empty folder whose files are moved to `folder` at the end, all of them or none.

    What an earlier run has written and this one has not is removed, unless `keep` is set. Raises
    UsageError as `claim` does, and for a file that would be replaced and is not ours.
    """
    claim(folder)
    folder = folder.resolve()
    with scratch.folder(folder.parent, prefix=f".{folder.name}.", suffix=".tmp") as building:
        yield building
        paths = (path.relative_to(building) for path in building.rglob("*") if path.is_file())
        # The first page goes last, so that it never refers to files that are not there yet.
        _move(building, folder, sorted(paths, key=lambda file: (file == _FIRST_PAGE, file)), keep)


def listed(folder: Path) -> list[Path]:
    """Return the files that were written into a folder of ours, relative to it.

    Raises UsageError if there is no such list, it is not ours, or it names files elsewhere.
    """
    manifest = folder / MANIFEST
    try:
        text = read_bytes(manifest, MOST_TEXT_BYTES)
        names = checksum.loads(text, str(manifest), "name another folder")["files"]
        files = [Path(name) for name in names]
    except (OSError, DataError, TypeError, KeyError) as error:
        raise UsageError(
            f"{folder} must be new, empty or written by pqchain; its {MANIFEST} was not written by "
            "this version. Name another folder"
        ) from error
    return [file for file in files if not file.is_absolute() and ".." not in file.parts]


def _foreign(folder: Path) -> Path | None:
    """Return something in a folder that is not a folder of ours or an empty one."""
    for path in folder.iterdir() if folder.exists() else ():
        if path.is_symlink() or not path.is_dir():
            return path
        try:
            if (path / MANIFEST).exists():
                listed(path)
            elif _foreign(path) is not None:
                return path
        except (OSError, UsageError):
            return path
    return None


def _move(building: Path, folder: Path, files: list[Path], keep: bool) -> None:
    earlier = listed(folder)
    for file in files:
        if file not in earlier and (folder / file).exists():
            raise UsageError(
                f"{folder / file} was not written by pqchain, and would be replaced; move it away, "
                "or name another folder"
            )
    others = sorted(set(earlier) - set(files))
    # The files of both runs, until the earlier ones are gone: an interruption forgets none.
    _list(folder, [*files, *others])
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        os.replace(building / file, folder / file)  # noqa: PTH105
    if not keep:
        for file in others:
            _remove(folder, file)
        _list(folder, files)


def _list(folder: Path, files: Iterable[Path]) -> None:
    names = sorted(file.as_posix() for file in files)
    results.write_atomically(folder / MANIFEST, checksum.dumps({"files": names}, indent=2) + "\n")


def _remove(folder: Path, file: Path) -> None:
    """Remove a file of an earlier run, and its folder if that is empty then."""
    place = folder / file
    # Not through a link that leads elsewhere.
    if place.parent.resolve() != folder / file.parent or place.is_dir():
        return
    place.unlink(missing_ok=True)
    if place.parent != folder and place.parent.is_dir() and not any(place.parent.iterdir()):
        place.parent.rmdir()
