"""Try a library of the user's own: sizes, round trips, flipped bits, stacks, threads, clock.

New C code may write past its buffers or end the process. So each check of each scheme runs in a
process of its own (`python -m pqchain.crypto.trial LIBRARY SCHEME CHECK`), and one that dies is a
check that failed.
"""

from __future__ import annotations

import ctypes
import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pqchain.crypto.abi import OK, REJECTED, SIZE, Plan, failure
from pqchain.crypto.native import Library, batch_arguments, pack
from pqchain.errors import PqchainError

LENGTHS = (0, 1, 32, 1000, 100_000)
"""Of messages."""

FLIPS = 256
"""Bits that are flipped, one at a time, in each of message, signature and public key at most."""

GUARD = b"\xa5" * 64
"""Stands behind every buffer that the library fills."""

STACKS = (8 << 20, 1 << 20, 256 << 10)
"""Bytes of stack of the threads that are tried, the first of which has to be enough."""

LIMIT_SECONDS = 120.0
"""For one check."""


class Wrong(PqchainError):
    """What a check found."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check of a scheme came to."""

    scheme: str
    check: str
    fine: bool
    detail: str


class Trial:
    """A scheme of a library, called past all checks of ours, with guarded buffers."""

    def __init__(self, path: Path, name: str) -> None:
        self.library = Library(path)
        self.handle, self.scheme = self.library._handle, self.library.scheme(name)
        self.sizes, self.name = self.library.sizes(name), name
        self.is_kem = self.sizes["kind"] == 2

    def filled(self, operation: str, sizes: tuple[int, ...], *given: bytes) -> list[bytes]:
        """Call an operation that fills buffers. Raises Wrong if it fails or writes past them."""
        buffers = [ctypes.create_string_buffer(GUARD * (size // 64 + 2)) for size in sizes]
        code = getattr(self.handle, f"pq_{operation}")(self.scheme, *buffers, *given)
        if code != OK:
            raise Wrong(f"pq_{operation} gave {code}: {failure(code)}")
        for buffer, size in zip(buffers, sizes, strict=True):
            self.check_guard(buffer, size, operation)
        return [buffer.raw[:size] for buffer, size in zip(buffers, sizes, strict=True)]

    def check_guard(self, buffer: ctypes.Array[ctypes.c_char], size: int, operation: str) -> None:
        """Raise Wrong if what stands behind a buffer was changed."""
        behind = (GUARD * (size // 64 + 2))[size:]
        if buffer.raw[size : size + len(behind)] != behind:
            raise Wrong(f"pq_{operation} wrote past a buffer of {size} bytes")

    def keypair(self) -> tuple[bytes, bytes]:
        """Return a public and a secret key."""
        sizes = self.sizes["public_key_bytes"], self.sizes["secret_key_bytes"]
        public_key, secret_key = self.filled("keypair", sizes)
        return public_key, secret_key

    def sign(self, message: bytes, secret_key: bytes) -> bytes:
        """Return a signature."""
        longest = self.sizes["signature_max_bytes"]
        buffer, length = ctypes.create_string_buffer(GUARD * (longest // 64 + 2)), SIZE(longest)
        given = (message, len(message), b"", 0, secret_key)
        code = self.handle.pq_sign(self.scheme, buffer, ctypes.byref(length), *given)
        if code != OK:
            raise Wrong(f"pq_sign gave {code}: {failure(code)}")
        self.check_guard(buffer, longest, "sign")
        if not 0 < length.value <= longest:
            raise Wrong(f"pq_sign gave a signature of {length.value} bytes; at most {longest}")
        return buffer.raw[: length.value]

    def verify(self, message: bytes, signature: bytes, public_key: bytes) -> int:
        """Return what pq_verify does."""
        signed = (message, len(message), signature, len(signature), b"", 0, public_key)
        return int(self.handle.pq_verify(self.scheme, *signed))

    def signed(self, count: int, length: int = 32) -> list[tuple[bytes, bytes, bytes]]:
        """Return so many messages, signatures and public keys that belong together."""
        rows = []
        for number in range(count):
            public_key, secret_key = self.keypair()
            message = random.Random(number).randbytes(length)
            rows.append((message, self.sign(message, secret_key), public_key))
        return rows


def sizes(trial: Trial) -> str:
    """Look at what pq_sizes() says."""
    said = trial.sizes
    if said["kind"] not in (1, 2):
        raise Wrong(f"kind is {said['kind']}; expected PQ_SIGNATURE (1) or PQ_KEM (2)")
    needed = "public_key_bytes secret_key_bytes "
    needed += "ciphertext_bytes shared_secret_bytes" if trial.is_kem else "signature_max_bytes"
    for name in needed.split():
        if not 0 < said[name] <= 1 << 28:
            raise Wrong(f"{name} is {said[name]}; expected 1 to {1 << 28}")
    return ", ".join(f"{name} {said[name]}" for name in needed.split())


def round_trips(trial: Trial) -> str:
    """Sign and verify messages of several lengths, or encapsulate and decapsulate."""
    if trial.is_kem:
        lengths = trial.sizes["ciphertext_bytes"], trial.sizes["shared_secret_bytes"]
        for _ in LENGTHS:
            public_key, secret_key = trial.keypair()
            ciphertext, shared = trial.filled("encapsulate", lengths, public_key)
            if trial.filled("decapsulate", lengths[1:], ciphertext, secret_key) != [shared]:
                raise Wrong("pq_decapsulate gave another secret than pq_encapsulate")
        return f"{len(LENGTHS)} key pairs"
    found = set()
    for length in LENGTHS:
        for message, signature, public_key in trial.signed(2, length):
            code = trial.verify(message, signature, public_key)
            if code != OK:
                raise Wrong(f"a valid signature of {length} bytes of message was given {code}")
            found.add(len(signature))
    if trial.keypair() == trial.keypair():
        raise Wrong("two key pairs are the same; pq_keypair has to draw from the system")
    span = f"{min(found)} to {max(found)}" if len(found) > 1 else f"{max(found)}"
    return f"messages of {LENGTHS[0]} to {LENGTHS[-1]} bytes, signatures of {span}"


def flipped_bits(trial: Trial) -> str:
    """Change one bit at a time, and cut signatures short."""
    rng = random.Random(1)
    if trial.is_kem:
        lengths = trial.sizes["ciphertext_bytes"], trial.sizes["shared_secret_bytes"]
        public_key, secret_key = trial.keypair()
        ciphertext, shared = trial.filled("encapsulate", lengths, public_key)
        for damaged in _flipped(ciphertext, rng):
            buffer = ctypes.create_string_buffer(lengths[1])
            code = trial.handle.pq_decapsulate(trial.scheme, buffer, damaged, secret_key)
            if code == OK and buffer.raw == shared:
                raise Wrong("a ciphertext with one bit flipped gave the same secret")
        return f"{min(FLIPS, 8 * lengths[0])} of the ciphertext"
    [(message, signature, public_key)] = trial.signed(1)
    for damaged in _flipped(signature, rng):
        _refused(trial.verify(message, damaged, public_key), "a signature with one bit flipped")
    for damaged in _flipped(message, rng):
        _refused(trial.verify(damaged, signature, public_key), "a message with one bit flipped")
    for cut in (0, 1, len(signature) // 2, len(signature) - 1):
        what = f"a signature cut to {cut} bytes"
        _refused(trial.verify(message, signature[:cut], public_key), what)
    codes = [trial.verify(message, signature, key) for key in _flipped(public_key, rng)]
    said = "in signature, message and public key, and cut signatures"
    if without := codes.count(OK):
        said += f"; {without} of {len(codes)} bits of the public key did not matter"
    return said


def stacks(trial: Trial) -> str:
    """Do everything on a thread whose stack is STACKS[0]; see `_least_stack` for the others."""
    return _on_stack(trial, STACKS[0])


def threads(trial: Trial) -> str:
    """Use the scheme from several threads at once, and the batch verifier with wrong ones."""
    if trial.is_kem:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: round_trips(trial), range(4)))
        return "4 threads at once"
    with ThreadPoolExecutor(4) as pool:
        rows = [row for part in pool.map(lambda _: trial.signed(8), range(4)) for row in part]
        codes = list(pool.map(lambda row: trial.verify(*row), rows))
    if set(codes) != {OK}:
        raise Wrong(f"{len(codes) - codes.count(OK)} of {len(codes)} signatures of 4 threads fail")
    rows[5] = (rows[5][0] + b"!", *rows[5][1:])
    for count in (1, 4):
        if (wrong := _batch(trial, rows, count)) != [5]:
            raise Wrong(f"pq_verify_batch on {count} threads found {wrong} wrong; expected [5]")
    return "4 threads at once, batches on 1 and 4"


def clock(trial: Trial) -> str:
    """Run the timed loop, which checks every result."""
    shown = []
    for operation, name in _operations(trial):
        plan = Plan(
            operation=operation, warmup=1, samples=20, minimum=3, limit_ns=2 * 10**8, pool=2,
            message_bytes=32, seed=1,
        )  # fmt: skip
        nanoseconds, _ = trial.library.measure(trial.name, plan)
        shown.append(f"{name} {sorted(nanoseconds)[len(nanoseconds) // 2] / 1000:.1f} us")
    return ", ".join(shown)


CHECKS: dict[str, Callable[[Trial], str]] = {
    "sizes": sizes,
    "round trips": round_trips,
    "flipped bits": flipped_bits,
    "stacks": stacks,
    "threads": threads,
    "clock": clock,
}
"""What is tried, in order; each says what it did, or raises."""


def tried(path: Path) -> Iterator[Finding]:
    """Try every scheme of a library. Raises PqchainError if it has none, or cannot be loaded."""
    for name in _names(path):
        for check in CHECKS:
            fine, detail = _in_process(path, name, check)
            if check == "stacks" and fine:
                detail = _least_stack(path, name)
            yield Finding(name, check, fine, detail)
            if not fine and check == "sizes":
                break


def _names(path: Path) -> list[str]:
    fine, detail = _in_process(path, "", "names")
    if not fine:
        raise Wrong(f"{path.name} cannot be loaded: {detail}")
    names: list[str] = json.loads(detail)
    if not names:
        raise Wrong(f"{path.name} holds no scheme: pq_count() is 0, or pq_open() gives NULL")
    return names


def _least_stack(path: Path, name: str) -> str:
    enough = STACKS[0]
    for size in STACKS[1:]:
        if not _in_process(path, name, str(size))[0]:
            break
        enough = size
    return f"threads of {enough >> 10} KiB are enough"


def _in_process(path: Path, name: str, check: str) -> tuple[bool, str]:
    """Run a check elsewhere; say whether it was fine, and what it says."""
    command = [sys.executable, "-m", "pqchain.crypto.trial", str(path), name, check]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"it did not end within {LIMIT_SECONDS:g} s"
    if done.returncode < 0:
        return False, f"the process ended by {signal.Signals(-done.returncode).name}"
    said = done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]
    return done.returncode == 0, said


def _flipped(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for bit in rng.sample(range(8 * len(data)), min(FLIPS, 8 * len(data))):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def _refused(code: int, what: str) -> None:
    if code == OK:
        raise Wrong(f"{what} was accepted")
    if code not in (REJECTED, -1):
        raise Wrong(f"{what} was given {code}; expected PQ_REJECTED (1)")


def _on_stack(trial: Trial, size: int) -> str:
    """Run key generation and all operations on a thread of that stack."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            round_trips(trial)
        except PqchainError as error:
            errors.append(error)

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if errors:
        raise errors[0]
    return f"a thread of {size >> 10} KiB"


def _operations(trial: Trial) -> list[tuple[int, str]]:
    if trial.is_kem:
        return [(0, "generate_keypair"), (3, "encapsulate"), (4, "decapsulate")]
    return [(0, "generate_keypair"), (1, "sign"), (2, "verify")]


def _batch(trial: Trial, rows: list[tuple[bytes, bytes, bytes]], count: int) -> list[int]:
    """Return the indices that pq_verify_batch finds wrong."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    arguments, verdicts = batch_arguments(trial.scheme, pack(columns))
    arguments.threads = count
    trial.handle.pq_verify_batch(arguments)
    return [at for at, verdict in enumerate(verdicts.raw) if not verdict]


def main(argv: list[str]) -> int:
    """Run one check in this process; 0 if it was fine. What it says goes to stdout."""
    path, name, check = Path(argv[0]), argv[1], argv[2]
    try:
        if check == "names":
            said = json.dumps(Library(path).names())
        elif check.isdigit():
            said = _on_stack(Trial(path, name), int(check))
        else:
            said = CHECKS[check](Trial(path, name))
    except (PqchainError, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{said}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
