"""The parts of our signer, one function each, on the native library `falcon/kernel`.

The heavy step takes a request (secret basis, hashed message, seed of the generator) and gives a
response (the short vector), in the same bytes whether C++ here, a board or a simulated board runs
it. Everything else stays in software.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.crypto import native
from pqchain.errors import CryptoFailure, UsageError

IMPLEMENTATION = "falcon/kernel"
"""Name of our signer in the registry."""

NONCE_BYTES, SEED_BYTES = 40, 48
"""What one signature draws, in this order, as liboqs does."""

SIGNED, RETRY, REFUSED, BUS_FAILED = 1, 2, 3, 4
"""What the heavy step answers: a short vector, one that is too long, nothing; from the engine in
RTL also, that its bus failed."""

MOST_ATTEMPTS = 100
"""Where signing gives up: with a good key one attempt in about 10^5 or fewer is too long."""

_WHOLE = 0
"""The seam of the signer: hardware would begin at a whole attempt, not at each transform."""

_TOO_LONG = -2

_FAILURES = {
    -1: "the secret key is no key of {}: its encoding or its equation is wrong; pass it as key "
    "generation gave it",
    _TOO_LONG: "a signature of {} came out longer than its form allows, which is very rare: sign "
    "again",
    -3: "signing with {}: there was not enough memory",
}
"""What the codes in falcon_signer.h mean for an algorithm."""

PARTS = (
    ("decode the key", "software"),
    ("complete the key (NTT)", "software"),
    ("hash to a point", "software"),
    ("seed the generator", "software"),
    ("transforms", "engine"),
    ("splits and merges", "engine"),
    ("LDL decompositions", "engine"),
    ("polynomial arithmetic", "engine"),
    ("SamplerZ", "engine"),
    ("compress", "software"),
)
"""What falcon_profile times, in its order, and where each part is meant to run."""


def check_degree(degree: object) -> int:
    """Return log2 of a degree that Falcon has; raises UsageError."""
    if degree not in (512, 1024):
        raise UsageError(f"the degree is {degree!r}; expected 512 or 1024")
    return 9 if degree == 512 else 10


_LOGN = {algorithms.get(f"Falcon-{1 << logn}").secret_key_bytes: logn for logn in (9, 10)}
"""log2 of the degree, by the length of the secret key: the padded form has the same."""


def request_bytes(logn: int) -> int:
    """Return the length of a request."""
    return (6 << logn) + 56


def response_bytes(logn: int) -> int:
    """Return the length of a response."""
    return 2 << logn


def _call(function: str, *arguments: Any) -> int:
    return native.library(IMPLEMENTATION).call(f"falcon_{function}", *arguments)


def _require(what: str, value: bytes | bytearray, length: int) -> None:
    """Raise UsageError unless a buffer has the length that C takes it to have."""
    if len(value) != length:
        raise UsageError(f"{what} must have {length} bytes; got {len(value)}")


def _require_drawn(algorithm: Algorithm, **buffers: bytes) -> int:
    """Check a secret key and what a signature draws; return log2 of the degree."""
    lengths = {
        "secret_key": algorithm.secret_key_bytes, "nonce": NONCE_BYTES, "seed": SEED_BYTES
    }  # fmt: skip
    for what, value in buffers.items():
        _require(what, value, lengths[what])
    return _LOGN[algorithm.secret_key_bytes]


def _checked(code: int, algorithm: Algorithm) -> int:
    """Return what is no error code; raises CryptoFailure."""
    if code < 0:
        raise CryptoFailure(_FAILURES[code].format(algorithm.name))
    return code


@contextmanager
def request_of(
    algorithm: Algorithm, *, secret_key: bytes, nonce: bytes, message: bytes
) -> Iterator[bytearray]:
    """Give a request, all but the seed of the generator; it is wiped when the block ends.

    Raises CryptoFailure if the key is damaged.
    """
    logn = _require_drawn(algorithm, secret_key=secret_key, nonce=nonce)
    request = bytearray(request_bytes(logn))
    try:
        code = _call("make_request", request, secret_key, nonce, message, len(message), logn)
        _checked(code, algorithm)
        yield request
    finally:
        _call("wipe_buffer", request, len(request))


def seed_request(request: bytearray, seed: bytes, attempt: int, logn: int) -> None:
    """Fill in the seed of the generator for an attempt, counted from 0. Raises UsageError."""
    _require("request", request, request_bytes(check_degree(1 << logn)))
    _require("seed", seed, SEED_BYTES)
    _call("seed_request", request, seed, attempt, logn)


def run_request(request: bytes | bytearray, logn: int) -> tuple[int, int, bytes]:
    """Run the heavy step here; return its status, its version and the response.

    A `logn` other than 9 and 10 is refused, as hardware does it. Raises UsageError if the request
    is shorter than the degree needs.
    """
    if logn in (9, 10) and len(request) < request_bytes(logn):
        raise UsageError(
            f"request must have at least {request_bytes(logn)} bytes; got {len(request)}"
        )
    response, registers = bytearray(2048), bytearray(8)
    _call("run_request", request, response, registers, logn)
    status, version = (int.from_bytes(registers[at : at + 4], "little") for at in (0, 4))
    return status, version, bytes(response[: response_bytes(logn)] if status != REFUSED else b"")


def encode_signature(algorithm: Algorithm, nonce: bytes, response: bytes) -> bytes | None:
    """Put a signature together, or return None if it does not fit. Raises UsageError."""
    _require("nonce", nonce, NONCE_BYTES)
    _require("response", response, response_bytes(_LOGN[algorithm.secret_key_bytes]))
    signature = bytearray(algorithm.signature_max_bytes)
    form = (not algorithm.signature_varies, _LOGN[algorithm.secret_key_bytes])
    length = _call("encode_signature", signature, len(signature), nonce, response, *form)
    return bytes(signature[:length]) if length > 0 else None


def sign(
    algorithm: Algorithm, *, secret_key: bytes, nonce: bytes, seed: bytes, message: bytes
) -> bytes:
    """Sign with given randomness; raises CryptoFailure if the key is damaged."""
    logn = _require_drawn(algorithm, secret_key=secret_key, nonce=nonce, seed=seed)
    signature = bytearray(algorithm.signature_max_bytes)
    given = (secret_key, nonce, seed, message, len(message))
    form = (not algorithm.signature_varies, _WHOLE, logn)
    length = _call("sign_seeded", signature, len(signature), *given, *form, None)
    return bytes(signature[: _checked(length, algorithm)])


def profile(
    algorithm: Algorithm, *, secret_key: bytes, nonce: bytes, seed: bytes, message: bytes
) -> list[tuple[str, float, int, str]]:
    """Sign, and return name, seconds, calls and place of each of the `PARTS`.

    Each includes two readings of the clock per call. Raises CryptoFailure if the key is damaged.
    """
    logn = _require_drawn(algorithm, secret_key=secret_key, nonce=nonce, seed=seed)
    times, calls = array("Q", [0] * len(PARTS)), array("Q", [0] * len(PARTS))
    given = (secret_key, nonce, seed, message, len(message), logn)
    code = _call("profile", *given, memoryview(times), memoryview(calls))
    _checked(code or _TOO_LONG, algorithm)
    rows = zip(PARTS, times, calls, strict=True)
    return [(step, ns * 1e-9, count, where) for (step, where), ns, count in rows]


def public_key(algorithm: Algorithm, secret_key: bytes) -> bytes:
    """Return the public key of a secret key; raises CryptoFailure if that is damaged."""
    logn = _require_drawn(algorithm, secret_key=secret_key)
    out = bytearray(algorithm.public_key_bytes)
    _checked(_call("public_key", out, secret_key, logn), algorithm)
    return bytes(out)
