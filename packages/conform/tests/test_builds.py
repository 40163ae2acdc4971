"""Every build of pqchain is correct on the boundary vectors.

Honest signatures never come near these boundaries: known-answer tests pass with a verifier that
does not check the bound on z at all, such as the uncorrected AVX2 code of liboqs 0.13.0.
"""

from __future__ import annotations

from functools import cache

import pytest

from pqchain.crypto import open_signer
from pqchain_conform import openssl, oracles
from pqchain_conform.generators import generate, ml_dsa
from pqchain_conform.models.ml_dsa import PARAMETER_SETS
from pqchain_conform.vector import Vector
from tests.crypto.builds import IMPLEMENTATIONS, ROUND3_BUILDS, need

FALCON = ("Falcon-512", "Falcon-padded-512")

MIDDLE = ("ML-DSA-65", "Dilithium3")
"""Sets between the smallest and the largest, in `make test-long`."""


@cache
def vectors(name: str) -> tuple[Vector, ...]:
    """Return the vectors that the specification decides, with keys of the right length.

    For ML-DSA only those under crafted keys, which take a second; `make conform` uses all.
    """
    generated = ml_dsa.collect(name) if name in PARAMETER_SETS else generate(name)
    length = len(generated[0].public_key)
    return tuple(v for v in generated if v.expected != "acceptable" and len(v.public_key) == length)


def misjudged(name: str, verify) -> list[str]:
    """Return descriptions of the wrong verdicts of a verifier."""
    return [
        f"{'rejects' if vector.expected == 'valid' else 'accepts'} {vector.probe}"
        for vector in vectors(name)
        if verify(*vector.case) != (vector.expected == "valid")
    ]


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        *(
            pytest.param(name, build, marks=[pytest.mark.long] if name in MIDDLE else [])
            for name in PARAMETER_SETS
            for build in IMPLEMENTATIONS
        ),
        *(("Dilithium2", build) for build in ROUND3_BUILDS),
        *((name, build) for name in FALCON for build in (*IMPLEMENTATIONS, "falcon/kernel")),
    ],
)
def test_verification_is_exact_at_every_boundary(name, implementation):
    need(implementation, name)
    assert misjudged(name, open_signer(name, implementation).verify) == []


@pytest.mark.parametrize("name", ["ML-DSA-65", "ML-DSA-87", "Dilithium2"])
def test_model_gives_the_expected_verdicts(name):
    assert misjudged(name, oracles.model(name).verify) == []
    verdicts = [vector.expected for vector in vectors(name)]
    assert min(verdicts.count("valid"), verdicts.count("invalid")) > 100


@pytest.mark.parametrize("name", [name for name, row in PARAMETER_SETS.items() if row.standard])
def test_openssl_gives_the_expected_verdicts(name):
    verify = openssl.verifier(name)
    if verify is None:
        pytest.skip("this OpenSSL has no ML-DSA")
    assert misjudged(name, verify) == []
