"""Steps of pqchain's Falcon signer, as functions that call the native library `falcon/kernel`.

The heavy step maps a request (secret basis, hashed message, seed of the generator) to a response
(the short vector). Request and response have the same bytes on the C++ library, a board and a
simulated board. All other steps run in software.
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

NONCE_BYTES, SEED_BYTES = 40, 48
"""Random bytes that a signature draws, in this order, as liboqs does."""

SIGNED, RETRY, REFUSED, BUS_FAILED, ABORTED = 1, 2, 3, 4, 5
"""Status of the heavy step: short vector found; vector too long, try again; request rejected; and
of the engine in RTL only: bus error; ended by the register abort."""

MAX_ATTEMPTS = 100
"""Maximum attempts to sign: with a valid key about one attempt in 10^5 or fewer is too long."""

_ATTEMPT_PARTITION = 0
"""Partition of the signer in which hardware runs one attempt, not each transform."""

_TOO_LONG = -2

_FAILURES = {
    -1: "the secret key is not a key of {}: its encoding or its NTRU equation is wrong; pass a key "
    "that key generation returned",
    _TOO_LONG: "a signature of {} is longer than its format allows, which is very rare: sign again",
    -3: "signing with {}: there was not enough memory",
}
"""Error texts of the codes in falcon_signer.h, by code; formatted with the algorithm."""

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
"""Parts that falcon_profile times, in its order, and where each part is meant to run."""


def check_degree(degree: object) -> int:
    """Return log2 of a degree of Falcon; raises UsageError unless it is 512 or 1024."""
    if degree not in (512, 1024):
        raise UsageError(f"degree must be 512 or 1024; got {degree!r}")
    return 9 if degree == 512 else 10


_LOGN = {algorithms.get(f"Falcon-{1 << logn}").secret_key_bytes: logn for logn in (9, 10)}
"""log2 of the degree by the length of the secret key, which the padded form shares."""


def request_bytes(logn: int) -> int:
    """Return the length in bytes of a request for degree 2^logn."""
    return (6 << logn) + 56


def response_bytes(logn: int) -> int:
    """Return the length in bytes of a response for degree 2^logn: 2 per coefficient."""
    return 2 << logn


def _call(function: str, *arguments: Any) -> int:
    return native.library(IMPLEMENTATION).call(f"falcon_{function}", *arguments)


def _require_length(name: str, value: bytes | bytearray, length: int) -> None:
    # C reads that many bytes whatever it is given: a short buffer would be read past its end.
    if len(value) != length:
        raise UsageError(f"{name} must have {length} bytes; got {len(value)}")


def _require_inputs(algorithm: Algorithm, **buffers: bytes) -> int:
    """Check the lengths of secret key, nonce and seed; return log2 of the degree."""
    lengths = {
        "secret_key": algorithm.secret_key_bytes, "nonce": NONCE_BYTES, "seed": SEED_BYTES
    }  # fmt: skip
    for name, value in buffers.items():
        _require_length(name, value, lengths[name])
    return _LOGN[algorithm.secret_key_bytes]


def _checked(code: int, algorithm: Algorithm) -> int:
    if code < 0:
        raise CryptoFailure(_FAILURES[code].format(algorithm.name))
    return code


@contextmanager
def request_of(
    algorithm: Algorithm, *, secret_key: bytes, nonce: bytes, message: bytes
) -> Iterator[bytearray]:
    """Yield a request without the seed; wipe it on exit. Raises UsageError and CryptoFailure."""
    logn = _require_inputs(algorithm, secret_key=secret_key, nonce=nonce)
    request = bytearray(request_bytes(logn))
    try:
        code = _call("make_request", request, secret_key, nonce, message, len(message), logn)
        _checked(code, algorithm)
        yield request
    finally:
        # The request contains the secret basis.
        _call("wipe_buffer", request, len(request))


def seed_request(request: bytearray, seed: bytes, attempt: int, logn: int) -> None:
    """Write the generator seed of attempt `attempt` (0-based) to a request. Raises UsageError."""
    _require_length("request", request, request_bytes(check_degree(1 << logn)))
    _require_length("seed", seed, SEED_BYTES)
    _call("seed_request", request, seed, attempt, logn)


def run_request(request: bytes | bytearray, logn: int) -> tuple[int, int, bytes]:
    """Run the heavy step in C++; return its status, its version and the response.

    A `logn` other than 9 and 10 gives the status REFUSED, as in hardware, and no response. Raises
    UsageError if the request is shorter than the degree needs.
    """
    if logn in (9, 10) and len(request) < request_bytes(logn):
        raise UsageError(
            f"request must have at least {request_bytes(logn)} bytes; got {len(request)}"
        )
    # The longest response, of logn 10, and two 32-bit registers.
    response, registers = bytearray(2048), bytearray(8)
    _call("run_request", request, response, registers, logn)
    status, version = (int.from_bytes(registers[i : i + 4], "little") for i in (0, 4))
    return status, version, bytes(response[: response_bytes(logn)] if status != REFUSED else b"")


def encode_signature(algorithm: Algorithm, nonce: bytes, response: bytes) -> bytes | None:
    """Return the encoded signature, or None if it is too long. Raises UsageError."""
    _require_length("nonce", nonce, NONCE_BYTES)
    _require_length("response", response, response_bytes(_LOGN[algorithm.secret_key_bytes]))
    signature = bytearray(algorithm.signature_max_bytes)
    form = (not algorithm.signature_varies, _LOGN[algorithm.secret_key_bytes])
    length = _call("encode_signature", signature, len(signature), nonce, response, *form)
    return bytes(signature[:length]) if length > 0 else None


def sign(
    algorithm: Algorithm, *, secret_key: bytes, nonce: bytes, seed: bytes, message: bytes
) -> bytes:
    """Sign with the given nonce and seed; raises UsageError for wrong lengths, CryptoFailure."""
    logn = _require_inputs(algorithm, secret_key=secret_key, nonce=nonce, seed=seed)
    signature = bytearray(algorithm.signature_max_bytes)
    inputs = (secret_key, nonce, seed, message, len(message))
    form = (not algorithm.signature_varies, _ATTEMPT_PARTITION, logn)
    length = _call("sign_seeded", signature, len(signature), *inputs, *form, None)
    return bytes(signature[: _checked(length, algorithm)])


def profile(
    algorithm: Algorithm, *, secret_key: bytes, nonce: bytes, seed: bytes, message: bytes
) -> list[tuple[str, float, int, str]]:
    """Sign, and return name, seconds, calls and place ("software", "engine") of each of `PARTS`.

    The seconds include two readings of the clock per call. Raises UsageError for wrong lengths, and
    CryptoFailure if the key is damaged.
    """
    logn = _require_inputs(algorithm, secret_key=secret_key, nonce=nonce, seed=seed)
    times, calls = array("Q", [0] * len(PARTS)), array("Q", [0] * len(PARTS))
    inputs = (secret_key, nonce, seed, message, len(message), logn)
    code = _call("profile", *inputs, memoryview(times), memoryview(calls))
    # A length of 0 means that the signature did not fit.
    _checked(code or _TOO_LONG, algorithm)
    rows = zip(PARTS, times, calls, strict=True)
    return [(step, ns * 1e-9, count, unit) for (step, unit), ns, count in rows]


def public_key(algorithm: Algorithm, secret_key: bytes) -> bytes:
    """Return the public key of a secret key; raises UsageError, CryptoFailure for a damaged key."""
    logn = _require_inputs(algorithm, secret_key=secret_key)
    out = bytearray(algorithm.public_key_bytes)
    _checked(_call("public_key", out, secret_key, logn), algorithm)
    return bytes(out)
