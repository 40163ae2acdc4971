"""The canonical form of signatures that their scheme accepts in several forms.

Anybody can change such a signature into another valid one, without a key. The transaction would
then have another identifier and length, so a chain accepts one form only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Order of the group (SEC 2, version 2, section 2.4.2)."""


def _unpadded(signature: bytes) -> bytes:
    # A compressed coefficient ends with a set bit: a last byte of zero is padding.
    return signature.rstrip(b"\0")


def _low_s(signature: bytes) -> bytes:
    # If (r, s) is valid, so is (r, n - s). Other values of s are invalid in any form.
    r, s = signature[:32], int.from_bytes(signature[32:], "big")
    return r + min(s, _P256_ORDER - s).to_bytes(32, "big") if 0 < s < _P256_ORDER else signature


FORMS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "Falcon-512": ("without padding", _unpadded),
    "Falcon-1024": ("without padding", _unpadded),
    "ECDSA-P256": ("with the lower of both values of s", _low_s),
}
"""Condition and conversion of each scheme that accepts a signature in several forms.

Verifiers of all other schemes accept one form only.
"""


def canonical_form(algorithm: str, signature: bytes) -> bytes:
    """Return the form of a valid signature that a chain accepts; `algorithm` is the full name."""
    return FORMS[algorithm][1](signature) if algorithm in FORMS else signature
