"""Operations that need more stack than the thread has run on a larger one.

Otherwise the process would crash, so these tests run in separate processes. McEliece of
liboqs 0.7.1 makes keys on 3 MiB, MAYO and CROSS sign and verify on up to 1 MiB.
"""

import subprocess
import sys

import pytest

from pqchain import algorithms
from pqchain.crypto import unavailable_reason

pytestmark = pytest.mark.native

LARGE = [
    pytest.param(
        name, implementation, marks=[] if implementation == largest else [pytest.mark.long]
    )
    for name, largest in (
        ("Classic-McEliece-348864", "liboqs-0.7.1/avx2"),
        ("Rainbow-I-Classic", "rainbow/avx2"),
    )
    for implementation in algorithms.get(name).implementations
]
"""What needs most stack in `make test`, the others in `make test-long`."""


CODE = """
import threading
import pqchain.crypto as crypto
from pqchain import algorithms
failed, keys = [], []
def work(name, implementation):
    try:
        if algorithms.get(name).kind == "kem":
            kem = crypto.open_kem(name, implementation)
            public_key, secret_key = kem.generate_keypair()
            ciphertext, secret = kem.encapsulate(public_key)
            assert kem.decapsulate(ciphertext, secret_key) == secret
        else:
            signer = crypto.open_signer(name, implementation)
            public_key, secret_key = signer.generate_keypair()
            assert signer.verify(b"m", signer.sign(b"m", secret_key), public_key)
        keys.append(secret_key)
    except BaseException as error:
        failed.append((name, implementation, error))
def run(cells, stack_bytes, at_once):
    threading.stack_size(stack_bytes)
    threads = [threading.Thread(target=work, args=cell) for cell in cells for _ in range(at_once)]
    for number in range(0, len(threads), at_once):
        part = threads[number : number + at_once]
        for thread in part: thread.start()
        for thread in part: thread.join()
    assert not failed, failed
    assert len(set(keys)) == len(threads)
"""
"""Defines `run`, which uses schemes in small threads, so many at once."""


def run(code: str) -> None:
    """Run CODE and a call of its `run` in a new process, which must print nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE + code],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "implementation"), LARGE)
def test_sixteen_threads_generate_large_keys(name: str, implementation: str) -> None:
    if reason := unavailable_reason(implementation):
        pytest.skip(reason)
    run(f"run([({name!r}, {implementation!r})], 128 << 10, 16)")


@pytest.mark.parametrize("implementation", ["hawk/avx2", "hawk/ref"])
def test_hawk_fits_into_the_smallest_threads(implementation: str) -> None:
    if reason := unavailable_reason(implementation):
        pytest.skip(reason)
    run(f"run([('Hawk-1024', {implementation!r})], 64 << 10, 1)")


@pytest.mark.long
def test_every_operation_of_the_default_build_fits_into_a_small_thread() -> None:
    cells = [
        (name, implementation)
        for name in algorithms.names()
        for implementation in algorithms.get(name).implementations
        # Small hash-based sets take seconds.
        if not name.endswith(("s-simple", "128s", "192s", "256s"))
        and not unavailable_reason(implementation)
    ]
    run(f"run({cells}, 128 << 10, 1)")
