"""ML-DSA signer based on the model, to simulate a faulty verifier or a hostile signer.

bad = ModelSigner("ML-DSA-65", mutant="z: at the bound allowed")    # accepts an invalid z
hostile = ModelSigner("ML-DSA-65", edge=0)                          # signs with an invalid z
"""

from __future__ import annotations

import secrets

import numpy as np

from pqchain import algorithms
from pqchain.crypto.interface import Signer
from pqchain.errors import UnknownName, UsageError
from pqchain_conform.models import ml_dsa, ml_dsa_signer
from pqchain_conform.mutants import mutants
from pqchain_conform.oracles import model


class ModelSigner(Signer):
    """ML-DSA signer that runs the model of the specification; slow and not constant time.

    Secret keys are the 32-byte seeds that FIPS 204 allows to store in place of the expanded key.
    """

    def __init__(self, algorithm: str, *, mutant: str = "", edge: int | None = None) -> None:
        """Create a signer that verifies as `mutant` does and signs with z at its bound plus `edge`.

        Mutants have the names of `pqchain conform mutants`. With `edge`, one coefficient of z in
        every signature is gamma1 - beta + edge: -1 is the greatest allowed, 0 the least forbidden.
        Raises UnknownName for an algorithm or mutant, and UsageError for an edge that a signature
        cannot encode.
        """
        standard = {name: p for name, p in ml_dsa.PARAMETER_SETS.items() if p.standard}
        if algorithm not in standard:
            raise UnknownName("algorithm of FIPS 204", algorithm, standard)
        self._parameters = p = standard[algorithm]
        if edge is not None and not -p.bound < edge <= p.beta:
            raise UsageError(f"edge must be from {1 - p.bound} to {p.beta}; got {edge}")
        known = mutants(algorithm)
        if mutant and mutant not in known:
            raise UnknownName("mutant", mutant, known, see="`pqchain conform mutants`")
        self._verifier = known[mutant] if mutant else model(algorithm)
        self._edge = edge
        name = f"model ({mutant})" if mutant else "model"
        super().__init__(algorithms.get(algorithm), name)
        self._secret_key_bytes = 32

    def _prepare(self) -> None:
        # The model needs no library.
        pass

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a new public key and its 32-byte seed."""
        seed = secrets.token_bytes(32)
        return ml_dsa_signer.generate(self.algorithm.name, seed).public_key, seed

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        key = ml_dsa_signer.generate(self.algorithm.name, secret_key)
        if self._edge is None:
            return ml_dsa_signer.sign(key, message, context)
        p = self._parameters
        mu = ml_dsa.message_hash(p, key.public_key, message, ml_dsa.prefix(p, context))
        # Seeded by the message hash, so that the same message gets the same signature.
        random = np.random.default_rng(list(mu))
        return ml_dsa_signer.steered(key, mu, random, value=p.bound + self._edge)

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        return self._verifier.verify(message, signature, public_key, context)
