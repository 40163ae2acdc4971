"""Memory shared by Python and the QUIC library is not used after its release.

python -m tests.wire.transports.test_native_memory lent|placed|resized raised|collected
"""

import asyncio
import gc
import os
import re
import resource
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

from pqchain.errors import UsageError
from pqchain.wire.session import Closed, Received
from pqchain.wire.transports import limits, native, registry
from pqchain.wire.transports.native_library import EventReader
from tests.wire.pair import Mesh, NativePair, until

ROOT = Path(__file__).parents[3]
REASON = registry.get("native").unavailable_reason()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


LENGTH = 200_000_000
"""A buffer of this length is unmapped as soon as it is freed, so that its use ends the process."""


async def drop(use: str, end: str) -> None:
    """Drop two nodes while the library still uses their memory; print what happens."""
    mesh = Mesh("native")
    sender, here, receiver, there = await mesh.connect()
    channel = sender.open(here)
    if use == "placed":
        sender.send(here, channel, b"!")
        await until(lambda: mesh.of(1, Received))
        memory = bytearray(LENGTH)
        receiver.receive_into(there, channel, memoryview(memory), LENGTH, offset=1)
        del memory
    data = bytearray(LENGTH)
    sender.send(here, channel, data)
    if use == "resized":
        try:
            data.clear()
        except BufferError:
            sys.stdout.write("BufferError ")
    del data
    await asyncio.sleep(0.002)
    if end == "raised":
        raise RuntimeError("a mistake of the caller")
    for node in mesh.nodes.values():
        asyncio.get_running_loop().remove_reader(node._descriptor)
    handles = [(node.library, node.handle) for node in mesh.nodes.values()]
    del node, sender, receiver
    mesh.nodes.clear()
    gc.collect()
    for library, handle in handles:
        # Freed with its owner: the handle is unknown.
        assert handle
        try:
            library.call("port", handle)
        except UsageError as error:
            sys.stdout.write(f"{error} ")


@pytest.mark.parametrize(
    ("use", "end"),
    [
        pytest.param("lent", "raised", marks=pytest.mark.long),
        ("lent", "collected"),
        pytest.param("placed", "collected", marks=pytest.mark.long),
        ("resized", "collected"),
        pytest.param("placed", "raised", marks=pytest.mark.long),
        pytest.param("resized", "raised", marks=pytest.mark.long),
    ],
)
def test_node_dropped_without_close_is_safe(use, end):
    """Each of the six cases crashed before the handle had a finalizer."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.wire.transports.test_native_memory", use, end],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    said = "BufferError " if use == "resized" else ""
    closed = r"(handle must be an open one; got \d+ ){2}"
    said += "a mistake of the caller " if end == "raised" else closed
    assert re.fullmatch(f"{said}end", done.stdout)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forked_child_leaves_the_handle_alone():
    """A forked child has the handle but not its thread; freeing it would wait forever."""

    async def forked():
        mesh = Mesh("native")
        node, *_ = await mesh.connect()
        child = os.fork()
        if not child:
            node._free()
            os._exit(0)
        deadline = time.monotonic() + 30
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        if ended == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        await mesh.shutdown()
        assert ended == (child, 0)

    asyncio.run(forked())


def test_fabric_keeps_lent_memory_until_its_owner_is_freed():
    pair = NativePair(bits_per_second=1e6)
    client, session = pair.client, pair.client.dial(1, early=False, now=0.0)
    pair.run()
    data = bytearray(100_000)
    client.send(session, client.open(session), memoryview(data))
    memory, library, handle = pair.fabric.memory, pair.fabric._library, pair.fabric.handle
    pair.step()
    assert [view.obj for view in memory.lent.values()] == [data]
    gone = weakref.ref(pair.fabric)
    del pair, client
    gc.collect()
    assert gone() is None
    assert (memory.lent, memory.registered) == ({}, {})
    data.clear()
    with pytest.raises(UsageError, match="handle must be an open one"):
        library.call("totals", handle, None, 0)


def test_lent_memory_stays_exported_after_release():
    pair = NativePair()
    session = pair.connect()
    client, data = pair.client, bytearray(b"x" * 50_000)
    with memoryview(data) as view:
        client.send(session, client.open(session), view, end=True)
    with pytest.raises(BufferError):
        data.append(0)
    pair.run()
    client.release_lent()
    data.append(0)
    come = b"".join(each.data for each in pair.events(1, Received))
    assert come == b"x" * 50_000


@pytest.mark.parametrize("memory", [bytes(100), bytearray(99)])
def test_memory_must_be_writable_and_long_enough(memory):
    pair = NativePair()
    session = pair.connect()
    with pytest.raises(UsageError, match="must be writable and have 100 bytes; got"):
        pair.client.receive_into(
            session, pair.client.open(session), memoryview(memory), 100, offset=0
        )
    assert pair.client.memory.registered == {}


def test_unread_data_stays_with_the_sender():
    """Once the window and some events are full, the peer waits and no more is buffered."""

    async def flooded():
        mesh = Mesh("native")
        sender, here, receiver, _ = await mesh.connect()
        asyncio.get_running_loop().remove_reader(receiver._descriptor)
        beats, length = memoryview(bytes(1 << 20)), 100 << 20
        for channel in (sender.open(here), sender.open(here)):
            for _ in range(50):
                sender.send(here, channel, beats)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        left = -1
        while left != (left := sender.queued_bytes()):
            await asyncio.sleep(0.5)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        taken = length - left
        assert native._RECEIVE_WINDOW_BYTES / 2 < taken < 40 << 20
        assert grown < 64 << 20
        # It continues after a read.
        asyncio.get_running_loop().add_reader(receiver._descriptor, receiver._deliver_events)

        await until(lambda: sum(len(event.data) for event in mesh.of(1, Received)) == length)
        assert max(len(event.data) for event in mesh.of(1, Received)) <= limits.PIECE_BYTES
        await mesh.shutdown()

    asyncio.run(flooded())


def test_event_loop_turn_is_bounded(monkeypatch):
    """Long work leaves the rest to the next turn, for any amount of data."""
    taken = []
    monkeypatch.setattr(EventReader, "read", lambda box: taken.append(box) or [])
    box, monotonic = EventReader.__new__(EventReader), iter(range(100))
    box.full = True
    node = native.NativeSocket.__new__(native.NativeSocket)
    node._events, node.release_lent = box, lambda: None
    monkeypatch.setattr(
        native.time, "perf_counter", lambda: next(monotonic) * limits.TURN_SECONDS / 4
    )
    node._deliver_events()
    assert len(taken) == 5


def test_non_reading_peer_is_closed(monkeypatch):
    monkeypatch.setattr(limits, "MAX_QUEUED", 1000)
    pair = NativePair()
    session = pair.connect()
    pair.events(0)
    pair.fabric.stop(1)
    channel, chunk = pair.client.open(session), memoryview(bytes(20_000))
    for _ in range(20_000_000 // len(chunk)):
        pair.client.send(session, channel, chunk)
    assert pair.client.queued_bytes() == 20_000_000
    pair.client.send(session, channel, chunk)
    assert pair.client.queued_bytes() == 0
    # It has not been notified yet.
    pair.client.send(session, pair.client.open(session), b"more")
    pair.step()
    assert [event.reason for event in pair.events(0, Closed)] == [limits.PEER_NOT_READING]
    pair.client.release_lent()
    assert pair.client.memory.lent == {}


if __name__ == "__main__":
    try:
        asyncio.run(drop(*sys.argv[1:]))
    except RuntimeError as error:
        sys.stdout.write(f"{error} ")
    sys.stdout.write("end")
