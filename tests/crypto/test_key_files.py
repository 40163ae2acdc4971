"""Keys with state on a simulated disk: all crashes, failing operations and two processes."""

from __future__ import annotations

import copy
import errno
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from pqchain.crypto import key_files, stateful
from pqchain.crypto.key_files import KeyFile
from pqchain.crypto.stateful import StatefulSigner
from pqchain.errors import DataError, PqchainError, UsageError
from tests.crypto.simulated_files import FOLDER, Crash, Disk, Process, Processes, interleave

LEAVES = 20

CHANGES = {"create", "write", "pwrite", "fsync", "fsync of the folder", "rename", "unlink"}
"""Operations after which a crash can leave another disk."""

FOREIGN = ("a.lock", "a.new", "b.new", ".pqchain-other", "other")


class Scheme:
    """A scheme whose keys are the number of the next leaf, and whose signatures are a leaf."""

    algorithm = SimpleNamespace(name="counter", secret_key_bytes=8, signature_max_bytes=8)
    leaves = LEAVES
    keys = itertools.count()

    def generate_keypair(self) -> tuple[bytes, bytes]:
        return b"%08d" % next(self.keys), bytes(8)

    def call(self, function: str, key: bytearray, *arguments: Any) -> int:
        leaf = int.from_bytes(key, "big")
        if function == "sign":
            arguments[0][:] = key
            key[:] = (leaf + 1).to_bytes(8, "big")
        return leaf


class World:
    """A disk with a key `a`, the processes that use it, and the signatures that were released."""

    def __init__(self, processes: Processes) -> None:
        self.processes, self.disk = processes, Disk()
        self.released: list[tuple[bytes, bytes]] = []
        self.refused: list[str] = []
        for name in FOREIGN:
            self.disk.add(name, name.encode())
        self.run(lambda world: StatefulSigner.create("counter", f"{FOLDER}/a").close())
        self.disk.sync()

    def run(self, scenario: Any, before: Callable[[str], None] = lambda name: None) -> None:
        """Run a scenario in a process of its own."""
        self.processes.current.process = process = Process(self.disk, before)
        try:
            scenario(self)
            assert not process.files, "files remain open"
        except Crash:
            process.before = lambda name: None
        finally:
            # The end of a process releases its locks.
            for inode in [i for i, (owner, _) in self.disk.locks.items() if owner is process]:
                del self.disk.locks[inode]

    def sign(self, name: str = "a", count: int = 1) -> None:
        """Open a key, sign, and note what was released."""
        try:
            with StatefulSigner(f"{FOLDER}/{name}") as signer:
                for _ in range(min(count, signer.remaining)):
                    self.released.append((signer.public_key, signer.sign(b"")))
        except (PqchainError, OSError) as error:
            self.refused.append(f"{name}: {error}")

    def on(self, disk: Disk) -> World:
        """Return this world on another disk."""
        world = copy.copy(self)
        world.disk, world.released, world.refused = disk, list(self.released), []
        return world

    def check(self) -> None:
        """Sign with all keys and check what must hold on every disk."""
        self.refused.clear()
        for name in ("a", "c"):
            if name in self.disk.names:
                self.run(lambda world, name=name: world.sign(name, 2))
        assert len(set(self.released)) == len(self.released), "a leaf was used twice"
        assert not [text for text in self.refused if text.startswith("a:")], self.refused
        for name in FOREIGN:
            assert self.disk.read(name) == name.encode(), "a foreign file was changed"


def sign(world: World) -> None:
    world.sign("a", 2)


def create(world: World) -> None:
    with suppress(UsageError, OSError):
        StatefulSigner.create("counter", f"{FOLDER}/c").close()
    if "c" in world.disk.names:
        world.sign("c")


SCENARIOS = [sign, create]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    processes = Processes()
    for module in ("os", "fcntl"):
        monkeypatch.setattr(key_files, module, processes)
    monkeypatch.setattr(stateful, "verifier", lambda name: Scheme())
    return World(processes)


@contextmanager
def raising(error: BaseException, at: int, seen: list[str]) -> Iterator[Callable[[str], None]]:
    """Yield a function that raises before the change of that number, and notes all changes."""

    def before(name: str) -> None:
        if name in CHANGES:
            seen.append(name)
        is_next = name in CHANGES and len(seen) == at + 1
        if is_next or (isinstance(error, Crash) and len(seen) > at):
            raise error

    yield before


def crashes(world: World, scenario: Any) -> Iterator[World]:
    """Yield what every crash in a scenario can leave."""
    for at in itertools.count():
        crashed, seen = world.on(copy.deepcopy(world.disk)), []
        with raising(Crash(), at, seen) as before:
            crashed.run(scenario, before)
        if len(seen) <= at:
            crashed.check()
            return
        for disk in crashed.disk.after_crash():
            yield crashed.on(disk)


def check_crashes(world: World, scenario: Any, depth: int) -> int:
    """Check every crash in a scenario, and each with further crashes; return their number."""
    count = 0
    for left in crashes(world, scenario):
        count += 1
        if depth > 1:
            count += check_crashes(left, scenario, depth - 1)
        left.check()
    return count


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.long)])
def test_no_crash_uses_a_leaf_twice(world: World, scenario: Any, depth: int) -> None:
    assert check_crashes(world, scenario, depth) > 20


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_no_failing_operation_uses_a_leaf_twice(world: World, scenario: Any, number: int) -> None:
    for at in itertools.count():
        failed, seen = world.on(copy.deepcopy(world.disk)), []
        with raising(OSError(number, ""), at, seen) as before:
            failed.run(scenario, before)
        if len(seen) <= at:
            break
        failed.check()


def check_turns(world: World, scenarios: tuple[Any, Any], turns: tuple[int, ...]) -> None:
    both = world.on(copy.deepcopy(world.disk))
    interleave(
        [lambda wait, scenario=scenario: both.run(scenario, wait) for scenario in scenarios], turns
    )
    assert not both.disk.locks
    both.check()


PAIRS = list(itertools.combinations_with_replacement(SCENARIOS, 2))


@pytest.mark.parametrize("pair", PAIRS)
def test_two_processes_use_no_leaf_twice(world: World, pair: tuple[Any, Any]) -> None:
    draw = random.Random(0)
    for first in range(40):
        check_turns(world, pair, (first, draw.randrange(1, 40)))


def unlocked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Process, "flock", lambda *_: None)


def unsynced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Process, "fsync", lambda self, descriptor: self.before("fsync"))


def unsynced_folder(patch: pytest.MonkeyPatch) -> None:
    fsync = Process.fsync
    patch.setattr(Process, "fsync", lambda self, d: fsync(self, d) if self.files[d] else None)


def state_first(patch: pytest.MonkeyPatch) -> None:
    replace = KeyFile.replace

    def reordered(self: KeyFile, key: bytes, fingerprint: str, used: int) -> None:
        self._write_state(fingerprint, used)
        replace(self, key, fingerprint, used)

    patch.setattr(KeyFile, "replace", reordered)


def forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeyFile, "replace", lambda *_: None)


@pytest.mark.parametrize("fault", [unlocked, unsynced, unsynced_folder, state_first, forgotten])
def test_planted_faults_are_found(world, fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        for scenario in SCENARIOS:
            check_crashes(world, scenario, 1)
        for first in range(40):
            check_turns(world, (sign, sign), (first, 12))


def test_invalid_state_files_are_rejected(world: World) -> None:
    world.run(lambda world: world.sign("a", 2))
    state = world.disk.inodes[world.disk.names["a.state"]]
    text = state.data
    number = len(world.disk.names)
    changed = [b"", text[:1], text[:8], bytes(8), bytes(512), text[:-1], text + b"\n", text * 2]
    changed += [text.replace(b'"used": 2', used) for used in (b'"used": 1', b'"used": 2.0')]
    changed += [
        key_files._encode(*fields)
        for fields in (("x", 7, 0), (None, None, None), ("", "", ""), ([], {}, 2.5))
    ]
    changed += [text[:i] + bytes([text[i] ^ 1]) + text[i + 1 :] for i in range(0, 512, 3)]
    for data in changed:
        state.data = data
        world.refused.clear()
        world.run(lambda world: world.sign("a"))
        assert len(world.refused) == 1, data
        assert len(world.disk.names) == number
    state.data = text
    world.check()


@pytest.mark.parametrize("is_replaced", [True, False])
@pytest.mark.parametrize("name", ["a", "a.state"])
def test_files_replaced_while_open_are_noticed(world: World, name: str, is_replaced: bool) -> None:
    def replaced(world: World) -> None:
        with StatefulSigner(f"{FOLDER}/a") as signer:
            data = world.disk.read(name)
            del world.disk.names[name]
            if is_replaced:
                world.disk.add(name, data)
            with pytest.raises(DataError, match="removed or replaced"):
                signer.sign(b"")
            with pytest.raises(UsageError, match="must be open"):
                signer.sign(b"")

    world.run(replaced)
    assert (name in world.disk.names) is is_replaced
