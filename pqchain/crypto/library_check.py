"""Checks of a user's shared library: sizes, round trips, flipped bits, stacks, threads, clock.

New C code may write past its buffers, end the process or hang. Each check of each scheme therefore
runs in a child process, which must return a result: a process that ends without one, even with exit
code 0, is a failed check.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.crypto import isolation
from pqchain.crypto.abi import OK, REJECTED, SIZE, TimingPlan, failure, pack
from pqchain.crypto.native import Batch, Library
from pqchain.errors import CryptoFailure, PqchainError, Unsupported, UsageError

LENGTHS = (0, 1, 32, 1000, 100_000)
"""Lengths of the test messages in bytes."""

FLIPS = 256
"""Maximum number of bits flipped, one at a time, in each of message, signature and public key."""

GUARD = b"\xa5" * 64
"""Pattern after every output buffer, to detect writes past its end."""

STACKS = (8 << 20, 1 << 20, 256 << 10)
"""Stack sizes of test threads in bytes. The first one must suffice."""

MAX_SIZE_BYTES = 1 << 28
"""Maximum length of a key, signature, ciphertext or secret of a user-defined scheme."""

KINDS = {1: "signature", 2: "kem"}
"""Kinds by their numbers in pq_sizes()."""

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

    def outputs(self, operation: str, names: str, *inputs: Any) -> list[bytes]:
        """Call an operation; return its outputs, whose lengths are the sizes of these names.

        Raises CheckFailed for an error or a write past a buffer.
        """
        sizes = [self.sizes[f"{name}_bytes"] for name in names.split()]
        # At least one full GUARD follows the `size` bytes that may be written.
        guards = [GUARD * (size // 64 + 2) for size in sizes]
        buffers = list(map(ctypes.create_string_buffer, guards))
        code = getattr(self.handle, f"pq_{operation}")(self.scheme, *buffers, *inputs)
        if code != OK:
            raise CheckFailed(f"pq_{operation} returned {code}: {failure(code)}")
        for buffer, size, guard in zip(buffers, sizes, guards, strict=True):
            if buffer.raw[size : len(guard)] != guard[size:]:
                raise CheckFailed(f"pq_{operation} wrote past a buffer of {size} bytes")
        return [buffer.raw[:size] for buffer, size in zip(buffers, sizes, strict=True)]

    def keypair(self) -> list[bytes]:
        """Return public key and secret key. Raises CheckFailed."""
        return self.outputs("keypair", "public_key secret_key")

    def encapsulated(self) -> tuple[bytes, bytes, bytes]:
        """Return ciphertext, shared secret and secret key. Raises CheckFailed."""
        public_key, secret_key = self.keypair()
        ciphertext, shared = self.outputs("encapsulate", "ciphertext shared_secret", public_key)
        return ciphertext, shared, secret_key

    def signed(self, count: int, length: int = 32) -> list[tuple[bytes, bytes, bytes]]:
        """Return `count` tuples (message of `length` bytes, signature, public key)."""
        rows, longest = [], self.sizes["signature_max_bytes"]
        for number in range(count):
            public_key, secret_key = self.keypair()
            message, size = random.Random(number).randbytes(length), SIZE(longest)
            inputs = (ctypes.byref(size), message, length, b"", 0, secret_key)
            [signature] = self.outputs("sign", "signature_max", *inputs)
            if not 0 < size.value <= longest:
                raise CheckFailed(f"a signature must have 1 to {longest} bytes; got {size.value}")
            rows.append((message, signature[: size.value], public_key))
        return rows

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

    def round_trip(self, length: int = 32) -> tuple[bytes, bytes, bytes]:
        """Sign and verify a message, or encapsulate and decapsulate; return the inputs.

        They are message, signature and public key, or ciphertext, shared secret and secret key.
        """
        if self.is_kem:
            ciphertext, shared, secret_key = self.encapsulated()
            if self.outputs("decapsulate", "shared_secret", ciphertext, secret_key) != [shared]:
                raise CheckFailed("pq_decapsulate returned another secret than pq_encapsulate")
            return ciphertext, shared, secret_key
        [inputs] = self.signed(1, length)
        if (code := self.verify(*inputs)) != OK:
            raise CheckFailed(
                f"pq_verify returned {code} for a valid signature of {length} bytes of message"
            )
        return inputs


def check_sizes(sizes: Mapping[str, int]) -> str:
    """Check the kind and the sizes of pq_sizes(). Raises CheckFailed."""
    if sizes["kind"] not in KINDS:
        raise CheckFailed(f"kind must be PQ_SIGNATURE (1) or PQ_KEM (2); got {sizes['kind']}")
    names = ["public_key_bytes", "secret_key_bytes"]
    is_kem = sizes["kind"] == 2
    names += ["ciphertext_bytes", "shared_secret_bytes"] if is_kem else ["signature_max_bytes"]
    for name in names:
        if not 0 < sizes[name] <= MAX_SIZE_BYTES:
            raise CheckFailed(f"{name} must be from 1 to {MAX_SIZE_BYTES}; got {sizes[name]}")
    return ", ".join(f"{name} {sizes[name]}" for name in names)


def first_use(test: SchemeTest) -> str:
    """Generate a key pair and use it once; for signatures, also with a damaged one."""
    message, signature, public_key = test.round_trip()
    if test.is_kem:
        return "a key pair and a shared secret"
    damaged = bytearray(signature)
    damaged[len(damaged) // 2] ^= 1
    test.require_rejection("a signature with one bit flipped", message, bytes(damaged), public_key)
    return "a key pair, a signature and two verifications"


def round_trips(test: SchemeTest) -> str:
    """Sign and verify messages of several lengths, or encapsulate and decapsulate."""
    trips = [test.round_trip(length) for length in LENGTHS for _ in range(2)]
    # A library with a constant seed can pass all other checks.
    if test.keypair() == test.keypair():
        raise CheckFailed("two key pairs are equal; pq_keypair must use the system's randomness")
    if test.is_kem:
        return f"{len(trips)} key pairs"
    lengths = sorted({len(signature) for _, signature, _ in trips})
    span = " to ".join(map(str, dict.fromkeys((lengths[0], lengths[-1]))))
    return f"messages of {LENGTHS[0]} to {LENGTHS[-1]} bytes, signatures of {span}"


def flipped_bits(test: SchemeTest) -> str:
    """Check that damaged inputs are rejected: one flipped bit at a time, truncated signatures."""
    rng = random.Random(1)
    if test.is_kem:
        ciphertext, shared, secret_key = test.encapsulated()
        for damaged in _flipped(ciphertext, rng):
            buffer = ctypes.create_string_buffer(len(shared))
            code = test.handle.pq_decapsulate(test.scheme, buffer, damaged, secret_key)
            # OK with another secret is implicit rejection.
            if code == OK and buffer.raw == shared:
                raise CheckFailed("a ciphertext with one bit flipped has the same secret")
        return f"{min(FLIPS, 8 * len(ciphertext))} of the ciphertext"
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
    # The size is global and applies to threads that are started later, so it is restored.
    default_size = threading.stack_size(size)
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(round_trips, test).result()
    finally:
        threading.stack_size(default_size)
    return f"a thread of {size >> 10} KiB"


def threads(test: SchemeTest) -> str:
    """Check the scheme on several threads, and batch verification with a wrong signature."""
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: test.round_trip(), range(32)))
    if test.is_kem:
        return "4 threads at once"
    rows[5] = (rows[5][0] + b"!", *rows[5][1:])
    batch = Batch(test.library, test.scheme, pack([list(row) for row in zip(*rows, strict=True)]))
    for count in (1, 4):
        batch.run(count)
        if (wrong := batch.wrong()) != [5]:
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


CHECKS: dict[str, Callable[..., str]] = {
    "sizes": lambda test: check_sizes(test.sizes),
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
        names = _call("names", path, first_use_seconds)
    except CryptoFailure as error:
        raise Unsupported(f"{path.name} cannot be loaded: {error}") from error
    for name in names:
        for check in CHECKS:
            is_first = check in ("first use", "sizes")
            limit = first_use_seconds if is_first else LIMIT_SECONDS
            try:
                detail = _call("run_check", path, limit, name=name, check=check)
                if check == "stacks":
                    detail = _least_stack(path, name)
            except PqchainError as error:
                yield Finding(name, check, False, str(error))
                if isinstance(error, isolation.CallTimeout):
                    return
                if is_first:
                    break  # the other checks need valid sizes and a scheme that works
            else:
                yield Finding(name, check, True, detail)


def _call(function: str, path: Path, limit_seconds: float, **arguments: Any) -> Any:
    place = f"{__name__}:{function}"
    return isolation.call(place, limit_seconds=limit_seconds, path=str(path), **arguments)


def _least_stack(path: Path, name: str) -> str:
    enough = STACKS[0]
    # Each size in a new child process, which a stack overflow ends.
    for size in STACKS[1:]:
        try:
            _call("run_check", path, LIMIT_SECONDS, name=name, check="stacks", size=size)
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
