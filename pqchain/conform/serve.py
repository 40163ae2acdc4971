"""Adapter of pqchain's own verifiers: `python -m pqchain.conform.serve NAME`.

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
from pqchain.conform import openssl
from pqchain.crypto import open_signer
from pqchain.errors import BadLength, UnknownName, Unsupported, UsageError


@cache
def _verifier(name: str, algorithm: str) -> openssl.Verify | None:
    if name == "openssl":
        return openssl.verifier(algorithm) if algorithm.startswith("ML-DSA") else None
    try:
        return open_signer(algorithm, name).verify
    except (Unsupported, UsageError):
        return None


def verdict(
    name: str, algorithm: str, message: bytes, signature: bytes, public_key: bytes, context: bytes
) -> str:
    """Return an implementation's verdict on a signature, a key of `protocol.VERDICTS`."""
    try:
        verify = _verifier(name, algorithm)
        if verify is None:
            return "unsupported"
        return "accept" if verify(message, signature, public_key, context) else "reject"
    except (BadLength, ValueError):
        # An error instead of a verdict, as for a key of a wrong length.
        return "refuse"


def main() -> None:
    """Answer requests until stdin ends; exit with code 2 if NAME is missing or unknown."""
    parser = argparse.ArgumentParser(prog="python -m pqchain.conform.serve")
    parser.add_argument(
        "name", metavar="NAME", help="an implementation, such as liboqs-0.13/ref, or openssl"
    )
    name = parser.parse_args().name
    try:
        if name != "openssl":
            algorithms.implementation(name)
    except UnknownName as error:
        parser.error(str(error))
    fields = ("message", "signature", "public_key", "context")
    for line in sys.stdin:
        request = json.loads(line)
        case = [bytes.fromhex(request[field]) for field in fields]
        # The clock is read around each verification only: neither JSON nor the pipe counts.
        nanoseconds = []
        for _ in range(max(1, request["repeat"])):
            start = perf_counter_ns()
            answer = verdict(name, request["algorithm"], *case)
            nanoseconds.append(perf_counter_ns() - start)
        response = {"id": request["id"], "verdict": answer, "nanoseconds": nanoseconds}
        sys.stdout.write(f"{json.dumps(response)}\n")
        # The client waits for this line before it sends the next request.
        sys.stdout.flush()


if __name__ == "__main__":
    main()
