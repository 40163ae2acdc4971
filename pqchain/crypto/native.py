"""Native libraries with the interface pq_native.h, through ctypes.

Libraries are loaded at first use, never at import.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pqchain import algorithms, installation
from pqchain.algorithms import Implementation
from pqchain.crypto import abi, external_libraries
from pqchain.crypto.abi import NUMBER, OK, Memory, Packed, TimingPlan, failure, pack
from pqchain.crypto.interface import BytesLike, Columns, Kem, Scheme, Signer
from pqchain.crypto.random_source import Source, Stream, replaced
from pqchain.errors import (
    CryptoFailure,
    NativeLibraryBroken,
    NativeLibraryMissing,
    Unsupported,
    UsageError,
)
from pqchain.results import machine

MAX_SCHEMES = 10_000

INSTALL_HINT = "build it with `make`, or `pip install .` (needs a C compiler, cmake and cargo)"

DEFAULT = "liboqs-0.13/dispatch"
"""Default implementation; its library also has `pq_draw`, a random source for all libraries."""


class Library:
    """One loaded native library."""

    def __init__(self, path: Path) -> None:
        """Load the file. Raises UsageError, and NativeLibraryBroken, also for another ABI."""
        self.path = path
        self._handle = external_libraries.checked(path, functions=abi.PROTOTYPES, abi=abi.ABI)
        # A library without these functions takes encoded keys only.
        self.decodes_keys = hasattr(self._handle, "pq_decode_keys")
        if self.decodes_keys:
            external_libraries.declared(self._handle, abi.KNOWN_KEY_PROTOTYPES)
        self.source: str = (self._handle.pq_source() or b"").decode(errors="replace")
        if (count := self._handle.pq_count()) > MAX_SCHEMES:
            raise UsageError(
                f"pq_count() of {path.name} must be at most {MAX_SCHEMES}; got {count}."
            )
        self._schemes: dict[str, int] = {
            name.decode(errors="replace"): handle
            for name in map(self._handle.pq_name, range(count))
            if name is not None and (handle := self._handle.pq_open(name)) is not None
        }

    def names(self) -> list[str]:
        """Return the names of the algorithms in this build."""
        return list(self._schemes)

    def build_facts(self) -> dict[str, Any]:
        """Return the facts recorded by the build: source, corrections, compiler, flags."""
        facts: dict[str, Any] = json.loads((self.path.parent.parent / "build.json").read_text())
        return facts

    def scheme(self, name: str) -> int:
        """Return the handle of a scheme. Raises Unsupported if the build does not contain it."""
        try:
            return self._schemes[name]
        except KeyError:
            remedy = "build it with PQCHAIN_ALGORITHMS=all make"
            raise Unsupported(f"{name} is not in this build of {self.source}; {remedy}") from None

    def sizes(self, name: str) -> dict[str, int]:
        """Return the fields of pq_sizes_t that the library reports for a scheme."""
        sizes = abi.Sizes()
        self._handle.pq_sizes(self.scheme(name), ctypes.byref(sizes))
        return {field: int(getattr(sizes, field)) for field, _ in sizes._fields_}

    def randomness(self, source: Source) -> AbstractContextManager[None]:
        """Return a context in which this thread's randomness comes from a source.

        The source is a `Stream` or a function `source(count) -> bytes`.
        For reproducible runs and tests only. Other threads draw from the operating system, and of
        nested contexts the innermost applies. An exception of a function is raised at the end of
        the context; until then the library draws from the operating system. Do not await or yield
        within the context: UsageError is raised if it ends in another thread. Raises Unsupported if
        liboqs is not installed.
        """
        return replaced(self._handle.pq_random, _default()._handle.pq_draw, source)

    def measure(self, name: str, plan: TimingPlan) -> tuple[Sequence[int], Sequence[int]]:
        """Run the timed loop; return nanoseconds and cycles per sample. Raises CryptoFailure."""
        entries = plan.warmup + plan.samples
        nanoseconds, cycles = ((ctypes.c_uint64 * entries)() for _ in range(2))
        count = self._handle.pq_measure(self.scheme(name), ctypes.byref(plan), nanoseconds, cycles)
        if count < 0:
            raise CryptoFailure(f"{name} in {self.source}: {failure(count)}")
        return nanoseconds[:count], cycles[:count]

    def empty_sample_seconds(self) -> float:
        """Return the overhead of the clock in each sample, in seconds."""
        return float(self._handle.pq_empty_sample_ns()) * 1e-9

    def call(self, name: str, *arguments: int | float | BytesLike | None) -> int:
        """Call a function that is specific to this library; return its int64_t.

        Numbers are passed as int64_t and double, buffers as pointers to their first byte (output
        buffers as bytearray or writable memoryview), None as the null pointer. Lengths are not
        passed: buffers must be as long as the function's header requires.

        Raises NativeLibraryBroken if the library has no such function.
        """
        try:
            function = getattr(self._handle, name)
        except AttributeError as error:
            hint = installation.library_remedy(self.path)
            raise NativeLibraryBroken(f"{self.path} lacks the function {name}. {hint}") from error
        function.restype = ctypes.c_int64
        return int(function(*(_argument(value) for value in arguments)))


class _Native(Scheme):
    """Base of native signers and KEMs: library, scheme handle and key generation."""

    def _prepare(self) -> None:
        self.library = library(self.implementation)
        self._scheme = self.library.scheme(self.algorithm.name)

    def generate_keypair(self) -> tuple[bytes, bytes]:
        public_key, secret_key = self._outputs("keypair", "public_key_bytes secret_key_bytes")
        return public_key, secret_key

    def _run(self, operation: str, *arguments: Any) -> int:
        """Call an operation; return OK, or REJECTED by `verify`. Raises CryptoFailure otherwise."""
        code: int = getattr(self.library._handle, f"pq_{operation}")(self._scheme, *arguments)
        if code != OK and (operation, code) != ("verify", abi.REJECTED):
            raise self._failure(operation, code)
        return code

    def _failure(self, operation: str, code: int) -> CryptoFailure:
        return CryptoFailure(
            f"{self.algorithm.name}, operation {operation}: {failure(code)}; the key may be damaged"
        )

    def _outputs(self, operation: str, lengths: str, *inputs: bytes) -> list[bytes]:
        """Return an operation's outputs; `lengths` names the algorithm's fields of their sizes."""
        sizes = (getattr(self.algorithm, name) for name in lengths.split())
        buffers = [ctypes.create_string_buffer(size) for size in sizes]
        self._run(operation, *buffers, *inputs)
        return [buffer.raw for buffer in buffers]


class NativeSigner(_Native, Signer):
    """A signature scheme of a native library."""

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        signature = ctypes.create_string_buffer(self.algorithm.signature_max_bytes)
        length = abi.SIZE(len(signature))
        inputs = (message, len(message), context, len(context), secret_key)
        self._run("sign", signature, ctypes.byref(length), *inputs)
        return signature.raw[: length.value]

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        signed = (message, len(message), signature, len(signature))
        return self._run("verify", *signed, context, len(context), public_key) == OK

    def _verify_batch(self, columns: Columns, *, threads: int, stop_at_first: bool) -> list[int]:
        if not columns[0]:
            return []
        return self._verify_packed(pack(columns), threads, stop_at_first)

    def verify_packed(
        self, packed: Packed, *, threads: int = 1, stop_at_first: bool = False
    ) -> list[int] | None:
        """Verify a packed batch; the result is that of `verify_batch`.

        Returns None if the length of a key or signature is invalid for the scheme. Raises
        UsageError if offsets are out of bounds, or the keys do not have the stated length.
        """
        lengths = packed.check()
        if packed.key_bytes != self._public_key_bytes or not lengths <= set(self._possible):
            return None
        return self._verify_packed(packed, threads, stop_at_first)

    def _verify_packed(self, packed: Packed, threads: int, stop_at_first: bool) -> list[int]:
        batch = Batch(self.library, self._scheme, packed)
        wrong = batch.wrong() if batch.run(threads, stop_at_first=stop_at_first) else []
        return wrong[:1] if stop_at_first else wrong


class KeyDecoder:
    """Public keys of a native scheme in decoded form, for verifiers that keep them.

    The interface is that of known_keys.h. Raises Unsupported, with the reason, for a scheme whose
    library takes encoded keys only.
    """

    def __init__(self, signer: Signer) -> None:
        library = signer.library if isinstance(signer, NativeSigner) else None
        self._bytes = 0
        if library is not None and library.decodes_keys:
            self._handle, self._scheme = library._handle, library.scheme(signer.algorithm.name)
            self._bytes = self._handle.pq_decoded_key_bytes(self._scheme)
        if not self._bytes:
            raise Unsupported(
                f"{signer.implementation} verifies {signer.algorithm.name} with the encoded public "
                "key only; its interface keeps no decoded key"
            )
        self._key_bytes = signer.algorithm.public_key_bytes

    def decode(self, public_keys: bytes) -> Memory:
        """Decode keys that are one after the other. Raises UsageError and CryptoFailure."""
        count, rest = divmod(len(public_keys), self._key_bytes)
        if rest or not count:
            raise UsageError(
                f"public_keys must be a multiple of {self._key_bytes} bytes; got {len(public_keys)}"
            )
        decoded = ctypes.create_string_buffer(count * self._bytes)
        if self._handle.pq_decode_keys(self._scheme, decoded, public_keys, count) != OK:
            raise CryptoFailure("a public key is invalid; remove it")
        return decoded

    def verify(self, message: bytes, signature: bytes, decoded: Memory, index: int = 0) -> bool:
        """Return whether a signature is valid under the key at an index of `decode`'s result."""
        if not 0 <= index < len(decoded) // self._bytes:
            raise UsageError(f"index must be below the number of decoded keys; got {index}")
        key = ctypes.addressof(decoded) + index * self._bytes
        signed = (message, len(message), signature, len(signature))
        return bool(self._handle.pq_verify_decoded(self._scheme, *signed, key) == OK)


class NativeKem(_Native, Kem):
    """A key-encapsulation mechanism of a native library."""

    def _encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        lengths = "ciphertext_bytes shared_secret_bytes"
        ciphertext, shared_secret = self._outputs("encapsulate", lengths, public_key)
        return ciphertext, shared_secret

    def _decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        return self._outputs("decapsulate", "shared_secret_bytes", ciphertext, secret_key)[0]


class Batch:
    """A call of pq_verify_batch, ready to run."""

    def __init__(self, library: Library, scheme: int, packed: Packed) -> None:
        self._packed = packed  # keeps the memory alive that the call reads
        self._verify = library._handle.pq_verify_batch
        count = len(packed.message_offsets) - 1
        # Initially 1 (valid): with stop_at_first, signatures that were not verified are not wrong.
        self._verdicts = ctypes.create_string_buffer(b"\x01" * count, count)
        offsets = [
            (NUMBER * len(memory)).from_buffer(memory)
            for memory in (packed.message_offsets, packed.signature_offsets)
        ]
        self._arguments = abi.BatchArguments(
            scheme=scheme,
            count=count,
            messages=_text(packed.messages),
            message_offsets=offsets[0],
            signatures=_text(packed.signatures),
            signature_offsets=offsets[1],
            public_keys=packed.public_keys,
            public_key_stride=packed.key_bytes * (len(packed.public_keys) != packed.key_bytes),
            verdicts=self._verdicts,
        )

    def run(self, threads: int, *, stop_at_first: bool = False) -> int:
        """Verify in one call, without the GIL; return the number of wrong signatures."""
        self._arguments.threads = threads
        self._arguments.stop_at_first = stop_at_first
        return int(self._verify(ctypes.byref(self._arguments)))

    def wrong(self) -> list[int]:
        """Return the indices of the signatures that the last run found wrong."""
        return [i for i, verdict in enumerate(self._verdicts.raw) if not verdict]


def plain_loop(signer: Signer, *columns: list[bytes], threads: int = 1) -> Callable[[], int] | None:
    """Return a function that runs only the C loop over these signatures, as a baseline.

    Columns are messages, signatures and public keys; the function returns the number of wrong
    signatures. Returns None if the scheme is not in a native library.
    """
    if not isinstance(signer, NativeSigner):
        return None
    batch = Batch(signer.library, signer._scheme, pack(columns))
    return lambda: batch.run(threads)


def _text(memory: bytes | Memory) -> bytes | int:
    """Return memory as a value for a field of type c_char_p."""
    if isinstance(memory, bytes):
        return memory
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _argument(value: int | float | BytesLike | None) -> Any:
    if value is None or isinstance(value, bytes):
        return ctypes.c_char_p(value)
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.byref((ctypes.c_char * memoryview(value).nbytes).from_buffer(value))


@cache
def _default() -> Library:
    return library(DEFAULT)


@cache
def load(path: Path) -> Library:
    """Return the library of a file; each file is loaded only once."""
    return Library(path)


def built_library(row: Implementation) -> Path | None:
    """Return the path of an implementation's library or of its fallback; None if missing."""
    if row.file is not None:
        return row.file if row.file.is_file() else None
    stems = filter(None, (row.library, row.fallback_library))
    return next(filter(None, map(installation.library_path, stems)), None)


def obstacle(implementation: str) -> Unsupported | None:
    """Return the error of an implementation that cannot run here, or None.

    Raises UnknownImplementation.
    """
    row = algorithms.implementation(implementation)
    # find_spec looks for the package without importing it.
    if row.package and find_spec(row.package) is None:
        remedy = installation.install_command(row.package)
        return Unsupported(f"the Python package {row.package} is not installed: {remedy}")
    if missing := machine.missing_flags(row):
        return Unsupported(f"this processor lacks {', '.join(missing)}, which {row.name} needs")
    if not row.library or built_library(row) is not None:
        return None
    # Optional builds: plain `make` would not build them.
    if row.setting:
        remedy = f"only `{row.setting} make -B install` builds it"
        return NativeLibraryMissing(f"{row.name} is not installed: {remedy}")
    why = installation.omission_reason(row.library)
    reason = f"the native library of {row.name} is not installed{why and f' ({why})'}"
    return NativeLibraryMissing(f"{reason}: {INSTALL_HINT}")


def unavailable_reason(implementation: str) -> str:
    """Return why the implementation cannot run here; "" if it can. Raises UnknownImplementation."""
    return str(obstacle(implementation) or "")


def library(implementation: str) -> Library:
    """Return the library of an implementation. Raises UnknownImplementation and Unsupported."""
    if blocked := obstacle(implementation):
        raise blocked
    path = built_library(algorithms.implementation(implementation))
    if path is None:
        raise Unsupported(f"{implementation} is not a native library of pqchain")
    return load(path)


def seeded_randomness(*purpose: bytes) -> AbstractContextManager[None]:
    """Return a context in which liboqs draws from `Stream(*purpose)` in the calling thread.

    Other threads and other libraries draw from the operating system; see `Library.randomness`. Has
    no effect if liboqs is not installed.
    """
    try:
        return _default().randomness(Stream(*purpose))
    except Unsupported:
        return nullcontext()
