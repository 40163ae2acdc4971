"""Output folders of commands, in which no foreign file is replaced or removed.

pqchain's folders have a manifest, `files.json`, which lists the files written there. Only a folder
that is new, empty or has a manifest is written to, so that `--output /etc` is refused before any
work. Files that a user adds to such a folder are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pqchain.errors import DataError, UsageError
from pqchain.installation import MAX_TEXT_BYTES, read_bytes
from pqchain.results import checksum
from pqchain.results.files import check_writable, scratch_folder, write_atomically

MANIFEST = "files.json"

_FIRST_PAGE = Path("index.html")


def claim(folder: Path) -> None:
    """Create an output folder with a manifest, for use before the output is computed.

    Raises UsageError if it cannot be written, or if it has no manifest and contains anything but
    output folders.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} must be a folder; it is a file")
        if (folder / MANIFEST).exists():
            manifest_files(folder)
        elif folder.exists() and (foreign := _foreign(folder)):
            raise UsageError(
                f"{folder} must be new, empty or written by pqchain; it contains {foreign.name}. "
                "Name another folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be written: {reason}; name another folder") from error
    if (folder / MANIFEST).exists():
        check_writable(folder / MANIFEST)
    else:
        _write_manifest(folder, [])


@contextmanager
def staged(folder: Path, *, keep: bool = False) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved to `folder` if the block succeeds.

    Files of an earlier run that this run has not written are removed, unless `keep` is set. Raises
    UsageError as `claim` does, and for a file that would be replaced and is not in the manifest.
    """
    claim(folder)
    folder = folder.resolve()
    # On the same file system, so that each file is moved by a rename.
    with scratch_folder(folder.parent, prefix=f".{folder.name}.", suffix=".tmp") as building:
        yield building
        paths = (path.relative_to(building) for path in building.rglob("*") if path.is_file())
        # The first page is moved last, so that it never refers to missing files.
        _move(building, folder, sorted(paths, key=lambda file: (file == _FIRST_PAGE, file)), keep)


def manifest_files(folder: Path) -> list[Path]:
    """Return the files in the manifest of a folder, relative to it.

    Raises UsageError if the manifest is missing or invalid. Paths outside the folder are left out.
    """
    manifest = folder / MANIFEST
    try:
        text = read_bytes(manifest, MAX_TEXT_BYTES)
        names = checksum.loads(text, str(manifest), "name another folder")["files"]
        files = [Path(name) for name in names]
    except (OSError, DataError, TypeError, KeyError) as error:
        raise UsageError(
            f"{folder} must be new, empty or written by pqchain; its {MANIFEST} was not written by "
            "this version. Name another folder"
        ) from error
    # A manifest of a hostile folder must not make a command replace files elsewhere.
    return [file for file in files if not file.is_absolute() and ".." not in file.parts]


def _foreign(folder: Path) -> Path | None:
    """Return an entry of a folder that is not an output folder and contains more, or None."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_dir():
            return path
        if not (path / MANIFEST).exists() and _foreign(path):
            return path
    return None


def _move(building: Path, folder: Path, files: list[Path], keep: bool) -> None:
    earlier = manifest_files(folder)
    for file in files:
        if file not in earlier and (folder / file).exists():
            raise UsageError(
                f"{folder / file} was not written by pqchain, and would be replaced; move it away, "
                "or name another folder"
            )
    stale = sorted(set(earlier) - set(files))
    # The manifest lists the files of both runs until the earlier ones are removed, so that none is
    # left unlisted by an interruption.
    _write_manifest(folder, [*files, *stale])
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        os.replace(building / file, folder / file)  # noqa: PTH105
    if not keep:
        for file in stale:
            _remove(folder, file)
        _write_manifest(folder, files)


def _write_manifest(folder: Path, files: Iterable[Path]) -> None:
    names = sorted(file.as_posix() for file in files)
    write_atomically(folder / MANIFEST, checksum.dumps({"files": names}, indent=2) + "\n")


def _remove(folder: Path, file: Path) -> None:
    path = folder / file
    # A symbolic link in the path could lead to a file outside the folder.
    if path.parent.resolve() != folder / file.parent or path.is_dir():
        return
    path.unlink(missing_ok=True)
    if path.parent != folder and path.parent.is_dir() and not any(path.parent.iterdir()):
        path.parent.rmdir()
