"""Wycheproof vectors of ML-DSA-65 verification.

The file (C2SP/wycheproof, testvectors_v1, Apache 2.0) is too large for the repository; it is read
from ../shared/kats/wycheproof, next to the checkout.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pqchain.crypto import open_signer
from pqchain.errors import BadLength
from tests.crypto.builds import IMPLEMENTATIONS, need

pytestmark = pytest.mark.native

FILE = (
    Path(__file__).resolve().parents[3]
    / "shared"
    / "kats"
    / "wycheproof"
    / "mldsa_65_verify_test.json"
)

LENGTHS = {"IncorrectPublicKeyLength", "InvalidContext"}
"""Flags of tests for which an error that names the length is as good as False."""


@cache
def cases() -> list[tuple[bytes, dict[str, Any]]]:
    """Return every test with the public key of its group."""
    if not FILE.is_file():
        pytest.skip(f"{FILE.name} is not in {'/'.join(FILE.parts[-4:-1])} next to the checkout")
    content = json.loads(FILE.read_text(encoding="utf-8"))
    results = [
        (bytes.fromhex(group["publicKey"]), test)
        for group in content["testGroups"]
        for test in group["tests"]
    ]
    assert len(results) == content["numberOfTests"]
    return results


def verdict(signer, public_key: bytes, test: dict[str, Any]) -> str:
    """Return the result in Wycheproof's terms."""
    message, signature, context = (
        bytes.fromhex(test.get(key, "")) for key in ("msg", "sig", "ctx")
    )
    try:
        valid = signer.verify(message, signature, public_key, context)
    except BadLength:
        return "invalid" if LENGTHS & set(test["flags"]) else "refused"
    return "valid" if valid else "invalid"


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_vector_has_the_expected_result(implementation):
    need(implementation, "ML-DSA-65")
    signer = open_signer("ML-DSA-65", implementation)
    wrong = [
        f"{test['tcId']}: {result} instead of {test['result']} ({test['comment']})"
        for public_key, test in cases()
        if (result := verdict(signer, public_key, test)) != test["result"]
    ]
    assert wrong == []
