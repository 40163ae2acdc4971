"""Adapter of pqchain's own verifiers: `python -m pqchain.conform.serve NAME`.

NAME is an implementation in pqchain's registry, or `openssl`. It is also a short example adapter.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from time import perf_counter_ns

from pqchain import algorithms
from pqchain.conform import openssl
from pqchain.crypto import open_signer
from pqchain.crypto.interface import Signer
from pqchain.errors import BadLength, Unsupported, UsageError

_verifier = cache(openssl.verifier)


@cache
def _signer(algorithm: str, implementation: str) -> Signer | None:
    try:
        return open_signer(algorithm, implementation)
    except (Unsupported, UsageError):
        return None


def verdict(
    name: str, algorithm: str, message: bytes, signature: bytes, public_key: bytes, context: bytes
) -> str:
    """Return the protocol verdict of an implementation."""
    try:
        if name == "openssl":
            verify = _verifier(algorithm) if algorithm.startswith("ML-DSA") else None
            if verify is None:
                return "unsupported"
            return "accept" if verify(message, signature, public_key, context) else "reject"
        signer = _signer(algorithm, name)
        if signer is None:
            return "unsupported"
        return "accept" if signer.verify(message, signature, public_key, context) else "reject"
    except (BadLength, ValueError):
        # An error instead of a verdict, as for a key of a wrong length.
        return "refuse"


def main() -> None:
    """Answer requests until stdin ends. Raises UnknownImplementation before the first answer."""
    name = sys.argv[1]
    if name != "openssl":
        algorithms.implementation(name)
    fields = ("message", "signature", "public_key", "context")
    for line in sys.stdin:
        request = json.loads(line)
        given = [bytes.fromhex(request[field]) for field in fields]
        # The clock is read around each verification only: neither JSON nor the pipe counts.
        nanoseconds = []
        for _ in range(max(1, request["repeat"])):
            start = perf_counter_ns()
            said = verdict(name, request["algorithm"], *given)
            nanoseconds.append(perf_counter_ns() - start)
        answer = {"id": request["id"], "verdict": said, "nanoseconds": nanoseconds}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        # The asking process waits for this line before it sends the next request.
        sys.stdout.flush()


if __name__ == "__main__":
    main()
