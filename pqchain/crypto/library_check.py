"""Checks of user code: first use, and of a library also round trips, flipped bits, threads.

New C code may write past its buffers, end the process or hang. Each check of each scheme therefore
runs in a child process, which must return a result: a process that ends without one, even with exit
code 0, is a failed check.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain.algorithms import Algorithm
from pqchain.crypto import isolation
from pqchain.crypto.abi import SIZE
from pqchain.crypto.interface import Signer
from pqchain.crypto.native import Library, NativeSigner
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

Signed = tuple[bytes, bytes, bytes]
"""Message, signature and public key."""


class CheckFailed(CryptoFailure):
    """A check of a library failed; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check of a scheme."""

    scheme: str
    check: str
    passed: bool
    detail: str


class CheckedSigner(Signer):
    """A signer of user code, whose methods may violate a requirement."""

    def failure(self, method: str, requirement: str) -> CryptoFailure:
        """Return the error of a method that violates a requirement."""
        return CheckFailed(f"pq_{method} {requirement}.")


class LibrarySigner(NativeSigner, CheckedSigner):
    """A scheme of a user's library, with guard bytes after each output buffer."""

    def __init__(self, path: Path, name: str) -> None:
        self.library = load(path)
        sizes: dict[str, Any] = checked_sizes(self.library, name)
        super().__init__(Algorithm(name=name, implementations=(path.name,), **sizes), path.name)

    def _prepare(self) -> None:
        self._scheme = self.library.scheme(self.algorithm.name)

    def _outputs(self, operation: str, lengths: str, *inputs: Any) -> list[bytes]:
        sizes = [getattr(self.algorithm, name) for name in lengths.split()]
        # At least one full GUARD follows the `size` bytes that may be written.
        guards = [GUARD * (size // 64 + 2) for size in sizes]
        buffers = list(map(ctypes.create_string_buffer, guards))
        self._run(operation, *buffers, *inputs)
        for buffer, size, guard in zip(buffers, sizes, guards, strict=True):
            if buffer.raw[size : len(guard)] != guard[size:]:
                raise self.failure(operation, f"wrote past a buffer of {size} bytes")
        return [buffer.raw[:size] for buffer, size in zip(buffers, sizes, strict=True)]

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        longest = self.algorithm.signature_max_bytes
        size = SIZE(longest)
        inputs = (ctypes.byref(size), message, len(message), context, len(context), secret_key)
        [signature] = self._outputs("sign", "signature_max_bytes", *inputs)
        if not 0 < size.value <= longest:
            raise self.failure("sign", f"must write 1 to {longest} bytes; got {size.value}")
        return signature[: size.value]


def checked_sizes(library: Library, name: str) -> dict[str, int]:
    """Return the level and the sizes that pq_sizes() states for a scheme. Raises CheckFailed."""
    sizes = library.sizes(name)
    if sizes["kind"] != 1:
        raise CheckFailed(f"kind must be PQ_SIGNATURE (1); got {sizes['kind']}")
    for field in SIZES:
        if not 0 < sizes[field] <= MAX_SIZE_BYTES:
            raise CheckFailed(f"{field} must be from 1 to {MAX_SIZE_BYTES}; got {sizes[field]}")
    return {field: sizes[field] for field in (*SIZES, "nist_level")}


def _round_trip(signer: CheckedSigner, length: int = 32) -> Signed:
    """Sign and verify a message with a new key pair. Raises CryptoFailure."""
    public_key, secret_key = signer.generate_keypair()
    message = random.Random(length).randbytes(length)
    signature = signer.sign(message, secret_key)
    if not signer.verify(message, signature, public_key):
        raise signer.failure("verify", "must return True for a valid signature")
    return message, signature, public_key


def _require_rejection(signer: CheckedSigner, damaged: str, inputs: Signed) -> None:
    message, signature, public_key = inputs
    # Not `verify`, which does not pass on signatures of other lengths.
    if signer._verify(message, signature, public_key, b""):
        raise signer.failure("verify", f"must return False for {damaged}")


def first_use(signer: CheckedSigner) -> str:
    """Generate a key pair, sign, and verify the signature and a damaged one."""
    message, signature, public_key = _round_trip(signer)
    damaged = bytearray(signature)
    damaged[len(damaged) // 2] ^= 1
    inputs = message, bytes(damaged), public_key
    _require_rejection(signer, "a signature with one bit flipped", inputs)
    return ", ".join(f"{name} {getattr(signer.algorithm, name)}" for name in SIZES)


def round_trips(signer: CheckedSigner) -> str:
    """Sign and verify messages of several lengths."""
    trips = [_round_trip(signer, length) for length in LENGTHS for _ in range(2)]
    # A library with a constant seed can pass all other checks.
    if signer.generate_keypair() == signer.generate_keypair():
        raise signer.failure("keypair", "must use randomness; two key pairs are equal")
    lengths = sorted({len(signature) for _, signature, _ in trips})
    span = " to ".join(map(str, dict.fromkeys((lengths[0], lengths[-1]))))
    return f"messages of {LENGTHS[0]} to {LENGTHS[-1]} bytes, signatures of {span}"


def flipped_bits(signer: CheckedSigner) -> str:
    """Check that damaged inputs are rejected: one flipped bit at a time, truncated signatures."""
    rng = random.Random(1)
    message, signature, public_key = _round_trip(signer)
    cuts = (signature[:length] for length in (0, 1, len(signature) // 2, len(signature) - 1))
    damaged = {
        "a signature with one bit flipped": _flipped(signature, rng),
        "a cut signature": cuts,
    }
    for description, changed in damaged.items():
        for part in changed:
            _require_rejection(signer, description, (message, part, public_key))
    for part in _flipped(message, rng):
        inputs = part, signature, public_key
        _require_rejection(signer, "a message with one bit flipped", inputs)
    # Not a failure: encodings of public keys may have bits that do not matter.
    verdicts = [signer.verify(message, signature, key) for key in _flipped(public_key, rng)]
    summary = "in signature, message and public key, and cut signatures"
    if accepted := sum(verdicts):
        summary += f"; {accepted} of {len(verdicts)} bits of the public key did not matter"
    return summary


def _flipped(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for bit in rng.sample(range(8 * len(data)), min(FLIPS, 8 * len(data))):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def threads(signer: CheckedSigner) -> str:
    """Check the scheme on several threads, and batch verification with a wrong signature."""
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: _round_trip(signer), range(32)))
    rows[5] = (rows[5][0] + b"!", *rows[5][1:])
    for count in (1, 4):
        wrong = signer.verify_batch(*map(list, zip(*rows, strict=True)), threads=count)
        if wrong != [5]:
            failed = f"on {count} threads must report index [5] as wrong; got {wrong}"
            raise signer.failure("verify_batch", failed)
    return "4 threads at once, batches on 1 and 4"


CHECKS: dict[str, Callable[[CheckedSigner], str]] = {
    "first use": first_use,
    "round trips": round_trips,
    "flipped bits": flipped_bits,
    "threads": threads,
}
"""Checks in order. Each returns a summary, or raises."""


def check_library(path: Path) -> Iterator[Finding]:
    """Check every scheme of a library and yield the findings; end at the first timeout.

    Raises PqchainError if the library cannot be loaded or has no scheme.
    """
    try:
        names = isolation.call(f"{__name__}:names", path=str(path))
    except CryptoFailure as error:
        raise Unsupported(f"{path.name} cannot be loaded: {error}") from error
    for name in names:
        for check in CHECKS:
            arguments: dict[str, Any] = {"path": str(path), "name": name, "check": check}
            if check != "first use":
                arguments["limit_seconds"] = LIMIT_SECONDS
            try:
                detail = isolation.call(f"{__name__}:run_check", **arguments)
            except PqchainError as error:
                yield Finding(name, check, False, str(error))
                if isinstance(error, isolation.CallTimeout):
                    return
                if check == "first use":
                    break  # the other checks need a scheme that works
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
    """Run one check and return its summary; runs in the child. Raises CryptoFailure."""
    return CHECKS[check](LibrarySigner(Path(path), name))
