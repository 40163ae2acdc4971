"""What every implementation offers: `Signer` and `Kem`.

The base classes check every argument, so that an implementation's `_sign`, `_verify` and so on
see `bytes` of the right length only. C code takes no lengths of keys: a short key would be read
past its end.
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
"""What may be given where bytes are needed; everything else is a BadType."""

Columns = Sequence[list[bytes]]
"""The messages, the signatures and the public keys of a batch."""


def as_bytes(what: str, value: object) -> bytes:
    """Return the value as bytes: bytes untouched, bytearray and memoryview copied once.

    Raises BadType for anything else; text in particular is never encoded silently.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    remedy = "encode it first, for example with .encode()" if isinstance(value, str) else "convert"
    raise BadType(
        f"the {what} is of type {type(value).__name__}; bytes, bytearray or memoryview is "
        f"needed: {remedy}."
    )


class Scheme(ABC):
    """What signers and KEMs share: their names and the checks of lengths."""

    _kind: Kind

    def __init__(self, algorithm: Algorithm, implementation: str) -> None:
        """Raise UsageError if the algorithm is of another kind, Unsupported if it cannot run."""
        if algorithm.kind != self._kind:
            raise UsageError(
                f"{algorithm.name} is a {algorithm.kind}; a {self._kind} is needed here: "
                "use open_signer for signatures and open_kem for KEMs."
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
        """Import and open what the scheme is computed with; an ImportError becomes Unsupported."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.algorithm.name} by {self.implementation}>"

    @abstractmethod
    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a fresh public key and its secret key, of the registry's lengths."""

    def _exactly(self, expected: int, what: str, value: object) -> bytes:
        """Return the value as bytes of that length; an error does not show it, it may be secret."""
        checked = value if type(value) is bytes else as_bytes(what, value)
        if len(checked) != expected:
            raise BadLength(
                f"the {what} has {len(checked)} bytes; {self.algorithm.name} needs exactly "
                f"{expected} in {self.implementation}: pass it as the same algorithm produced it, "
                "whole and unpadded."
            )
        return checked


class Signer(Scheme):
    """A signature scheme of one implementation. Keys are arguments; threads may share it."""

    _kind = "signature"

    def __init__(self, algorithm: Algorithm, implementation: str) -> None:
        super().__init__(algorithm, implementation)
        longest = self.algorithm.signature_max_bytes
        self._possible = range(1 if self.algorithm.signature_varies else longest, longest + 1)
        """Lengths that a signature can have."""

    def sign(self, message: BytesLike, secret_key: BytesLike, context: BytesLike = b"") -> bytes:
        """Return a signature of the message.

        A context separates uses of one key; only some families have one (`pqchain algorithms`).
        Raises BadType, BadLength, and CryptoFailure if the library refuses the secret key.
        """
        message = as_bytes("message", message)
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
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

        A signature of a wrong length is a wrong signature: False. Raises BadType, and BadLength
        for a public key or context of a length that the algorithm cannot have.
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
        """Return the indices of the wrong signatures, in order; none means all are valid.

        With `stop_at_first` the threads end soon after a wrong one, and only the lowest index is
        returned. Native schemes make one call of C, whose threads each take the next
        signature as they get on; the others verify one by one, one contiguous part per thread,
        which uses several processors where the library lets other threads run.

        Raises UsageError, BadType and BadLength as `verify` does.
        """
        count = len(messages)
        if not len(signatures) == len(public_keys) == count:
            raise UsageError(
                f"{count} messages, {len(signatures)} signatures and {len(public_keys)} public "
                "keys were given; a batch needs as many of each"
            )
        if not isinstance(threads, int) or threads < 1:
            raise UsageError(f"threads={threads!r}; expected a whole number of at least 1")
        checked = [
            _all_bytes("message", messages),
            _all_bytes("signature", signatures),
            keys := _all_bytes("public key", public_keys),
        ]
        if not set(map(len, keys)) <= {self._public_key_bytes}:
            for key in keys:
                self._exactly(self._public_key_bytes, "public key", key)
        lengths = list(map(len, checked[1]))
        if all(length in self._possible for length in set(lengths)):
            return self._verify_batch(checked, threads=threads, stop_at_first=stop_at_first)
        kept = [i for i, length in enumerate(lengths) if length in self._possible]
        wrong = sorted(set(range(count)).difference(kept))
        if stop_at_first:
            kept = kept[: wrong[0]]  # all before the first wrong length are kept
        columns = [[column[i] for i in kept] for column in checked]
        others = self._verify_batch(columns, threads=threads, stop_at_first=stop_at_first)
        wrong = sorted([*wrong, *(kept[i] for i in others)])
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
            limit = "takes no context: leave it out, or put it into the message"
            if longest:
                limit = f"takes at most {longest}: shorten or hash it"
            raise BadLength(f"the context has {len(checked)} bytes; {self.algorithm.name} {limit}.")
        return checked

    @abstractmethod
    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        """Sign; lengths have been checked."""

    @abstractmethod
    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        """Verify; lengths have been checked."""


class RecoverableSigner(Signer):
    """A scheme whose signatures can carry what is needed to compute the public key from them."""

    @abstractmethod
    def sign_recoverable(self, message: BytesLike, secret_key: BytesLike) -> bytes:
        """Return a signature that `recover` takes; it may be longer than that of `sign`."""

    @abstractmethod
    def recover(self, message: BytesLike, signature: BytesLike) -> bytes | None:
        """Return the public key for which the signature is valid, or None if there is none.

        Every message has such a key for almost every signature: whoever uses this must know the
        key by other means, a hash of it for example.
        """


class CheckedKeys:
    """Public keys that were checked and prepared for aggregates; good in this process alone."""

    __slots__ = ("count", "points")

    def __init__(self, points: bytes, count: int) -> None:
        self.points = points
        self.count = count

    def __len__(self) -> int:
        return self.count


class AggregateSigner(Signer):
    """A scheme whose signatures add up to one: what stands for many, and is as short as one.

    Names are those of draft-irtf-cfrg-bls-signature. A key that was not proven to be its owner's
    can be made of others' keys: check `verify_possession` before it counts in an aggregate.
    """

    @abstractmethod
    def aggregate(self, signatures: Sequence[BytesLike]) -> bytes:
        """Return one signature for all. Raises CryptoFailure if one is no signature at all."""

    @abstractmethod
    def checked_keys(self, public_keys: Sequence[BytesLike]) -> CheckedKeys:
        """Check public keys once, for many aggregates. Raises CryptoFailure for a wrong one."""

    @abstractmethod
    def fast_aggregate_verify(
        self, message: BytesLike, signature: BytesLike, keys: CheckedKeys
    ) -> bool:
        """Return whether every key signed the one message."""

    @abstractmethod
    def aggregate_verify(
        self, messages: Sequence[BytesLike], signature: BytesLike, keys: CheckedKeys
    ) -> bool:
        """Return whether key i signed message i, for all. Raises UsageError for unequal counts."""

    @abstractmethod
    def prove_possession(self, secret_key: BytesLike) -> bytes:
        """Return a proof that one holds the secret key."""

    @abstractmethod
    def verify_possession(self, public_key: BytesLike, proof: BytesLike) -> bool:
        """Return whether the proof is of the public key's owner."""


def _all_bytes(what: str, column: Sequence[BytesLike]) -> list[bytes]:
    """Return every value as bytes, soon: this runs on one thread while the others wait for it."""
    if set(map(type, column)) <= {bytes}:
        return cast("list[bytes]", column if isinstance(column, list) else list(column))
    return [as_bytes(what, value) for value in column]


def in_parts(
    items: Sequence[T], wrong: Callable[[T], bool], *, threads: int, stop_at_first: bool
) -> list[int]:
    """Return the indices of the wrong items, asked for in contiguous parts by threads."""

    def part(first: int, last: int) -> list[int]:
        found = (index for index in range(first, last) if wrong(items[index]))
        return list(islice(found, 1 if stop_at_first else None))

    count = len(items)
    workers = min(threads, count) or 1
    if workers == 1:
        return part(0, count)
    edges = [count * i // workers for i in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        # Parts are in order, so the first index of all is the lowest, whichever thread came first.
        indices = list(chain.from_iterable(pool.map(part, edges[:-1], edges[1:])))
    return indices[:1] if stop_at_first else indices


class Kem(Scheme):
    """A key-encapsulation mechanism of one implementation. Threads may share it."""

    _kind = "kem"

    def encapsulate(self, public_key: BytesLike) -> tuple[bytes, bytes]:
        """Return a ciphertext for the holder of the secret key, and the shared secret.

        Raises BadType, BadLength, and CryptoFailure if the library refuses the public key.
        """
        return self._encapsulate(self._exactly(self._public_key_bytes, "public key", public_key))

    def decapsulate(self, ciphertext: BytesLike, secret_key: BytesLike) -> bytes:
        """Return the shared secret that the ciphertext carries.

        A forged ciphertext gives an unrelated secret where the scheme rejects implicitly.
        Raises BadType, BadLength, and CryptoFailure if the library reports a failure.
        """
        ciphertext = self._exactly(self.algorithm.ciphertext_bytes, "ciphertext", ciphertext)
        secret_key = self._exactly(self._secret_key_bytes, "secret key", secret_key)
        return self._decapsulate(ciphertext, secret_key)

    @abstractmethod
    def _encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        """Encapsulate; lengths have been checked."""

    @abstractmethod
    def _decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        """Decapsulate; lengths have been checked."""
