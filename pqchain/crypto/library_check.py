"""Checks of a user's shared library: sizes, round trips, flipped bits, threads.

New C code may write past its buffers, end the process or hang. Each check of each scheme therefore
runs in a child process, which must return a result: a process that ends without one, even with exit
code 0, is a failed check.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain.crypto import isolation
from pqchain.crypto.abi import OK, REJECTED, SIZE, failure, pack
from pqchain.crypto.native import Batch, Library
from pqchain.errors import CryptoFailure, PqchainError, Unsupported, UsageError

LENGTHS = (0, 1, 32, 1000, 100_000)
"""Lengths of the test messages in bytes."""

FLIPS = 256
"""Maximum number of bits flipped, one at a time, in each of message, signature and public key."""

GUARD = b"\xa5" * 64
"""Pattern after every output buffer, to detect writes past its end."""

MAX_SIZE_BYTES = 1 << 28
"""Maximum length of a key or signature of a user-defined scheme."""

SIZES = ("public_key_bytes", "secret_key_bytes", "signature_max_bytes")
"""Sizes that a library must state."""

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
        self.library, self.name = Library(path), name
        self.scheme, self.sizes = self.library.scheme(name), self.library.sizes(name)

    def _outputs(self, operation: str, names: tuple[str, ...], *inputs: Any) -> list[bytes]:
        """Call an operation; return its outputs, whose lengths are the sizes of these names.

        Raises CheckFailed for an error or a write past a buffer.
        """
        sizes = [self.sizes[name] for name in names]
        # At least one full GUARD follows the `size` bytes that may be written.
        guards = [GUARD * (size // 64 + 2) for size in sizes]
        buffers = list(map(ctypes.create_string_buffer, guards))
        code = getattr(self.library._handle, f"pq_{operation}")(self.scheme, *buffers, *inputs)
        if code != OK:
            raise CheckFailed(f"pq_{operation} returned {code}: {failure(code)}")
        for buffer, size, guard in zip(buffers, sizes, guards, strict=True):
            if buffer.raw[size : len(guard)] != guard[size:]:
                raise CheckFailed(f"pq_{operation} wrote past a buffer of {size} bytes")
        return [buffer.raw[:size] for buffer, size in zip(buffers, sizes, strict=True)]

    def keypair(self) -> list[bytes]:
        """Return public key and secret key. Raises CheckFailed."""
        return self._outputs("keypair", SIZES[:2])

    def round_trip(self, length: int = 32) -> tuple[bytes, bytes, bytes]:
        """Sign and verify a message; return message, signature and public key."""
        public_key, secret_key = self.keypair()
        longest = self.sizes["signature_max_bytes"]
        message, size = random.Random(length).randbytes(length), SIZE(longest)
        inputs = (ctypes.byref(size), message, length, b"", 0, secret_key)
        [signature] = self._outputs("sign", SIZES[2:], *inputs)
        if not 0 < size.value <= longest:
            raise CheckFailed(f"a signature must have 1 to {longest} bytes; got {size.value}")
        signature = signature[: size.value]
        if (code := self.verify(message, signature, public_key)) != OK:
            raise CheckFailed(
                f"pq_verify returned {code} for a valid signature of {length} bytes of message"
            )
        return message, signature, public_key

    def verify(self, message: bytes, signature: bytes, public_key: bytes) -> int:
        """Return the code of pq_verify."""
        signed = (message, len(message), signature, len(signature), b"", 0, public_key)
        return int(self.library._handle.pq_verify(self.scheme, *signed))

    def require_rejection(self, damaged: str, *inputs: bytes) -> None:
        """Raise CheckFailed unless `verify` rejects the inputs; `damaged` describes them."""
        code = self.verify(*inputs)
        if code == OK:
            raise CheckFailed(f"{damaged} was accepted")
        if code not in (REJECTED, -1):
            raise CheckFailed(f"pq_verify must return PQ_REJECTED (1) for {damaged}; got {code}")


def check_sizes(sizes: Mapping[str, int]) -> str:
    """Check the kind and the sizes of pq_sizes(). Raises CheckFailed."""
    if sizes["kind"] != 1:
        raise CheckFailed(f"kind must be PQ_SIGNATURE (1); got {sizes['kind']}")
    for name in SIZES:
        if not 0 < sizes[name] <= MAX_SIZE_BYTES:
            raise CheckFailed(f"{name} must be from 1 to {MAX_SIZE_BYTES}; got {sizes[name]}")
    return ", ".join(f"{name} {sizes[name]}" for name in SIZES)


def first_use(test: SchemeTest) -> str:
    """Generate a key pair, sign, and verify the signature and a damaged one."""
    message, signature, public_key = test.round_trip()
    damaged = bytearray(signature)
    damaged[len(damaged) // 2] ^= 1
    test.require_rejection("a signature with one bit flipped", message, bytes(damaged), public_key)
    return "a key pair, a signature and two verifications"


def round_trips(test: SchemeTest) -> str:
    """Sign and verify messages of several lengths."""
    trips = [test.round_trip(length) for length in LENGTHS for _ in range(2)]
    # A library with a constant seed can pass all other checks.
    if test.keypair() == test.keypair():
        raise CheckFailed("two key pairs are equal; pq_keypair must use the system's randomness")
    lengths = sorted({len(signature) for _, signature, _ in trips})
    span = " to ".join(map(str, dict.fromkeys((lengths[0], lengths[-1]))))
    return f"messages of {LENGTHS[0]} to {LENGTHS[-1]} bytes, signatures of {span}"


def flipped_bits(test: SchemeTest) -> str:
    """Check that damaged inputs are rejected: one flipped bit at a time, truncated signatures."""
    rng = random.Random(1)
    message, signature, public_key = test.round_trip()
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


def _flipped(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for bit in rng.sample(range(8 * len(data)), min(FLIPS, 8 * len(data))):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def threads(test: SchemeTest) -> str:
    """Check the scheme on several threads, and batch verification with a wrong signature."""
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: test.round_trip(), range(32)))
    rows[5] = (rows[5][0] + b"!", *rows[5][1:])
    batch = Batch(test.library, test.scheme, pack([list(row) for row in zip(*rows, strict=True)]))
    for count in (1, 4):
        batch.run(count)
        if (wrong := batch.wrong()) != [5]:
            raise CheckFailed(
                f"pq_verify_batch on {count} threads must report index [5] as wrong; got {wrong}"
            )
    return "4 threads at once, batches on 1 and 4"


CHECKS: dict[str, Callable[[SchemeTest], str]] = {
    "sizes": lambda test: check_sizes(test.sizes),
    "first use": first_use,
    "round trips": round_trips,
    "flipped bits": flipped_bits,
    "threads": threads,
}
"""Checks in order. Each returns a summary, or raises."""


def check_library(path: Path, *, first_use_seconds: float) -> Iterator[Finding]:
    """Check every scheme of a library and yield the findings; end at the first timeout.

    `first_use_seconds` is the timeout of loading the library and of the first use of a scheme.
    Raises PqchainError if the library cannot be loaded or has no scheme.
    """

    def call(function: str, limit_seconds: float, **arguments: Any) -> Any:
        place = f"{__name__}:{function}"
        return isolation.call(place, limit_seconds=limit_seconds, path=str(path), **arguments)

    try:
        names = call("names", first_use_seconds)
    except CryptoFailure as error:
        raise Unsupported(f"{path.name} cannot be loaded: {error}") from error
    for name in names:
        for check in CHECKS:
            is_first = check in ("first use", "sizes")
            limit = first_use_seconds if is_first else LIMIT_SECONDS
            try:
                detail = call("run_check", limit, name=name, check=check)
            except PqchainError as error:
                yield Finding(name, check, False, str(error))
                if isinstance(error, isolation.CallTimeout):
                    return
                if is_first:
                    break  # the other checks need valid sizes and a scheme that works
            else:
                yield Finding(name, check, True, detail)


def names(path: str) -> list[str]:
    """Return the names of a library's schemes; runs in the child. Raises PqchainError."""
    return load(Path(path)).names()


def load(path: Path) -> Library:
    """Load a user's library. Raises NativeLibraryBroken, UsageError if it has no scheme."""
    library = Library(path)
    if not library.names():
        raise UsageError(f"{path.name} has no scheme: pq_count() is 0, or pq_open() returns NULL")
    return library


def run_check(path: str, name: str, check: str) -> str:
    """Run one check and return its summary; runs in the child. Raises CheckFailed."""
    return CHECKS[check](SchemeTest(Path(path), name))
