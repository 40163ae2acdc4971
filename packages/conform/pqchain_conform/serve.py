"""Adapter of pqchain's own implementations: `python -m pqchain_conform.serve NAME`.

NAME is an implementation in pqchain's registry, or `openssl`. The module is also a short example
of an adapter.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from time import perf_counter_ns

from pqchain import algorithms
from pqchain.crypto import Kem, open_kem
from pqchain.errors import BadLength, CryptoFailure, UnknownName, Unsupported, UsageError
from pqchain_conform import openssl, oracles
from pqchain_conform.protocol import OPERATIONS


@cache
def _verifier(name: str, algorithm: str) -> openssl.Verify | None:
    if name == "openssl":
        return openssl.verifier(algorithm) if algorithm.startswith("ML-DSA") else None
    try:
        return oracles.verify_function(algorithm, name)
    except (Unsupported, UsageError):
        return None


@cache
def _kem(name: str, algorithm: str) -> Kem | openssl.Encapsulator | None:
    if name == "openssl":
        return openssl.encapsulator(algorithm) if algorithm.startswith("ML-KEM") else None
    try:
        return open_kem(algorithm, name)
    except (Unsupported, UsageError):
        return None


def answer(name: str, operation: str, algorithm: str, *case: bytes) -> tuple[str, bytes]:
    """Return an implementation's verdict, a key of `protocol.VERDICTS`, and a shared secret.

    `case` has the byte strings of `protocol.OPERATIONS`. Only decapsulations give a secret.
    """
    try:
        if operation == "verify":
            return verdict(name, algorithm, *case), b""
        kem = _kem(name, algorithm)
        if operation == "encapsulate" and kem:
            kem.encapsulate(*case)
            return "accept", b""
        if operation == "decapsulate" and isinstance(kem, Kem):
            key, ciphertext = case
            return "accept", kem.decapsulate(ciphertext, key)
        return "unsupported", b""
    except (BadLength, CryptoFailure, ValueError):
        # An error instead of a verdict, as for a key of a wrong length.
        return "refuse", b""


def verdict(
    name: str, algorithm: str, public_key: bytes, message: bytes, context: bytes, signature: bytes
) -> str:
    """Return an implementation's verdict on a signature. Raises BadLength and ValueError."""
    verify = _verifier(name, algorithm)
    if verify is None:
        return "unsupported"
    return "accept" if verify(message, signature, public_key, context) else "reject"


def main() -> None:
    """Answer requests until stdin ends; exit with code 2 if NAME is missing or unknown."""
    parser = argparse.ArgumentParser(prog="python -m pqchain_conform.serve")
    parser.add_argument(
        "name", metavar="NAME", help="an implementation, such as liboqs-0.13/ref, or openssl"
    )
    name = parser.parse_args().name
    try:
        if name != "openssl":
            algorithms.implementation(name)
    except UnknownName as error:
        parser.error(str(error))
    for line in sys.stdin:
        request = json.loads(line)
        operation, algorithm = request["operation"], request["algorithm"]
        case = [bytes.fromhex(request[field]) for field in OPERATIONS[operation]]
        # The clock is read around each operation only: neither JSON nor the pipe counts.
        nanoseconds = []
        for _ in range(max(1, request["repeat"])):
            start = perf_counter_ns()
            result, secret = answer(name, operation, algorithm, *case)
            nanoseconds.append(perf_counter_ns() - start)
        response = {"id": request["id"], "verdict": result, "nanoseconds": nanoseconds}
        if secret:
            response["shared_secret"] = secret.hex()
        sys.stdout.write(f"{json.dumps(response)}\n")
        # The client waits for this line before it sends the next request.
        sys.stdout.flush()


if __name__ == "__main__":
    main()
