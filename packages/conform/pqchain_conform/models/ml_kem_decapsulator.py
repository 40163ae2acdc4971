"""ML-KEM decapsulation and the checks of keys and ciphertexts, rule by rule.

Each rule and each step is a method, so that a mutant is a subclass that overrides one.
"""

from __future__ import annotations

from collections.abc import Iterator

from pqchain_conform.models import ml_kem as model
from pqchain_conform.models.bits import Integers, N, pack, unpack
from pqchain_conform.models.checks import ReferenceModel, RuleCheck
from pqchain_conform.models.ml_kem import PARAMETER_SETS, Q


class MLKEMDecapsulator(ReferenceModel):
    """ML-KEM with one parameter set, as the receiver and as the user of an encapsulation key."""

    def __init__(self, name: str) -> None:
        self.parameters = PARAMETER_SETS[name]

    def checks(
        self, operation: str, key: bytes, ciphertext: bytes = b"", shared_secret: bytes = b""
    ) -> Iterator[RuleCheck]:
        """Yield the result of each rule for `operation`: "encapsulate" or "decapsulate".

        The last rule of a decapsulation is that it gives `shared_secret`; an empty one is not
        compared. Stops at a wrong length, as no other rule applies then.
        """
        if operation == "encapsulate":
            yield from self.encapsulation_checks(key)
        else:
            yield from self.decapsulation_checks(key, ciphertext, shared_secret)

    def encapsulation_checks(self, key: bytes) -> Iterator[RuleCheck]:
        """Yield the results of the checks of an encapsulation key."""
        p, section = self.parameters, "FIPS 203, section 7.2"
        fits = self.encapsulation_key_fits(len(key))
        detail = f"{len(key)} bytes; {p.name} has {p.encapsulation_key_bytes}"
        yield RuleCheck("encapsulation key length", section, fits, detail)
        if not fits:
            return
        values = unpack(key[: 384 * p.k], 12)
        large = self.large_coefficients(values)
        row, n = large[0] if large else divmod(int(values.argmax()), N)
        detail = f"t[{row}][{n}] = {values[row, n]}; it must be below q = {Q}"
        yield RuleCheck("modulus", section, not large, detail)

    def decapsulation_checks(
        self, key: bytes, ciphertext: bytes, shared_secret: bytes
    ) -> Iterator[RuleCheck]:
        """Yield the results of the checks of key and ciphertext, and of the shared secret."""
        p, section = self.parameters, "FIPS 203, section 7.3"
        fits = [self.key_fits(len(key)), self.ciphertext_fits(len(ciphertext))]
        detail = f"{len(key)} bytes; {p.name} has {p.decapsulation_key_bytes}"
        yield RuleCheck("decapsulation key length", section, fits[0], detail)
        detail = f"{len(ciphertext)} bytes; {p.name} has {p.ciphertext_bytes}"
        yield RuleCheck("ciphertext length", section, fits[1], detail)
        if not all(fits):
            return
        # Only in a mutant that truncates longer input can lengths exceed the standard's here.
        key, ciphertext = key[: p.decapsulation_key_bytes], ciphertext[: p.ciphertext_bytes]
        stored, computed = key[-64:-32], model.hash_h(self.hashed_key(key[384 * p.k : -64]))
        detail = f"{stored[:8].hex()}...; computed {computed[:8].hex()}..."
        yield RuleCheck("hash of the key", section, self.same_hash(stored, computed), detail)
        for name, values in self.key_polynomials(key):
            large = self.refused_coefficients(values)
            row, n = large[0] if large else divmod(int(values.argmax()), N)
            detail = f"{name}[{row}][{n}] = {values[row, n]}; the standard checks it only in an "
            yield RuleCheck(
                f"range of {name}", section, not large, f"{detail}encapsulation key", open=True
            )
        if shared_secret:
            secret = self.decapsulate(key, ciphertext)
            yield RuleCheck(
                "shared secret",
                "FIPS 203, algorithm 18",
                secret == shared_secret,
                f"{secret[:8].hex()}...; expected {shared_secret[:8].hex()}...",
            )

    def decapsulate(self, key: bytes, ciphertext: bytes) -> bytes:
        """Return the shared secret for a key and ciphertext of valid lengths (algorithm 18)."""
        p = self.parameters
        s, encapsulation_key = key[: 384 * p.k], key[384 * p.k : -64]
        message = self.message(model.decoded(p, s, ciphertext))
        secret, r = self.derived(message, encapsulation_key, key[-64:-32])
        if self.same_ciphertext(self.encrypted(encapsulation_key, message, r), ciphertext):
            return self.accepted(secret, ciphertext)
        return self.rejected(secret, key[-32:], ciphertext)

    def encapsulation_key_fits(self, length: int) -> bool:
        """Return whether an encapsulation key may have this length in bytes."""
        return length == self.parameters.encapsulation_key_bytes

    def large_coefficients(self, values: Integers) -> list[tuple[int, int]]:
        """Return (row, position) of the coefficients of t that are not below q."""
        return [(int(row), int(n)) for row, n in zip(*(values >= Q).nonzero(), strict=True)]

    def key_fits(self, length: int) -> bool:
        """Return whether a decapsulation key may have this length in bytes."""
        return length == self.parameters.decapsulation_key_bytes

    def ciphertext_fits(self, length: int) -> bool:
        """Return whether a ciphertext may have this length in bytes."""
        return length == self.parameters.ciphertext_bytes

    def hashed_key(self, encapsulation_key: bytes) -> bytes:
        """Return the part of the encapsulation key that is hashed for the check."""
        return encapsulation_key

    def same_hash(self, stored: bytes, computed: bytes) -> bool:
        """Return whether the stored hash of the encapsulation key is the computed one."""
        return stored == computed

    def key_polynomials(self, key: bytes) -> list[tuple[str, Integers]]:
        """Return s and t of a decapsulation key, which the standard does not compare with q."""
        size = 384 * self.parameters.k
        return [("s", unpack(key[:size], 12)), ("t", unpack(key[size : 2 * size], 12))]

    def refused_coefficients(self, values: Integers) -> list[tuple[int, int]]:
        """Return (row, position) of the coefficients for which a verifier may refuse a key."""
        return MLKEMDecapsulator.large_coefficients(self, values)

    def message(self, w: Integers) -> bytes:
        """Return the decrypted 32 bytes: bit 1 for the coefficients nearer to q/2 than to 0."""
        return pack(model.compress(w, 1), 1)

    def derived(
        self, message: bytes, encapsulation_key: bytes, key_hash: bytes
    ) -> tuple[bytes, bytes]:
        """Return the shared secret and the randomness that belong to a message."""
        return model.hash_g(message + key_hash)

    def encrypted(self, encapsulation_key: bytes, message: bytes, r: bytes) -> bytes:
        """Return the message encrypted again."""
        return model.encrypt(self.parameters, encapsulation_key, message, r)

    def same_ciphertext(self, computed: bytes, ciphertext: bytes) -> bool:
        """Return whether encrypting again gave the ciphertext."""
        return computed == ciphertext

    def accepted(self, secret: bytes, ciphertext: bytes) -> bytes:
        """Return the shared secret of a ciphertext that was encrypted correctly."""
        return secret

    def rejected(self, secret: bytes, z: bytes, ciphertext: bytes) -> bytes:
        """Return the secret of implicit rejection."""
        return model.hash_j(z + ciphertext)
