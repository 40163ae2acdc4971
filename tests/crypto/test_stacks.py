"""Operations that need more stack than the thread has run on a larger one.

Otherwise the process would crash, so these tests run in separate processes. McEliece of
liboqs 0.7.1 makes keys on 3 MiB, MAYO and CROSS sign and verify on up to 1 MiB.
"""

from __future__ import annotations

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


def run(code: str) -> None:
    """Run Python code in a new process, which must exit with 0 and print nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "implementation"), LARGE)
def test_sixteen_threads_generate_large_keys(name: str, implementation: str) -> None:
    if reason := unavailable_reason(implementation):
        pytest.skip(reason)
    run(f"""
import threading
import pqchain.crypto as crypto
scheme = getattr(crypto, {"open_" + ("kem" if "McEliece" in name else "signer")!r})(
    {name!r}, {implementation!r})
barrier, made = threading.Barrier(16), []
def work():
    barrier.wait()
    made.append(scheme.generate_keypair())
threading.stack_size(128 * 1024)
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(made)) == 16
public_key, secret_key = made[0]
if hasattr(scheme, "sign"):
    assert scheme.verify(b"m", scheme.sign(b"m", secret_key), public_key)
else:
    ciphertext, secret = scheme.encapsulate(public_key)
    assert scheme.decapsulate(ciphertext, secret_key) == secret
""")


@pytest.mark.parametrize("implementation", ["hawk/avx2", "hawk/ref"])
def test_hawk_fits_into_the_smallest_threads(implementation: str) -> None:
    if reason := unavailable_reason(implementation):
        pytest.skip(reason)
    run(f"""
import threading
import pqchain.crypto as crypto
signer, done = crypto.open_signer("Hawk-1024", {implementation!r}), []
def work():
    public_key, secret_key = signer.generate_keypair()
    done.append(signer.verify(b"m", signer.sign(b"m", secret_key), public_key))
threading.stack_size(64 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert done == [True]
""")


def test_every_operation_of_the_default_build_fits_into_a_small_thread() -> None:
    run("""
import threading
import pqchain.crypto as crypto
from pqchain import algorithms
failed = []
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
    except BaseException as error:
        failed.append((name, implementation, error))
threading.stack_size(128 * 1024)
for name in algorithms.names():
    for implementation in algorithms.get(name).implementations:
        small = name.endswith(("s-simple", "128s", "192s", "256s"))  # takes seconds
        if small or crypto.unavailable_reason(implementation):
            continue
        thread = threading.Thread(target=work, args=(name, implementation))
        thread.start()
        thread.join()
assert not failed, failed
""")
