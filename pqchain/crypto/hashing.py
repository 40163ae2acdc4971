"""Hashing for blocks and ledgers."""

from __future__ import annotations

from pqchain.errors import Unsupported


def sha3_256(data: bytes) -> bytes:
    """Return the 32 bytes of SHA3-256 (FIPS 202) of the data, by pycryptodome."""
    try:
        # Imported here: `import pqchain` loads no native code.
        from Crypto.Hash import SHA3_256
    except ImportError as error:
        raise Unsupported(
            f"SHA3-256 needs pycryptodome, which cannot be imported ({error}): "
            "pip install pycryptodome"
        ) from error
    return SHA3_256.new(data).digest()
