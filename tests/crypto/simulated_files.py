"""A simulated disk with crashes, for processes that run `pqchain.crypto.key_files`."""

from __future__ import annotations

import copy
import errno
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

FOLDER = "/keys"


class Crash(BaseException):
    """The process ends here; none of its later operations has an effect."""


class Inode:
    """A file: its content, and the content that survives a crash."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = self.synced = data


class Disk:
    """One folder of files."""

    def __init__(self) -> None:
        self.inodes: dict[int, Inode] = {}
        self.names: dict[str, int] = {}
        self.synced_names: list[dict[str, int]] = [{}]
        """The names at the last fsync of the folder, and after each later change."""
        self.locks: dict[int, tuple[Process, int]] = {}
        """Process and descriptor by inode."""

    def add(self, name: str, data: bytes = b"", *, inode: int | None = None) -> int:
        """Give a name to an inode, or to a new one."""
        if inode is None:
            inode = len(self.inodes) + 1
            self.inodes[inode] = Inode(data)
        self.names[name] = inode
        self.synced_names.append(dict(self.names))
        return inode

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return self.inodes[self.names[name]].data

    def sync(self) -> None:
        """Let everything survive."""
        self.synced_names = [dict(self.names)]
        for inode in self.inodes.values():
            inode.synced = inode.data

    def after_crash(self) -> Iterator[Disk]:
        """Yield disks that a crash can leave: changes since the last fsync lost, kept or torn."""
        dirty = [number for number, inode in self.inodes.items() if inode.data != inode.synced]
        kept = []
        for number in dirty:
            inode = self.inodes[number]
            # A state file is one sector, which is written as a whole.
            torn = [inode.data[: len(inode.data) // 2]] if not inode.synced else []
            kept.append([inode.synced, inode.data, *torn])
        for names in self.synced_names:
            for contents in itertools.product(*kept):
                disk = copy.deepcopy(self)
                disk.locks, disk.names = {}, dict(names)
                for number, data in zip(dirty, contents, strict=True):
                    disk.inodes[number].data = data
                disk.sync()
                yield disk


class Process:
    """The functions of `os` and `fcntl.flock` on a disk; `before` is called before each of them."""

    def __init__(self, disk: Disk, before: Callable[[str], None] = lambda name: None) -> None:
        self.disk, self.before = disk, before
        self.files: dict[int, int] = {}
        """Inodes by descriptor; 0 is the folder."""
        self.numbers = itertools.count(3)

    def open(self, name: Any, flags: int, mode: int = 0, *, dir_fd: int | None = None) -> int:
        self.before("create" if flags & os.O_CREAT else "open")
        inode, names = 0, self.disk.names
        if dir_fd is not None:
            assert self.files[dir_fd] == 0
            if flags & os.O_CREAT:
                assert flags & os.O_EXCL
                if name in names:
                    raise FileExistsError(errno.EEXIST, name)
                self.disk.add(name)
            if name not in names:
                raise FileNotFoundError(errno.ENOENT, name)
            inode = names[name]
        descriptor = next(self.numbers)
        self.files[descriptor] = inode
        return descriptor

    def close(self, descriptor: int) -> None:
        self.before("close")
        inode = self.files.pop(descriptor)
        if self.disk.locks.get(inode) == (self, descriptor):
            del self.disk.locks[inode]

    def flock(self, descriptor: int, operation: int) -> None:
        self.before("flock")
        owner = (self, descriptor)
        if self.disk.locks.setdefault(self.files[descriptor], owner) != owner:
            raise BlockingIOError

    def _inode(self, descriptor: int) -> Inode:
        return self.disk.inodes[self.files[descriptor]]

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        self.before("pread")
        return self._inode(descriptor).data[offset:][:count]

    def write(self, descriptor: int, data: bytes) -> int:
        self.before("write")
        self._inode(descriptor).data += data
        return len(data)

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        self.before("pwrite")
        inode = self._inode(descriptor)
        inode.data = inode.data[:offset] + data + inode.data[offset + len(data) :]
        return len(data)

    def fsync(self, descriptor: int) -> None:
        self.before("fsync" if self.files[descriptor] else "fsync of the folder")
        if self.files[descriptor]:
            self._inode(descriptor).synced = self._inode(descriptor).data
        else:
            self.disk.synced_names = [dict(self.disk.names)]

    def rename(self, name: str, target: str, **folders: int) -> None:
        self.before("rename")
        self.disk.add(target, inode=self.disk.names.pop(name))

    def unlink(self, name: str, **folders: int) -> None:
        self.before("unlink")
        del self.disk.names[name]
        self.disk.synced_names.append(dict(self.disk.names))

    def stat(self, name: str, **options: Any) -> SimpleNamespace:
        self.before("stat")
        if name not in self.disk.names:
            raise FileNotFoundError(errno.ENOENT, name)
        return SimpleNamespace(st_dev=1, st_ino=self.disk.names[name])

    def fstat(self, descriptor: int) -> SimpleNamespace:
        return SimpleNamespace(st_dev=1, st_ino=self.files[descriptor])


class Processes:
    """Stands for the modules `os` and `fcntl`: the functions of the calling thread's process."""

    def __init__(self) -> None:
        self.current = threading.local()

    def __getattr__(self, name: str) -> Any:
        if name.isupper() or name in ("getpid", "path"):
            return getattr(__import__("fcntl" if name.startswith("LOCK") else "os"), name)
        return getattr(self.current.process, name)


def interleave(work: list[Callable[[Callable[[str], None]], None]], turns: tuple[int, ...]) -> None:
    """Run two processes in turns of so many operations, then each to its end.

    Each function of `work` takes the function that its process calls before each operation.
    """
    threads = []
    for function in work:
        thread = SimpleNamespace(go=threading.Semaphore(0), at=threading.Semaphore(0), error=None)

        def wait(name: str, thread: SimpleNamespace = thread) -> None:
            thread.at.release()
            thread.go.acquire()

        def run(function: Any = function, wait: Any = wait, thread: Any = thread) -> None:
            wait("start")
            try:
                function(wait)
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                thread.error = error
            thread.ended = True
            thread.at.release()

        thread.ended = False
        thread.thread = threading.Thread(target=run)
        threads.append(thread)
        thread.thread.start()
        thread.at.acquire()
    for number, turn in enumerate((*turns, 10**6, 10**6)):
        thread = threads[number % 2]
        for _ in range(turn):
            if thread.ended:
                break
            thread.go.release()
            thread.at.acquire()
    for thread in threads:
        thread.thread.join()
        if thread.error is not None:
            raise thread.error
