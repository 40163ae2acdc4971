"""Sizes and identifiers, without cryptography."""

import subprocess
import sys

import pytest

from pqchain import algorithms
from pqchain.chain.encoding import (
    Reader,
    algorithm_identifier,
    algorithm_of,
    encoded_size,
    header_bytes,
)
from pqchain.errors import Malformed, PqchainError, UsageError

SCHEMES = algorithms.names("signature", everything=True)


def test_scheme_identifiers_are_unique_and_pinned() -> None:
    identifiers = {algorithm_identifier(name) for name in SCHEMES}
    assert len(identifiers) == len(SCHEMES)
    assert 0 not in identifiers
    assert algorithm_identifier("falcon 512") == algorithm_identifier("Falcon-512") == FALCON_512
    assert algorithm_of(FALCON_512) is algorithms.get("Falcon-512")
    assert algorithm_of(0) is None


FALCON_512 = int.from_bytes(bytes.fromhex("305a"), "big")
"""printf Falcon-512 | openssl dgst -sha3-256, the first two bytes."""


def test_sizes_are_the_sum_of_the_documented_fields() -> None:
    body = 1 + 4 + 32 + 32 + 8 + 8 + 2 + 1
    assert encoded_size("Falcon-512") == body + 3 + 4 + 897 + 4 + 655
    assert encoded_size("Falcon-512", data_bytes=12, signature_bytes=660) == (
        body + 12 + 3 + 4 + 897 + 4 + 660
    )
    assert encoded_size("Falcon-512", key_mode="registered") == body + 3 + 8 + 655
    assert encoded_size("ECDSA-secp256k1", key_mode="recovered") == body + 3 + 8 + 65
    assert encoded_size(["ECDSA-secp256k1", "ML-DSA-44"]) == (
        body + 2 * (3 + 8) + 33 + 64 + 1312 + 2420
    )
    assert header_bytes() == 1 + 4 + 32 + 32 + 4 + 32 + 2 + 4
    assert encoded_size("ML-DSA-44", kind="seal") == 8 + 1312 + 2420


@pytest.mark.parametrize(
    "arguments",
    [
        {"algorithm": "ML-KEM-512"}, {"algorithm": []}, {"algorithm": None}, {"algorithm": [None]},
        {"algorithm": ["Ed25519", "ed25519"]}, {"algorithm": algorithms.names("signature")[:5]},
        {"key_mode": "recovered"}, {"key_mode": "guessed"}, {"kind": "block"},
        {"signature_bytes": -1}, {"data_bytes": 65536}, {"kind": "seal", "data_bytes": 1},
    ],
)  # fmt: skip
def test_invalid_sizes_are_rejected(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        encoded_size(**{"algorithm": "Falcon-512", **arguments})  # type: ignore[arg-type]


def test_reader_never_reads_past_the_end() -> None:
    reader = Reader(b"\x00\x00\x00\x02abc")
    assert reader.length_prefixed("a field") == b"ab"
    with pytest.raises(Malformed, match=r"the amount needs 8 bytes at byte 6, but 1 remain"):
        reader.number(8, "the amount")
    with pytest.raises(Malformed, match="1 bytes follow"):
        reader.end("block")
    assert issubclass(Malformed, PqchainError)


def test_import_loads_no_cryptography() -> None:
    program = (
        "import sys, pqchain.chain.encoding\n"
        "bad = {'ctypes', 'Crypto', 'coincurve', 'pqchain.crypto', 'numpy'}\n"
        "sys.exit(str(bad & set(sys.modules)) if bad & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
