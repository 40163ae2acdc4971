"""A key file NAME with its state file NAME.state, which says how many leaves were used.

The folder is held by a descriptor, so that a change of the current folder changes nothing. NAME is
replaced durably through a file of a random name. NAME.state, whose lock excludes other processes,
is written in place, within one sector of a disk.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from pqchain.errors import DataError, UsageError
from pqchain.results import checksum

REMEDY = "restore the key file and its state file of the last signature, or create another key"

_SUFFIX, _TEMPORARY = ".state", ".pqchain-"
_FORMAT = ("state_file", 1)
_STATE_BYTES, _MAX_KEY_BYTES = 512, 1 << 20


class KeyFile:
    """A key file and its state file, locked until `close`."""

    def __init__(self, path: str | Path, *, new: bool = False) -> None:
        """Open and lock the state file. Raises OSError, UsageError and DataError."""
        self.path = Path(os.path.realpath(path))
        self._name, self._state_name = self.path.name, self.path.name + _SUFFIX
        if self._name.casefold().endswith(_SUFFIX) or self._name.startswith(_TEMPORARY):
            raise UsageError(
                f"the name of a key file must not end in {_SUFFIX} nor begin with {_TEMPORARY}; "
                f"got {self._name}. Such names belong to state files and temporary files"
            )
        self.process = os.getpid()
        self._unfinished: list[str] = []
        """Files made here that `close` removes."""
        self._identities: dict[str, tuple[int, int]] = {}
        """Device and inode of both files."""
        self._folder, self.state = os.open(self.path.parent, os.O_DIRECTORY | os.O_CLOEXEC), -1
        try:
            self.state = self._open(self._state_name, os.O_RDWR, new=new)
            self._identities[self._state_name] = _identity(os.fstat(self.state))
            fcntl.flock(self.state, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._check()
        except BlockingIOError as error:
            self.close()
            raise UsageError(f"{self.path} is open in another signer; close that first") from error
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | Path, key: bytes, fingerprint: str, used: int) -> None:
        """Make both files durably. Raises OSError, and UsageError if one of them exists."""
        file = cls(path, new=True)
        try:
            # After a crash, a key without a state or with a damaged one is refused.
            file._write_state(fingerprint, used)
            file._make(file._name, key)
            os.fsync(file._folder)
            file._unfinished.clear()
        finally:
            file.close()

    def read(self) -> tuple[bytes, dict[str, Any]]:
        """Return the key, and the state: fingerprint of the "key", number of leaves "used".

        Raises DataError, also for a copy, whose leaves the original may use.
        """
        descriptor = self._open(self._name, os.O_RDONLY)
        try:
            self._identities[self._name] = _identity(os.fstat(descriptor))
            key = os.pread(descriptor, _MAX_KEY_BYTES, 0)
        finally:
            os.close(descriptor)
        name = str(self.path.with_name(self._state_name))
        text = os.pread(self.state, _STATE_BYTES + 1, 0)
        state = checksum.loads(text, name, REMEDY, version=_FORMAT)
        # Compared as a whole, so that no other spaces and fields are accepted.
        expected = _encode(*map(state.get, ("key", "inode", "used")))
        if text != expected or not isinstance(state["used"], int):
            raise DataError(f"{name} is not a state file; {REMEDY}")
        if state["inode"] != self._identities[self._state_name][1]:
            raise DataError(
                f"{self.path} must not be a copy, whose leaves the original may use; {REMEDY}"
            )
        return key, state

    def replace(self, key: bytes, fingerprint: str, used: int) -> None:
        """Write the key, then the state, durably; after an error, `close` the files.

        Raises OSError, and DataError if a file was removed or replaced since it was opened.
        """
        self._check()
        temporary = f"{_TEMPORARY}{secrets.token_hex(16)}"
        identity = self._make(temporary, key)
        os.rename(temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._unfinished.clear()
        self._identities[self._name] = identity
        # The rename itself is durable only after the folder is.
        os.fsync(self._folder)
        # After the key: if only the state were written, the key would look restored.
        self._write_state(fingerprint, used)

    def _write_state(self, fingerprint: str, used: int) -> None:
        inode = self._identities[self._state_name][1]
        os.pwrite(self.state, _encode(fingerprint, inode, used), 0)
        os.fsync(self.state)

    def close(self) -> None:
        """Remove unfinished files, unless they are of a parent process, and release the lock."""
        while self._unfinished and self.process == os.getpid():
            with suppress(OSError):
                os.unlink(self._unfinished.pop(), dir_fd=self._folder)
        descriptors, self.state, self._folder = (self.state, self._folder), -1, -1
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self, name: str, flags: int, *, new: bool = False) -> int:
        """Open a file of the folder, not through a link; a new one is unfinished."""
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        flags |= os.O_CREAT | os.O_EXCL if new else 0
        try:
            descriptor = os.open(name, flags, 0o600, dir_fd=self._folder)
        except FileExistsError as error:
            path = self.path.with_name(name)
            raise UsageError(f"{path} must not exist; name another file") from error
        except FileNotFoundError as error:
            if name != self._state_name:
                raise
            raise DataError(
                f"{self.path} must have a file {name} next to it: the number of leaves used is not "
                f"known without it; {REMEDY}"
            ) from error
        if new:
            self._unfinished.append(name)
        return descriptor

    def _make(self, name: str, data: bytes) -> tuple[int, int]:
        """Make a file durably; return its identity."""
        descriptor = self._open(name, os.O_WRONLY, new=True)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
            return _identity(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def _check(self) -> None:
        for name, identity in self._identities.items():
            now = None
            with suppress(FileNotFoundError):
                now = _identity(os.stat(name, dir_fd=self._folder, follow_symlinks=False))
            if now != identity:
                raise DataError(f"{name} was removed or replaced while it was open; {REMEDY}")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _encode(fingerprint: object, inode: object, used: object) -> bytes:
    content = {_FORMAT[0]: _FORMAT[1], "key": fingerprint, "inode": inode, "used": used}
    return checksum.dumps(content).encode().ljust(_STATE_BYTES - 1) + b"\n"
