"""ctypes declarations of pq_native.h and known_keys.h: constants, structures and prototypes."""

from __future__ import annotations

import ctypes
from typing import Any

ABI = 5
"""Expected version of the interface in pq_native.h."""

OK, REJECTED = 0, 1

OUT_OF_RANGE = -5
"""Error code of signing for a secret key that key generation cannot produce."""

_FAILURES = {
    -1: "the library reported a failure",
    -2: "the scheme has no such operation",
    -3: "there was not enough memory",
    -4: "an operation gave a wrong result",
    OUT_OF_RANGE: "key generation cannot produce this secret key",
}


def failure(code: int) -> str:
    """Return the meaning of a negative return code of pq_native.h."""
    return _FAILURES.get(code, f"code {code}")


SIZE, NUMBER = ctypes.c_size_t, ctypes.c_uint64
POINTER, TEXT = ctypes.c_void_p, ctypes.c_char_p

_INT = ctypes.c_int

DRAW = ctypes.CFUNCTYPE(None, POINTER, POINTER, SIZE)
"""Callback of a source of randomness: (context, buffer, number of bytes to write)."""


def _numbers(names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, NUMBER) for name in names.split())


class TimingPlan(ctypes.Structure):
    """Structure pq_plan: one timed run. pq_native.h describes the fields."""

    _fields_ = _numbers("operation warmup samples minimum limit_ns pool message_bytes seed")


class Sizes(ctypes.Structure):
    """Structure pq_sizes_t: kind and sizes of a scheme, as the library reports them."""

    _fields_ = _numbers(
        "kind nist_level public_key_bytes secret_key_bytes signature_max_bytes ciphertext_bytes "
        "shared_secret_bytes context"
    )


class BatchArguments(ctypes.Structure):
    """Structure pq_batch: arguments of a batch verification."""

    _fields_ = (
        ("scheme", POINTER),
        *_numbers("count threads"),
        # c_char_p: the fields take bytes or an address, without a cast.
        ("messages", TEXT),
        ("message_offsets", ctypes.POINTER(NUMBER)),
        ("signatures", TEXT),
        ("signature_offsets", ctypes.POINTER(NUMBER)),
        ("public_keys", TEXT),
        *_numbers("public_key_stride stop_at_first"),
        ("verdicts", ctypes.POINTER(ctypes.c_char)),
    )


class RandomSource(ctypes.Structure):
    """Structure pq_random_source: callback and context of a thread's source of randomness."""

    _fields_ = (("draw", DRAW), ("context", POINTER))


class SeededContext(ctypes.Structure):
    """Structure seeded_context of seeded.c: the context that `pq_draw` takes."""

    _fields_ = (
        *_numbers("is_open asked answered"),
        ("count", ctypes.POINTER(NUMBER)),
        ("text", TEXT),
        *_numbers("text_bytes"),
        ("ask", DRAW),
        ("number", POINTER),
    )


_SIGNED = (POINTER, SIZE, POINTER, SIZE, POINTER)
"""Last parameters of pq_sign and pq_verify: two buffers with their lengths, and a key."""

PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pq_abi": (_INT, ()),
    "pq_source": (TEXT, ()),
    "pq_count": (SIZE, ()),
    "pq_name": (TEXT, (SIZE,)),
    "pq_open": (POINTER, (TEXT,)),
    "pq_sizes": (None, (POINTER, ctypes.POINTER(Sizes))),
    "pq_keypair": (_INT, (POINTER,) * 3),
    "pq_sign": (_INT, (POINTER, POINTER, ctypes.POINTER(SIZE), *_SIGNED)),
    "pq_verify": (_INT, (POINTER, POINTER, SIZE, *_SIGNED)),
    "pq_encapsulate": (_INT, (POINTER,) * 4),
    "pq_decapsulate": (_INT, (POINTER,) * 4),
    "pq_random": (None, (ctypes.POINTER(RandomSource),)),
    "pq_verify_batch": (SIZE, (ctypes.POINTER(BatchArguments),)),
    "pq_measure": (ctypes.c_int64, (POINTER, ctypes.POINTER(TimingPlan), POINTER, POINTER)),
    "pq_empty_sample_ns": (ctypes.c_double, ()),
}

KNOWN_KEY_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pq_decoded_key_bytes": (SIZE, (POINTER,)),
    "pq_decode_keys": (_INT, (POINTER, POINTER, POINTER, SIZE)),
    "pq_verify_decoded": (_INT, (POINTER, POINTER, SIZE, POINTER, SIZE, POINTER)),
}
"""Functions of known_keys.h, which not every library has."""
