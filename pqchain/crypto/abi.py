"""pq_native.h as ctypes sees it: numbers, structures and the types of every function."""

from __future__ import annotations

import ctypes
from typing import Any

ABI = 3
"""The number in pq_native.h that this module was written for."""

OK, REJECTED = 0, 1

_FAILURES = {
    -1: "the library reported a failure",
    -2: "the scheme has no such operation",
    -3: "there was not enough memory",
    -4: "an operation gave a wrong result",
}


def failure(code: int) -> str:
    """Say what a negative code of pq_native.h means."""
    return _FAILURES.get(code, f"code {code}")


SIZE, NUMBER = ctypes.c_size_t, ctypes.c_uint64

_POINTER, _INT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p

RANDOM = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint8), SIZE)


def _numbers(names: str) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a structure of uint64_t."""
    return tuple((name, NUMBER) for name in names.split())


class Plan(ctypes.Structure):
    """pq_plan: one timed run. The fields are explained in pq_native.h."""

    _fields_ = _numbers("operation warmup samples minimum limit_ns pool message_bytes seed")


class Sizes(ctypes.Structure):
    """pq_sizes_t: what a scheme of a library says of itself."""

    _fields_ = _numbers(
        "kind nist_level public_key_bytes secret_key_bytes signature_max_bytes ciphertext_bytes "
        "shared_secret_bytes context"
    )


class BatchArguments(ctypes.Structure):
    """pq_batch: signatures side by side, and what to do about them."""

    _fields_ = (
        ("scheme", _POINTER),
        *_numbers("count threads"),
        ("messages", _TEXT),
        ("message_offsets", ctypes.POINTER(NUMBER)),
        ("signatures", _TEXT),
        ("signature_offsets", ctypes.POINTER(NUMBER)),
        ("public_keys", _TEXT),
        *_numbers("public_key_stride stop_at_first"),
        ("verdicts", ctypes.POINTER(ctypes.c_char)),
    )


_SIGNED = (_POINTER, SIZE, _POINTER, SIZE, _POINTER)
"""The last parameters of pq_sign and pq_verify: two buffers with their lengths, and a key."""

PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pq_abi": (_INT, ()),
    "pq_source": (_TEXT, ()),
    "pq_count": (SIZE, ()),
    "pq_name": (_TEXT, (SIZE,)),
    "pq_open": (_POINTER, (_TEXT,)),
    "pq_sizes": (None, (_POINTER, ctypes.POINTER(Sizes))),
    "pq_keypair": (_INT, (_POINTER,) * 3),
    "pq_sign": (_INT, (_POINTER, _POINTER, ctypes.POINTER(SIZE), *_SIGNED)),
    "pq_verify": (_INT, (_POINTER, _POINTER, SIZE, *_SIGNED)),
    "pq_encapsulate": (_INT, (_POINTER,) * 4),
    "pq_decapsulate": (_INT, (_POINTER,) * 4),
    "pq_random": (None, (RANDOM,)),
    "pq_verify_batch": (SIZE, (ctypes.POINTER(BatchArguments),)),
    "pq_measure": (ctypes.c_int64, (_POINTER, ctypes.POINTER(Plan), _POINTER, _POINTER)),
    "pq_empty_sample_ns": (ctypes.c_double, ()),
}
