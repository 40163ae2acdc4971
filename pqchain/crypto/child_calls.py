"""What a child process runs for `pqchain.crypto.isolated`: operations of the user's schemes."""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import Any

from pqchain import algorithms
from pqchain.crypto import Signer, library_check, open_scheme
from pqchain.crypto.user_code import UserSigner


@cache
def _opened(algorithm: str, implementation: str) -> Any:
    return open_scheme(algorithms.get(algorithm), implementation)


def first_use(algorithm: str, implementation: str) -> float:
    """Use a scheme once, in the child; return the time in seconds. Raises CryptoFailure."""
    start = perf_counter()
    # A shared library is used through `SchemeTest`, whose buffers have guard bytes after them.
    if (file := algorithms.implementation(implementation).file) is not None:
        library_check.first_use(library_check.SchemeTest(file, algorithm))
        return perf_counter() - start
    signer: UserSigner = _opened(algorithm, implementation)
    public_key, secret_key = signer.generate_keypair()
    message = b"message"
    signature = signer.sign(message, secret_key)
    if not signer.verify(message, signature, public_key):
        raise signer.failure("verify", "must return True for a valid signature")
    damaged = bytearray(signature)
    damaged[len(damaged) // 2] ^= 1
    if signer.verify(message, damaged, public_key):
        raise signer.failure("verify", "must return False for a signature with one bit flipped")
    return perf_counter() - start


def perform(algorithm: str, implementation: str, operation: str, values: list[str]) -> Any:
    """Perform one operation, in the child; bytes are passed as hexadecimal text."""
    result = getattr(_opened(algorithm, implementation), operation)(*map(bytes.fromhex, values))
    if isinstance(result, tuple):
        return [value.hex() for value in result]
    return result.hex() if isinstance(result, bytes) else result


def perform_batch(
    algorithm: str, implementation: str, columns: list[list[str]], threads: int, stop_at_first: bool
) -> list[int]:
    """Verify a batch, in the child; return the indices of the wrong signatures."""
    decoded = ([bytes.fromhex(value) for value in column] for column in columns)
    signer: Signer = _opened(algorithm, implementation)
    return signer.verify_batch(*decoded, threads=threads, stop_at_first=stop_at_first)
