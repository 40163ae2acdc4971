"""Seeded and unseeded randomness in several threads of one process, in every native library.

    python -m tests.crypto.seeded_threads --processes 200

Four threads sign and make keys from seeds, while two others make keys from the system's randomness.
Every seeded result must equal that of its seed alone, and no unseeded key may repeat or
equal a seeded one. A process that dies is a failure.
"""

import argparse
import subprocess
import sys
import threading
from collections.abc import Iterator

from tqdm import tqdm

from pqchain.crypto import Signer, native, open_signer, unavailable_reason
from pqchain.crypto.random_source import Stream

SCHEMES = (
    ("ML-DSA-44", "liboqs-0.13/dispatch", 20),
    ("Falcon-512", "liboqs-0.13/dispatch", 5),
    ("ML-DSA-44", "liboqs-0.13/avx2", 20),
    ("ML-DSA-44", "liboqs-0.13/ref", 10),
    ("Dilithium2", "liboqs-0.7.1/avx2", 20),
    ("Dilithium2", "liboqs-0.7.1/ref", 10),
    ("Hawk-512", "hawk/avx2", 20),
    ("Hawk-512", "hawk/ref", 10),
    ("Falcon-512", "falcon/kernel", 2),
    ("Rainbow-I-Classic", "rainbow/avx2", 1),
    ("BLS12-381", "blst/assembly", 20),
)
"""Scheme, implementation and rounds of each thread."""

SEEDED, UNSEEDED = 4, 2
"""Threads of each kind."""


def results(signer: Signer, secret_key: bytes, thread: int, rounds: int) -> Iterator[bytes]:
    """Yield the results of one seeded thread: keys for odd numbers, signatures for even ones."""
    library = native.library(signer.implementation)
    for number in range(rounds):
        with library.randomness(Stream(b"%d %d" % (thread, number))):
            result = (
                b"".join(signer.generate_keypair()) if thread % 2 else signer.sign(b"m", secret_key)
            )
        yield result


def race(name: str, implementation: str, rounds: int) -> str:
    """Run the threads; return the failure, or ""."""
    signer = open_signer(name, implementation)
    _, secret_key = signer.generate_keypair()
    expected = [list(results(signer, secret_key, thread, rounds)) for thread in range(SEEDED)]
    found: dict[int, list[bytes]] = {}
    ended = threading.Event()
    fresh: list[bytes] = []

    def seeded(thread: int) -> None:
        found[thread] = list(results(signer, secret_key, thread, rounds))

    def unseeded() -> None:
        while not ended.is_set():
            fresh.append(b"".join(signer.generate_keypair()))

    threads = [threading.Thread(target=seeded, args=(thread,)) for thread in range(SEEDED)]
    others = [threading.Thread(target=unseeded) for _ in range(UNSEEDED)]
    for thread in (*others, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    for thread in others:
        thread.join()
    if [found.get(thread) for thread in range(SEEDED)] != expected:
        return "a seeded thread drew from another source"
    if len(set(fresh)) != len(fresh) or set(fresh) & {each for row in expected for each in row}:
        return "an unseeded thread drew from a seed"
    return ""


def run_here(repeat: int) -> int:
    """Run all implementations in this process; return the exit code."""
    sys.setswitchinterval(1e-5)
    failed = False
    for name, implementation, rounds in SCHEMES:
        if unavailable_reason(implementation):
            continue
        if reason := race(name, implementation, repeat * rounds):
            sys.stdout.write(f"{name} of {implementation}: {reason}\n")
            failed = True
    return int(failed)


def main() -> int:
    """Run in sequential separate processes; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=0, help="0: only this one")
    parser.add_argument("--repeat", type=int, default=1, help="multiply the rounds")
    options = parser.parse_args()
    if options.processes == 0:
        return run_here(options.repeat)
    command = [sys.executable, "-m", "tests.crypto.seeded_threads", f"--repeat={options.repeat}"]
    codes = [
        subprocess.run(command, check=False, timeout=600).returncode
        for _ in tqdm(range(options.processes), unit="process", disable=None)
    ]
    crashed, wrong = sum(code < 0 for code in codes), sum(code > 0 for code in codes)
    sys.stdout.write(f"{len(codes)} processes: {crashed} crashed, {wrong} with wrong results\n")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
