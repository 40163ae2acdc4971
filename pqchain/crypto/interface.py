"""Base classes of all implementations: `Signer` and `Kem`.

The base classes check every argument, so that `_sign`, `_verify` and the other methods of an
implementation get `bytes` of valid lengths only. C functions take no key lengths: they would read
past the end of a short key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar, cast

from pqchain import algorithms
from pqchain.algorithms import Algorithm, Kind
from pqchain.errors import BadLength, BadType, Unsupported, UsageError
from pqchain.installation import install_command

T = TypeVar("T")

BytesLike = bytes | bytearray | memoryview
"""Types that are accepted as bytes; all others raise BadType."""

Columns = Sequence[list[bytes]]
"""Messages, signatures and public keys of a batch: three lists of equal length."""


def as_bytes(name: str, value: object) -> bytes:
    """Return the value as bytes: bytes unchanged, bytearray and memoryview copied once.

    Raises BadType for other types; text in particular is never encoded silently.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    remedy = "Encode it with .encode()" if isinstance(value, str) else "Convert it"
    raise BadType(
        f"the {name} must be bytes, bytearray or memoryview; got {type(value).__name__}. {remedy}."
    )


class Scheme(ABC):
    """Base of signers and KEMs: names, key lengths and their checks."""

    _kind: Kind

    def __init__(self, algorithm: Algorithm, implementation: str) -> None:
        if algorithm.kind != self._kind:
            raise UsageError(
                f"{algorithm.name} must be a {self._kind}; it is a {algorithm.kind}. Use "
                "open_signer for signatures and open_kem for KEMs."
            )
        self.algorithm = algorithm = algorithm.sized_for(implementation)
        self.implementation = implementation
        self._public_key_bytes = algorithm.public_key_bytes
        self._secret_key_bytes = algorithm.secret_key_bytes
        try:
            self._prepare()
        except ImportError as error:
            package = algorithms.implementation(implementation).package
            raise Unsupported(
                f"{algorithm.name} by {implementation} needs a package that cannot be imported "
                f"({error}): {install_command(package) if package else 'install pqchain again'}"
            ) from error

    @abstractmethod
    def _prepare(self) -> None:
        """Import and open the underlying library; an ImportError becomes Unsupported."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.algorithm.name} by {self.implementation}>"

    @abstractmethod
    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a new (public key, secret key) with the lengths in the registry."""

    def _exactly(self, expected: int, name: str, value: object) -> bytes:
        # Errors do not contain the value, which may be a secret key.
        checked = value if type(value) is bytes else as_bytes(name, value)
        if len(checked) != expected:
            raise BadLength(
                f"the {name} of {self.algorithm.name} must have {expected} bytes in "
                f"{self.implementation}; got {len(checked)}. Pass it complete and without padding."
            )
        return checked


class Signer(Scheme):
    """A signature scheme in one implementation. Instances keep no keys and are thread-safe."""

    _kind = "signature"

    def __init__(self, algorithm: Algorithm, implementation: str) -> None:
        super().__init__(algorithm, implementation)
        longest = self.algorithm.signature_max_bytes
        self._possible = range(1 if self.algorithm.signature_varies else longest, longest + 1)
        """Valid lengths of a signature."""

    def sign(self, message: BytesLike, secret_key: BytesLike, context: BytesLike = b"") -> bytes:
        """Return a signature of the message.

        The context separates uses of one key; only some families support it (`pqchain algorithms`).
        Raises BadType, BadLength, and CryptoFailure if the library rejects the secret key.
        """
        message = as_bytes("message", message)
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        # Without a context, the usual case, there is nothing to check.
        if type(context) is not bytes or context:
            context = self._checked_context(context)
        return self._sign(message, secret_key, context)

    def verify(
        self,
        message: BytesLike,
        signature: BytesLike,
        public_key: BytesLike,
        context: BytesLike = b"",
    ) -> bool:
        """Return whether the signature is valid for the message, public key and context.

        Returns False for a signature of an invalid length. Raises BadType, and BadLength for a
        public key or context of an invalid length.
        """
        message = as_bytes("message", message)
        signature = as_bytes("signature", signature)
        public_key = self._exactly(self._public_key_bytes, "public key", public_key)
        if type(context) is not bytes or context:
            context = self._checked_context(context)
        possible = len(signature) in self._possible
        return possible and self._verify(message, signature, public_key, context)

    def verify_batch(
        self,
        messages: Sequence[BytesLike],
        signatures: Sequence[BytesLike],
        public_keys: Sequence[BytesLike],
        *,
        threads: int = 1,
        stop_at_first: bool = False,
    ) -> list[int]:
        """Return the sorted indices of the wrong signatures; an empty list if all are valid.

        With `stop_at_first` the threads end soon after a wrong signature, and only the lowest index
        is returned. A native library verifies the batch in one call, whose threads take one
        signature at a time. With other implementations, each thread verifies a contiguous part,
        which uses several processors only if the implementation releases the GIL.

        Raises UsageError, BadType and BadLength as `verify` does.
        """
        count = len(messages)
        if not len(signatures) == len(public_keys) == count:
            raise UsageError(
                "a batch must have as many messages as signatures and public keys; got "
                f"{count}, {len(signatures)} and {len(public_keys)}"
            )
        if not isinstance(threads, int) or threads < 1:
            raise UsageError(f"threads must be a whole number of at least 1; got {threads!r}")
        checked = [
            _all_bytes("message", messages),
            _all_bytes("signature", signatures),
            keys := _all_bytes("public key", public_keys),
        ]
        # One pass over the lengths; the loop only runs to raise the error for the wrong key.
        if not set(map(len, keys)) <= {self._public_key_bytes}:
            for key in keys:
                self._exactly(self._public_key_bytes, "public key", key)
        lengths = list(map(len, checked[1]))
        if all(length in self._possible for length in set(lengths)):
            return self._verify_batch(checked, threads=threads, stop_at_first=stop_at_first)
        # Signatures of invalid lengths are wrong and are not passed to the implementation.
        possible = [i for i, length in enumerate(lengths) if length in self._possible]
        wrong = sorted(set(range(count)).difference(possible))
        if stop_at_first:
            possible = possible[: wrong[0]]  # every index below wrong[0] has a valid length
        columns = [[column[i] for i in possible] for column in checked]
        invalid = self._verify_batch(columns, threads=threads, stop_at_first=stop_at_first)
        wrong = sorted([*wrong, *(possible[i] for i in invalid)])
        return wrong[:1] if stop_at_first else wrong

    def _verify_batch(self, columns: Columns, *, threads: int, stop_at_first: bool) -> list[int]:
        return in_parts(
            list(zip(*columns, strict=True)),
            lambda row: not self._verify(row[0], row[1], row[2], b""),
            threads=threads,
            stop_at_first=stop_at_first,
        )

    def _checked_context(self, context: object) -> bytes:
        checked = as_bytes("context", context)
        longest = self.algorithm.family_facts.context_bytes
        if len(checked) > longest:
            remedy = "Shorten or hash it" if longest else "Put it into the message"
            raise BadLength(
                f"the context of {self.algorithm.name} must have at most {longest} bytes; got "
                f"{len(checked)}. {remedy}."
            )
        return checked

    @abstractmethod
    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        """Return a signature; types and lengths have been checked."""

    @abstractmethod
    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        """Return whether the signature is valid; types and lengths have been checked."""


class RecoverableSigner(Signer):
    """A signature scheme with public-key recovery."""

    @abstractmethod
    def sign_recoverable(self, message: BytesLike, secret_key: BytesLike) -> bytes:
        """Return a signature for `recover`, which may be longer than that of `sign`."""

    @abstractmethod
    def recover(self, message: BytesLike, signature: BytesLike) -> bytes | None:
        """Return the public key for which the signature is valid, or None if there is none.

        Such a key exists for almost every message and signature, so the caller must compare it with
        a trusted value, for example a hash of the key.
        """


def _all_bytes(name: str, column: Sequence[BytesLike]) -> list[bytes]:
    # Fast for a list of bytes: this runs on one thread before the others can start.
    if set(map(type, column)) <= {bytes}:
        return cast("list[bytes]", column if isinstance(column, list) else list(column))
    return [as_bytes(name, value) for value in column]


def in_parts(
    items: Sequence[T], wrong: Callable[[T], bool], *, threads: int, stop_at_first: bool
) -> list[int]:
    """Return the sorted indices of the wrong items; each thread tests a contiguous part."""

    def part(first: int, last: int) -> list[int]:
        indices = (index for index in range(first, last) if wrong(items[index]))
        return list(islice(indices, 1 if stop_at_first else None))

    count = len(items)
    workers = min(threads, count) or 1
    if workers == 1:
        return part(0, count)
    edges = [count * i // workers for i in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        # map() returns the parts in order, so the first index is the lowest of all threads.
        indices = list(chain.from_iterable(pool.map(part, edges[:-1], edges[1:])))
    return indices[:1] if stop_at_first else indices


class Kem(Scheme):
    """A key-encapsulation mechanism in one implementation. Keeps no keys; is thread-safe."""

    _kind = "kem"

    def encapsulate(self, public_key: BytesLike) -> tuple[bytes, bytes]:
        """Return (ciphertext, shared secret). Raises BadType, BadLength, and CryptoFailure."""
        return self._encapsulate(self._exactly(self._public_key_bytes, "public key", public_key))

    def decapsulate(self, ciphertext: BytesLike, secret_key: BytesLike) -> bytes:
        """Return the shared secret of a ciphertext.

        A forged ciphertext gives an unrelated secret if the scheme has implicit rejection.
        Raises BadType, BadLength, and CryptoFailure if the library reports a failure.
        """
        ciphertext = self._exactly(self.algorithm.ciphertext_bytes, "ciphertext", ciphertext)
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        return self._decapsulate(ciphertext, secret_key)

    @abstractmethod
    def _encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        """Return (ciphertext, shared secret); types and lengths have been checked."""

    @abstractmethod
    def _decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        """Return the shared secret; types and lengths have been checked."""
