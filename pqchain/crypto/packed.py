"""Batches of signatures in contiguous memory, the input of pq_verify_batch."""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pqchain.crypto.abi import NUMBER, BatchArguments
from pqchain.crypto.interface import Columns
from pqchain.errors import UsageError

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
    return Packed(
        messages=b"".join(messages),
        message_offsets=_offsets(messages),
        signatures=b"".join(signatures),
        signature_offsets=_offsets(signatures),
        public_keys=first_key if shared else b"".join(public_keys),
        key_bytes=len(first_key),
    )


def batch_arguments(
    scheme: int, packed: Packed
) -> tuple[BatchArguments, ctypes.Array[ctypes.c_char]]:
    """Return the arguments of pq_verify_batch, and its buffer of verdicts (1: valid)."""
    count = len(packed.message_offsets) - 1
    shared = len(packed.public_keys) == packed.key_bytes
    # Initially 1 ("valid"): with stop_at_first, signatures that were not verified are not wrong.
    verdicts = ctypes.create_string_buffer(b"\x01" * count, count)
    arguments = BatchArguments(
        scheme=scheme,
        count=count,
        messages=_text(packed.messages),
        message_offsets=_numbers_in(packed.message_offsets),
        signatures=_text(packed.signatures),
        signature_offsets=_numbers_in(packed.signature_offsets),
        public_keys=packed.public_keys,
        public_key_stride=0 if shared else packed.key_bytes,
        verdicts=verdicts,
    )
    return arguments, verdicts


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


def _offsets(items: list[bytes]) -> array[int]:
    """Return the offset of each item in the joined items, and their total length."""
    # An array from an iterator is several times faster than a ctypes array from arguments.
    return array("Q", accumulate(map(len, items), initial=0))


def _numbers_in(memory: Memory) -> ctypes.Array[ctypes.c_uint64]:
    return (NUMBER * len(memory)).from_buffer(memory)


def _text(memory: bytes | Memory) -> bytes | int:
    """Return memory as a value for a field of type c_char_p."""
    if isinstance(memory, bytes):
        return memory
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
