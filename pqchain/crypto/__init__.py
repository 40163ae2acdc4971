"""Keys, signatures and key encapsulation: one way to open any scheme of the registry."""

from __future__ import annotations

import importlib.util

from pqchain import algorithms
from pqchain.crypto import native
from pqchain.crypto.interface import Kem, RecoverableSigner, Signer
from pqchain.errors import Unsupported, UsageError

__all__ = ["Kem", "RecoverableSigner", "Signer", "available", "open_kem", "open_signer"]

_PACKAGES = {
    "liboqs-0.13/dispatch": "oqs",
    "coincurve/libsecp256k1": "coincurve",
    "cryptography/openssl": "cryptography",
    "pycryptodome/python": "Crypto",
}
"""The Python package behind an implementation that is not native code of ours alone."""


def available(implementation: str) -> str:
    """Return "" if the implementation can run here, else the reason why not.

    Raises UnknownImplementation.
    """
    row = algorithms.implementation(implementation)
    package = _PACKAGES.get(implementation)
    if package is not None and importlib.util.find_spec(package) is None:
        return f"the Python package {package} is not installed: install pqchain again"
    return native.available(implementation) if row.library else ""


def _choose(
    name: str, kind: algorithms.Kind, implementation: str | None
) -> tuple[algorithms.Algorithm, str]:
    """Return the algorithm and the name of the implementation that is to serve it."""
    algorithm = algorithms.get(name)
    if algorithm.kind != kind:
        opener = "open_kem" if algorithm.kind == "kem" else "open_signer"
        raise UsageError(f"{algorithm.name} is a {algorithm.kind}; expected a {kind}: {opener}()")
    if not algorithm.implementations:
        raise Unsupported(
            f"{algorithm.name} is in the registry for its sizes and status; this version of "
            "pqchain has no implementation of it"
        )
    if implementation is None:
        implementation = _default(algorithm)
    algorithms.implementation(implementation)
    if implementation not in algorithm.implementations:
        raise Unsupported(
            f"{implementation} does not offer {algorithm.name}; expected one of "
            f"{', '.join(algorithm.implementations)}"
        )
    reason = available(implementation)
    if reason and not algorithms.implementation(implementation).library:
        raise Unsupported(reason)
    return algorithm, implementation


def _default(algorithm: algorithms.Algorithm) -> str:
    """Return the implementation that serves when none is named: of several, the first that runs."""
    if "liboqs-0.13/dispatch" in algorithm.implementations:
        return "liboqs-0.13/dispatch"
    running = (name for name in algorithm.implementations if not available(name))
    return next(running, algorithm.implementations[0])


def open_signer(name: str, implementation: str | None = None) -> Signer:
    """Open a signature scheme: `open_signer("Falcon-512").sign(message, secret_key)`.

    Without `implementation` the default serves: liboqs through liboqs-python for post-quantum
    schemes, the library that chains use for classical ones. Raises UnknownAlgorithm,
    UnknownImplementation, or Unsupported with the reason why it cannot run here.
    """
    algorithm, implementation = _choose(name, "signature", implementation)
    if implementation == "liboqs-0.13/dispatch":
        from pqchain.crypto.liboqs import LiboqsSigner

        return LiboqsSigner(algorithm)
    if algorithms.implementation(implementation).library:
        return native.library(implementation).signer(algorithm, implementation)
    from pqchain.crypto.classical import open_classical

    return open_classical(algorithm, implementation)


def open_kem(name: str, implementation: str | None = None) -> Kem:
    """Open a key-encapsulation mechanism: `open_kem("ML-KEM-512").encapsulate(public_key)`.

    Defaults and errors are those of `open_signer`.
    """
    algorithm, implementation = _choose(name, "kem", implementation)
    if implementation == "liboqs-0.13/dispatch":
        from pqchain.crypto.liboqs import LiboqsKem

        return LiboqsKem(algorithm)
    return native.library(implementation).kem(algorithm, implementation)
