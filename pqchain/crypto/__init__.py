"""Signatures and key encapsulation: `open_signer` and `open_kem` for all schemes."""

from __future__ import annotations

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.crypto import classical
from pqchain.crypto.interface import Kem, RecoverableSigner, Signer
from pqchain.crypto.isolation import IsolatedSigner
from pqchain.crypto.liboqs import LiboqsSigner
from pqchain.crypto.native import DEFAULT, NativeKem, NativeSigner, obstacle, unavailable_reason
from pqchain.crypto.native_signers import BlsSigner, CheckedKeys, FalconRecoverySigner
from pqchain.errors import Unsupported

__all__ = [
    "BlsSigner", "CheckedKeys", "Kem", "RecoverableSigner", "Signer", "candidates", "obstacle",
    "open_kem", "open_scheme", "open_signer", "unavailable_reason",
]  # fmt: skip


_NATIVE_SIGNERS = {"BLS12-381": BlsSigner, "Falcon-recovery": FalconRecoverySigner}
"""Classes for families with operations beyond those of `Signer`."""


def _choose(algorithm_name: str, implementation: str | None) -> tuple[Algorithm, str]:
    algorithm = algorithms.get(algorithm_name)
    known = algorithm.implementations
    if algorithm.family_facts.stateful:
        raise Unsupported(
            f"a key of {algorithm.name} changes with every signature; sign with "
            "pqchain.crypto.stateful.StatefulSigner and verify with its function verifier()"
        )
    if not known:
        raise Unsupported(
            f"{algorithm.name} is in the registry for its sizes and status only; this version of "
            "pqchain does not implement it"
        )
    if implementation is None:
        # If none can run here, opening the first one raises an error with the reason.
        usable = (name for name in known if not obstacle(name))
        implementation = DEFAULT if DEFAULT in known else next(usable, known[0])
    implementation = algorithms.implementation(implementation).name
    if implementation not in known:
        raise Unsupported(
            f"the implementation of {algorithm.name} must be one of {', '.join(known)}; got "
            f"{implementation}"
        )
    return algorithm, implementation


def candidates(name: str) -> list[str]:
    """Return the implementations among which the fastest is measured, in the registry's order.

    They run here; portable code counts only where its library has no other.
    """
    known = algorithms.get(name).implementations
    usable = [row for row in known if not obstacle(row)]
    usable = [row for row in usable if algorithms.implementation(row).is_candidate] or usable
    special = {row.partition("/")[0] for row in usable if not row.endswith("/ref")}
    return [row for row in usable if not (row.endswith("/ref") and row[:-4] in special)]


def open_signer(name: str, implementation: str | None = None) -> Signer:
    """Open a signature scheme: `open_signer("Falcon-512").sign(message, secret_key)`.

    The default implementation is liboqs where it has the scheme, and otherwise the first of the
    registry that can run here. Raises UnknownAlgorithm,
    UnknownImplementation, or Unsupported with the reason why the scheme cannot run here.
    """
    algorithm, chosen = _choose(name, implementation)
    row = algorithms.implementation(chosen)
    if row.location:
        return IsolatedSigner(algorithm, chosen)
    if row.factory:
        user_signer: Signer = row.factory(algorithm, chosen)
        return user_signer
    if chosen == DEFAULT:
        return LiboqsSigner(algorithm, chosen)
    native = _NATIVE_SIGNERS.get(algorithm.family, NativeSigner)
    return classical.SIGNERS.get((algorithm.name, chosen), native)(algorithm, chosen)


def open_kem(name: str, implementation: str | None = None) -> Kem:
    """Open a KEM: `open_kem("ML-KEM-512").encapsulate(public_key)`; see `open_signer`."""
    algorithm, chosen = _choose(name, implementation)
    return NativeKem(algorithm, chosen)


def open_scheme(algorithm: Algorithm, implementation: str | None = None) -> Signer | Kem:
    """Open a signature scheme or a KEM, as `open_signer` and `open_kem` do."""
    opener = open_kem if algorithm.kind == "kem" else open_signer
    return opener(algorithm.name, implementation)
