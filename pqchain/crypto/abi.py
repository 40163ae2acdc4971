"""Constants, structures and prototypes of pq_native.h and known_keys.h, and packed batches."""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pqchain.crypto.interface import Columns
from pqchain.errors import UsageError

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


PROTOTYPES = {
    "pq_abi": "i=", "pq_source": "t=", "pq_count": "q=", "pq_name": "t=q", "pq_open": "p=p",
    "pq_sizes": "pp", "pq_keypair": "i=ppp", "pq_sign": "i=ppppqpqp", "pq_verify": "i=ppqpqpqp",
    "pq_encapsulate": "i=pppp", "pq_decapsulate": "i=pppp", "pq_random": "p",
    "pq_verify_batch": "q=p", "pq_measure": "q=pppp", "pq_empty_sample_ns": "d=",
}  # fmt: skip
"""Functions by name, in the notation of `external_libraries.library`."""

KNOWN_KEY_PROTOTYPES = {
    "pq_decoded_key_bytes": "q=p", "pq_decode_keys": "i=pppq", "pq_verify_decoded": "i=ppqpqp",
}  # fmt: skip
"""Functions of known_keys.h, which not every library has."""

Memory = Any
"""A writable buffer: an array of the standard library or of numpy."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A batch of at least one signature in contiguous memory, the input of pq_verify_batch."""

    messages: bytes | Memory
    message_offsets: Memory
    """uint64 offsets of each message, and the end of the last one; count + 1 entries."""
    signatures: bytes | Memory
    signature_offsets: Memory
    public_keys: bytes
    """One key for all signatures, or one per signature."""
    key_bytes: int

    def check(self) -> set[int]:
        """Return the lengths of the signatures. Raises UsageError for accesses out of bounds."""
        lengths = _differences("signature", self.signature_offsets, self.signatures)
        count = len(lengths)
        messages = len(_differences("message", self.message_offsets, self.messages))
        if messages != count:
            raise UsageError(
                f"there must be one message for each signature; got {messages} and {count}"
            )
        if len(self.public_keys) not in (self.key_bytes, self.key_bytes * count):
            raise UsageError(
                f"public_keys must be 1 or {count} keys of {self.key_bytes} bytes; got "
                f"{len(self.public_keys)} bytes"
            )
        return set(lengths)


def pack(columns: Columns) -> Packed:
    """Pack the columns of a batch, which must be checked and not empty."""
    messages, signatures, public_keys = columns
    first_key = public_keys[0]
    # A block of one sender need not carry the same key a thousand times.
    shared = public_keys.count(first_key) == len(messages)
    # An array from an iterator is several times faster than a ctypes array from arguments.
    message_offsets, signature_offsets = (
        array("Q", accumulate(map(len, items), initial=0)) for items in (messages, signatures)
    )
    return Packed(
        b"".join(messages), message_offsets, b"".join(signatures), signature_offsets,
        first_key if shared else b"".join(public_keys), len(first_key),
    )  # fmt: skip


def _differences(name: str, offsets: Memory, memory: bytes | Memory) -> list[int]:
    import numpy as np  # imported here: a caller with a packed batch has loaded it already

    edges = np.frombuffer(offsets, np.uint64)
    if len(edges) < 2 or edges[-1] > memoryview(memory).nbytes or (edges[1:] < edges[:-1]).any():
        raise UsageError(
            f"{name} offsets must increase, stay within the {memoryview(memory).nbytes} bytes of "
            f"the {name}s, and have at least one item"
        )
    lengths: list[int] = np.diff(edges).tolist()
    return lengths
