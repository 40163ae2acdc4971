"""Default implementation: liboqs-python on pqchain's liboqs. Only this module imports `oqs`.

On import, liboqs-python 0.16 prefers a system liboqs, writes to stdout, clones and builds liboqs
if it finds none (and ends the process if that fails), and warns that 0.13 is not 0.16. `module`
prevents all of that. liboqs-python pads short keys with zeros; callers check lengths first.
Key pairs and KEMs use the same library through the C interface. In a thread whose stack may be too
small, signatures use the C interface too: it switches to a larger stack, whereas liboqs-python
would end the process.
"""

from __future__ import annotations

import ctypes.util
import importlib
import io
import threading
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from pqchain.crypto import abi, native
from pqchain.errors import CryptoFailure, Unsupported

# The search for libraries, stdout and warnings are redirected for the whole process.
_LOCK = threading.Lock()


def module() -> ModuleType:
    """Import liboqs-python with pqchain's library and without output; return the module.

    Raises NativeLibraryMissing if the library is not installed, and Unsupported if liboqs-python
    was imported with another library before.
    """
    library = native.library(native.DEFAULT)
    with _LOCK, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"liboqs version \(major, minor\)")
        find = ctypes.util.find_library
        ctypes.util.find_library = lambda name: str(library.path)
        try:
            oqs = importlib.import_module("oqs")
        finally:
            ctypes.util.find_library = find
    # An earlier import by other code may have loaded another liboqs.
    loaded = Path(oqs.native()._name)
    if loaded != library.path:
        raise Unsupported(
            f"liboqs-python was imported before pqchain and uses {loaded}; expected "
            f"{library.path}: use pqchain first, or name an implementation such as liboqs-0.13/avx2"
        )
    return oqs


class LiboqsSigner(native.NativeSigner):
    """Signer through liboqs-python; key pairs and batches use the C interface."""

    def _prepare(self) -> None:
        super()._prepare()
        self._oqs = module()
        self._in_range = self.library._handle["pq_secret_key_in_range"]
        self._in_range.argtypes = abi.POINTER, abi.TEXT
        self._has_stack = self.library._handle.pq_has_stack
        self._shared = self._oqs.Signature(self.algorithm.name)
        """Shared by verifications, which are stateless; signing uses an object per key."""

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        if not self._has_stack():
            return super()._sign(message, secret_key, context)
        # The C interface checks the range of the key when it signs; liboqs-python does not.
        if not self._in_range(self._scheme, secret_key):
            raise self._failure("sign", abi.OUT_OF_RANGE)
        with self._oqs.Signature(self.algorithm.name, secret_key) as scheme:
            try:
                signature: bytes = (
                    scheme.sign_with_ctx_str(message, context) if context else scheme.sign(message)
                )
            except RuntimeError as error:
                raise CryptoFailure(
                    f"signing with {self.algorithm.name}: {error}; the secret key may be damaged"
                ) from error
            return signature

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        if not self._has_stack():
            return super()._verify(message, signature, public_key, context)
        if context:
            valid = self._shared.verify_with_ctx_str(message, signature, context, public_key)
        else:
            valid = self._shared.verify(message, signature, public_key)
        return bool(valid)
