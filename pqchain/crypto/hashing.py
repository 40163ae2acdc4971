"""Hashing for blocks and ledgers."""

from __future__ import annotations

from functools import cache
from typing import Any

from pqchain.crypto.interface import needs


@cache
def _hash() -> Any:
    # Imported here: `import pqchain` loads no native code.
    with needs("pycryptodome", "SHA3-256"):
        from Crypto.Hash import SHA3_256
    return SHA3_256


def sha3_256(data: bytes) -> bytes:
    """Return the 32 bytes of SHA3-256 (FIPS 202) of the data, by pycryptodome."""
    digest: bytes = _hash().new(data).digest()
    return digest
