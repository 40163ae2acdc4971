"""Checks of a user's shared library: sizes, round trips, flipped bits, stacks, threads, clock.

New C code may write past its buffers, end the process or hang. Each check of each scheme therefore
runs in a child process, which must return a result: a process that ends without one, even with exit
code 0, is a failed check.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.crypto import isolation
from pqchain.crypto.abi import OK, REJECTED, SIZE, TimingPlan, failure
from pqchain.crypto.native import Library
from pqchain.crypto.packed import batch_arguments, pack
from pqchain.errors import (
    CryptoFailure,
    PqchainError,
    Unsupported,
    UsageError,
)

LENGTHS = (0, 1, 32, 1000, 100_000)
"""Lengths of the test messages in bytes."""

FLIPS = 256
"""Maximum number of bits flipped, one at a time, in each of message, signature and public key."""

GUARD = b"\xa5" * 64
"""Pattern after every output buffer, to detect writes past its end."""

STACKS = (8 << 20, 1 << 20, 256 << 10)
"""Stack sizes of test threads in bytes. The first one must suffice."""

LIMIT_SECONDS = 120.0
"""Timeout of one check after the first use of a scheme."""


class CheckFailed(CryptoFailure):
    """A check of a library failed; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check of a scheme."""

    scheme: str
    check: str
    passed: bool
    detail: str


class SchemeTest:
    """A scheme called without pqchain's argument checks, with guard bytes after each buffer."""

    def __init__(self, path: Path, name: str) -> None:
        self.library = Library(path)
        self.handle, self.scheme = self.library._handle, self.library.scheme(name)
        self.sizes, self.name = self.library.sizes(name), name
        self.is_kem = self.sizes["kind"] == 2

    def outputs(self, operation: str, sizes: tuple[int, ...], *inputs: bytes) -> list[bytes]:
        """Call an operation and return its outputs. Raises CheckFailed for an error or overflow."""
        # At least one full GUARD follows the `size` bytes that may be written.
        buffers = [ctypes.create_string_buffer(GUARD * (size // 64 + 2)) for size in sizes]
        code = getattr(self.handle, f"pq_{operation}")(self.scheme, *buffers, *inputs)
        if code != OK:
            raise CheckFailed(f"pq_{operation} returned {code}: {failure(code)}")
        for buffer, size in zip(buffers, sizes, strict=True):
            self.check_guard(buffer, size, operation)
        return [buffer.raw[:size] for buffer, size in zip(buffers, sizes, strict=True)]

    def check_guard(self, buffer: ctypes.Array[ctypes.c_char], size: int, operation: str) -> None:
        """Raise CheckFailed if the guard bytes after a buffer were changed."""
        guard = (GUARD * (size // 64 + 2))[size:]
        if buffer.raw[size : size + len(guard)] != guard:
            raise CheckFailed(f"pq_{operation} wrote past a buffer of {size} bytes")

    def keypair(self) -> tuple[bytes, bytes]:
        """Return (public key, secret key). Raises CheckFailed."""
        sizes = self.sizes["public_key_bytes"], self.sizes["secret_key_bytes"]
        public_key, secret_key = self.outputs("keypair", sizes)
        return public_key, secret_key

    def sign(self, message: bytes, secret_key: bytes) -> bytes:
        """Return a signature. Raises CheckFailed, also for an invalid length."""
        longest = self.sizes["signature_max_bytes"]
        buffer, length = ctypes.create_string_buffer(GUARD * (longest // 64 + 2)), SIZE(longest)
        inputs = (message, len(message), b"", 0, secret_key)
        code = self.handle.pq_sign(self.scheme, buffer, ctypes.byref(length), *inputs)
        if code != OK:
            raise CheckFailed(f"pq_sign returned {code}: {failure(code)}")
        self.check_guard(buffer, longest, "sign")
        if not 0 < length.value <= longest:
            raise CheckFailed(f"a signature must have 1 to {longest} bytes; got {length.value}")
        return buffer.raw[: length.value]

    def verify(self, message: bytes, signature: bytes, public_key: bytes) -> int:
        """Return the code of pq_verify."""
        signed = (message, len(message), signature, len(signature), b"", 0, public_key)
        return int(self.handle.pq_verify(self.scheme, *signed))

    def require_rejection(self, damaged: str, *inputs: bytes) -> None:
        """Raise CheckFailed unless `verify` rejects the inputs; `damaged` describes them."""
        code = self.verify(*inputs)
        if code == OK:
            raise CheckFailed(f"{damaged} was accepted")
        if code not in (REJECTED, -1):
            raise CheckFailed(f"pq_verify must return PQ_REJECTED (1) for {damaged}; got {code}")

    def signed(self, count: int, length: int = 32) -> list[tuple[bytes, bytes, bytes]]:
        """Return `count` tuples (message of `length` bytes, signature, public key)."""
        rows = []
        for number in range(count):
            public_key, secret_key = self.keypair()
            message = random.Random(number).randbytes(length)
            rows.append((message, self.sign(message, secret_key), public_key))
        return rows


def sizes(test: SchemeTest) -> str:
    """Check the kind and the sizes of pq_sizes(). Raises CheckFailed."""
    kind = test.sizes["kind"]
    if kind not in (1, 2):
        raise CheckFailed(f"kind must be PQ_SIGNATURE (1) or PQ_KEM (2); got {kind}")
    names = ["public_key_bytes", "secret_key_bytes"]
    names += ["ciphertext_bytes", "shared_secret_bytes"] if test.is_kem else ["signature_max_bytes"]
    sizes = {name: test.sizes[name] for name in names}
    for name, size in sizes.items():
        if not 0 < size <= 1 << 28:
            raise CheckFailed(f"{name} must be from 1 to {1 << 28}; got {size}")
    return ", ".join(f"{name} {size}" for name, size in sizes.items())


def round_trips(test: SchemeTest) -> str:
    """Sign and verify messages of several lengths, or encapsulate and decapsulate."""
    if test.is_kem:
        for _ in LENGTHS:
            first_use(test)
        return f"{len(LENGTHS)} key pairs"
    lengths = set()
    for length in LENGTHS:
        for message, signature, public_key in test.signed(2, length):
            code = test.verify(message, signature, public_key)
            if code != OK:
                raise CheckFailed(
                    f"pq_verify returned {code} for a valid signature of {length} bytes of message"
                )
            lengths.add(len(signature))
    # A library with a constant seed can pass all other checks.
    if test.keypair() == test.keypair():
        raise CheckFailed("two key pairs are equal; pq_keypair must use the system's randomness")
    span = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else f"{max(lengths)}"
    return f"messages of {LENGTHS[0]} to {LENGTHS[-1]} bytes, signatures of {span}"


def flipped_bits(test: SchemeTest) -> str:
    """Check that damaged inputs are rejected: one flipped bit at a time, truncated signatures."""
    rng = random.Random(1)
    if test.is_kem:
        lengths = test.sizes["ciphertext_bytes"], test.sizes["shared_secret_bytes"]
        public_key, secret_key = test.keypair()
        ciphertext, shared = test.outputs("encapsulate", lengths, public_key)
        for damaged in _flipped(ciphertext, rng):
            buffer = ctypes.create_string_buffer(lengths[1])
            code = test.handle.pq_decapsulate(test.scheme, buffer, damaged, secret_key)
            # OK with another secret is implicit rejection.
            if code == OK and buffer.raw == shared:
                raise CheckFailed("a ciphertext with one bit flipped has the same secret")
        return f"{min(FLIPS, 8 * lengths[0])} of the ciphertext"
    [(message, signature, public_key)] = test.signed(1)
    for damaged in _flipped(signature, rng):
        test.require_rejection("a signature with one bit flipped", message, damaged, public_key)
    for damaged in _flipped(message, rng):
        test.require_rejection("a message with one bit flipped", damaged, signature, public_key)
    for cut in (0, 1, len(signature) // 2, len(signature) - 1):
        inputs = message, signature[:cut], public_key
        test.require_rejection(f"a signature cut to {cut} bytes", *inputs)
    # Not a failure: encodings of public keys may have bits that do not matter.
    codes = [test.verify(message, signature, key) for key in _flipped(public_key, rng)]
    summary = "in signature, message and public key, and cut signatures"
    if accepted := codes.count(OK):
        summary += f"; {accepted} of {len(codes)} bits of the public key did not matter"
    return summary


def stacks(test: SchemeTest, size: int = STACKS[0]) -> str:
    """Run round trips on a thread with a stack of `size` bytes."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            round_trips(test)
        except PqchainError as error:
            errors.append(error)

    # The size is global and applies to threads that are started later, so it is restored.
    default_size = threading.stack_size(size)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(default_size)
    if errors:
        raise errors[0]
    return f"a thread of {size >> 10} KiB"


def threads(test: SchemeTest) -> str:
    """Check the scheme on several threads, and batch verification with a wrong signature."""
    if test.is_kem:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: round_trips(test), range(4)))
        return "4 threads at once"
    with ThreadPoolExecutor(4) as pool:
        rows = [row for part in pool.map(lambda _: test.signed(8), range(4)) for row in part]
        codes = list(pool.map(lambda row: test.verify(*row), rows))
    if set(codes) != {OK}:
        raise CheckFailed(
            f"{len(codes) - codes.count(OK)} of {len(codes)} signatures by 4 threads are invalid"
        )
    rows[5] = (rows[5][0] + b"!", *rows[5][1:])
    for count in (1, 4):
        if (wrong := _batch(test, rows, count)) != [5]:
            raise CheckFailed(
                f"pq_verify_batch on {count} threads must report index [5] as wrong; got {wrong}"
            )
    return "4 threads at once, batches on 1 and 4"


def clock(test: SchemeTest) -> str:
    """Run the timed loop, which checks every result."""
    medians = []
    names = algorithms.KEM_OPERATIONS if test.is_kem else algorithms.SIGNATURE_OPERATIONS
    for name in names:
        plan = TimingPlan(
            operation=algorithms.OPERATIONS.index(name), warmup=1, samples=20, minimum=3,
            limit_ns=2 * 10**8, pool=2, message_bytes=32, seed=1,
        )  # fmt: skip
        nanoseconds, _ = test.library.measure(test.name, plan)
        medians.append(f"{name} {sorted(nanoseconds)[len(nanoseconds) // 2] / 1000:.1f} us")
    return ", ".join(medians)


def first_use(test: SchemeTest) -> str:
    """Generate a key pair and use it once; for signatures, also with a damaged one."""
    public_key, secret_key = test.keypair()
    if test.is_kem:
        lengths = test.sizes["ciphertext_bytes"], test.sizes["shared_secret_bytes"]
        ciphertext, shared = test.outputs("encapsulate", lengths, public_key)
        if test.outputs("decapsulate", lengths[1:], ciphertext, secret_key) != [shared]:
            raise CheckFailed("pq_decapsulate returned another secret than pq_encapsulate")
        return "a key pair and a shared secret"
    message = b"message"
    signature = test.sign(message, secret_key)
    if (code := test.verify(message, signature, public_key)) != OK:
        raise CheckFailed(f"pq_verify returned {code} for a valid signature")
    damaged = bytearray(signature)
    damaged[len(damaged) // 2] ^= 1
    test.require_rejection("a signature with one bit flipped", message, bytes(damaged), public_key)
    return "a key pair, a signature and two verifications"


CHECKS: dict[str, Callable[..., str]] = {
    "sizes": sizes,
    "first use": first_use,
    "round trips": round_trips,
    "flipped bits": flipped_bits,
    "stacks": stacks,
    "threads": threads,
    "clock": clock,
}
"""Checks in order. Each returns a summary, or raises."""


def check_library(path: Path, *, first_use_seconds: float) -> Iterator[Finding]:
    """Check every scheme of a library and yield the findings; end at the first timeout.

    `first_use_seconds` is the timeout of loading the library and of the first use of a scheme.
    Raises PqchainError if the library cannot be loaded or has no scheme.
    """
    try:
        names = _call("names", path, limit_seconds=first_use_seconds)
    except CryptoFailure as error:
        raise Unsupported(f"{path.name} cannot be loaded: {error}") from error
    for name in names:
        for check in CHECKS:
            limit = first_use_seconds if check in ("first use", "sizes") else LIMIT_SECONDS
            try:
                detail = _call("run_check", path, limit_seconds=limit, name=name, check=check)
                if check == "stacks":
                    detail = _least_stack(path, name)
            except PqchainError as error:
                yield Finding(name, check, False, str(error))
                if isinstance(error, isolation.CallTimeout):
                    return
                if check in ("first use", "sizes"):
                    break  # the other checks need valid sizes and a scheme that works
            else:
                yield Finding(name, check, True, detail)


def _call(function: str, path: Path, *, limit_seconds: float, **arguments: Any) -> Any:
    return isolation.call(
        f"{__name__}:{function}", limit_seconds=limit_seconds, path=str(path), **arguments
    )


def _least_stack(path: Path, name: str) -> str:
    enough = STACKS[0]
    # Each size in a new child process, which a stack overflow ends.
    for size in STACKS[1:]:
        try:
            _call(
                "run_check", path, limit_seconds=LIMIT_SECONDS, name=name, check="stacks", size=size
            )
        except CryptoFailure:
            break
        enough = size
    return f"threads of {enough >> 10} KiB are enough"


def names(path: str) -> list[str]:
    """Return the names of a library's schemes; runs in the child. Raises PqchainError."""
    return load(Path(path)).names()


def load(path: Path) -> Library:
    """Load a user's library. Raises NativeLibraryBroken, UsageError if it has no scheme."""
    library = Library(path)
    if not library.names():
        raise UsageError(f"{path.name} has no scheme: pq_count() is 0, or pq_open() returns NULL")
    return library


def run_check(path: str, name: str, check: str, **options: int) -> str:
    """Run one check and return its summary; runs in the child. Raises CheckFailed."""
    return CHECKS[check](SchemeTest(Path(path), name), **options)


def _flipped(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for bit in rng.sample(range(8 * len(data)), min(FLIPS, 8 * len(data))):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def _batch(test: SchemeTest, rows: list[tuple[bytes, bytes, bytes]], count: int) -> list[int]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    arguments, verdicts = batch_arguments(test.scheme, pack(columns))
    arguments.threads = count
    test.handle.pq_verify_batch(arguments)
    return [index for index, verdict in enumerate(verdicts.raw) if not verdict]
