"""The default implementation: liboqs-python on our main library. The only importer of `oqs`.

liboqs-python 0.16 needs a fence at import. It prefers a liboqs of the system, writes to stdout,
clones and builds one where it finds none (and ends the process if that fails), and warns that our
0.13 is not its 0.16. In use it pads short keys with zeros, so lengths are checked before it.
Key pairs come from the same library through our C interface. So does every other operation in a
thread whose stack may be too small for it: our C runs it on a larger one, where liboqs-python would
end the process.
"""

from __future__ import annotations

import importlib
import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType

from pqchain.algorithms import Algorithm
from pqchain.crypto import abi, external_libraries, native
from pqchain.errors import CryptoFailure, Unsupported

IMPLEMENTATION = "liboqs-0.13/dispatch"
"""Name of this implementation in the registry."""

_LOCK = threading.Lock()


@contextmanager
def _failures_of(operation: str, algorithm: Algorithm, key: str = "key") -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise CryptoFailure(
            f"{operation} with {algorithm.name}: {error}; the {key} may be damaged"
        ) from error


def module() -> ModuleType:
    """Import liboqs-python onto our library, once, silently.

    Raises NativeLibraryMissing if our library is not there, Unsupported if liboqs-python was
    imported on another library before.
    """
    library = native.library(IMPLEMENTATION)
    with (
        _LOCK,
        external_libraries.only(library.path),
        redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message=r"liboqs version \(major, minor\)")
        oqs = importlib.import_module("oqs")
    loaded = Path(oqs.native()._name)
    if loaded != library.path:
        raise Unsupported(
            f"liboqs-python was imported before pqchain and uses {loaded}; expected "
            f"{library.path}: use pqchain first, or name an implementation such as liboqs-0.13/avx2"
        )
    return oqs


class LiboqsSigner(native.NativeSigner):
    """Sign and verify through liboqs-python; key pairs and batches come from the C interface."""

    def _prepare(self) -> None:
        super()._prepare()
        self._oqs = module()
        self._in_range = self.library.predicate("pq_secret_key_in_range")
        self._has_stack = self.library._handle.pq_has_stack
        self._shared = self._oqs.Signature(self.algorithm.name)
        """For verification, which keeps no state; secret keys get an object of their own."""

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        if not self._has_stack():
            return super()._sign(message, secret_key, context)
        if not self._in_range(self._scheme, secret_key):
            raise self._failure("sign", abi.OUT_OF_RANGE)
        with (
            self._oqs.Signature(self.algorithm.name, secret_key) as scheme,
            _failures_of("signing", self.algorithm, "secret key"),
        ):
            signature: bytes = (
                scheme.sign_with_ctx_str(message, context) if context else scheme.sign(message)
            )
            return signature

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        if not self._has_stack():
            return super()._verify(message, signature, public_key, context)
        if context:
            valid = self._shared.verify_with_ctx_str(message, signature, context, public_key)
        else:
            valid = self._shared.verify(message, signature, public_key)
        return bool(valid)


class LiboqsKem(native.NativeKem):
    """A KEM through liboqs-python; key pairs come from the C interface."""

    def _prepare(self) -> None:
        super()._prepare()
        self._oqs = module()
        self._has_stack = self.library._handle.pq_has_stack
        self._shared = self._oqs.KeyEncapsulation(self.algorithm.name)
        """For encapsulation, which keeps no state; secret keys get an object of their own."""

    def _encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        if not self._has_stack():
            return super()._encapsulate(public_key)
        with _failures_of("encapsulation", self.algorithm, "public key"):
            ciphertext, shared_secret = self._shared.encap_secret(public_key)
            return bytes(ciphertext), bytes(shared_secret)

    def _decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        if not self._has_stack():
            return super()._decapsulate(ciphertext, secret_key)
        with (
            self._oqs.KeyEncapsulation(self.algorithm.name, secret_key) as scheme,
            _failures_of("decapsulation", self.algorithm),
        ):
            return bytes(scheme.decap_secret(ciphertext))
