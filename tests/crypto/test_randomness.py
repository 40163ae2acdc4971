"""Seeded randomness: one source per thread, nested blocks, errors, misused blocks."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pqchain.crypto import native, open_signer, unavailable_reason
from pqchain.crypto.native import seeded_randomness
from pqchain.crypto.random_source import Stream
from pqchain.errors import UsageError
from tests.crypto.seeded_threads import SCHEMES

pytestmark = pytest.mark.native

SLOW = [pytest.mark.long]

ROOT = Path(__file__).resolve().parent.parent.parent

LIBRARIES = {implementation: name for name, implementation, _ in SCHEMES}
"""A scheme of each native library."""


# Rainbow makes a key in a second.
@pytest.fixture(params=[pytest.param(n, marks=SLOW[: "rainbow" in n]) for n in LIBRARIES])
def implementation(request: pytest.FixtureRequest) -> str:
    if reason := unavailable_reason(request.param):
        pytest.skip(reason)
    return str(request.param)


def opened(implementation: str) -> tuple[native.Library, Callable[[], Any]]:
    """Return a library and a call that draws from it."""
    signer = open_signer(LIBRARIES[implementation], implementation)
    return native.library(implementation), signer.generate_keypair


def in_thread(call: Callable[[], Any], *, stack_bytes: int = 0) -> Any:
    """Run the call in a new thread with a stack of that size and return its result."""
    results: list[Any] = []
    before = threading.stack_size(stack_bytes)
    try:
        thread = threading.Thread(target=lambda: results.append(call()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return results[0]


def seeded(library: native.Library, draw: Callable[[], Any]) -> Any:
    """Return the bytes drawn from one seed."""
    with library.randomness(Stream(b"seed")):
        return draw()


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 5])
def test_every_thread_draws_from_its_own_source(processes: int) -> None:
    """Runs in separate processes: a freed callback of another thread once ended the process.

    `make test-memory` runs 200.
    """
    command = [sys.executable, "-m", "tests.crypto.seeded_threads", f"--processes={processes}"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280
    )
    expected = f"{processes} processes: 0 crashed, 0 with wrong results\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_seeded_block_is_reproducible_and_restores_the_source(implementation: str) -> None:
    library, draw = opened(implementation)
    assert seeded(library, draw) == seeded(library, draw)
    fresh = [draw() for _ in range(2)]
    assert len({*fresh, seeded(library, draw)}) == 3


def test_inner_block_restores_the_outer_source(implementation: str) -> None:
    library, draw = opened(implementation)
    with library.randomness(Stream(b"outer")):
        expected = [draw(), draw()]
    with library.randomness(Stream(b"outer")):
        first = draw()
        inner = seeded(library, draw)
        second = draw()
    assert [first, second] == expected
    assert inner == seeded(library, draw)
    assert draw() != draw()


def test_seeded_source_is_used_on_a_larger_stack(implementation: str) -> None:
    """On a short stack, liboqs runs in a thread that the library starts."""
    library, draw = opened(implementation)
    assert in_thread(lambda: seeded(library, draw), stack_bytes=256 << 10) == seeded(library, draw)


def test_another_thread_draws_from_the_system(implementation: str) -> None:
    library, draw = opened(implementation)
    with library.randomness(Stream(b"seed")):
        fresh = in_thread(draw)
        expected = draw()
    assert fresh != expected == seeded(library, draw)


def test_source_error_is_raised_at_the_end_of_the_block(implementation: str) -> None:
    library, draw = opened(implementation)
    results = []

    def broken(count: int) -> bytes:
        raise ValueError("dry")

    for _ in range(2):
        with pytest.raises(ValueError, match="dry"), library.randomness(broken):
            results.append(draw())
    with (
        pytest.raises(UsageError, match=r"the source must return \d+ bytes; got 1"),
        library.randomness(lambda count: b"x"),
    ):
        results.append(draw())
    # Not zeros: bytes drawn meanwhile came from the system.
    assert len(set(results)) == 3


class Alarm(Exception):
    """Raised by the handler of a signal."""


handled: list[int] = []
"""Signals whose handler ran."""


@pytest.fixture
def alarms(request: pytest.FixtureRequest) -> Iterator[int]:
    """Let SIGALRM raise Alarm, as KeyboardInterrupt does; return the number of alarms to raise."""

    def handle(number: int, _: object) -> None:
        handled.append(number)
        raise Alarm

    before = signal.signal(signal.SIGALRM, handle)
    handled.clear()
    yield request.param
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("alarms", [100, pytest.param(1000, marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize("operation", ["generate_keypair", "sign"])
def test_alarms_at_random_moments_are_raised(operation, alarms):
    signer, moments = open_signer("Falcon-512"), random.Random(alarms)
    _, secret_key = signer.generate_keypair()
    arguments = (b"message", secret_key) if operation == "sign" else ()

    def result() -> Any:
        with seeded_randomness(b"seed"):
            return getattr(signer, operation)(*arguments)

    expected, started = result(), time.perf_counter()
    assert result() == expected
    seconds = time.perf_counter() - started
    raised = 0
    for _ in range(20 * alarms):
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-6, seconds))
            try:
                assert result() == expected
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Alarm:
            raised += 1
        if len(handled) >= alarms:
            break
    assert raised == len(handled) == alarms
    fresh = getattr(signer, operation)(*arguments)
    assert fresh not in (expected, result())
    assert result() == expected


def test_stream_is_the_same_in_c_and_python(implementation: str) -> None:
    library, draw = opened(implementation)
    in_c, in_python = (Stream(b"purpose", b"x" * length) for length in (300, 300))
    for _ in range(2):  # the count of draws continues
        with library.randomness(in_c):
            first = draw()
        with library.randomness(in_python.__call__):
            assert draw() == first
    assert in_c(200) == in_python(200)


def test_block_ended_in_another_thread_leaves_no_seed(implementation: str) -> None:
    library, draw = opened(implementation)
    block = library.randomness(Stream(b"seed"))

    def begin() -> None:
        block.__enter__()

    def end() -> tuple[Any, Any]:
        with pytest.raises(UsageError, match="nested within one thread"):
            block.__exit__(None, None, None)
        return draw(), draw()

    begin()
    elsewhere = in_thread(end)
    here = draw(), draw()
    assert len({*elsewhere, *here, seeded(library, draw)}) == 5


def test_interleaved_blocks_are_rejected(implementation: str) -> None:
    library, draw = opened(implementation)
    first, second = (library.randomness(Stream(b"%d" % number)) for number in range(2))
    first.__enter__()
    second.__enter__()
    with pytest.raises(UsageError, match="nested within one thread"):
        first.__exit__(None, None, None)
    with pytest.raises(UsageError, match="nested within one thread"):
        second.__exit__(None, None, None)
    known = set()
    for number in range(2):
        with library.randomness(Stream(b"%d" % number)):
            known.add(draw())
    assert len(known | {draw(), draw()}) == 4
    assert seeded(library, draw) == seeded(library, draw)


def test_batch_uses_the_callers_source() -> None:
    """Threads of a batch do not disturb the source of their caller."""
    signer = open_signer("ML-DSA-44")
    library = native.library(signer.implementation)
    public_key, secret_key = signer.generate_keypair()
    columns = ([b"m"] * 64, [signer.sign(b"m", secret_key)] * 64, [public_key] * 64)
    expected = seeded(library, signer.generate_keypair)
    with library.randomness(Stream(b"seed")):
        assert signer.verify_batch(*columns, threads=4) == []
        assert signer.generate_keypair() == expected


@pytest.mark.long
def test_daemon_threads_may_draw_at_interpreter_exit() -> None:
    code = """
import threading, time
from pqchain.crypto import open_signer
from pqchain.crypto.native import seeded_randomness
signer = open_signer("ML-DSA-44")
signer.generate_keypair()
def work():
    while True:
        with seeded_randomness(b"seed"):
            signer.generate_keypair()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
        assert done.returncode == 0
