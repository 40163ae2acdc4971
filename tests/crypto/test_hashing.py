"""SHA3-256 against FIPS 202's examples and Python's own."""

from __future__ import annotations

import hashlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.crypto import hashing
from pqchain.crypto.hashing import sha3_256
from pqchain.errors import Unsupported


def test_known_answers():
    assert sha3_256(b"").hex() == (
        "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"
    )
    assert sha3_256(b"abc").hex() == (
        "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
    )


@given(st.binary(max_size=500))
def test_agrees_with_hashlib(data):
    assert sha3_256(data) == hashlib.sha3_256(data).digest()


def test_says_what_to_install(monkeypatch):
    hashing._hash.cache_clear()
    monkeypatch.setitem(sys.modules, "Crypto.Hash", None)
    with pytest.raises(Unsupported, match="pip install pycryptodome"):
        sha3_256(b"")
