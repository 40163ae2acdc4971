"""A small part of `make fuzz-conform`: our builds agree on damaged vectors."""

from __future__ import annotations

import pytest

from tests.conform import fuzz

pytestmark = pytest.mark.native


@pytest.mark.parametrize("name", ["ML-DSA-44", "Falcon-512"])
def test_builds_agree_on_damaged_vectors(name):
    found = fuzz.fuzz(name, 400, seed=1)
    assert found["accepted"] > 0
    assert found["rejected"] > 200


def test_builds_that_differ_are_noticed(monkeypatch):
    class Agreeable:
        def verify_batch(self, *columns):
            return []

    real = fuzz.open_signer
    monkeypatch.setattr(
        fuzz,
        "open_signer",
        lambda name, build: real(name, build) if build == fuzz.BUILDS[0] else Agreeable(),
    )
    monkeypatch.setattr(fuzz, "builds", lambda name: [fuzz.BUILDS[0], "agreeable"])
    with pytest.raises(AssertionError, match="agreeable and liboqs-0"):
        fuzz.fuzz("ML-DSA-44", 100)
